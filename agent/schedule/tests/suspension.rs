//! Which objects an UpgradeSuspensionWindow affects (Maintenance schedules, sections 1.4, 2.6 and 2.8).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use drydock_schedule::suspension::{Affects, Suspensions, matching};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use shared::{Cluster, at, labels, selector, window};

const START: &str = "2026-12-18T00:00:00Z";
const END: &str = "2027-01-04T00:00:00Z";

fn metadata(name: &str, namespace: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels(&[("name", name)])),
        ..ObjectMeta::default()
    }
}

fn job(name: &str, start: &str) -> UpgradeJob {
    let mut job = UpgradeJob {
        metadata: metadata(name, "maintenance"),
        ..UpgradeJob::default()
    };
    job.spec.start_after.0 = at(start);
    job
}

fn config(name: &str, namespace: &str) -> UpgradeConfig {
    let mut config = Cluster::new("@daily").config;
    config.metadata = metadata(name, namespace);
    config
}

fn holidays() -> UpgradeSuspensionWindow {
    let mut window = window("holidays", START, END);
    window.spec.job_selector = Some(LabelSelector::default());
    window
}

/// The names that a window's status lists.
fn listed(window: &UpgradeSuspensionWindow) -> (Vec<String>, Vec<String>) {
    let configs = [
        config("b", "maintenance"),
        config("a", "maintenance"),
        config("c", "elsewhere"),
    ];
    let jobs = [
        job("last", END),
        job("first", START),
        job("before", "2026-12-17T23:59:59Z"),
        job("after", "2027-01-04T00:00:01Z"),
    ];
    let status = matching(window, &configs, &jobs);
    let names = |objects: Option<Vec<drydock_api::schedule::MatchingObject>>| {
        objects.unwrap().into_iter().map(|object| object.name).collect()
    };
    (names(status.matching_configs), names(status.matching_jobs))
}

#[test]
fn the_status_lists_what_is_selected_by_name() {
    let (configs, jobs) = listed(&holidays());
    assert_eq!(configs, ["a", "b"], "of the window's namespace");
    assert_eq!(jobs, ["first", "last"], "both ends are part of it");
}

#[test]
fn no_selector_selects_nothing() {
    let mut window = holidays();
    (window.spec.config_selector, window.spec.job_selector) = (None, None);
    assert_eq!(listed(&window), (vec![], vec![]));
}

#[test]
fn each_selector_is_for_its_own_kind() {
    let mut window = holidays();
    window.spec.config_selector = Some(selector("name", "In", &["b", "first"]));
    window.spec.job_selector = Some(selector("name", "NotIn", &["first"]));
    assert_eq!(listed(&window), (vec!["b".to_owned()], vec!["last".to_owned()]));
}

#[test]
fn a_selector_that_cannot_be_used_selects_everything() {
    let mut window = holidays();
    window.spec.config_selector = Some(selector("name", "In", &[]));
    window.spec.job_selector = Some(selector("name", "Exists", &["first"]));
    let (configs, jobs) = listed(&window);
    assert_eq!((configs.len(), jobs.len()), (2, 2));
    let job = job("job", START);
    let suspensions = Suspensions::of(&job.metadata, Affects::Jobs, [&window]);
    let suspension = suspensions.at(at(START)).unwrap();
    assert!(suspension.to_string().contains("correct it"), "{suspension}");
}

#[test]
fn a_window_is_in_force_from_its_start_to_its_end() {
    let window = holidays();
    let job = job("job", START);
    let suspensions = Suspensions::of(&job.metadata, Affects::Jobs, [&window]);
    for (moment, is_in_force) in [
        ("2026-12-17T23:59:59Z", false),
        (START, true),
        (END, true),
        ("2027-01-04T00:00:01Z", false),
    ] {
        assert_eq!(suspensions.at(at(moment)).is_some(), is_in_force, "{moment}");
    }
    for (moment, change) in [
        ("2026-12-01T00:00:00Z", Some(START)),
        (START, Some("2027-01-04T00:00:01Z")),
        (END, Some("2027-01-04T00:00:01Z")),
        ("2027-01-04T00:00:01Z", None),
    ] {
        assert_eq!(suspensions.next_change(at(moment)), change.map(at), "{moment}");
    }
}

#[test]
fn of_several_windows_the_one_that_ends_last_is_named() {
    let windows = [
        window("short", START, "2026-12-20T00:00:00Z"),
        window("long", START, END),
        window("later", "2026-12-24T00:00:00Z", "2027-02-01T00:00:00Z"),
    ];
    let config = config("a", "maintenance");
    let suspensions = Suspensions::of(&config.metadata, Affects::Configs, &windows);
    assert_eq!(suspensions.at(at(START)).unwrap().window, "long");
    assert_eq!(
        suspensions.at(at("2026-12-24T00:00:00Z")).unwrap().window,
        "later"
    );
}

#[test]
fn a_window_that_ends_before_it_starts_is_never_in_force() {
    let window = window("backwards", END, START);
    let config = config("a", "maintenance");
    let suspensions = Suspensions::of(&config.metadata, Affects::Configs, [&window]);
    for moment in [START, "2026-12-24T00:00:00Z", END] {
        assert_eq!(suspensions.at(at(moment)), None, "{moment}");
    }
}

#[test]
fn the_status_of_a_window_says_whether_it_can_be_used() {
    let mut backwards = window("backwards", END, START);
    let mut invalid = window("invalid", START, END);
    invalid.spec.job_selector = Some(selector("name", "Is", &["a"]));
    backwards.metadata.generation = Some(3);
    let configs = [
        config("b", "maintenance"),
        config("a", "maintenance"),
        config("c", "elsewhere"),
    ];
    let now = at(START);
    for (window, expected) in [
        (window("fine", START, END), ("True", "Usable")),
        (backwards, ("False", "NeverInForce")),
        (invalid, ("False", "InvalidSelector")),
    ] {
        let status = drydock_schedule::window::status(&window, &configs, [], now);
        let condition = &status.conditions.as_ref().unwrap()[0];
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), expected);
        assert_eq!(status.observed_generation, window.metadata.generation);
        let names: Vec<String> = status
            .matching_configs
            .iter()
            .flatten()
            .map(|one| one.name.clone())
            .collect();
        assert_eq!(names, ["a", "b"]);
        // Nothing changes as long as nothing has changed.
        let again = UpgradeSuspensionWindow {
            status: Some(status.clone()),
            ..window
        };
        let later = at(END);
        assert_eq!(
            drydock_schedule::window::status(&again, &configs, [], later),
            status
        );
    }
}

/// A window may have a reason of a megabyte; a condition with it would be refused, and the status be what it was.
#[test]
fn a_long_reason_is_cut() {
    let mut window = window("w", START, END);
    window.spec.reason = "ä".repeat(1_000_000);
    window.spec.config_selector = Some(LabelSelector::default());
    let config = config("c", window.metadata.namespace.as_deref().unwrap());
    let suspensions = Suspensions::of(&config.metadata, Affects::Configs, [&window]);
    let suspension = suspensions.at(at(START)).unwrap();
    assert_eq!(suspension.reason.chars().count(), 256);
    assert!(suspension.to_string().len() < 1024);
}
