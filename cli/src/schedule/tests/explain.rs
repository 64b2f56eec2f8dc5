//! The walk through a decision.

use serde_json::json;

use super::fixture::*;
use crate::schedule::cluster::ObservedCluster;
use crate::schedule::explain::{explanation, render};

fn said(cluster: &ObservedCluster) -> String {
    render(&explanation(cluster, cluster.config("nights").unwrap()))
}

fn all(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part}\n\n{said}");
    }
}

#[test]
fn weeks_that_do_not_count_and_turns_of_the_year_are_shown() {
    let said = said(&with(|cluster| cluster.now = at("2026-12-23T08:00:00Z")));
    all(
        &said,
        &[
            "Tue 2026-12-29 22:00 +01:00  week 53\n",
            "Tue 2027-01-05 22:00 +01:00  week 01\n",
            "Tue 2027-01-12 22:00 +01:00  week 02: not in isoWeek, no maintenance",
            "weeks 53 and 1 are both odd",
            "the maintenance at 2026-12-01T21:00:00Z has been missed",
        ],
    );
}

#[test]
fn each_window_says_whom_it_selects_and_what_is_wrong_with_it() {
    let windows = vec![
        window(
            "gone",
            "2026-11-01T00:00:00Z",
            "2026-11-02T00:00:00Z",
            &json!({"configSelector": {}}),
        ),
        holidays(&json!({"configSelector": {"matchLabels": {"app": "nights"}}, "jobSelector": {}})),
        window(
            "other",
            "2026-12-01T00:00:00Z",
            "2026-12-02T00:00:00Z",
            &json!({"configSelector": {"matchLabels": {"app": "x"}}}),
        ),
        window(
            "wrong",
            "2026-12-05T00:00:00Z",
            "2026-12-06T00:00:00Z",
            &json!({"configSelector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}}),
        ),
    ];
    let said = said(&with(|cluster| cluster.windows = Ok(windows)));
    all(
        &said,
        &[
            "UpgradeSuspensionWindow gone (nobody is there), over since 2026-11-02T00:00:00Z: selects the UpgradeConfig (no UpgradeJob is created)\n",
            "UpgradeSuspensionWindow holidays (nobody is there), in force until 2027-01-31T00:00:00Z: selects the UpgradeConfig (no UpgradeJob is created) and its UpgradeJobs (they are skipped)\n",
            "UpgradeSuspensionWindow other (nobody is there), from 2026-12-01T00:00:00Z until 2026-12-02T00:00:00Z: selects neither the UpgradeConfig nor its UpgradeJobs\n",
            "taken to select everything, correct it",
            "the next maintenance has no UpgradeJob and is left out",
        ],
    );
}

#[test]
fn versions_that_are_not_pinned_say_why() {
    let said = said(&with(|cluster| {
        let version = cluster.cluster_version.as_mut().unwrap();
        let status = version.status.as_mut().unwrap();
        status.available_updates = read(json!([
            {"version": "latest", "image": "a"}, {"version": "4.16.9", "image": "b"}, {"version": "4.17.0-rc.1", "image": "c"},
        ]));
    }));
    all(
        &said,
        &[
            "the cluster runs 4.16.4 (channel stable-4.16)",
            "4.17.0-rc.1: pinned, the highest that is available; a pre-release is lower than its own release only",
            "4.16.9: not pinned, it is lower",
            "\"latest\": not pinned, it is no version and comes last",
            "4.17.2: not pinned, it is conditional: SlowPods: pods start slowly",
        ],
    );
}

#[test]
fn an_upgrade_job_says_where_it_is_and_what_it_does_next() {
    let conditions = json!([
        condition("Started", "True", "Started", "the upgrade to 4.16.9 has started"),
        condition("Waiting", "True", "LockHeld", "waits for nobody"),
    ]);
    let running = job("nights", "n", "2026-11-25T07:00:00Z", &conditions);
    let failed = json!([condition("Failed", "True", "TimedOut", "not done by then")]);
    let earlier = job("nights", "e", "2026-11-17T21:00:00Z", &failed);
    let said = said(&with(|cluster| {
        cluster.jobs = Ok(vec![running, earlier]);
        cluster.pools.as_mut().unwrap()[0].spec.paused = Some(true);
    }));
    all(
        &said,
        &[
            "the lock of the cluster is free",
            "machine config pool worker: 3 of 3 machines are updated, paused, not by an UpgradeJob",
            "UpgradeJob n: upgrades to 4.16.9; starts at 2026-11-25T07:00:00Z, or until 2026-11-25T08:00:00Z",
            "the last one, UpgradeJob e, has failed at 2026-11-25T07:00:00Z (TimedOut): not done by then",
            "Started is True since 2026-11-25T07:00:00Z (Started): the upgrade to 4.16.9 has started",
            "Waiting is True since 2026-11-25T07:00:00Z (LockHeld): waits for nobody",
            "as things are, it now does this:\n     PreHealthCheckCompleted: the cluster is healthy\n     UpgradeCommenced: the cluster is asked for 4.16.9",
            "UpgradeJob n has not ended: until it has, no other is created",
        ],
    );
}

#[test]
fn what_it_waits_for_ends_the_walk() {
    let said = said(&with(|cluster| {
        let version = cluster.cluster_version.as_mut().unwrap();
        let update = json!({"version": "4.16.8", "state": "Partial", "startedTime": "2026-11-25T07:00:00Z"});
        version.status.as_mut().unwrap().history.insert(0, read(update));
    }));
    all(
        &said,
        &[
            "the cluster is being updated to 4.16.8 (channel stable-4.16)",
            "Waiting (UpgradeInProgress): waits for the update of the cluster to 4.16.8, which is under way\n     looked at again at ",
            "the next run would wait for the update of the cluster to 4.16.8, which is under way",
        ],
    );
}

#[test]
fn what_must_be_corrected_is_said_first() {
    let said = said(&with(|cluster| {
        cluster.configs[1].spec.max_scheduling_delay = "soon".to_owned();
    }));
    all(
        &said,
        &[
            "1. Schedule\n   spec.maxSchedulingDelay:",
            "the next run would not run",
        ],
    );
}
