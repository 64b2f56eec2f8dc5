use super::*;
use crate::facts::{HistoryEntry, ObservedCluster, ReleaseRef, Unread};
use crate::phase::fixture::facts;

type Change = fn(&mut Facts);

fn outcome(change: impl FnOnce(&mut Facts)) -> ValidationOutcome {
    let mut facts = facts();
    change(&mut facts);
    validate(&facts)
}

fn invalid(outcome: ValidationOutcome) -> String {
    match outcome {
        ValidationOutcome::Invalid(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_offered_patch_of_the_same_channel_is_valid() {
    let expected = Target::Version {
        version: "4.14.12".to_owned(),
        channel: "stable-4.14".to_owned(),
    };
    assert_eq!(outcome(|_| {}), ValidationOutcome::Valid(expected));
}

#[test]
fn what_cannot_be_says_what_to_do_about_it() {
    let table: [(Change, &str); 7] = [
        (
            |facts| facts.spec.upgrade_at = "tomorrow".to_owned(),
            "is not a time of RFC 3339",
        ),
        (
            |facts| facts.spec.desired.channel = None,
            "needs either image, or version and channel",
        ),
        (
            |facts| facts.spec.desired.version = Some("four".to_owned()),
            "is not a semantic version",
        ),
        (
            |facts| facts.spec.desired.version = Some("4.14.40".to_owned()),
            "the cluster is offered 4.14.13, 4.14.12",
        ),
        (
            |facts| facts.spec.desired.image = Some("quay.io/a/b:latest".to_owned()),
            "must be a whole pull spec by digest",
        ),
        (
            |facts| {
                facts.spec.desired = image("f");
                facts.seen.release = Err(Unread::Failed("quay.io answers 404".to_owned()));
            },
            "is not among the updates that the cluster is offered",
        ),
        (
            |facts| facts.cluster.history.clear(),
            "no completed release in its history",
        ),
    ];
    for (change, message) in table {
        let reported = invalid(outcome(change));
        assert!(reported.contains(message), "{reported}");
    }
}

fn image(digit: &str) -> drydock_api::upgradeconfig::Desired {
    drydock_api::upgradeconfig::Desired {
        image: Some(format!(
            "quay.io/openshift-release-dev/ocp-release@sha256:{}",
            digit.repeat(64)
        )),
        ..Default::default()
    }
}

#[test]
fn the_same_or_an_older_version_is_understood_and_no_upgrade() {
    for (version, message) in [
        ("4.14.9", "runs 4.14.9 already"),
        ("4.13.50", "going back is not possible"),
    ] {
        match outcome(|facts| facts.spec.desired.version = Some(version.to_owned())) {
            ValidationOutcome::NoUpgrade(reported) => assert!(reported.contains(message), "{reported}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_offered_image_is_known_by_its_version() {
    let offered = |version: Option<&str>| {
        outcome(|facts| {
            facts.spec.desired = image("a");
            facts.spec.desired.version = version.map(str::to_owned);
            facts.cluster.offered.push(ReleaseRef {
                version: "4.14.12".to_owned(),
                image: image("a").image.unwrap(),
            });
        })
    };
    assert!(
        matches!(offered(None), ValidationOutcome::Version { version, .. } if version == "4.14.12"),
        "it belongs into the spec"
    );
    assert!(
        matches!(offered(Some("4.14.12")), ValidationOutcome::Valid(Target::Image { version: Some(version), .. }) if version == "4.14.12")
    );
}

/// A cluster without a way to the registries of its release installs from a mirror: the digest tells which release an image is.
#[test]
fn an_image_under_the_name_of_a_mirror_is_known_by_its_digest() {
    let mirrored = |image: String| image.replace("quay.io", "mirror.example:5000");
    let known = ReleaseRef {
        version: "4.14.12".to_owned(),
        image: mirrored(image("a").image.unwrap()),
    };
    assert_ne!(Some(&known.image), image("a").image.as_ref());
    let asked = |facts: &mut Facts| facts.spec.desired = image("a");
    let offered = outcome(|facts| {
        asked(facts);
        facts.cluster.offered.push(known.clone());
    });
    let taken_up = outcome(|facts| {
        asked(facts);
        let begun = HistoryEntry {
            version: known.version.clone(),
            image: known.image.clone(),
            completed: false,
            started: Some(facts.now),
        };
        facts.cluster.history.insert(0, begun);
    });
    for outcome in [offered, taken_up] {
        assert!(
            matches!(&outcome, ValidationOutcome::Version { version, .. } if version == "4.14.12"),
            "{outcome:?}"
        );
    }
}

#[test]
fn another_image_is_known_by_its_registry_and_another_channel_by_the_graph() {
    let asked = |facts: &mut Facts| facts.spec.desired = image("f");
    assert_eq!(outcome(asked), ValidationOutcome::Unread(Need::Release));
    let found = outcome(|facts| {
        asked(facts);
        facts.seen.release = Ok("4.14.12".to_owned());
    });
    let found_version = ValidationOutcome::Version {
        version: "4.14.12".to_owned(),
        image: image("f").image.unwrap(),
    };
    assert_eq!(found, found_version);
    let of_another = outcome(|facts| {
        asked(facts);
        facts.spec.desired.version = Some("4.14.13".to_owned());
        facts.version_of = image("e").image;
    });
    assert_eq!(
        of_another,
        ValidationOutcome::Unread(Need::Release),
        "that was another image's version"
    );
    let of_channel = |graph: Option<Result<&[&str], &str>>| {
        outcome(|facts| {
            facts.spec.desired.channel = Some("stable-4.15".to_owned());
            facts.spec.desired.version = Some("4.15.1".to_owned());
            facts.configuration.validation.cincinnati = true;
            if let Some(graph) = graph {
                facts.seen.graph = graph
                    .map(|versions| versions.iter().copied().map(str::to_owned).collect())
                    .map_err(|why| Unread::Failed(why.to_owned()));
            }
        })
    };
    assert_eq!(of_channel(None), ValidationOutcome::Unread(Need::Graph));
    assert!(matches!(
        of_channel(Some(Ok(&["4.15.1"]))),
        ValidationOutcome::Valid(_)
    ));
    assert!(invalid(of_channel(Some(Ok(&["4.15.2"])))).contains("it offers 4.15.2"));
    assert!(invalid(of_channel(Some(Err("no answer")))).contains("leads to 4.15.1: no answer"));
}

#[test]
fn the_newest_completed_release_counts_not_one_that_was_only_begun() {
    let past = |version: &str, completed| HistoryEntry {
        version: version.to_owned(),
        image: String::new(),
        completed,
        started: None,
    };
    let outcome = outcome(|facts| {
        facts.cluster = ObservedCluster {
            history: vec![past("4.14.13", false), past("4.14.9", true)],
            ..facts.cluster.clone()
        };
    });
    assert!(matches!(outcome, ValidationOutcome::Valid(_)));
}
