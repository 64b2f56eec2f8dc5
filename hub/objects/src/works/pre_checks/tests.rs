use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_rollout::{
    AnswerSource, EndedOn, FindingLevel, KnownAnswer, PreCheckAnswer, PreCheckQuestion, PreCheckWork, Target,
};

use super::answer::*;
use super::*;
use crate::works::PartialManifestWork;

mod cluster_version;

const ASKED: &str = "2026-01-05T08:00:00Z";
const UUID: &str = "0123456789abcdef0123456789abcdef";
/// The name of the value that says that ClusterVersion was read since.
const READ: &str = "read-for-4.14.12-at-1767600000";

/// What a cluster says that is well.
const WELL: [(&str, &str); 3] = [
    ("failing", "False"),
    ("progressing", "False"),
    ("available", "True"),
];

fn upgrade() -> UpgradeKey {
    UpgradeKey::new("hub", "spring")
}

fn ask(version: Option<&str>, asks_agent: bool, accepted: Vec<RiskAcceptance>) -> PreCheckAsk {
    let target = Target {
        version: version.map(|version| version.parse().unwrap()),
        image: version.is_none().then(|| "registry/release@sha256:0".to_owned()),
        ..Target::default()
    };
    PreCheckAsk {
        cluster: ClusterName::from("c01"),
        question: PreCheckQuestion {
            target: target.to_string().into(),
            asks_agent,
            accepted: Arc::default(),
            asked_for: "hub/spring".into(),
            image: target.image.clone().unwrap_or_default().into(),
            form: PreCheckQuestion::FORM,
            yields: false,
            asked_at: ASKED.parse().unwrap(),
        },
        target,
        accepted,
    }
}

fn built(ask: &PreCheckAsk) -> Value {
    build(&upgrade(), &Uid::new("u1"), ask)
}

fn value(name: &str, value: &str) -> Value {
    json!({"name": name, "fieldValue": {"type": "String", "string": value}})
}

/// What a work says whose objects feed back these values.
fn read_work(ask: &PreCheckAsk, plan: Option<&[(&str, &str)]>, cluster: &[(&str, &str)]) -> PreCheckWork {
    let mut work = built(ask);
    let values =
        |all: &[(&str, &str)]| -> Vec<Value> { all.iter().map(|(name, text)| value(name, text)).collect() };
    let mut manifests = vec![json!({
        "resourceMeta": {"group": GROUP, "resource": "clusterversions", "kind": "ClusterVersion", "name": "version"},
        "statusFeedback": {"values": values(cluster)}, "conditions": [],
    })];
    if let Some(plan) = plan {
        let version = ask.target.version.as_ref().unwrap();
        manifests.push(json!({
            "resourceMeta": {"group": GROUP, "resource": PLANS, "kind": "UpdatePlan", "name": plan_name(version)},
            "statusFeedback": {"values": values(plan)}, "conditions": [],
        }));
    }
    work["status"] = json!({"conditions": [], "resourceStatus": {"manifests": manifests}});
    read_value(work)
}

fn read_value(work: Value) -> PreCheckWork {
    let work: PartialManifestWork = serde_json::from_value(work).unwrap();
    (*digest(&work).unwrap().work).clone()
}

const GO: [(&str, &str); 7] = [
    ("generation", "1"),
    ("observedGeneration", "1"),
    ("asked", ASKED),
    ("askedFor", "hub/spring"),
    ("collectedAt", "2026-01-05T08:01:00Z"),
    ("verdict", "Go"),
    ("unaccepted", "0"),
];

fn but(values: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let is_other = |(name, _): &&(&str, &str)| values.iter().all(|(other, _)| other != name);
    GO.iter().filter(is_other).chain(values).copied().collect()
}

#[test]
fn the_plan_is_named_as_the_api_server_requires_and_cluster_version_is_never_deleted() {
    let work = built(&ask(Some("4.15.0-RC.1+Build"), true, Vec::new()));
    let manifests = work["spec"]["workload"]["manifests"].as_array().unwrap();
    let plan = &manifests[2];
    assert_eq!(plan["metadata"]["name"], "update-plan-4.15.0-rc.1.build");
    assert_eq!(
        plan["spec"],
        json!({"targetRelease": "4.15.0-RC.1+Build", "refreshRequestedAt": ASKED, "askedFor": "hub/spring", "targetImage": ""})
    );
    assert_eq!(
        work["spec"]["manifestConfigs"][0]["updateStrategy"]["type"],
        "ReadOnly"
    );
    let orphaned = &work["spec"]["deleteOption"]["selectivelyOrphans"]["orphaningRules"];
    assert_eq!(
        orphaned.as_array().unwrap().len(),
        1,
        "the plan goes with the work"
    );
    assert_eq!(orphaned[0]["resource"], "clusterversions");
    // The role that lets the work agent read ClusterVersion lets it write nothing.
    assert_eq!(manifests[1]["rules"][0]["verbs"], json!(["get", "list", "watch"]));
    for without in [
        ask(None, true, Vec::new()),
        ask(Some("4.15.0"), false, Vec::new()),
    ] {
        let work = built(&without);
        let manifests = work["spec"]["workload"]["manifests"].as_array().unwrap().clone();
        assert_eq!(manifests.len(), 2, "{work:#}");
    }
}

#[test]
fn which_acceptances_have_ended_is_read_whatever_else_is_said_and_bounded() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let many = "0123456789abcdef0 ".to_owned() + &"ab ".repeat(100);
    for (said, ended) in [
        ("", vec![]),
        ("0123456789", vec!["0123456789"]),
        ("01 02  03", vec!["01", "02", "03"]),
        (&*many, vec!["ab"; PreCheckAsk::MOST_ACCEPTED]),
    ] {
        for verdict in ["Go", "Stop", ""] {
            let plan = [("endedRisks", said), ("verdict", verdict)];
            let work = read_work(&asked, Some(&plan), &[]);
            let read: Vec<&str> = work.ended.iter().map(|id| &**id).collect();
            assert_eq!(read, ended, "{said} {verdict}");
        }
    }
}

#[test]
fn what_is_fed_back_is_bounded() {
    let work = built(&ask(Some("4.15.0"), true, Vec::new()));
    let configs = work["spec"]["manifestConfigs"].as_array().unwrap();
    let count = |config: &Value| {
        let paths = config
            .pointer("/feedbackRules/0/jsonPaths")
            .and_then(Value::as_array);
        paths.map_or(0, Vec::len)
    };
    let all: usize = configs.iter().map(count).sum();
    assert!(all <= 81, "{all} values");
    let long = "x".repeat(100_000);
    let stopping = [
        but(&[("verdict", "Stop"), ("level0", "Error"), ("informer0", "mco")]),
        vec![],
    ]
    .concat();
    let mut values: Vec<(&str, &str)> = stopping;
    values.push(("summary0", &long));
    let work = read_work(&ask(Some("4.15.0"), true, Vec::new()), Some(&values), &[]);
    let answer = work.answer.current().unwrap();
    assert_eq!(answer.findings[0].summary.len(), TEXT);
}

/// On a cluster without the agent what is not recommended is one finding: another risk makes it another one, which nobody has accepted.
#[test]
fn the_acceptance_of_a_risk_covers_no_other() {
    let asked = ask(Some("4.14.12"), false, Vec::new());
    let uuid = |reason: &str, message: &str| {
        let said = [
            ("version", "4.14.9"),
            (READ, "version"),
            ("recommended", "False"),
            ("recommendedReason", reason),
            ("recommendedMessage", message),
        ];
        let said: Vec<_> = said.into_iter().chain(WELL).collect();
        let answer = read_work(&asked, None, &said).answer.current().unwrap().clone();
        let found = answer
            .findings
            .iter()
            .find(|found| found.uid.as_deref() == Some("not-recommended"));
        found.unwrap().uuid.clone().unwrap()
    };
    let first = uuid("BrokenDns", "names are not resolved");
    assert_eq!(first, uuid("BrokenDns", "names are not resolved"));
    assert_ne!(first, uuid("DataLoss", "all volumes are erased"));
    let several = uuid("MultipleReasons", "names are not resolved");
    assert_ne!(
        several,
        uuid(
            "MultipleReasons",
            "names are not resolved. all volumes are erased"
        )
    );
}

/// A cluster may lie, or its agent be mistaken: the strictest of what it says counts.
#[test]
fn an_answer_that_contradicts_itself_holds() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let finding = |acceptance: &'static str| {
        vec![
            ("uuid0", UUID),
            ("informer0", "mco"),
            ("level0", "Warning"),
            ("summary0", "bad disk"),
            ("acceptance0", acceptance),
        ]
    };
    for (values, holds) in [
        (but(&[]), false),
        (but(&[("verdict", "Stop")]), true),
        (but(&[("unaccepted", "1")]), true),
        (
            [but(&[("verdict", "Caution")]), finding("Accepted")].concat(),
            false,
        ),
        ([but(&[]), finding("Expired")].concat(), true),
        ([but(&[("verdict", "Caution")]), finding("")].concat(), true),
    ] {
        let work = read_work(&asked, Some(&values), &[("version", "4.14.9"), (READ, "version")]);
        let source = work.answer.current().unwrap().source.clone();
        assert!(
            matches!(source, AnswerSource::Agent { stops, .. } if stops == holds),
            "{values:?}"
        );
    }
}

#[test]
fn an_answer_counts_if_it_is_about_this_question() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    for (values, is_answer, is_earlier) in [
        (but(&[]), true, false),
        (but(&[("asked", "2026-01-05T09:00:00Z")]), true, false),
        (but(&[("asked", "2026-01-05T07:59:59Z")]), false, true),
        (but(&[("phase", "Collecting")]), false, true),
        (
            [
                GO[..5].to_vec(),
                vec![("phase", "Collecting"), ("unaccepted", "1")],
            ]
            .concat(),
            false,
            false,
        ),
        (but(&[("targetImage", "")]), true, false),
        // Somebody has had it asked about another image.
        (but(&[("targetImage", "quay.io/r@sha256:0")]), false, false),
        (but(&[("askedFor", "team/spring")]), false, false),
        (but(&[("askedFor", "hub/spring 0123")]), false, true),
        (but(&[("observedGeneration", "0")]), false, true),
        (but(&[("collectedAt", "soon")]), false, false),
        (but(&[("generation", "many")]), false, false),
        (GO[..5].to_vec(), false, false),
        (Vec::new(), false, false),
    ] {
        let work = read_work(&asked, Some(&values), &[("version", "4.14.9"), (READ, "version")]);
        assert_eq!(work.answer.current().is_some(), is_answer, "{values:?}");
        assert_eq!(
            matches!(work.answer, KnownAnswer::Earlier(_)),
            is_earlier,
            "{values:?}"
        );
    }
}

/// Whoever takes the image out of the plan has it judge the release that is offered, and the hub would request the other one.
#[test]
fn an_answer_about_another_image_is_none() {
    let image = "quay.io/r@sha256:0";
    let mut asked = ask(Some("4.14.12"), true, Vec::new());
    asked.target.image = Some(image.to_owned());
    asked.question.image = image.into();
    let work = built(&asked);
    let manifests = work["spec"]["workload"]["manifests"].as_array().unwrap();
    let plan = manifests.iter().find(|manifest| manifest["kind"] == "UpdatePlan");
    assert_eq!(plan.unwrap()["spec"]["targetImage"], image);
    for (said, is_answer) in [
        (None, false),
        (Some(""), false),
        (Some("x"), false),
        (Some(image), true),
    ] {
        let said = said.map(|said| [("targetImage", said)]);
        let values = but(said.as_ref().map_or(&[], |said| said.as_slice()));
        let work = read_work(&asked, Some(&values), &[("version", "4.14.9"), (READ, "version")]);
        assert_eq!(work.answer.any().is_some(), is_answer, "{values:?}");
        assert_eq!(work.trouble.is_none(), is_answer, "{values:?}");
    }
}

#[test]
fn an_unknown_verdict_holds_and_a_text_is_no_more_than_text() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let values = but(&[
        ("verdict", "Whatever"),
        ("unaccepted", "-3"),
        ("uuid0", UUID),
        ("informer0", "mco"),
        ("level0", "Doom"),
        ("summary0", "\u{1b}[31mred\nline"),
        ("type0", "Update Stalled"),
        ("action0", "Correct\u{7}it"),
        ("acceptance0", "Expired"),
        ("uuid1", "../../etc"),
        ("informer1", "mco"),
        ("summary1", "b"),
        ("summary2", "nobody reports this"),
    ]);
    let answer = read_work(&asked, Some(&values), &[])
        .answer
        .current()
        .unwrap()
        .clone();
    let AnswerSource::Agent {
        stops, unaccepted, ..
    } = answer.source
    else {
        panic!("{answer:?}");
    };
    assert_eq!((stops, unaccepted), (true, 0));
    assert_eq!(answer.findings.len(), 2, "what has no informer is none");
    let first = &answer.findings[0];
    assert_eq!(first.uuid.as_deref(), Some(UUID));
    assert_eq!(
        (first.level, &*first.summary),
        (FindingLevel::Unknown, "[31mred line")
    );
    assert_eq!((&*first.impact, &*first.remedy), ("Update Stalled", "Correct it"));
    assert_eq!(answer.findings[1].uuid, None);
}

/// An answer counts for a day, and a cluster that fails since must not start by it. Nor does it hold what somebody has accepted.
#[test]
fn what_cluster_version_says_since_the_agent_has_answered_holds_the_cluster() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let failing = [("failing", "True"), ("failingMessage", "monitoring is down")];
    let answer = |by_agent: &[(&'static str, &str)], by_cluster: &[(&str, &str)]| {
        let cluster = [&[("version", "4.14.9"), (READ, "version")], by_cluster].concat();
        let plan = but(&[]);
        let plan: Vec<_> = plan.into_iter().chain(by_agent.iter().copied()).collect();
        let work = read_work(&asked, Some(&plan), &cluster);
        work.answer.current().unwrap().clone()
    };
    let held = |answer: &PreCheckAnswer| -> Vec<String> {
        let open = answer
            .findings
            .iter()
            .filter(|found| !found.acceptance.is_accepted());
        open.map(|found| found.uid.as_deref().unwrap().to_owned())
            .collect()
    };
    for (by_cluster, expected) in [
        (&[][..], None),
        (&failing, Some("failing")),
        (&[("available", "False")], Some("cluster-unavailable")),
        (&[("progressing", "True")], Some("update-in-progress")),
        (&[("accepted", "False")], Some("release-not-accepted")),
        (
            &[("invalid", "True"), ("invalidReason", "NotAllowed")],
            Some("update-invalid"),
        ),
        // What is not said the agent has looked at, too, and it knows the target.
        (&[("failing", "Unknown"), ("upgradeable", "False")], None),
    ] {
        let answer = answer(&[], by_cluster);
        assert_eq!(held(&answer), Vec::from_iter(expected), "{by_cluster:?}");
        assert_eq!(answer.may_hold(), expected.is_some(), "{by_cluster:?}");
    }

    let found = answer(&[], &failing);
    let uuid = found.findings[0].uuid.clone().unwrap();
    let accepted = [
        ("uuid0", &*uuid),
        ("uid0", "failing"),
        ("informer0", "drydock.cluster-version"),
        ("level0", "Warning"),
        ("summary0", "The cluster's update is failing"),
        ("acceptance0", "Accepted"),
    ];
    let answer = answer(&accepted, &failing);
    assert_eq!((answer.may_hold(), answer.findings.len()), (false, 1));
}

/// A cluster has one plan of a release: what one upgrade accepts there lets no other start.
#[test]
fn what_is_asked_for_another_upgrade_is_no_answer_and_is_said() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let version = [("version", "4.14.9"), (READ, "version")];
    for (asked_for, taken) in [
        ("team/spring 0123", Some("team/spring")),
        ("team/\u{1b}[31mx", Some("team/ [31mx")),
        ("hub/spring 0123", None),
        ("hub/spring", None),
    ] {
        let work = read_work(&asked, Some(&but(&[("askedFor", asked_for)])), &version);
        let words = taken.map(|by| format!("its agent is asked for {by} at present"));
        assert_eq!(work.trouble.as_deref(), words.as_deref(), "{asked_for:?}");
        assert_eq!(work.is_taken, taken.is_some());
    }
}

/// What is read may be of before this one has asked: then its own question is on its way.
#[test]
fn only_who_has_asked_later_is_yielded_to() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    for (at, asked_for, is_later) in [
        ("2026-01-05T09:00:00Z", "hub/autumn", true),
        ("2026-01-05T07:00:00Z", "hub/autumn", false),
        ("", "hub/autumn", false),
        (ASKED, "hub/winter", true),
        (ASKED, "hub/autumn", false),
        ("2026-01-05T09:00:00Z", "hub/spring", false),
    ] {
        let plan = but(&[("asked", at), ("askedFor", asked_for)]);
        let work = read_work(&asked, Some(&plan), &[("version", "4.14.9"), (READ, "version")]);
        assert_eq!(work.is_asked_later, is_later, "{at} {asked_for}");
    }
}

/// The work agent applies it time and again, and would bring back what the other upgrade has replaced.
#[test]
fn a_plan_that_another_upgrade_has_asked_is_read_and_left_where_it_is() {
    let mut asked = ask(Some("4.14.12"), true, Vec::new());
    let strategy = |work: &Value| work["spec"]["manifestConfigs"][2]["updateStrategy"]["type"].clone();
    assert_eq!(strategy(&built(&asked)), "ServerSideApply");
    asked.question = asked.question.yielding();
    let work = built(&asked);
    assert_eq!(strategy(&work), "ReadOnly");
    let orphaned = &work["spec"]["deleteOption"]["selectivelyOrphans"]["orphaningRules"];
    assert_eq!(orphaned[1]["resource"], PLANS);
}

/// It will find the same for this one. What the other has accepted says nothing about this one, and holds nobody.
#[test]
fn what_was_found_for_another_upgrade_is_known_where_it_holds() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let found = [
        ("askedFor", "team/spring 0123"),
        ("verdict", "Stop"),
        ("unaccepted", "1"),
        ("informer0", "mco"),
        ("summary0", "the pool is paused"),
    ];
    let version = [("version", "4.14.9"), (READ, "version")];
    let answer = |values: &[(&'static str, &'static str)]| {
        let all = but(values);
        read_work(&asked, Some(&all), &version).answer
    };
    let KnownAnswer::OfAnother(known) = answer(&found) else {
        panic!("nothing is known");
    };
    assert!(known.may_hold() && known.findings.len() == 1);
    let seen_before = [&found[..], &[("generation", "2")]].concat();
    assert_eq!(answer(&seen_before), KnownAnswer::None);
    assert_eq!(answer(&[("askedFor", "team/spring")]), KnownAnswer::None);
}

/// A work agent that is away leaves what it has read before: that is no answer to what is asked since.
#[test]
fn what_was_read_before_it_was_asked_is_an_earlier_answer() {
    let asked = ask(Some("4.14.12"), false, Vec::new());
    let before = [
        ("version", "4.14.9"),
        ("read-for-4.14.12-at-1767599999", "version"),
        ("offered", "4.14.12"),
    ];
    let work = read_work(&asked, None, &before);
    assert!(
        matches!(work.answer, KnownAnswer::Earlier(earlier) if earlier.source == AnswerSource::ClusterVersion)
    );
}

/// What an agent said of a plan that is over was about another day: it asks nobody any more.
#[test]
fn a_plan_that_is_over_lets_nothing_start_before_the_update_has_begun() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let version = [("version", "4.14.9"), ("invalid", "True"), (READ, "version")];
    let over = read_work(&asked, Some(&but(&[("phase", "Stale")])), &version);
    assert_eq!(over.answer.current(), None);
    let answer = over.answer.any().unwrap().clone();
    assert_eq!(answer.source, AnswerSource::ClusterVersion);
    let uids = answer.findings.iter().map(|found| found.uid.clone().unwrap());
    assert!(uids.into_iter().any(|uid| &*uid == "update-invalid"));
    let clear = [
        ("version", "4.14.9"),
        ("offered", "4.14.12"),
        ("wanted", "4.14.12"),
        ("available", "True"),
        ("failing", "False"),
        ("progressing", "False"),
        (READ, "version"),
    ];
    for (verdict, unaccepted, holds) in [("Go", "0", false), ("Stop", "1", true)] {
        let plan = but(&[
            ("phase", "Stale"),
            ("verdict", verdict),
            ("unaccepted", unaccepted),
        ]);
        let work = read_work(&asked, Some(&plan), &clear);
        assert_eq!(work.answer.current(), None, "{verdict}");
        assert_eq!(work.answer.any().is_some(), holds, "{:?}", work.answer);
        let why = work.trouble.clone().unwrap();
        assert!(why.contains("its agent says that the update has begun"), "{why}");
        // It has begun.
        let begun = [("version", "4.14.12"), ("state", "Partial"), (READ, "version")];
        let work = read_work(&asked, Some(&plan), &begun);
        assert_eq!(work.answer.current().unwrap().source, AnswerSource::AtTarget);
        // With what another upgrade has asked since: this one does not write over it because of that.
        let of_another = [
            ("askedFor", "hub/autumn"),
            ("asked", "2026-01-05T09:00:00Z"),
            ("phase", "Stale"),
        ];
        let work = read_work(&asked, Some(&but(&of_another)), &begun);
        assert_eq!(work.answer.current().unwrap().source, AnswerSource::AtTarget);
        assert!(work.is_taken && work.is_asked_later);
    }
    // Not yet seen by the agent as it is now: what it says next counts.
    let seen_before = [("phase", "Stale"), ("observedGeneration", "0")];
    let work = read_work(&asked, Some(&but(&seen_before)), &version);
    assert_eq!(work.answer.current(), None);
}

#[test]
fn accepted_risks_are_on_the_plan() {
    let risk = |finding| RiskAcceptance {
        target: "4.14.12".into(),
        id: Arc::default(),
        ended: EndedOn::default(),
        finding,
        clusters: None,
        selector: None,
        level: FindingLevel::Error,
        accepted_by: "ann".into(),
        reason: "known".into(),
        accepted_at: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        until: Some("2026-02-01T00:00:00Z".parse().unwrap()),
    };
    let named = AcceptedFinding::Named {
        informer: "mco".into(),
        uid: "a".into(),
    };
    let ended = RiskAcceptance {
        ended: EndedOn::Clusters([ClusterName::from("c01")].into()),
        ..risk(named).named(&upgrade())
    };
    let accepted = vec![risk(AcceptedFinding::Uuid(UUID.into())).named(&upgrade()), ended];
    let ids: Vec<Arc<str>> = accepted.iter().map(|risk| Arc::clone(&risk.id)).collect();
    let work = built(&ask(Some("4.14.12"), true, accepted));
    let risks = &work["spec"]["workload"]["manifests"][2]["spec"]["acceptedRisks"];
    let rest = json!({
        "level": "Error", "acceptedBy": "ann", "reason": "known",
        "acceptedAt": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z",
    });
    let mut by_uuid = rest.clone();
    by_uuid["uuid"] = UUID.into();
    by_uuid["id"] = (*ids[0]).into();
    let mut by_name = rest;
    by_name["informer"] = "mco".into();
    by_name["uid"] = "a".into();
    by_name["id"] = (*ids[1]).into();
    by_name["ended"] = true.into();
    // They stand in objects: another one would be an acceptance that has not ended.
    assert_eq!([&*ids[0], &*ids[1]], ["12ef3f9517", "e415cd0ad9"]);
    assert_eq!(*risks, json!([by_uuid, by_name]));
    // The agent reads it as the kind has it.
    let plan = work["spec"]["workload"]["manifests"][2].clone();
    let plan: drydock_api::insights::UpdatePlan = serde_json::from_value(plan).unwrap();
    assert_eq!(plan.spec.accepted_risks.len(), 2);
}
