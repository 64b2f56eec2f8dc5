mod ended;

use drydock_api::conditions::find;
use drydock_api::fact::Unread;
use drydock_api::insights::{
    AcceptanceState, AcceptedInsight, Impact, ImpactType, InformerState, Level, MAX_INSIGHTS,
    PlanAcceptedRisk, PlanPhase, Scope, Verdict, condition,
};
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::finding::Finding;
use crate::hooks::Answer;

const TARGET: &str = "4.14.4";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + seconds).unwrap()
}

fn name(text: &str) -> InformerName {
    InformerName::parse(text).unwrap()
}

fn finding(uid: &str, level: Level) -> Finding {
    Finding {
        uid: uid.to_owned(),
        acquired: at(0),
        scope: Scope::default(),
        impact: Impact {
            level,
            impact_type: ImpactType::None,
            summary: format!("{uid} is so"),
            description: None,
        },
        remediation: None,
    }
}

fn success(findings: &[(&str, Level)]) -> Attempt {
    let findings = findings.iter().map(|(uid, level)| finding(uid, *level)).collect();
    Attempt::Answered(Answer::Success(findings))
}

fn wait() -> Attempt {
    let message = "computing".to_owned();
    Attempt::Answered(Answer::Wait { message })
}

/// A plan and its parts, as they are after each decision.
struct World {
    plan: UpdatePlan,
    parts: BTreeMap<InformerName, UpdatePlanInsight>,
    informers: Vec<PlanInformerFacts>,
    cluster: Fact<ReleaseFacts>,
    events: Vec<PlanEvent>,
}

impl World {
    fn new(informers: &[&str]) -> Self {
        let mut plan = UpdatePlan::default();
        plan.metadata.name = Some(plan_name(TARGET));
        plan.metadata.uid = Some("plan".to_owned());
        plan.metadata.generation = Some(1);
        plan.metadata.creation_timestamp = Some(Time(at(0)));
        plan.spec.target_release = TARGET.to_owned();
        let informers = informers.iter().map(|informer| PlanInformerFacts {
            name: name(informer),
            is_enabled: true,
            failure_policy: FailurePolicy::Fail,
            edition: Some("informer/1".to_owned()),
        });
        Self {
            plan,
            parts: BTreeMap::new(),
            informers: informers.collect(),
            cluster: Ok(ReleaseFacts {
                version: "4.14.3".to_owned(),
                ..ReleaseFacts::default()
            }),
            events: Vec::new(),
        }
    }

    /// Decides, writes, and asks whom the decision names.
    fn step(&mut self, now: Timestamp, answer: &dyn Fn(&str) -> Attempt) -> Plan {
        let first = self.decide(&BTreeMap::new(), now);
        self.write(&first);
        let asked = first.ask.iter().map(|informer| {
            let attempt = answer(informer.as_str());
            (informer.clone(), Asked { at: now, attempt })
        });
        let second = self.decide(&asked.collect(), now);
        self.write(&second);
        let settled = self.decide(&BTreeMap::new(), now);
        assert!(settled.parts.is_empty(), "deciding again changes nothing");
        assert_eq!(Some(&settled.status), self.plan.status.as_ref());
        assert!(
            settled.wake.is_some() || !settled.ask.is_empty(),
            "there is always a next moment"
        );
        assert!(settled.wake.is_none_or(|wake| wake > now), "it is still to come");
        Plan {
            ask: first.ask,
            ..second
        }
    }

    /// Has everything asked anew, and its informer find this.
    fn ask_anew(&mut self, found: &[(&'static str, Level)]) {
        let generation = self.plan.metadata.generation.unwrap_or(1) + 1;
        self.plan.metadata.generation = Some(generation);
        let answer = success(found);
        self.step(at(generation * 400), &|_| answer.clone());
    }

    fn decide(&self, asked: &BTreeMap<InformerName, Asked>, now: Timestamp) -> Plan {
        let observed = Observed {
            plan: &self.plan,
            parts: self
                .parts
                .iter()
                .map(|(name, part)| (name.clone(), part))
                .collect(),
            informers: self.informers.clone(),
            cluster: self.cluster.clone(),
        };
        decide(&observed, asked, now)
    }

    fn write(&mut self, plan: &Plan) {
        for (informer, status) in &plan.parts {
            let part = self.parts.entry(informer.clone()).or_default();
            part.spec.target_release = TARGET.to_owned();
            part.spec.update_informer = informer.to_string();
            part.status = Some(status.clone());
        }
        self.events.extend(plan.events.clone());
        self.plan.status = Some(plan.status.clone());
    }

    fn accept(&mut self, informer: &str, uid: &str, level: Level, until: Option<Timestamp>) {
        self.accept_at(informer, uid, level, until, at(0));
    }

    fn accept_at(
        &mut self,
        informer: &str,
        uid: &str,
        level: Level,
        until: Option<Timestamp>,
        accepted_at: Timestamp,
    ) {
        let part = self.parts.get_mut(&name(informer)).unwrap();
        let found = part
            .status
            .as_ref()
            .unwrap()
            .insights
            .iter()
            .find(|found| found.insight.uid.starts_with(uid));
        let accepted = AcceptedInsight {
            uuid: found.unwrap().insight.uuid.clone(),
            level,
            accepted_by: "ann".to_owned(),
            accepted_at: Time(accepted_at),
            reason: None,
            until: until.map(Time),
        };
        // The API server keeps one of each finding.
        let others = |known: &AcceptedInsight| known.uuid != accepted.uuid;
        part.spec.accepted_insights.retain(others);
        part.spec.accepted_insights.push(accepted);
    }

    fn verdict(&self) -> Option<Verdict> {
        self.plan.status.as_ref().unwrap().verdict
    }

    fn startable(&self) -> String {
        let conditions = &self.plan.status.as_ref().unwrap().conditions;
        let startable = find(conditions, condition::STARTABLE).unwrap();
        format!("{} {}", startable.status, startable.reason)
    }

    fn reasons(&self) -> Vec<&'static str> {
        self.events.iter().map(PlanEvent::reason).collect()
    }
}

#[test]
fn a_plan_without_findings_may_start() {
    let mut world = World::new(&["a", "b"]);
    let plan = world.step(at(0), &|_| success(&[("note", Level::Info)]));
    assert_eq!(plan.ask, [name("a"), name("b")]);
    let status = world.plan.status.clone().unwrap();
    assert_eq!(
        (status.phase, status.verdict),
        (Some(PlanPhase::Ready), Some(Verdict::Go))
    );
    assert_eq!(status.counts.unwrap().total, 2);
    assert_eq!(
        (world.startable().as_str(), world.reasons()),
        ("True AsExpected", vec!["PlanJudged"])
    );
    assert!(
        world
            .step(at(3600), &|_| panic!("nobody is asked again"))
            .ask
            .is_empty()
    );
}

/// Who watches a plan that is asked again and again hears of what has changed.
#[test]
fn a_verdict_that_is_the_same_when_all_are_asked_again_is_no_event() {
    let mut world = World::new(&["a"]);
    let mut judged = Vec::new();
    for (generation, level) in [
        (1, Level::Warning),
        (2, Level::Warning),
        (3, Level::Info),
        (4, Level::Info),
    ] {
        world.plan.metadata.generation = Some(generation);
        world.events.clear();
        world.step(at(generation * 600), &|_| success(&[("one", level)]));
        judged.push(world.reasons().contains(&"PlanJudged"));
    }
    assert_eq!(judged, [true, false, true, false]);
}

/// What says that some do not fit in fits in.
#[test]
fn findings_of_before_and_others_of_now_are_no_more_than_an_object_holds() {
    let mut world = World::new(&["a"]);
    for (generation, letter) in [(1, 'a'), (2, 'b'), (3, 'c')] {
        world.plan.metadata.generation = Some(generation);
        let names: Vec<String> = (0..600).map(|number| format!("{letter}{number}")).collect();
        let found: Vec<(&str, Level)> = names.iter().map(|name| (&**name, Level::Warning)).collect();
        world.step(at(generation), &|_| success(&found));
        let insights = &world.parts[&name("a")].status.as_ref().unwrap().insights;
        assert!(insights.len() <= MAX_INSIGHTS, "{}", insights.len());
    }
    assert_eq!(world.verdict(), Some(Verdict::Stop));
}

#[test]
fn findings_hold_it_until_each_is_accepted() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| {
        success(&[("one", Level::Warning), ("two", Level::Critical)])
    });
    assert_eq!(
        (world.verdict(), world.startable().as_str()),
        (Some(Verdict::Stop), "False RisksNotAccepted")
    );
    let status = world.plan.status.as_ref().unwrap();
    assert_eq!(status.reasons[0].summary, "two is so", "the worst first");
    let startable = status.conditions.iter().find(|one| one.type_ == "Startable");
    assert_eq!(
        startable.unwrap().message,
        "findings that nobody has accepted: 2: Critical: two is so; Warning: one is so"
    );
    world.accept("a", "two", Level::Critical, None);
    world.step(at(1), &|_| panic!("nobody is asked"));
    assert_eq!(world.verdict(), Some(Verdict::Stop));
    world.accept("a", "one", Level::Warning, Some(at(100)));
    let plan = world.step(at(2), &|_| panic!("nobody is asked"));
    assert_eq!(
        (world.verdict(), world.startable().as_str()),
        (Some(Verdict::Caution), "True Caution")
    );
    assert_eq!(plan.wake, Some(at(100)), "when the acceptance ends");
    world.step(at(100), &|_| panic!("nobody is asked"));
    assert_eq!(world.verdict(), Some(Verdict::Stop));
    assert!(world.reasons().contains(&"RiskNoLongerAccepted"));
}

#[test]
fn who_says_wait_is_asked_every_five_seconds_for_two_minutes() {
    let mut world = World::new(&["a"]);
    let mut now = at(0);
    let mut asked = 0;
    while now < at(120) {
        let plan = world.step(now, &|_| wait());
        asked += plan.ask.len();
        let status = world.plan.status.as_ref().unwrap();
        assert_eq!(
            (status.phase, status.verdict),
            (Some(PlanPhase::Collecting), None)
        );
        assert_eq!(world.startable(), "False Collecting");
        assert_eq!(plan.wake, now.checked_add(SignedDuration::from_secs(5)).ok());
        now = plan.wake.unwrap();
    }
    assert_eq!(asked, 24);
    world.step(now, &|_| wait());
    let part = world.parts[&name("a")].status.as_ref().unwrap();
    assert_eq!(part.state, InformerState::Unavailable);
    assert_eq!(
        (world.verdict(), world.plan.status.as_ref().unwrap().phase),
        (Some(Verdict::Stop), Some(PlanPhase::Failed))
    );
    world.accept("a", "informer-unavailable", Level::Unknown, None);
    let plan = world.step(at(121), &|_| panic!("not yet"));
    assert_eq!(
        (world.verdict(), plan.wake),
        (Some(Verdict::Caution), Some(at(420)))
    );
    world.step(at(420), &|_| success(&[]));
    assert_eq!(world.verdict(), Some(Verdict::Go));
}

#[test]
fn an_informer_whose_failures_are_ignored_does_not_hold_but_cautions() {
    let mut world = World::new(&["a"]);
    world.informers[0].failure_policy = FailurePolicy::Ignore;
    world.step(at(0), &|_| Attempt::Unavailable("no route".to_owned()));
    assert_eq!(world.verdict(), Some(Verdict::Caution));
}

#[test]
fn no_finding_is_lost_when_an_informer_has_restarted() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    world.plan.metadata.generation = Some(2);
    let plan = world.step(at(10), &|_| success(&[]));
    assert_eq!((world.verdict(), plan.wake), (Some(Verdict::Stop), Some(at(70))));
    world.plan.metadata.generation = Some(3);
    world.step(at(20), &|_| Attempt::Unavailable("down".to_owned()));
    assert_eq!(
        world
            .plan
            .status
            .as_ref()
            .unwrap()
            .counts
            .as_ref()
            .unwrap()
            .unaccepted,
        2
    );
    world.step(at(320), &|_| success(&[]));
    assert_eq!(
        world.verdict(),
        Some(Verdict::Go),
        "it was first missing five minutes ago"
    );
}

#[test]
fn an_informer_that_is_switched_off_neither_holds_nor_is_asked() {
    let mut world = World::new(&["a", "b"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    world.informers[0].is_enabled = false;
    world.step(at(1), &|_| panic!("nobody is asked"));
    let counts = world.plan.status.as_ref().unwrap().counts.clone().unwrap();
    assert_eq!(
        (
            counts.total,
            world.parts[&name("a")].status.as_ref().unwrap().state
        ),
        (1, InformerState::Disabled)
    );
    world.informers[0].is_enabled = true;
    assert_eq!(
        world.step(at(2), &|_| success(&[("one", Level::Warning)])).ask,
        [name("a")]
    );
}

#[test]
fn what_an_informer_has_found_that_is_gone_is_gone_and_its_acceptance_waits_for_it() {
    let mut world = World::new(&["a", "b"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    let gone = world.informers.remove(0);
    world.step(at(1), &|_| panic!("nobody is asked"));
    let part = world.parts[&name("a")].status.clone().unwrap();
    assert_eq!(part.state, InformerState::Disabled);
    let status = world.plan.status.clone().unwrap();
    assert_eq!(status.counts.unwrap().total, 1);
    assert!(status.informers.iter().all(|informer| informer.name != "a"));
    world.informers.insert(0, gone);
    let back = world.step(at(2), &|_| success(&[("one", Level::Warning)]));
    assert_eq!(back.ask, [name("a")]);
    assert_eq!(world.plan.status.unwrap().counts.unwrap().total, 2);
}

/// Who has accepted that it does not answer has seen what it had found, and that this is held.
#[test]
fn what_an_informer_has_found_holds_that_does_not_answer_when_it_comes_back() {
    let down = |_: &str| Attempt::Unavailable("down".to_owned());
    let away: [fn(&mut World); 2] = [
        |world| {
            let gone = world.informers.remove(0);
            world.step(at(2), &|_| panic!("nobody is asked"));
            world.informers.insert(0, gone);
        },
        |world| {
            world.informers[0].is_enabled = false;
            world.step(at(2), &|_| panic!("nobody is asked"));
            world.informers[0].is_enabled = true;
        },
    ];
    for goes_and_comes in away {
        let mut world = World::new(&["a"]);
        world.step(at(0), &|_| success(&[("one", Level::Critical)]));
        let first_seen = |world: &World| {
            let part = world.parts[&name("a")].status.clone().unwrap();
            let mut found = part.insights.into_iter().map(|found| found.insight);
            found
                .find(|insight| insight.uid == "one")
                .map(|insight| insight.first_seen.0)
        };
        world.plan.metadata.generation = Some(2);
        world.step(at(1), &down);
        goes_and_comes(&mut world);
        world.step(at(3), &down);
        let counts = world.plan.status.as_ref().unwrap().counts.clone().unwrap();
        assert_eq!((counts.unaccepted, first_seen(&world)), (2, Some(at(0))));
        world.plan.metadata.generation = Some(3);
        world.step(at(300), &|_| success(&[]));
        world.step(at(400), &|_| success(&[]));
        assert_eq!(world.verdict(), Some(Verdict::Go));
    }
}

#[test]
fn everything_is_asked_anew_after_a_day_and_for_another_version() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[]));
    assert_eq!(world.step(at(86_400), &|_| success(&[])).ask.len(), 1);
    world.cluster.as_mut().unwrap().version = "4.14.2".to_owned();
    assert_eq!(world.step(at(86_401), &|_| success(&[])).ask.len(), 1);
    world.cluster = Err(Unread::Failed("refused".to_owned()));
    assert!(
        world
            .step(at(86_402), &|_| panic!("the same version, as far as is known"))
            .ask
            .is_empty()
    );
    assert_eq!(world.startable(), "False CannotDetermine");
}

#[test]
fn a_plan_whose_update_has_begun_stays_as_it_was() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    let cluster = world.cluster.as_mut().unwrap();
    cluster.active_target = Some(TARGET.to_owned());
    world.plan.metadata.generation = Some(2);
    // It is requested, and may be refused yet.
    let plan = world.step(at(1), &|_| success(&[("one", Level::Warning)]));
    assert_eq!(
        (plan.status.phase, plan.status.verdict),
        (Some(PlanPhase::Ready), Some(Verdict::Stop))
    );
    world.cluster.as_mut().unwrap().has_begun = true;
    world.plan.metadata.generation = Some(3);
    let plan = world.step(at(2), &|_| panic!("nobody is asked"));
    assert_eq!(plan.status.phase, Some(PlanPhase::Stale));
    assert_eq!(plan.status.counts.unwrap().total, 1);
}

#[test]
fn what_does_not_fit_in_has_to_be_accepted_for_what_it_is() {
    let mut world = World::new(&["a"]);
    let many = |uids: std::ops::Range<usize>| {
        let findings = uids.map(|index| {
            let mut finding = finding(&format!("u{index}"), Level::Warning);
            finding.impact.description = Some("x".repeat(4000));
            finding
        });
        Attempt::Answered(Answer::Success(findings.collect()))
    };
    world.step(at(0), &|_| many(0..300));
    let notice = |world: &World| {
        let part = world.parts[&name("a")].status.clone().unwrap();
        assert!(part.dropped.unwrap() > 0);
        let found = part
            .insights
            .into_iter()
            .find(|found| found.insight.uid.starts_with("insights-truncated"));
        found.unwrap().insight.uuid
    };
    let before = notice(&world);
    world.plan.metadata.generation = Some(2);
    world.step(at(10), &|_| many(0..301));
    assert_ne!(before, notice(&world));
}

/// What says that findings are left out has a place of its own: it is not left out with the next decision, under another name each time.
#[test]
fn what_is_left_out_is_settled_however_little_room_is_left() {
    for length in (0..700).step_by(61) {
        let mut world = World::new(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
        let many = (0..400).map(|index| {
            let mut finding = finding(&format!("u{index:03}"), Level::Warning);
            finding.impact.description = Some("x".repeat(300 + length));
            finding
        });
        let many: Vec<Finding> = many.collect();
        world.step(at(0), &|_| Attempt::Answered(Answer::Success(many.clone())));
        assert!(world.parts[&name("a")].status.as_ref().unwrap().dropped.is_some());
    }
}

#[test]
fn one_that_is_switched_on_again_is_awaited() {
    let mut world = World::new(&["a"]);
    world.informers[0].is_enabled = false;
    world.step(at(0), &|_| panic!("nobody is asked"));
    world.informers[0].is_enabled = true;
    let plan = world.decide(&BTreeMap::new(), at(10));
    assert_eq!(plan.ask, [name("a")]);
    assert_ne!(plan.status.verdict, Some(Verdict::Go), "it has not answered yet");
}

#[test]
fn asking_one_informer_anew_makes_the_answers_of_others_no_newer() {
    let mut world = World::new(&["mco", "etcd"]);
    world.step(at(0), &|_| success(&[]));
    let collected = |world: &World| world.plan.status.clone().unwrap().collected_at;
    assert_eq!(collected(&world), Some(Time(at(0))));
    world.informers[0].is_enabled = false;
    world.step(at(3600), &|_| success(&[]));
    world.informers[0].is_enabled = true;
    world.step(at(7200), &|_| success(&[]));
    assert_eq!(world.plan.status.clone().unwrap().phase, Some(PlanPhase::Ready));
    assert_eq!(
        collected(&world),
        Some(Time(at(0))),
        "etcd answered two hours ago"
    );
}

/// What the plan says is of a clock that has been set back since, by itself or because the agent runs elsewhere.
#[test]
fn what_was_asked_in_the_future_is_asked_anew() {
    let ahead = |time: &mut Option<Time>| *time = Some(Time(at(100)));
    for (is_of_part, is_of_plan) in [(true, false), (false, true), (true, true)] {
        let mut world = World::new(&["a"]);
        world.step(at(0), &|_| success(&[]));
        assert_eq!(world.verdict(), Some(Verdict::Go));
        if is_of_part {
            let part = world.parts.get_mut(&name("a")).unwrap().status.as_mut().unwrap();
            ahead(&mut part.last_attempt);
            ahead(&mut part.last_success);
        }
        if is_of_plan {
            let status = world.plan.status.as_mut().unwrap();
            ahead(&mut status.collecting_since);
            ahead(&mut status.collected_at);
        }
        world.plan.metadata.generation = Some(2);
        let plan = world.step(at(20), &|_| success(&[("one", Level::Critical)]));
        assert_eq!(plan.ask, [name("a")], "{is_of_part} {is_of_plan}");
        assert_eq!(world.verdict(), Some(Verdict::Stop));
        let collected = world.plan.status.as_ref().unwrap().collected_at.clone();
        assert_eq!(collected, Some(Time(at(20))));
    }
}

#[test]
fn names_are_those_that_the_definitions_ask_for() {
    assert_eq!(plan_name("4.14.4-RC.1+b"), "update-plan-4.14.4-rc.1.b");
    let own = InformerName::built_in("alerts");
    assert_eq!(part_name("4.14.4", &own), "update-plan-4.14.4.drydock.alerts");
}

/// Nobody looks again and again at a plan that is kept although it is old.
#[test]
fn a_plan_that_is_kept_after_its_update_wakes_nobody() {
    for (version, active) in [("4.14.3", Some(TARGET)), (TARGET, None)] {
        let mut world = World::new(&[]);
        world.cluster = Ok(ReleaseFacts {
            version: version.to_owned(),
            active_target: active.map(str::to_owned),
            has_begun: active.is_some(),
            ..ReleaseFacts::default()
        });
        let day = i64::from(24 * 60 * 60);
        for now in [at(60), at(day), at(day + 1), at(3 * day)] {
            let plan = world.decide(&BTreeMap::new(), now);
            assert!(plan.wake.is_none_or(|wake| wake > now), "{version} {now}");
        }
    }
}

/// What is found is about a request instead of another one, or about one where nothing was requested.
#[test]
fn what_else_is_requested_of_the_cluster_has_everything_asked_anew() {
    let mut world = World::new(&["mco"]);
    let request = |world: &mut World, requested: Option<&str>| {
        world.cluster = Ok(ReleaseFacts {
            version: "4.14.3".to_owned(),
            requested: requested.map(str::to_owned),
            ..ReleaseFacts::default()
        });
    };
    let answer = |_: &str| Attempt::Answered(Answer::Success(Vec::new()));
    for (seconds, requested, is_asked) in [
        (0, None, true),
        (10, None, false),
        (20, Some("4.14.9"), true),
        (30, Some("4.14.9"), false),
        (40, Some("4.14.8"), true),
        // The plan's own.
        (50, Some(TARGET), true),
        (60, None, false),
    ] {
        request(&mut world, requested);
        let plan = world.step(at(seconds), &answer);
        assert_eq!(!plan.ask.is_empty(), is_asked, "{seconds} {requested:?}");
    }
}

/// Who edits an informer may have it asked elsewhere, or have it hold what it let pass: what it answered before counts no more.
#[test]
fn an_informer_that_is_edited_is_asked_anew() {
    let mut world = World::new(&["mco"]);
    let silent = |_: &str| Attempt::Unavailable("no route".to_owned());
    world.informers[0].failure_policy = FailurePolicy::Ignore;
    world.step(at(0), &silent);
    assert_eq!(
        world.plan.status.as_ref().unwrap().verdict,
        Some(Verdict::Caution)
    );
    world.informers[0].failure_policy = FailurePolicy::Fail;
    world.informers[0].edition = Some("informer/2".to_owned());
    let first = world.decide(&BTreeMap::new(), at(10));
    assert_eq!(first.ask, [name("mco")]);
    assert_eq!(
        first.status.phase,
        Some(PlanPhase::Collecting),
        "nobody starts by it meanwhile"
    );
    world.step(at(10), &silent);
    assert_eq!(world.plan.status.as_ref().unwrap().verdict, Some(Verdict::Stop));
    assert!(world.decide(&BTreeMap::new(), at(20)).ask.is_empty());
    // One of the same name that was created anew.
    world.informers[0].edition = Some("another/1".to_owned());
    assert_eq!(world.decide(&BTreeMap::new(), at(30)).ask, [name("mco")]);
}
