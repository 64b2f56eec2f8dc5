//! What ClusterVersion says, and what it does not.

use super::*;

/// A cluster of which is well what is not said otherwise.
fn with(conditions: &[Value]) -> BuiltInFacts {
    let others = well().into_iter().skip(2);
    let others = others.filter(|one| conditions.iter().all(|other| other["type"] != one["type"]));
    let all: Vec<_> = conditions.iter().cloned().chain(others).collect();
    BuiltInFacts {
        cluster: Ok(cluster(&all)),
        ..facts()
    }
}

#[test]
fn what_cluster_version_says() {
    let plan = Question::of_version;
    let ack = condition("Upgradeable", "False", "AdminAckRequired", NOW);
    let held = condition("Upgradeable", "False", "Multiple", NOW);
    let failing = condition("Failing", "True", "X", NOW);
    let refused = condition("ReleaseAccepted", "False", "VerificationFailed", NOW);
    let loading = condition("ReleaseAccepted", "Unknown", "RetrievePayload", NOW);
    let silent = condition("RetrievedUpdates", "False", "RemoteFailed", NOW);
    let ok = condition("Failing", "False", "", NOW);
    let progressing = condition("Progressing", "True", "", NOW);
    let cases = [
        (vec![failing.clone()], Question::Status, vec!["failing"]),
        (vec![], Question::Status, vec!["failing"]),
        (
            vec![ok.clone(), refused.clone()],
            Question::Status,
            vec!["release-not-accepted"],
        ),
        // As it is while each release is downloaded and verified.
        (vec![ok.clone(), loading], Question::Status, vec![]),
        (
            vec![ok.clone(), refused],
            plan("4.14.4"),
            vec!["release-not-accepted"],
        ),
        (vec![failing], plan("4.14.4"), vec!["failing"]),
        (vec![ok.clone(), ack.clone()], plan("4.14.4"), vec![]),
        (vec![ok.clone(), ack], plan("4.15.0"), vec!["admin-ack-required"]),
        (vec![ok.clone(), held], plan("4.15.0"), vec!["not-upgradeable"]),
        (
            vec![ok.clone()],
            plan("4.14.5"),
            vec!["update-risk", "update-risk"],
        ),
        (vec![ok.clone()], plan("4.14.6"), vec![]),
        (
            vec![ok.clone(), progressing],
            plan("4.14.4"),
            vec!["update-in-progress"],
        ),
        (vec![ok.clone()], plan("4.14.7"), vec!["not-offered"]),
        (
            vec![
                ok.clone(),
                condition("Invalid", "True", "InvalidClusterVersion", NOW),
            ],
            plan("4.14.4"),
            vec!["update-invalid"],
        ),
        (
            vec![ok.clone(), condition("Available", "False", "X", NOW)],
            plan("4.14.4"),
            vec!["cluster-unavailable"],
        ),
        (vec![ok, silent], plan("4.14.7"), vec!["updates-not-retrieved"]),
    ];
    for (conditions, question, expected) in cases {
        let found = uids(BuiltIn::ClusterVersion, &with(&conditions), question);
        assert_eq!(found, expected, "{conditions:?} {question:?}");
    }
}

/// Who has accepted that an update fails for one cause has accepted no other.
#[test]
fn another_cause_makes_another_finding() {
    let uuids = |conditions: &[Value]| -> Vec<String> {
        let question = Question::of_version("4.14.4");
        let Attempt::Answered(Answer::Success(found)) =
            BuiltIn::ClusterVersion.attempt(&with(conditions), question, now())
        else {
            panic!("it has an answer");
        };
        let name = BuiltIn::ClusterVersion.name();
        found.iter().map(|found| found.uuid(&name)).collect()
    };
    for (type_, status) in [
        ("Failing", "True"),
        ("Failing", "Unknown"),
        ("ReleaseAccepted", "False"),
        ("Invalid", "True"),
        ("Available", "False"),
    ] {
        let said = |cause: &str| {
            let mut said = condition(type_, status, cause, NOW);
            said["message"] = cause.into();
            let well = condition("Failing", "False", "", NOW);
            let conditions = [said, well];
            uuids(if type_ == "Failing" {
                &conditions[..1]
            } else {
                &conditions
            })
        };
        assert_eq!(said("A").len(), 1, "{type_}");
        assert_eq!(said("A"), said("A"));
        assert_ne!(said("A"), said("B"), "{type_} {status}");
    }
}

/// One reason stands for several: who has accepted what was said has accepted nothing else.
#[test]
fn what_holds_minor_updates_is_another_finding_when_it_says_something_else() {
    let uuid = |reason: &str, message: &str| {
        let mut said = condition("Upgradeable", "False", reason, NOW);
        said["message"] = message.into();
        let facts = with(&[said]);
        let attempt = BuiltIn::ClusterVersion.attempt(&facts, Question::of_version("4.15.0"), now());
        let Attempt::Answered(Answer::Success(found)) = attempt else {
            panic!("it has an answer");
        };
        let name = BuiltIn::ClusterVersion.name();
        let is_it = |uid: &str| ["not-upgradeable", "admin-ack-required"].contains(&uid);
        let mut found = found.iter().filter(|found| is_it(&found.uid));
        found.next().unwrap().uuid(&name)
    };
    for reason in ["MultipleReasons", "AdminAckRequired", "X"] {
        assert_eq!(uuid(reason, "a"), uuid(reason, "a"));
        assert_ne!(uuid(reason, "a"), uuid(reason, "b"), "{reason}");
    }
    assert_ne!(uuid("X", "a"), uuid("Y", "a"));
}

/// The update service says nothing of another image under the version that it offers. A mirror has the same image.
#[test]
fn another_image_than_the_one_that_is_offered_is_another_release() {
    let facts = with(&well());
    let asked = |version, image| {
        let image = Some(image);
        Question::Plan(PlannedRelease {
            version,
            image,
            is_multi: false,
        })
    };
    for (version, image, expected) in [
        ("4.14.4", "quay.io/r@sha256:44", vec![]),
        ("4.14.4", "mirror.example/r@sha256:44", vec![]),
        ("4.14.4", "quay.io/r@sha256:99", vec!["not-offered"]),
        (
            "4.14.5",
            "quay.io/r@sha256:45",
            vec!["update-risk", "update-risk"],
        ),
        (
            "4.14.5",
            "quay.io/r@sha256:44",
            vec!["update-risk", "update-risk", "not-offered"],
        ),
        ("4.14.6", "quay.io/r@sha256:44", vec!["not-offered"]),
        ("4.14.7", "quay.io/r@sha256:47", vec!["not-offered"]),
    ] {
        let found = uids(BuiltIn::ClusterVersion, &facts, asked(version, image));
        assert_eq!(found, expected, "{version} {image}");
    }
}

#[test]
fn an_update_goes_to_the_next_minor_release_at_most() {
    for (target, expected) in [
        ("4.14.7", vec!["not-offered"]),
        ("4.14.3", vec!["not-a-next-release", "not-offered"]),
        ("4.13.9", vec!["not-a-next-release", "not-offered"]),
        ("4.15.0", vec![]),
        ("4.16.0", vec!["not-a-next-release", "not-offered"]),
    ] {
        let facts = with(&well());
        let running = crate::cluster::facts(facts.cluster.as_ref().unwrap()).unwrap();
        assert_eq!(running.version, "4.14.3");
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::of_version(target));
        assert_eq!(found, expected, "{target}");
    }
}

/// A request would replace the one of somebody else.
#[test]
fn a_request_that_has_not_begun_holds_an_update_to_another_release() {
    let other = "quay.io/r@sha256:99";
    for (wanted, image, desired, expected) in [
        ("4.14.6", "", "4.14.1", vec!["other-update-requested"]),
        ("4.14.6", "", "4.14.6", vec![]),
        ("4.14.4", "", "4.14.1", vec![]),
        ("", "", "4.14.1", vec![]),
        // By image alone, as of a release that is offered under another name of the registry, or under none.
        ("", "mirror.io/r@sha256:44", "4.14.1", vec![]),
        ("", other, "4.14.1", vec!["other-update-requested"]),
        ("", "quay.io/r@sha256:11", "4.14.1", vec![]),
        // By both: another image under the same version is another release.
        ("4.14.4", "mirror.io/r@sha256:44", "4.14.1", vec![]),
        ("4.14.4", other, "4.14.1", vec!["other-update-requested"]),
        ("4.14.1", "mirror.io/r@sha256:11", "4.14.1", vec![]),
        ("4.14.1", other, "4.14.1", vec!["other-update-requested"]),
    ] {
        let mut cluster = cluster(&well());
        let request = json!({"version": wanted, "image": image, "force": false});
        cluster.spec.desired_update = Some(serde_json::from_value(request).unwrap());
        let release = json!({"version": desired, "image": "quay.io/r@sha256:11"});
        cluster.status.as_mut().unwrap().desired = Some(serde_json::from_value(release).unwrap());
        let facts = BuiltInFacts {
            cluster: Ok(cluster),
            ..facts()
        };
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::of_version("4.14.4"));
        assert_eq!(found, expected, "{wanted} {image} {desired}");
    }
}

/// The cluster refuses a request that has no release, or none that it is offered: an update to another release takes its place.
#[test]
fn a_refused_request_speaks_against_the_same_release_alone() {
    let version = "spec.desiredUpdate.version: Invalid value: \"4.14.99\": when image is empty";
    let alone = format!("The cluster version is invalid: {version}");
    let several =
        format!("The cluster version is invalid:\n* {version}\n* spec.clusterID: Invalid value: \"\"\n");
    for (wanted, image, message, expected) in [
        ("4.14.99", None, alone.as_str(), vec![]),
        ("4.14.4", None, &alone, vec!["update-invalid"]),
        // Of a release that is not recommended the version finds no image.
        ("4.14.4", Some("quay.io/r@sha256:44"), &alone, vec![]),
        (
            "4.14.99",
            None,
            &several,
            vec!["other-update-requested", "update-invalid"],
        ),
        (
            "4.14.99",
            None,
            "",
            vec!["other-update-requested", "update-invalid"],
        ),
    ] {
        let mut invalid = condition("Invalid", "True", "InvalidClusterVersion", NOW);
        invalid["message"] = message.into();
        let mut conditions = well();
        conditions.push(invalid);
        let mut cluster = cluster(&conditions);
        let request = json!({"version": wanted, "image": ""});
        cluster.spec.desired_update = Some(serde_json::from_value(request).unwrap());
        let facts = BuiltInFacts {
            cluster: Ok(cluster),
            ..facts()
        };
        let target = PlannedRelease {
            version: "4.14.4",
            image,
            is_multi: false,
        };
        let mut found = uids(BuiltIn::ClusterVersion, &facts, Question::Plan(target));
        found.sort_unstable();
        assert_eq!(found, expected, "{wanted} {image:?} {message}");
    }
}

/// Who plans an update plans that alone: a change of the architecture that comes with it is a finding.
#[test]
fn an_update_that_changes_the_architecture_is_another_one() {
    for (has, wanted, is_multi, expected) in [
        ("", "4.14.4", true, vec!["architecture-change"]),
        ("Multi", "4.14.4", true, vec![]),
        ("Multi", "4.14.4", false, vec!["other-update-requested"]),
        ("", "", true, vec!["architecture-change"]),
        ("", "", false, vec![]),
    ] {
        let mut cluster = cluster(&well());
        let request = json!({"version": wanted, "image": "", "architecture": if wanted.is_empty() { "" } else { "Multi" }});
        cluster.spec.desired_update = Some(serde_json::from_value(request).unwrap());
        let status = cluster.status.as_mut().unwrap();
        let release = json!({"version": "4.14.3", "image": "quay.io/r@sha256:11", "architecture": has});
        status.desired = Some(serde_json::from_value(release).unwrap());
        let facts = BuiltInFacts {
            cluster: Ok(cluster),
            ..facts()
        };
        let target = PlannedRelease {
            version: "4.14.4",
            image: None,
            is_multi,
        };
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::Plan(target));
        assert_eq!(found, expected, "{has} {wanted} {is_multi}");
    }
}

/// A change to the release for several architectures keeps the version, and there is no way back.
#[test]
fn a_request_of_the_release_for_several_architectures_is_another_one() {
    let other = vec!["other-update-requested"];
    for (wanted, architecture, has, before, expected) in [
        ("4.14.3", "Multi", "", "4.14.2", other.clone()),
        ("4.14.3", "Multi", "Multi", "4.14.2", vec![]),
        // An older cluster does not say what it has.
        ("4.14.3", "Multi", "", "4.14.3", vec![]),
        ("4.14.4", "Multi", "", "4.14.3", other.clone()),
        ("4.14.4", "Multi", "Multi", "4.14.3", other),
        ("4.14.3", "", "", "4.14.2", vec![]),
    ] {
        let mut cluster = cluster(&well());
        let request = json!({"version": wanted, "image": "", "architecture": architecture});
        cluster.spec.desired_update = Some(serde_json::from_value(request).unwrap());
        let status = cluster.status.as_mut().unwrap();
        let release = json!({"version": "4.14.3", "image": "quay.io/r@sha256:11", "architecture": has});
        status.desired = Some(serde_json::from_value(release).unwrap());
        let entry = |version: &str| json!({"state": "Completed", "version": version, "startedTime": NOW});
        status.history = serde_json::from_value(json!([entry("4.14.3"), entry(before)])).unwrap();
        let facts = BuiltInFacts {
            cluster: Ok(cluster),
            ..facts()
        };
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::of_version("4.14.4"));
        assert_eq!(found, expected, "{wanted} {architecture} {has} {before}");
    }
}

/// What is not known is no reason to begin.
#[test]
fn what_cluster_version_does_not_say_holds_an_update() {
    let without = |type_: &str, instead: Option<&str>| {
        let mut conditions = well();
        conditions.retain(|one| one["type"] != type_);
        conditions.extend(instead.map(|status| condition(type_, status, "NoData", NOW)));
        BuiltInFacts {
            cluster: Ok(cluster(&conditions)),
            ..facts()
        }
    };
    for (type_, uid) in [
        ("Available", "cluster-unavailable"),
        ("Progressing", "update-in-progress"),
        ("Failing", "failing"),
    ] {
        for instead in [None, Some("Unknown")] {
            let found = uids(
                BuiltIn::ClusterVersion,
                &without(type_, instead),
                Question::of_version("4.14.4"),
            );
            assert_eq!(found, [uid], "{type_} {instead:?}");
        }
    }
    for (type_, uid) in [
        ("Upgradeable", "not-upgradeable"),
        ("RetrievedUpdates", "updates-not-retrieved"),
    ] {
        let plan = Question::of_version("4.15.0");
        assert_eq!(
            uids(BuiltIn::ClusterVersion, &without(type_, None), plan),
            [""; 0]
        );
        let found = uids(BuiltIn::ClusterVersion, &without(type_, Some("Unknown")), plan);
        assert_eq!(found, [uid], "{type_}");
    }
    let mut partial = cluster(&well());
    partial.status.as_mut().unwrap().history[0].state = "Partial".to_owned();
    let facts = BuiltInFacts {
        cluster: Ok(partial),
        ..facts()
    };
    let found = uids(BuiltIn::ClusterVersion, &facts, Question::of_version("4.14.4"));
    assert_eq!(found, ["update-in-progress"]);
}

/// Of a release that is listed twice the worse counts.
#[test]
fn a_release_with_two_recommendations_is_not_recommended() {
    let update = |recommended: &str| json!({"release": {"version": "4.14.5"}, "conditions": [condition("Recommended", recommended, "A", NOW)]});
    for order in [["True", "False"], ["False", "True"]] {
        let mut twice = cluster(&well());
        twice.status.as_mut().unwrap().conditional_updates = read(json!(order.map(update)));
        let facts = BuiltInFacts {
            cluster: Ok(twice),
            ..facts()
        };
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::of_version("4.14.5"));
        assert_eq!(found, ["not-recommended"], "{order:?}");
    }
}
