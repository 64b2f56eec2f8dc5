use drydock_api::GoDuration;
use drydock_api::openshift::cluster_version::UpdateHistory;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::*;

fn go(text: &str) -> SignedDuration {
    text.parse::<GoDuration>().unwrap().signed()
}

fn history(entries: &[(&str, i64)]) -> Vec<UpdateHistory> {
    let entry = |(state, minutes): &(&str, i64)| -> Value {
        let ended = "2026-03-01T10:00:00Z".parse::<jiff::Timestamp>().unwrap();
        let started = ended - SignedDuration::from_mins(*minutes);
        json!({"state": state, "startedTime": started.to_string(),
            "completionTime": (*state == "Completed").then(|| ended.to_string())})
    };
    let entries = entries
        .iter()
        .map(|at| serde_json::from_value(entry(at)).unwrap());
    entries.collect()
}

#[test]
fn the_curve_of_progress_has_the_values_of_oc() {
    for (updated, of, passed) in [
        (1.0, 33.0, 0.0454),
        (2.0, 33.0, 0.1145),
        (4.0, 33.0, 0.2317),
        (5.0, 33.0, 0.2797),
        (8.0, 33.0, 0.3818),
        (1.0, 4.0, 0.3822),
        (10.0, 33.0, 0.3894),
        (12.0, 33.0, 0.3917),
        (1.0, 2.0, 0.3895),
        (20.0, 33.0, 0.3941),
        (3.0, 4.0, 0.4194),
        (28.0, 33.0, 0.4468),
        (29.0, 33.0, 0.4557),
        (30.0, 33.0, 0.5290),
        (31.0, 33.0, 0.6750),
        (32.0, 33.0, 0.6976),
        (99.0, 100.0, 0.8321),
        (1.0, 1.0, 1.03),
    ] {
        let found = timewise(updated / of);
        assert!((found - passed).abs() < 0.0002, "{updated}/{of}: {found}");
    }
}

#[test]
fn the_curve_of_progress_has_the_steps_of_oc() {
    assert!(timewise(0.0118) < 0.0, "negative at the very beginning");
    assert!(
        (timewise(0.249_999_9) - 0.3874).abs() < 0.0002,
        "before the step down"
    );
    assert!(
        (timewise(0.899_999_9) - 0.4617).abs() < 0.0002,
        "before the step up"
    );
    assert!((timewise(0.9) - 0.4785).abs() < 0.0002, "after the step up");
}

#[test]
fn remaining_times_are_those_of_oc() {
    for (baseline, to_last, updating_for, updated, expected) in [
        ("1h", "30m", "30m", 0.0, "36m"),
        ("1h", "30m", "31m", 0.0, "35m"),
        ("1h", "30m", "30m", 0.2, "1h9m"),
        ("1h", "30m", "35m", 0.2, "1h3m"),
        ("1h", "30m", "30m", 0.75, "50m"),
        ("1h", "20m", "20m", 0.99, "4m50s"),
        ("80m", "4m", "10m", 0.05, "1h24m"),
        ("1h", "5m", "10m", 0.5, "1h"),
        ("1h", "5m1s", "10m", 0.5, "3m27s"),
        ("1h", "6s", "6s", 4.0 / 33.0, "1h12m"),
        ("1h", "89s", "89s", 1.0 / 33.0, "1h10m"),
        ("1h", "28m", "28m", 30.0 / 33.0, "30m"),
        ("1h", "53m", "53m", 3.0 / 7.0, "1h39m"),
        ("1h", "40m", "40m", 32.0 / 33.0, "21m"),
        ("1h", "40m", "60m", 32.0 / 33.0, "-2m13s"),
        ("1h", "40m", "70m", 32.0 / 33.0, "-10m33s"),
        ("1h", "20m", "61m", 0.0, "-50s"),
        ("1h", "20m", "72m", 0.0, "-10m"),
        ("1h", "20m", "20m", 1.0, "0s"),
    ] {
        let found = remaining(go(baseline), go(to_last), go(updating_for), updated);
        assert_eq!(
            found,
            go(expected),
            "{baseline}, {to_last}, {updating_for}, {updated}: {}",
            GoDuration::from(found)
        );
    }
}

#[test]
fn without_an_earlier_update_an_hour_is_usual() {
    for entries in [
        &[][..],
        &[("Partial", 10)],
        &[("Partial", 10), ("Completed", 90)],
        &[("Partial", 10), ("Partial", 20), ("Completed", 90)],
    ] {
        assert_eq!(baseline(&history(entries)), go("1h"), "{entries:?}");
    }
}

#[test]
fn the_last_completed_update_is_the_baseline() {
    let entries = [
        ("Partial", 10),
        ("Partial", 20),
        ("Completed", 71),
        ("Completed", 80),
        ("Completed", 35),
    ];
    assert_eq!(baseline(&history(&entries)), go("1h11m"));
}

#[test]
fn the_own_history_is_the_median_of_completed_updates_without_the_installation() {
    let entries = [
        ("Partial", 10),
        ("Completed", 60),
        ("Completed", 100),
        ("Partial", 5),
        ("Completed", 80),
        ("Completed", 35),
    ];
    let history = history(&entries);
    assert_eq!(own_durations(&history), [go("1h"), go("1h40m"), go("1h20m")]);
    assert_eq!(
        remaining_by_history(&history, go("0s"), go("10m"), 0.0),
        Some(go("1h10m")),
        "the median, less what has passed"
    );
    assert_eq!(
        remaining_by_history(&history, go("90m"), go("90m"), 1.0),
        Some(go("0s"))
    );
}

#[test]
fn without_an_own_history_there_is_no_estimate_by_it() {
    let entries = history(&[("Partial", 10), ("Completed", 90)]);
    assert_eq!(remaining_by_history(&entries, go("5m"), go("10m"), 0.5), None);
}

#[test]
fn the_estimate_by_history_never_grows_with_progress() {
    let entries = history(&[("Partial", 10), ("Completed", 60), ("Completed", 90)]);
    let at = |updated: u32| remaining_by_history(&entries, go("10m"), go("10m"), f64::from(updated) / 100.0);
    for updated in 0..100 {
        assert!(at(updated + 1) <= at(updated), "at {updated} %");
    }
}

#[test]
fn limits_of_pools_are_numbers_or_percentages_and_at_least_one() {
    let text = |text: &str| Some(IntOrString::String(text.to_owned()));
    for (limit, nodes, at_a_time) in [
        (None, 10, 1),
        (Some(IntOrString::Int(3)), 10, 3),
        (Some(IntOrString::Int(0)), 10, 1),
        (Some(IntOrString::Int(-1)), 10, 1),
        (text("25%"), 10, 2),
        (text("5%"), 10, 1),
        (text("100%"), 10, 10),
        (text("many"), 10, 1),
    ] {
        assert_eq!(max_unavailable(limit.as_ref(), nodes), at_a_time, "{limit:?}");
    }
}

#[test]
fn pools_take_their_outdated_nodes_in_batches_and_the_drain_that_is_under_way() {
    for (outdated, at_a_time, draining, expected) in [
        (0, 1, 0, "0s"),
        (1, 1, 0, "15m"),
        (3, 1, 1, "55m"),
        (7, 3, 0, "45m"),
        (7, 0, 0, "1h45m"),
    ] {
        let found = remaining_of_pool(outdated, at_a_time, draining);
        assert_eq!(found, go(expected), "{outdated} nodes, {at_a_time} at a time");
    }
}
