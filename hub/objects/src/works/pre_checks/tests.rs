use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_rollout::{
    AnswerSource, EndedOn, FindingLevel, KnownAnswer, PreCheckQuestion, PreCheckWork, Target,
};

use super::answer::*;
use super::*;
use crate::works::PartialManifestWork;

const ASKED: &str = "2026-01-05T08:00:00Z";
const UUID: &str = "0123456789abcdef0123456789abcdef";
/// The name of the value that says that ClusterVersion was read since.
const READ: &str = "read-for-4.14.12-at-1767600000";

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
        json!({"targetRelease": "4.15.0-RC.1+Build", "refreshRequestedAt": ASKED, "askedFor": "hub/spring"})
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
fn a_cluster_version_without_history_is_why_there_is_no_answer() {
    let asked = ask(Some("4.14.12"), false, Vec::new());
    let work = read_work(&asked, None, &[(READ, "version")]);
    assert_eq!(work.answer, KnownAnswer::None);
    let why = "its ClusterVersion does not say which version it runs";
    assert_eq!(work.trouble.as_deref(), Some(why));
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
    assert!(all <= 80, "{all} values");
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

/// What a cluster says that is well.
const WELL: [(&str, &str); 3] = [
    ("failing", "False"),
    ("progressing", "False"),
    ("available", "True"),
];
/// Stands for a value that is not fed back.
const MISSING: &str = "";

/// The findings of a cluster without the agent that says this.
fn said(target: &str, values: &[(&str, &str)]) -> Option<Vec<String>> {
    let asked = ask(Some(target), false, Vec::new());
    let mark = format!("read-for-{target}-at-1767600000");
    let mut all = vec![("version", "4.14.9"), (&*mark, "version")];
    all.retain(|(name, _)| values.iter().all(|(other, _)| other != name));
    // What is not said otherwise is well.
    for well in WELL {
        all.extend(Some(well).filter(|(name, _)| values.iter().all(|(other, _)| other != name)));
    }
    all.extend(values.iter().filter(|(_, value)| *value != MISSING));
    let answer = read_work(&asked, None, &all).answer.current()?.clone();
    let named = answer
        .findings
        .iter()
        .map(|found| found.uid.clone().unwrap().to_string());
    Some(named.collect())
}

/// The update service says nothing of another image under the version that it offers, and neither does what the cluster runs.
#[test]
fn another_image_than_the_one_that_is_offered_is_another_release() {
    const IMAGE: &str = "quay.io/r@sha256:12";
    let mut asked = ask(Some("4.14.12"), false, Vec::new());
    asked.question.image = IMAGE.into();
    let paths = built(&asked)["spec"]["manifestConfigs"].to_string();
    assert!(paths.contains("offeredImage") && paths.contains("conditionalImage"));
    let mirror = "mirror.example/r@sha256:12";
    let other = "quay.io/r@sha256:99";
    for (values, expected) in [
        (
            vec![("offered", "4.14.12"), ("offeredImage", IMAGE)],
            Some(vec![]),
        ),
        (
            vec![("offered", "4.14.12"), ("offeredImage", mirror)],
            Some(vec![]),
        ),
        (
            vec![("offered", "4.14.12"), ("offeredImage", other)],
            Some(vec!["not-offered"]),
        ),
        (vec![("offered", "4.14.12")], Some(vec!["not-offered"])),
        (
            vec![("recommended", "True"), ("conditionalImage", other)],
            Some(vec!["not-offered"]),
        ),
        (
            vec![("recommended", "True"), ("conditionalImage", IMAGE)],
            Some(vec![]),
        ),
        (
            vec![("recommended", "False"), ("conditionalImage", IMAGE)],
            Some(vec!["not-recommended"]),
        ),
        (
            vec![("version", "4.14.12"), ("image", other)],
            Some(vec!["not-offered"]),
        ),
        (vec![("version", "4.14.12"), ("image", mirror)], None),
    ] {
        let mut all = vec![("version", "4.14.9"), (READ, "version")];
        all.retain(|(name, _)| values.iter().all(|(other, _)| other != name));
        let all: Vec<_> = all.into_iter().chain(WELL).chain(values.clone()).collect();
        let answer = read_work(&asked, None, &all).answer.current().unwrap().clone();
        let found = answer.findings.iter().map(|found| found.uid.clone().unwrap());
        let found = (answer.source != AnswerSource::AtTarget).then(|| found.collect::<Vec<_>>());
        let expected = expected.map(|uids| uids.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>());
        assert_eq!(found, expected, "{values:?}");
    }
}

/// A request now would replace it.
#[test]
fn without_an_agent_a_request_of_somebody_else_speaks_against_it() {
    let said = |wanted| {
        let values = [("offered", "4.14.12"), ("wanted", wanted), ("desired", "4.14.9")];
        said("4.14.12", &values).unwrap()
    };
    assert_eq!(said("4.14.11"), ["other-update-requested"]);
    assert!(said("4.14.9").is_empty());
}

/// Who asks by an image alone may mean the target: the registry may be a mirror.
#[test]
fn without_an_agent_a_request_by_image_alone_speaks_against_it() {
    let other = || vec!["other-update-requested"];
    for (version, wanted, expected) in [
        (MISSING, "mirror.io/r@sha256:12", vec![]),
        (MISSING, "quay.io/r@sha256:09", vec![]),
        (MISSING, "quay.io/r@sha256:11", other()),
        // By both: another image under the same version is another release.
        ("4.14.12", "mirror.io/r@sha256:12", vec![]),
        ("4.14.12", "quay.io/r@sha256:11", other()),
        ("4.14.9", "mirror.io/r@sha256:09", vec![]),
        ("4.14.9", "quay.io/r@sha256:11", other()),
    ] {
        let values = [
            ("wanted", version),
            ("offered", "4.14.12"),
            ("offeredImage", "quay.io/r@sha256:12"),
            ("wantedImage", wanted),
            ("desired", "4.14.9"),
            ("desiredImage", "quay.io/r@sha256:09"),
        ];
        assert_eq!(said("4.14.12", &values).unwrap(), expected, "{version} {wanted}");
    }
}

/// A change to the release for several architectures keeps the version, and there is no way back.
#[test]
fn without_an_agent_a_request_of_the_release_for_several_architectures_is_another_one() {
    let other = || vec!["other-update-requested"];
    for (wanted, has, before, expected) in [
        ("4.14.9", MISSING, "4.14.8", other()),
        ("4.14.9", "Multi", "4.14.8", vec![]),
        ("4.14.9", MISSING, "4.14.9", vec![]),
        ("4.14.12", "Multi", "4.14.9", other()),
    ] {
        let values = [
            ("offered", "4.14.12"),
            ("wanted", wanted),
            ("wantedArchitecture", "Multi"),
            ("desired", "4.14.9"),
            ("desiredArchitecture", has),
            ("state", "Completed"),
            ("versionBefore", before),
        ];
        assert_eq!(
            said("4.14.12", &values).unwrap(),
            expected,
            "{wanted} {has} {before}"
        );
    }
}

/// What is half way to 4.15 may not go on to 4.16, whatever its newest entry says.
#[test]
fn without_an_agent_a_cluster_between_releases_runs_the_one_before() {
    let between = |target, before: &[(&'static str, &'static str)]| {
        let newest = [("offered", target), ("version", "4.15.3"), ("state", "Partial")];
        said(target, &[&newest, before].concat()).unwrap()
    };
    let completed = [("completed", "4.14.9")];
    let skips = ["not-a-next-release", "update-in-progress"];
    assert_eq!(between("4.16.0", &completed), skips);
    assert_eq!(between("4.15.4", &completed), ["update-in-progress"]);
    let upgradeable = [completed[0], ("upgradeable", "False")];
    assert_eq!(
        between("4.15.4", &upgradeable),
        ["not-upgradeable", "update-in-progress"]
    );
    // Nothing better is known.
    assert_eq!(between("4.16.0", &[]), ["update-in-progress"]);
}

/// Who names a release by its image alone is asked the same about it.
#[test]
fn a_release_that_is_named_by_its_image_alone_is_looked_for_among_the_offered() {
    let asked = ask(None, false, Vec::new());
    let image = asked.question.image.to_string();
    let mark = "read-at-1767600000";
    for (values, expected) in [
        (
            vec![("offered", "4.14.12"), ("offeredImage", &*image)],
            Some(vec![]),
        ),
        (
            vec![("recommended", "Unknown"), ("conditionalImage", &*image)],
            Some(vec!["not-recommended"]),
        ),
        (vec![], Some(vec!["not-offered"])),
        (vec![("image", &*image), ("progressing", "True")], None),
        (
            vec![
                ("offered", "4.14.12"),
                ("offeredImage", &*image),
                ("state", "Partial"),
            ],
            Some(vec!["update-in-progress"]),
        ),
    ] {
        let mut all = vec![("version", "4.14.9"), (mark, "version")];
        for well in WELL {
            all.extend(Some(well).filter(|(name, _)| values.iter().all(|(other, _)| other != name)));
        }
        all.extend(values.clone());
        let answer = read_work(&asked, None, &all).answer.current().unwrap().clone();
        let found = answer.findings.iter().map(|found| found.uid.clone().unwrap());
        let found = (answer.source != AnswerSource::AtTarget).then(|| found.collect::<Vec<_>>());
        let expected = expected.map(|uids| uids.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>());
        assert_eq!(found, expected, "{values:?}");
    }
    let paths = built(&asked)["spec"]["manifestConfigs"].to_string();
    assert!(paths.contains("release.image=="), "{paths}");
    let mut quoted = ask(None, false, Vec::new());
    quoted.question.image = r#"a"b/c@sha256:0"#.into();
    let paths = built(&quoted)["spec"]["manifestConfigs"].to_string();
    assert!(!paths.contains("availableUpdates"), "{paths}");
}

/// What is not known is no reason to begin, as for the agent.
#[test]
fn what_cluster_version_does_not_say_holds_a_cluster_without_an_agent() {
    let offered = ("offered", "4.14.12");
    for (target, values, expected) in [
        ("4.14.12", vec![offered, ("failing", MISSING)], vec!["failing"]),
        ("4.14.12", vec![offered, ("failing", "Unknown")], vec!["failing"]),
        (
            "4.14.12",
            vec![offered, ("progressing", "Unknown"), ("available", MISSING)],
            vec!["update-in-progress", "cluster-unavailable"],
        ),
        (
            "4.14.12",
            vec![offered, ("available", "False"), ("invalid", "True")],
            vec!["cluster-unavailable", "update-invalid"],
        ),
        (
            "4.15.0",
            vec![offered, ("upgradeable", "Unknown")],
            vec!["not-upgradeable"],
        ),
        (
            "4.14.12",
            vec![("retrievedUpdates", "Unknown")],
            vec!["updates-not-retrieved"],
        ),
    ] {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(said(target, &values), Some(expected), "{target} {values:?}");
    }
}

#[test]
fn without_an_agent_cluster_version_says_what_speaks_against_it() {
    let offered = ("offered", "4.14.12");
    let upgradeable = ("upgradeable", "False");
    for (target, values, expected) in [
        ("4.14.12", vec![offered], vec![]),
        ("4.14.12", vec![offered, upgradeable], vec![]),
        ("4.15.0", vec![offered, upgradeable], vec!["not-upgradeable"]),
        (
            "4.15.0",
            vec![offered, upgradeable, ("upgradeableReason", "AdminAckRequired")],
            vec!["admin-ack-required"],
        ),
        ("4.15.0", vec![offered], vec![]),
        ("4.16.0", vec![offered], vec!["not-a-next-release"]),
        ("4.14.12", vec![], vec!["not-offered"]),
        ("4.14.12", vec![("recommended", "True")], vec![]),
        (
            "4.14.12",
            vec![offered, ("recommended", "False")],
            vec!["not-recommended"],
        ),
        ("4.14.12", vec![("recommended", "False")], vec!["not-recommended"]),
        (
            "4.14.12",
            vec![("retrievedUpdates", "False")],
            vec!["updates-not-retrieved"],
        ),
        (
            "4.14.12",
            vec![("retrievedUpdates", "False"), ("recommended", "False")],
            vec!["updates-not-retrieved", "not-recommended"],
        ),
        (
            "4.14.12",
            vec![("failing", "True")],
            vec!["not-offered", "failing"],
        ),
        (
            "4.14.12",
            vec![offered, ("progressing", "True")],
            vec!["update-in-progress"],
        ),
        (
            "4.14.12",
            vec![offered, ("accepted", "False"), ("wanted", "4.14.12")],
            vec!["release-not-accepted"],
        ),
    ] {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(said(target, &values), Some(expected), "{target} {values:?}");
    }
    // What was read with the paths of another target says nothing.
    let asked = ask(Some("4.14.12"), false, Vec::new());
    let before = [
        ("version", "4.14.9"),
        ("read-for-4.14.11-at-1767600000", "version"),
        ("offered", "4.14.11"),
    ];
    let work = read_work(&asked, None, &before);
    assert_eq!(work.answer, KnownAnswer::None);
}

/// The agent requests a release by its image: what speaks against its version alone is for the hub to know, where it requests it itself.
#[test]
fn a_release_that_is_offered_with_its_risks_alone_is_taken_by_its_image() {
    let not_recommended = ("recommended", "False");
    let uid = |asks_agent, values: &[(&str, &str)]| {
        let asked = ask(Some("4.14.12"), asks_agent, Vec::new());
        let plan = asks_agent.then_some(&GO[..]);
        let without_image = read_work(&asked, plan, values).without_image;
        without_image.map(|found| found.uid.unwrap().to_string())
    };
    for asks_agent in [true, false] {
        for (values, expected) in [
            (vec![not_recommended, (READ, "version")], Some("image-required")),
            (
                vec![not_recommended, ("offered", "4.14.12"), (READ, "version")],
                None,
            ),
            (vec![("recommended", "True"), (READ, "version")], None),
            (vec![(READ, "version")], None),
            (
                vec![not_recommended, ("read-for-4.14.11-at-1767600000", "version")],
                None,
            ),
        ] {
            assert_eq!(uid(asks_agent, &values).as_deref(), expected, "{values:?}");
        }
    }
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

/// A cluster that is there, or on its way, has nothing left to fear; one on its way to a newer release may be sent back yet.
#[test]
fn a_cluster_is_beyond_its_target_when_it_has_completed_a_newer_one() {
    let asked = ask(Some("4.14.12"), false, Vec::new());
    for (version, state, source) in [
        ("4.14.12", "Completed", AnswerSource::AtTarget),
        ("4.14.14", "Completed", AnswerSource::AtTarget),
        ("4.14.12", "Partial", AnswerSource::AtTarget),
        ("4.14.14", "Partial", AnswerSource::ClusterVersion),
    ] {
        let values = [("version", version), ("state", state), (READ, "version")];
        let answer = read_work(&asked, None, &values).answer.current().unwrap().clone();
        assert_eq!(answer.source, source, "{version} {state}");
        assert_eq!(answer.findings.is_empty(), source == AnswerSource::AtTarget);
    }
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
    }
    // Not yet seen by the agent as it is now: what it says next counts.
    let seen_before = [("phase", "Stale"), ("observedGeneration", "0")];
    let work = read_work(&asked, Some(&but(&seen_before)), &version);
    assert_eq!(work.answer.current(), None);
}

#[test]
fn only_a_cluster_that_does_not_know_the_kind_is_taken_by_its_cluster_version() {
    let asked = ask(Some("4.14.12"), true, Vec::new());
    let with = |message: &str| {
        let mut work = built(&asked);
        let values = [
            value("version", "4.14.9"),
            value(READ, "version"),
            value("offered", "4.14.12"),
        ];
        work["status"] = json!({"conditions": [], "resourceStatus": {"manifests": [
            {
                "resourceMeta": {"group": GROUP, "resource": "clusterversions", "name": "version"},
                "statusFeedback": {"values": values}, "conditions": [],
            },
            {
                "resourceMeta": {"group": GROUP, "kind": "UpdatePlan", "resource": "", "name": "update-plan-4.14.12"},
                "conditions": [{"type": "Applied", "status": "False", "reason": "AppliedManifestFailed", "message": message}],
            },
        ]}});
        read_value(work)
    };
    let unknown = with(r#"no matches for kind "UpdatePlan" in version "config.openshift.io/v1beta1""#);
    assert_eq!(
        unknown.answer.current().unwrap().clone().source,
        AnswerSource::ClusterVersion
    );
    let refused = with("admission webhook denied the request");
    assert_eq!(refused.answer, KnownAnswer::None);
    assert_eq!(
        refused.trouble.as_deref(),
        Some("admission webhook denied the request")
    );
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
        ..risk(named).named()
    };
    let accepted = vec![risk(AcceptedFinding::Uuid(UUID.into())).named(), ended];
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
    assert_eq!([&*ids[0], &*ids[1]], ["0004717baf", "df37846bba"]);
    assert_eq!(*risks, json!([by_uuid, by_name]));
    // The agent reads it as the kind has it.
    let plan = work["spec"]["workload"]["manifests"][2].clone();
    let plan: drydock_api::insights::UpdatePlan = serde_json::from_value(plan).unwrap();
    assert_eq!(plan.spec.accepted_risks.len(), 2);
}
