//! What ClusterVersion says of a cluster.

use super::*;

#[test]
fn a_cluster_version_without_history_is_why_there_is_no_answer() {
    let asked = ask(Some("4.14.12"), false, Vec::new());
    let work = read_work(&asked, None, &[(READ, "version")]);
    assert_eq!(work.answer, KnownAnswer::None);
    let why = "its ClusterVersion does not say which version it runs";
    assert_eq!(work.trouble.as_deref(), Some(why));
}

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

/// As for the agent: an update to another release takes its place.
#[test]
fn without_an_agent_a_refused_request_speaks_against_the_same_release_alone() {
    let version = "spec.desiredUpdate.version: Invalid value: \"4.14.99\": when image is empty";
    let alone = format!("The cluster version is invalid: {version}");
    let several =
        format!("The cluster version is invalid:\n* {version}\n* spec.clusterID: Invalid value: \"\"\n");
    for (wanted, message, expected) in [
        ("4.14.99", alone.as_str(), vec![]),
        ("4.14.12", &alone, vec!["update-invalid"]),
        (
            "4.14.99",
            &several,
            vec!["update-invalid", "other-update-requested"],
        ),
        (
            "4.14.99",
            MISSING,
            vec!["update-invalid", "other-update-requested"],
        ),
    ] {
        let values = [
            ("offered", "4.14.12"),
            ("wanted", wanted),
            ("desired", "4.14.9"),
            ("invalid", "True"),
            ("invalidReason", "InvalidClusterVersion"),
            ("invalidMessage", message),
        ];
        assert_eq!(said("4.14.12", &values).unwrap(), expected, "{wanted} {message}");
    }
    // Of a release that is not recommended the version finds no image.
    let mut asked = ask(Some("4.14.12"), false, Vec::new());
    asked.question.image = "quay.io/r@sha256:12".into();
    let uids = |image: &str| {
        let of_request = [
            ("wanted", "4.14.12"),
            ("wantedImage", image),
            ("invalid", "True"),
            ("invalidMessage", &*alone),
        ];
        let offered = [
            ("recommended", "True"),
            ("conditionalImage", "quay.io/r@sha256:12"),
        ];
        let version = [("version", "4.14.9"), (READ, "version")];
        let all = [&version[..], &WELL[..], &of_request[..], &offered[..]].concat();
        let answer = read_work(&asked, None, &all).answer.current().unwrap().clone();
        let uids = answer.findings.iter().map(|found| found.uid.clone().unwrap());
        uids.collect::<Vec<_>>()
    };
    assert!(uids("").is_empty());
    assert_eq!(uids("quay.io/r@sha256:12"), ["update-invalid".into()]);
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

#[test]
fn who_has_an_image_says_so_anew_when_it_is_asked_anew() {
    let asked = ask(None, false, Vec::new());
    let has = ("image", "registry/release@sha256:0");
    let before = [("version", "4.14.9"), has];
    let answer = read_work(&asked, None, &before).answer;
    assert!(answer.current().is_none() && answer.any().is_some(), "{answer:?}");
    let since = [("version", "4.14.9"), has, ("read-at-1767600000", "version")];
    let answer = read_work(&asked, None, &since).answer;
    assert_eq!(answer.current().unwrap().source, AnswerSource::AtTarget);
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
