//! When maintenances are left out.

use drydock_schedule::config::{ConfigEvent, LeftOut, NextDecision};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::*;
use crate::shared::{at, end, labels, selector, window};

#[test]
fn a_suspended_config_leaves_a_maintenance_out_and_says_so_once() {
    let mut cluster = tuesdays();
    cluster.config.spec.schedule.suspend = Some(true);
    let plan = cluster.decide(BEFORE);
    let (start, at_first) = (at(START), at(FIRST));
    let by = LeftOut::BySchedule;
    assert_eq!(
        plan.next,
        NextDecision::LeaveOut {
            start,
            at: at_first,
            by: by.clone()
        }
    );
    let plan = cluster.decide(FIRST);
    assert_eq!(
        (plan.create, &plan.events[..]),
        (None, &[ConfigEvent { start, by }][..])
    );
    assert_eq!(plan.events[0].reason(), "UpgradeConfigSuspended");
    assert_eq!(
        plan.events[0].note(),
        "the maintenance at 2026-11-24T21:00:00Z is left out: spec.schedule.suspend is true"
    );
    assert_eq!(last(&cluster), Some(start));
    assert_eq!(plan.wake, Some(at(START)), "the list of times changes then");
    for now in [FIRST, LAST, AFTER] {
        assert_eq!(cluster.decide(now).events, [], "{now}");
    }
    let (status, reason, message) = condition(&cluster, "Suspended");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Suspended"));
    assert_eq!(
        message,
        "maintenances are left out: spec.schedule.suspend is true"
    );
}

#[test]
fn a_suspended_config_still_lists_its_next_times() {
    let mut cluster = tuesdays();
    cluster.config.spec.schedule.suspend = Some(true);
    cluster.windows = vec![window("all", CREATED, "2028-01-01T00:00:00Z")];
    cluster.decide(FIRST);
    let status = cluster.config.status.unwrap();
    let times: Vec<_> = status.next_possible_schedules.unwrap();
    assert_eq!(times.len(), 10);
    assert_eq!(times[0].time.0, at(START));
    assert_eq!(times[9].time.0, at("2027-01-26T21:00:00Z"));
}

#[test]
fn the_next_times_are_later_than_now() {
    let mut cluster = tuesdays();
    cluster.decide(START);
    let status = cluster.config.status.unwrap();
    assert_eq!(status.next_possible_schedules.unwrap()[0].time.0, at(NEXT_START));
}

// The original creates the job in the second case, and publishes the event again and again before.
#[test]
fn lifting_a_suspension_in_the_pin_window_creates_no_job_whether_there_was_one_or_not() {
    let never_had_one = tuesdays();
    let mut had_one = tuesdays();
    let mut job = tuesdays().decide(FIRST).create.unwrap();
    job.spec.start_after.0 = at("2026-11-17T21:00:00Z");
    end(&mut job, "Succeeded");
    had_one.jobs = vec![job];
    for (cluster, by_window) in [
        (&never_had_one, false),
        (&had_one, false),
        (&never_had_one, true),
        (&had_one, true),
    ] {
        let mut cluster = cluster.clone();
        if by_window {
            cluster.windows = vec![window("holidays", CREATED, NEXT_START)];
        } else {
            cluster.config.spec.schedule.suspend = Some(true);
        }
        assert_eq!(cluster.decide(FIRST).events.len(), 1);
        assert_eq!(cluster.decide(FIRST).events.len(), 0);
        cluster.windows.clear();
        cluster.config.spec.schedule.suspend = Some(false);
        let plan = cluster.decide("2026-11-24T17:10:00Z");
        assert_eq!((plan.create, plan.events.len()), (None, 0));
        // And what was left out does not stand in the way of the next.
        assert!(cluster.decide(NEXT_FIRST).create.is_some());
    }
}

#[test]
fn a_window_leaves_a_maintenance_out_and_is_named() {
    let mut cluster = tuesdays();
    let mut holidays = window("holidays", "2026-11-24T17:00:00Z", "2026-11-24T17:00:00Z");
    holidays.spec.end.0 = at("2026-11-25T00:00:00Z");
    cluster.windows = vec![holidays];
    let plan = cluster.decide(BEFORE);
    assert!(matches!(
        plan.next,
        NextDecision::LeaveOut {
            by: LeftOut::ByWindow(_),
            ..
        }
    ));
    assert_eq!(condition(&cluster, "Suspended").0, "False");
    let plan = cluster.decide(FIRST);
    assert_eq!(plan.create, None);
    assert_eq!(
        plan.events[0].reason(),
        "UpgradeConfigSuspendedBySuspensionWindow"
    );
    assert_eq!(
        plan.events[0].note(),
        "the maintenance at 2026-11-24T21:00:00Z is left out: UpgradeSuspensionWindow holidays (Holidays) lasts until \
         2026-11-25T00:00:00Z"
    );
    assert_eq!(last(&cluster), Some(at(START)));
    let (status, reason, _) = condition(&cluster, "Suspended");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", "UpgradeSuspensionWindow")
    );
    // It is over, and the condition changes, a second after its end.
    assert_eq!(cluster.decide(START).wake, Some(at("2026-11-25T00:00:01Z")));
    cluster.decide("2026-11-25T00:00:01Z");
    assert_eq!(condition(&cluster, "Suspended").0, "False");
}

#[test]
fn it_counts_when_a_job_would_be_created_and_not_when_it_would_start() {
    // The window begins after the job has been created: the job is skipped by its own selector, or not at all.
    let mut cluster = tuesdays();
    cluster.windows = vec![window("later", "2026-11-24T18:30:00Z", "2026-11-25T00:00:00Z")];
    assert!(cluster.decide(FIRST).create.is_some());
}

#[test]
fn no_selector_selects_nothing_and_an_empty_one_everything() {
    for (selector, is_left_out) in [
        (None, false),
        (Some(LabelSelector::default()), true),
        (Some(selector("window", "Exists", &[])), true),
        (Some(selector("window", "NotIn", &["tuesday"])), false),
    ] {
        let mut cluster = tuesdays();
        cluster.config.metadata.labels = Some(labels(&[("window", "tuesday")]));
        let mut holidays = window("holidays", CREATED, NEXT_START);
        holidays.spec.config_selector = selector.clone();
        cluster.windows = vec![holidays];
        assert_eq!(
            cluster.decide(FIRST).create.is_none(),
            is_left_out,
            "{selector:?}"
        );
    }
}

#[test]
fn a_window_of_another_namespace_is_not_in_force() {
    let mut cluster = tuesdays();
    let mut holidays = window("holidays", CREATED, NEXT_START);
    holidays.metadata.namespace = Some("elsewhere".to_owned());
    cluster.windows = vec![holidays];
    assert!(cluster.decide(FIRST).create.is_some());
}

// The original ignores the window.
#[test]
fn a_selector_that_cannot_be_used_selects_everything_and_the_condition_says_so() {
    let mut cluster = tuesdays();
    let mut holidays = window("holidays", CREATED, NEXT_START);
    holidays.spec.config_selector = Some(selector("window", "Equals", &["tuesday"]));
    cluster.windows = vec![holidays];
    let plan = cluster.decide(FIRST);
    assert_eq!(plan.create, None);
    assert_eq!(
        plan.events[0].reason(),
        "UpgradeConfigSuspendedBySuspensionWindow"
    );
    let (status, reason, message) = condition(&cluster, "Suspended");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "InvalidSelector"));
    assert!(
        message.contains("operator \"Equals\" of the label \"window\" is none of In"),
        "{message}"
    );
}
