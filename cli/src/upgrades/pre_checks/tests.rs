//! What `pre-checks` shows, of answers that are made up.

use super::*;
use drydock_rollout::{AcceptedBy, AnswerSource, Finding, FindingAcceptance, FindingLevel, PreCheckAnswer};

fn finding(uuid: &str, level: FindingLevel, summary: &str, acceptance: FindingAcceptance) -> Finding {
    Finding {
        uuid: Some(uuid.into()),
        informer: "mco".into(),
        uid: None,
        level,
        summary: summary.into(),
        impact: "Update Stalled".into(),
        remedy: "unpause it".into(),
        acceptance,
        accepted_by: None,
    }
}

fn answered(findings: Vec<Finding>, unaccepted: usize) -> ClusterPreChecks {
    ClusterPreChecks {
        asked: true,
        answer: Some(PreCheckAnswer {
            source: AnswerSource::Agent {
                collected_at: jiff::Timestamp::UNIX_EPOCH,
                stops: unaccepted > 0,
                unaccepted,
            },
            findings: findings.into(),
        }),
        ..ClusterPreChecks::default()
    }
}

/// All of them may be held.
fn all_of(checks: BTreeMap<ClusterName, ClusterPreChecks>) -> Found {
    Found {
        has_target: true,
        to_be_asked: BTreeSet::new(),
        may_be_held: checks.keys().cloned().collect(),
        held_by_agent: BTreeSet::new(),
        checks,
    }
}

fn fleet() -> BTreeMap<ClusterName, ClusterPreChecks> {
    let budget = |accepted| {
        finding(
            "b",
            FindingLevel::Warning,
            "budget monitoring/prometheus allows no eviction",
            accepted,
        )
    };
    let paused = finding(
        "p",
        FindingLevel::Error,
        "pool worker is paused\u{1b}[31m",
        FindingAcceptance::None,
    );
    BTreeMap::from([
        ("c1".into(), answered(vec![budget(FindingAcceptance::None)], 1)),
        (
            "c2".into(),
            answered(vec![budget(FindingAcceptance::Accepted)], 0),
        ),
        (
            "c3".into(),
            answered(vec![paused, budget(FindingAcceptance::None)], 7),
        ),
        (
            "c4".into(),
            ClusterPreChecks {
                asked: true,
                ..ClusterPreChecks::default()
            },
        ),
    ])
}

#[test]
fn findings_are_grouped_over_the_fleet_the_worst_first() {
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "spring", "namespace": "hub"},
        "spec": {
            "clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": "Require"},
        },
    }))
    .unwrap();
    let shown = FleetView::of(&upgrade, &all_of(fleet()));
    assert_eq!((shown.asked, shown.answered, shown.held), (4, 3, 2));
    let of = |finding: &FleetFinding| (finding.level, finding.clusters.len(), finding.holds);
    let grouped: Vec<_> = shown.findings.iter().map(of).collect();
    assert_eq!(grouped, [("Error", 1, 1), ("Warning", 3, 2)]);
    let text = shown.text(false);
    assert!(
        text.contains("2 clusters have findings that are not accepted: such a cluster does not start."),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
    // What has started is held by nothing that it has found.
    let shown = FleetView::of(
        &upgrade,
        &Found {
            may_be_held: ["c1".into(), "c2".into()].into(),
            ..all_of(fleet())
        },
    );
    let grouped: Vec<_> = shown.findings.iter().map(of).collect();
    assert_eq!(
        (shown.held, grouped),
        (1, vec![("Warning", 3, 1), ("Error", 1, 0)])
    );
}

#[test]
fn what_agents_hold_that_have_begun_is_counted_apart() {
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "spring", "namespace": "hub"},
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}},
    }))
    .unwrap();
    let all = Found {
        held_by_agent: ["c3".into()].into(),
        ..all_of(fleet())
    };
    let shown = FleetView::of(&upgrade, &all);
    assert_eq!((shown.held, &*shown.held_by_agent), (1, &["c3".to_owned()][..]));
    let text = shown.text(false);
    for words in [
        "1 cluster has been started, and its agent waits for findings that are not accepted (checkUpdatePlan): c3",
        "1 cluster has findings that are not accepted: such a cluster starts nevertheless.",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn the_hub_accepts_by_the_rule_of_the_agent() {
    use drydock_api::insights::Level;
    use drydock_insights::plan::acceptance::covers;

    let level = |level: FindingLevel| Level::parse(level.as_str());
    for accepted in FindingLevel::ALL {
        for found in FindingLevel::ALL {
            let agents = covers(level(accepted), level(found));
            assert_eq!(accepted.covers(found), agents, "{accepted} {found}");
        }
    }
}

/// What the hub calls the first finding of a cluster without the agent, of which this is fed back.
fn called_by_hub(target: &str, image: &str, said: &[(&str, &str)]) -> String {
    let value = |(name, text): &(&str, &str)| serde_json::json!({"name": name, "fieldValue": {"type": "String", "string": text}});
    let question = serde_json::json!({"target": target, "image": image, "asksAgent": false, "askedAt": "2026-01-05T08:00:00Z"});
    let mark = format!("read-for-{target}-at-1767600000");
    let read = [("version", "4.14.9"), (&*mark, "version"), ("offered", target)];
    let values: Vec<_> = read.iter().chain(said).map(value).collect();
    let work = serde_json::json!({
        "metadata": {"name": "c1-pre-checks-0", "namespace": "c1", "annotations": {"drydock.dev/question": question.to_string()}},
        "status": {"resourceStatus": {"manifests": [{
            "resourceMeta": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
            "statusFeedback": {"values": values},
        }]}},
    });
    let work = serde_json::from_value(work).unwrap();
    let digest = drydock_objects::works::pre_checks::digest(&work).unwrap();
    let uuid = digest.work.answer.current().unwrap().findings[0].uuid.clone();
    uuid.unwrap().to_string()
}

/// What the agent calls a finding of a cluster whose ClusterVersion has these conditions.
fn called_by_agent(target: &str, image: &str, uid: &str, conditions: &serde_json::Value) -> String {
    use drydock_insights::built_in::{BuiltIn, BuiltInFacts, PlannedRelease, Question};
    use drydock_insights::hooks::Answer;
    use drydock_insights::merge::Attempt;

    let cluster = serde_json::json!({
        "metadata": {"name": "version"},
        "status": {
            "history": [{"state": "Completed", "version": "4.14.9"}], "desired": {"version": "4.14.9"},
            "availableUpdates": [{"version": target, "image": "a"}], "conditions": conditions,
        },
    });
    let facts = BuiltInFacts::of(Ok(serde_json::from_value(cluster).unwrap()));
    let informer = BuiltIn::ClusterVersion;
    let image = Some(image).filter(|image| !image.is_empty());
    let question = Question::Plan(PlannedRelease {
        version: target,
        image,
        is_multi: false,
    });
    let attempt = informer.attempt(&facts, question, jiff::Timestamp::UNIX_EPOCH);
    let Attempt::Answered(Answer::Success(found)) = attempt else {
        panic!("it has an answer");
    };
    let found = found.into_iter().find(|found| found.uid == uid);
    found.unwrap().uuid(&informer.name())
}

const IDLE: (&str, &str) = ("progressing", "False");
const AVAILABLE: (&str, &str) = ("available", "True");
const NOT_FAILING: (&str, &str) = ("failing", "False");

fn condition(type_: &str, status: &str) -> serde_json::Value {
    serde_json::json!({"type": type_, "status": status})
}

/// Conditions of a cluster of which is well what is not said otherwise.
fn conditions(said: &[serde_json::Value]) -> serde_json::Value {
    let well = [
        ("Failing", "False"),
        ("Progressing", "False"),
        ("Available", "True"),
    ];
    let well = well.map(|(type_, status)| condition(type_, status));
    let others = well
        .into_iter()
        .filter(|one| said.iter().all(|other| other["type"] != one["type"]));
    others.chain(said.iter().cloned()).collect()
}

#[test]
fn the_hub_calls_findings_as_the_agent_does() {
    let said = |type_: &str, status: &str| serde_json::json!({"type": type_, "status": status, "reason": "Why", "message": "who"});
    for (uid, fed_back, of_agent) in [
        (
            "failing",
            vec![("failing", "True"), IDLE, AVAILABLE],
            condition("Failing", "True"),
        ),
        (
            "failing",
            vec![("failing", "True"), ("failingMessage", "who"), IDLE, AVAILABLE],
            said("Failing", "True"),
        ),
        (
            "cluster-unavailable",
            vec![
                NOT_FAILING,
                IDLE,
                ("available", "False"),
                ("availableReason", "Why"),
            ],
            said("Available", "False"),
        ),
        (
            "update-invalid",
            vec![
                NOT_FAILING,
                IDLE,
                AVAILABLE,
                ("invalid", "True"),
                ("invalidReason", "Why"),
            ],
            said("Invalid", "True"),
        ),
        (
            "release-not-accepted",
            vec![
                NOT_FAILING,
                IDLE,
                AVAILABLE,
                ("accepted", "False"),
                ("acceptedReason", "Why"),
            ],
            said("ReleaseAccepted", "False"),
        ),
        (
            "update-in-progress",
            vec![
                NOT_FAILING,
                ("progressing", "True"),
                ("desired", "4.14.9"),
                AVAILABLE,
            ],
            condition("Progressing", "True"),
        ),
    ] {
        assert_eq!(
            called_by_hub("4.14.12", "", &fed_back),
            called_by_agent("4.14.12", "", uid, &conditions(&[of_agent])),
            "{uid}"
        );
    }
}

#[test]
fn the_hub_calls_what_holds_minor_updates_and_other_images_as_the_agent_does() {
    for (reason, message, uid) in [
        ("PoolUpdating", "pool m is updating", "not-upgradeable"),
        ("MultipleReasons", "", "not-upgradeable"),
        (
            "AdminAckRequired",
            "ack-4.14, see https://a",
            "admin-ack-required",
        ),
    ] {
        let fed_back = [
            NOT_FAILING,
            IDLE,
            AVAILABLE,
            ("upgradeable", "False"),
            ("upgradeableReason", reason),
            ("upgradeableMessage", message),
        ];
        let held = serde_json::json!({"type": "Upgradeable", "status": "False", "reason": reason, "message": message});
        assert_eq!(
            called_by_hub("4.15.0", "", &fed_back),
            called_by_agent("4.15.0", "", uid, &conditions(&[held])),
            "{reason}"
        );
    }
    let image = "mirror.example/r@sha256:b";
    let fed_back = [NOT_FAILING, IDLE, AVAILABLE, ("offeredImage", "a")];
    assert_eq!(
        called_by_hub("4.14.12", image, &fed_back),
        called_by_agent("4.14.12", image, "not-offered", &conditions(&[]))
    );
}

#[test]
fn an_acceptance_that_counts_no_more_is_said_with_its_finding() {
    let expired = finding("e", FindingLevel::Warning, "budget a", FindingAcceptance::Expired);
    let worse = finding(
        "w",
        FindingLevel::Error,
        "budget b",
        FindingAcceptance::LevelRaised,
    );
    let view = ClusterView::of(&"c1".into(), &answered(vec![expired, worse], 2), None, "spring");
    let text = view.text();
    assert!(!text.contains("= Accepted ="), "{text}");
    assert!(
        text.contains("  Acceptance:     accepted for a time that is over\n"),
        "{text}"
    );
    assert!(
        text.contains("  Acceptance:     beyond what was accepted, now or before\n"),
        "{text}"
    );
    let json = serde_json::to_value(&view).unwrap();
    assert_eq!(json["findings"][0]["acceptance"], "Expired");
    let mut known = finding("e", FindingLevel::Warning, "budget a", FindingAcceptance::Expired);
    known.accepted_by = Some(AcceptedBy {
        user: "ann".into(),
        reason: "known".into(),
        until: None,
    });
    let text = ClusterView::of(&"c1".into(), &answered(vec![known], 1), None, "spring").text();
    assert!(
        text.contains("  Acceptance:     accepted for a time that is over; by ann: known\n"),
        "{text}"
    );
}

#[test]
fn of_one_cluster_it_says_what_is_not_listed() {
    let fleet = fleet();
    let text =
        |name: &str| ClusterView::of(&name.into(), &fleet[&ClusterName::from(name)], None, "spring").text();
    let third = text("c3");
    assert!(
        third.starts_with("c3: 7 findings are not accepted (its agent answered at 1970-01-01T00:00:00Z)\n"),
        "{third}"
    );
    assert!(third.contains("5 more are not listed here"), "{third}");
    assert!(
        third.contains(
            "\nWarning (Update Stalled): budget monitoring/prometheus allows no eviction\n  Reported by:    mco\n  Remedy:         unpause it\n  UUID:           b\n"
        ),
        "{third}"
    );
    assert!(text("c2").contains("= Accepted ="));
    assert_eq!(text("c4"), "c4: it has not answered\n");
}

/// That nobody is asked is no good news, and after the end of an upgrade no bad news.
#[test]
fn who_asks_nobody_does_not_hear_that_all_is_well() {
    let found = BTreeMap::from([("c1".into(), ClusterPreChecks::default())]);
    for (mode, why) in [
        ("Off", "what would be found is not known"),
        ("Report", "a cluster is asked before it starts"),
    ] {
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "spring", "namespace": "hub"},
            "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": mode}},
        }))
        .unwrap();
        assert_eq!(
            FleetView::of(&upgrade, &all_of(found.clone())).text(false),
            format!(
                "hub/spring: 0 of 0 clusters that are asked have answered (preChecks.mode {mode})\nNobody is asked now: {why}.\n"
            )
        );
    }
}

/// Another upgrade asks its agent now: what the cluster answered before is in the status alone.
#[test]
fn a_cluster_that_is_held_by_what_it_answered_before_is_said_and_why() {
    let held = "2 findings are not accepted: Critical: Alert is firing: OtherThing";
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "spring", "namespace": "hub"},
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": "Require"}},
        "status": {"clusters": [
            {"name": "c1", "state": "NotStarted", "reason": "RisksNotAccepted", "message": held},
            {"name": "c2", "state": "NotStarted", "reason": "RisksNotAccepted", "message": held},
        ]},
    }))
    .unwrap();
    let asked = ClusterPreChecks {
        asked: true,
        ..ClusterPreChecks::default()
    };
    let found = BTreeMap::from([("c1".into(), asked), ("c2".into(), answered(Vec::new(), 2))]);
    let text = FleetView::of(&upgrade, &all_of(found.clone())).text(false);
    assert!(text.contains(&format!("  c1: {held}\n")), "{text}");
    assert!(!text.contains("c2"), "it has answered what it is asked: {text}");
}

/// Whoever looks in the moment after an upgrade was applied knows nothing of its clusters.
#[test]
fn who_has_not_been_asked_may_be_held_where_an_answer_is_required() {
    let asked = ClusterPreChecks {
        asked: true,
        ..ClusterPreChecks::default()
    };
    let blank = ClusterPreChecks::default;
    let unasked = ClusterPreChecks {
        is_unasked: true,
        ..blank()
    };
    for (checks, has_target, is_to_be_asked, is_awaited) in [
        (None, true, false, true),
        (None, false, false, false),
        (Some(blank()), true, true, true),
        // It waits for something else.
        (Some(blank()), true, false, false),
        (Some(asked), true, false, true),
        (Some(unasked), true, false, true),
        (Some(answered(Vec::new(), 0)), true, false, false),
    ] {
        let name = || ClusterName::from("c1");
        let found = Found {
            checks: checks.into_iter().map(|checks| (name(), checks)).collect(),
            has_target,
            to_be_asked: is_to_be_asked.then(name).into_iter().collect(),
            may_be_held: [name()].into(),
            held_by_agent: BTreeSet::new(),
        };
        assert_eq!(
            found.is_any_awaited(),
            is_awaited,
            "{has_target} {is_to_be_asked}"
        );
    }
}

/// One of two has answered, and something else keeps the other from being asked: that one has nothing is not all.
#[test]
fn clusters_that_are_not_asked_yet_are_said() {
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "spring", "namespace": "hub"},
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": "Require"}},
    }))
    .unwrap();
    let unasked = ClusterPreChecks {
        is_unasked: true,
        ..ClusterPreChecks::default()
    };
    let found = BTreeMap::from([
        ("c1".into(), answered(Vec::new(), 0)),
        ("c2".into(), unasked.clone()),
    ]);
    let shown = FleetView::of(&upgrade, &all_of(found.clone()));
    assert_eq!(
        shown.text(false),
        "hub/spring: 1 of 1 clusters that are asked have answered, the first of them at 1970-01-01T00:00:00Z (preChecks.mode \
         Require)\n1 cluster is not asked now, for something \
         else keeps it from starting: c2\nNo cluster that has answered has a finding that is not accepted.\n"
    );
    assert_eq!(
        serde_json::to_value(&shown).unwrap()["notAsked"],
        serde_json::json!(["c2"])
    );
    let of_one = ClusterView::of(&"c2".into(), &unasked, None, "spring").text();
    assert!(
        of_one.contains("kubectl drydock clusters spring says what"),
        "{of_one}"
    );
    // What it has found before does not hold it meanwhile: something else does.
    let before = finding("b", FindingLevel::Error, "bad", FindingAcceptance::None);
    let before = ClusterPreChecks {
        is_unasked: true,
        ..answered(vec![before], 1)
    };
    let found = BTreeMap::from([("c1".into(), answered(Vec::new(), 0)), ("c2".into(), before)]);
    let shown = FleetView::of(&upgrade, &all_of(found.clone()));
    let found = &shown.findings[0];
    assert_eq!((shown.held, found.holds, found.unaccepted), (0, 0, 1));
    assert!(
        shown
            .text(false)
            .contains("No cluster is held by what it is asked now")
    );
}

#[test]
fn a_cluster_that_could_not_be_asked_is_said_and_why() {
    let refused = "the cluster could not be asked for its pre-checks: namespaces \"ext1\" not found";
    let entry = |name: &str, reason: &str| serde_json::json!({"name": name, "state": "NotStarted", "reason": reason, "message": refused});
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "spring", "namespace": "hub"},
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.14.12"}, "preChecks": {"mode": "Require"}},
        "status": {"clusters": [entry("ext1", "PreChecksUnanswered"), entry("ext2", "NotAvailable")]},
    }))
    .unwrap();
    let found = BTreeMap::from([("ext1".into(), ClusterPreChecks::default())]);
    let shown = FleetView::of(&upgrade, &all_of(found.clone()));
    assert_eq!(shown.all_unanswered(), 1);
    assert_eq!(
        shown.text(false),
        format!(
            "hub/spring: 0 of 0 clusters that are asked have answered (preChecks.mode Require)\n1 cluster does not start, for it has not \
             answered what it is asked now:\n  ext1: {refused}\nNo cluster that has answered has a finding that is not accepted.\n"
        )
    );
    let of_one = ClusterView::of(
        &"ext1".into(),
        &found[&ClusterName::from("ext1")],
        unanswered(&upgrade, &found)
            .get(&ClusterName::from("ext1"))
            .map(String::as_str),
        "spring",
    );
    assert!(of_one.holds);
    assert_eq!(of_one.text(), format!("ext1: {refused}\n"));
}
