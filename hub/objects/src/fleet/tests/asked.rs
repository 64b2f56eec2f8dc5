//! Clusters that are asked anew.

use drydock_rollout::{
    AnswerSource, KnownAnswer, Owner, PreCheckAnswer, PreCheckAsk, PreCheckQuestion, PreCheckWork, Target,
    pre_checks_work_name,
};

use super::*;

fn answer() -> PreCheckAnswer {
    PreCheckAnswer {
        source: AnswerSource::ClusterVersion,
        findings: Arc::default(),
    }
}

pub(super) fn work(uid: &str, target: &str, answer: KnownAnswer) -> PreCheckWork {
    PreCheckWork {
        uid: Uid::new(uid),
        owner: Owner {
            uid: Uid::new(UID),
            upgrade: Some(key()),
        },
        deleting: false,
        question: Some(Arc::new(PreCheckQuestion {
            target: target.into(),
            asks_agent: true,
            accepted: Arc::default(),
            asked_for: Arc::default(),
            image: Arc::default(),
            form: PreCheckQuestion::FORM,
            yields: false,
            asked_at: Timestamp::UNIX_EPOCH,
        })),
        answer,
        trouble: None,
        is_taken: false,
        is_asked_later: false,
        ended: Arc::default(),
        without_image: None,
    }
}

/// What another upgrade asks without an answer is a question of each upgrade of the cluster but its own.
#[test]
fn what_another_upgrade_asks_is_known_until_there_is_an_answer() {
    let other = UpgradeKey::new("default", "autumn");
    for (answer, is_taken, is_open) in [
        (KnownAnswer::None, false, true),
        (KnownAnswer::Earlier(answer()), false, true),
        (KnownAnswer::Current(answer()), false, false),
        (KnownAnswer::None, true, false),
    ] {
        let mut fleet = TestFleet::new(&["c01"]);
        let cluster = ClusterName::from("c01");
        let work = PreCheckWork {
            is_taken,
            ..work("a", "4.14.12", answer)
        };
        let name = pre_checks_work_name(&cluster, &other);
        let _change = fleet
            .fleet
            .set_pre_checks(&cluster, &name, Some(Arc::new(work)), Some(1));
        let known = &fleet.fleet.clusters[&cluster];
        let open = |upgrade| known.other_questions(&cluster, upgrade).len();
        assert_eq!((open(&key()), open(&other)), (usize::from(is_open), 0));
    }
}

/// Two upgrades that are decided about at once: what the first asks is not there yet.
#[test]
fn what_another_upgrade_is_about_to_ask_is_known_unless_it_was_refused() {
    let other = UpgradeKey::new("default", "autumn");
    let cluster = ClusterName::from("c01");
    let asked = work("a", "4.14.12", KnownAnswer::None);
    let ask = PreCheckAsk {
        cluster: cluster.clone(),
        question: (*asked.question.unwrap()).clone(),
        target: Target::default(),
        accepted: Vec::new(),
    };
    let action = Action::AskPreChecks(Box::new(ask));
    let mut fleet = TestFleet::new(&["c01"]);
    let now = fleet.now;
    fleet.fleet.begin_pre_checks(&other, &action, now);
    let open = |fleet: &TestFleet| {
        fleet.fleet.clusters[&cluster]
            .other_questions(&cluster, &key())
            .len()
    };
    assert_eq!(open(&fleet), 1);
    let _change = fleet
        .fleet
        .pre_checks_written(&other, &action, None, Some("no"), now);
    assert_eq!(open(&fleet), 0);
}

/// Who has refused a question once has been asked, also where the next try is given up.
#[test]
fn that_a_question_was_refused_is_known_when_the_next_is_given_up() {
    let cluster = ClusterName::from("c01");
    let asked = work("a", "4.14.12", KnownAnswer::None);
    let action = Action::AskPreChecks(Box::new(PreCheckAsk {
        cluster: cluster.clone(),
        question: (*asked.question.unwrap()).clone(),
        target: Target::default(),
        accepted: Vec::new(),
    }));
    let mut fleet = TestFleet::new(&["c01"]);
    let now = fleet.now;
    fleet.fleet.begin_pre_checks(&key(), &action, now);
    let _change = fleet
        .fleet
        .pre_checks_written(&key(), &action, None, Some("no"), now);
    let refused = |fleet: &TestFleet| {
        let known = fleet.fleet.clusters[&cluster].pre_checks_of(&cluster, &key())?;
        known.write()?.refused.clone()
    };
    assert_eq!(refused(&fleet).as_deref(), Some("no"));
    for _ in 0..2 {
        fleet.fleet.begin_pre_checks(&key(), &action, now);
        assert_eq!(refused(&fleet), None, "it is under way");
        let _change = fleet.fleet.pre_checks_undone(&key(), &action, false);
        assert_eq!(refused(&fleet).as_deref(), Some("no"));
    }
}

/// An agent that asks its informers again says nothing meanwhile: what it said before is kept, about the same target alone.
#[test]
fn what_a_cluster_has_answered_is_kept_while_it_says_nothing() {
    let earlier = || KnownAnswer::Earlier(answer());
    for (then, kept) in [
        (Some(work("a", "4.14.12", KnownAnswer::None)), earlier()),
        (Some(work("a", "4.14.12", earlier())), earlier()),
        (Some(work("a", "4.14.13", KnownAnswer::None)), KnownAnswer::None),
        (Some(work("b", "4.14.12", KnownAnswer::None)), KnownAnswer::None),
        (None, KnownAnswer::None),
    ] {
        let mut fleet = TestFleet::new(&["c01"]);
        let cluster = ClusterName::from("c01");
        let name = pre_checks_work_name(&cluster, &key());
        let mut see = |work: Option<PreCheckWork>| {
            let version = Some(fleet.version + 1);
            fleet.version += 1;
            let _change = fleet
                .fleet
                .set_pre_checks(&cluster, &name, work.map(Arc::new), version);
        };
        see(Some(work("a", "4.14.12", KnownAnswer::Current(answer()))));
        see(then.clone());
        // Twice: what is kept is kept for longer.
        see(then.clone());
        let known = &fleet.fleet.clusters[&cluster];
        let known = known
            .pre_checks_of(&cluster, &key())
            .and_then(|known| known.work.as_ref());
        let answer = known.map(|work| work.answer.clone()).unwrap_or_default();
        assert_eq!(answer, kept, "{then:?}");
    }
}

/// Its definition is replaced on the cluster: the work agent says that there is no such kind. What the agent found holds the cluster on.
#[test]
fn what_an_agent_held_is_not_freed_by_what_cluster_version_says() {
    let by_agent = |stops| PreCheckAnswer {
        source: AnswerSource::Agent {
            collected_at: Timestamp::UNIX_EPOCH,
            stops,
            unaccepted: usize::from(stops),
        },
        findings: Arc::default(),
    };
    let by_cluster_version = KnownAnswer::Current(answer());
    for (stops, kept) in [
        (true, KnownAnswer::Earlier(by_agent(true))),
        (false, by_cluster_version.clone()),
    ] {
        let mut fleet = TestFleet::new(&["c01"]);
        let cluster = ClusterName::from("c01");
        let name = pre_checks_work_name(&cluster, &key());
        for (version, answer) in [
            (1, KnownAnswer::Current(by_agent(stops))),
            (2, by_cluster_version.clone()),
            (3, by_cluster_version.clone()),
        ] {
            let work = Arc::new(work("a", "4.14.12", answer));
            let _change = fleet
                .fleet
                .set_pre_checks(&cluster, &name, Some(work), Some(version));
        }
        let known = fleet.fleet.clusters[&cluster].pre_checks_of(&cluster, &key());
        let answer = known
            .and_then(|known| known.work.as_ref())
            .map(|work| &work.answer);
        assert_eq!(answer, Some(&kept));
    }
}
