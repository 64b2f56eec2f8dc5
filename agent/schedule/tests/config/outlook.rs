//! What will be decided about the next maintenances, and how one of them is left out.

use drydock_schedule::config::{LeftOut, NextDecision, SearchOrigin};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::shared::{at, end, window};

#[test]
fn the_next_maintenances_are_those_that_are_decided() {
    let cluster = tuesdays();
    let outlook = cluster.outlook(CREATED, 2).unwrap();
    assert_eq!(outlook.origin, SearchOrigin::Created(at(CREATED)));
    let [first, second] = &outlook.maintenances[..] else {
        panic!("{outlook:?}");
    };
    assert_eq!(
        (first.start, first.create_from, first.create_until),
        (at(START), at(FIRST), at(LAST))
    );
    assert_eq!(
        (second.start, second.create_from),
        (at(NEXT_START), at(NEXT_FIRST))
    );
    assert_eq!((&first.left_out, outlook.missed), (&None, None));
    let next = cluster.plan(CREATED).next;
    let (start, at) = (first.start, first.create_from);
    assert_eq!(next, NextDecision::Create { start, at });
}

#[test]
fn where_the_search_begins_is_the_last_maintenance_that_was_decided() {
    let mut cluster = tuesdays();
    let job = cluster.decide(FIRST).create.unwrap();
    let name = job.metadata.name.unwrap();
    let expected = SearchOrigin::LatestJob {
        job: name.clone(),
        start: at(START),
    };
    assert_eq!(cluster.outlook(LAST, 1).unwrap().origin, expected);
    assert_eq!(
        expected.to_string(),
        format!("2026-11-24T21:00:00Z, the start of its latest UpgradeJob, {name}")
    );
    cluster.jobs.clear();
    let origin = cluster.outlook(LAST, 1).unwrap().origin;
    assert_eq!(origin, SearchOrigin::LastDecided(at(START)));
    cluster.config.status = None;
    cluster.config.metadata.creation_timestamp = None;
    let origin = cluster.outlook(LAST, 1).unwrap().origin;
    assert_eq!(origin, SearchOrigin::Now(at(LAST)));
}

#[test]
fn each_is_left_out_for_its_own_reason_and_what_was_missed_is_said() {
    let mut cluster = tuesdays();
    cluster.windows = vec![window("party", NEXT_FIRST, NEXT_START)];
    let outlook = cluster.outlook(BEFORE, 3).unwrap();
    let reasons: Vec<_> = outlook
        .maintenances
        .iter()
        .map(|planned| planned.left_out.as_ref().map(LeftOut::reason))
        .collect();
    assert_eq!(reasons, [None, Some("UpgradeSuspensionWindow"), None]);
    let outlook = cluster.outlook(AFTER, 1).unwrap();
    assert_eq!(
        (outlook.missed, outlook.maintenances[0].start),
        (Some(at(START)), at(NEXT_START))
    );
    cluster.config.spec.schedule.suspend = Some(true);
    let outlook = cluster.outlook(BEFORE, 1).unwrap();
    assert_eq!(outlook.maintenances[0].left_out, Some(LeftOut::BySchedule));
    cluster.config.spec.schedule.cron = "0 22 30 2 *".to_owned();
    assert_eq!(cluster.outlook(BEFORE, 1).unwrap_err().reason(), "NeverOccurs");
}

/// A window over the time in which a maintenance is decided leaves out that one, and no other, whenever somebody looks.
#[test]
fn the_time_in_which_one_is_decided_is_that_of_no_other() {
    for (cron, pin, delay, overlaps) in [
        ("0 21 * * 2", "4h", "1h", false),
        ("0 21 * * *", "20h", "3h", false),
        ("0 * * * *", "0s", "1h", true),
        ("0 * * * *", "30m", "2h", true),
        ("0 * * * *", "0s", "59m59s", false),
        ("*/10 * * * *", "0s", "0s", false),
        ("@every 36h", "1h", "2h", false),
    ] {
        let mut cluster = Cluster::new(cron);
        cluster.config.spec.pin_version_window = Some(pin.to_owned());
        cluster.config.spec.max_scheduling_delay = delay.to_owned();
        let outlook = cluster.outlook("2026-11-23T09:30:00Z", 5).unwrap();
        let skipped = outlook.maintenances[2].start;
        let span = outlook.decided_in(skipped, at("2026-11-23T09:30:00Z")).unwrap();
        assert_eq!(span.overlaps, overlaps, "{cron} {pin} {delay}");
        assert!(span.start < span.end, "{cron}: a window that is none is refused");
        let mut window = window("skip", CREATED, CREATED);
        (window.spec.start, window.spec.end) = (Time(span.start), Time(span.end));
        cluster.windows = vec![window];
        let decided = who_looks_every(
            &mut cluster,
            "2026-11-23T09:30:00Z",
            outlook.maintenances[4].start,
        );
        assert!(!decided.contains(&skipped), "{cron} {pin} {delay}");
        for index in [1, 3] {
            let other = outlook.maintenances[index].start;
            assert!(decided.contains(&other), "{cron} {pin} {delay}: {other}");
        }
        assert_eq!(outlook.decided_in(at(CREATED), at(CREATED)), None);
    }
}

/// Where the next one is decided already, a window that leaves out the overdue one leaves out both.
#[test]
fn an_overdue_maintenance_is_decided_until_it_is_missed() {
    let mut cluster = Cluster::new("0 * * * *");
    cluster.config.spec.max_scheduling_delay = "2h".to_owned();
    cluster.config.spec.max_upgrade_start_delay = "3h".to_owned();
    for (now, end, overlaps) in [
        ("2026-11-23T10:30:00Z", "2026-11-23T10:59:59Z", true),
        ("2026-11-23T11:30:00Z", "2026-11-23T12:00:00Z", false),
    ] {
        let outlook = cluster.outlook("2026-11-23T09:30:00Z", 5).unwrap();
        let span = outlook.decided_in(at("2026-11-23T10:00:00Z"), at(now)).unwrap();
        assert_eq!((span.end, span.overlaps), (at(end), overlaps), "{now}");
    }
}

/// The starts of the UpgradeJobs that are created until then; each succeeds at once.
fn who_looks_every(cluster: &mut Cluster, from: &str, until: Timestamp) -> Vec<Timestamp> {
    let mut now = at(from);
    let mut starts = Vec::new();
    while now < until {
        let plan = cluster.decide(&now.to_string());
        if let Some(job) = &plan.create {
            starts.push(job.spec.start_after.0);
        }
        cluster.jobs.iter_mut().for_each(|job| end(job, "Succeeded"));
        let wake = plan.wake.unwrap();
        now = if wake > now {
            wake
        } else {
            now + SignedDuration::from_secs(1)
        };
    }
    starts
}
