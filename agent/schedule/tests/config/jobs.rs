//! Which UpgradeJobs are created, when, and which are deleted.

use drydock_api::schedule::{JobNotification, SecretKey, UpgradeJob, WebhookReceiver};
use drydock_schedule::config::NextDecision;
use serde_json::json;

use super::*;
use crate::shared::{Cluster, at, end};

#[test]
fn a_job_is_created_from_the_start_of_the_pin_window_on() {
    let mut cluster = tuesdays();
    let plan = cluster.decide(BEFORE);
    assert_eq!((plan.create, plan.wake), (None, Some(at(FIRST))));
    assert_eq!(last(&cluster), None, "waking early decides nothing");
    let plan = cluster.decide(FIRST);
    let job = plan.create.unwrap();
    assert_eq!(job.spec.start_after.0, at(START));
    assert_eq!(last(&cluster), Some(at(START)));
}

#[test]
fn a_job_is_created_late_but_not_later_than_the_scheduling_delay() {
    assert!(tuesdays().decide(LAST).create.is_some());
    let mut cluster = tuesdays();
    let plan = cluster.decide(AFTER);
    assert_eq!(plan.create, None);
    let next = NextDecision::Create {
        start: at(NEXT_START),
        at: at(NEXT_FIRST),
    };
    assert_eq!((plan.next, plan.missed), (next, Some(at(START))));
    let (status, reason, message) = condition(&cluster, "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Scheduled"));
    assert_eq!(
        message,
        "the UpgradeJob of the maintenance at 2026-12-01T21:00:00Z is created at 2026-12-01T17:00:00Z, with the highest version that \
         is available then; the maintenance at 2026-11-24T21:00:00Z has been missed"
    );
}

#[test]
fn the_job_is_what_the_template_says() {
    let mut cluster = tuesdays();
    cluster.available = Some(vec![("4.16.9", "a"), ("4.16.10", "b"), ("4.16.2", "c")]);
    let spec = &mut cluster.config.spec;
    spec.max_upgrade_start_delay = "30m".to_owned();
    spec.job_template.metadata = Some(
        serde_json::from_value(json!({
            "name": "ignored",
            "namespace": "ignored",
            "finalizers": ["ignored"],
            "labels": { "window": "tuesday" },
            "annotations": { "ticket": "42" },
        }))
        .unwrap(),
    );
    spec.job_template.spec.config.upgrade_timeout = "6h".to_owned();
    let config = spec.job_template.spec.config.clone();
    let job = cluster.decide(FIRST).create.unwrap();
    assert_eq!(
        serde_json::to_value(&job).unwrap(),
        json!({
            "apiVersion": "managedupgrade.appuio.io/v1beta1",
            "kind": "UpgradeJob",
            "metadata": {
                "name": "nights-4-16-10-1795554000",
                "namespace": "maintenance",
                "labels": { "window": "tuesday" },
                "annotations": { "ticket": "42" },
                "ownerReferences": [{
                    "apiVersion": "managedupgrade.appuio.io/v1beta1",
                    "kind": "UpgradeConfig",
                    "name": "nights",
                    "uid": "config-1",
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "startAfter": START,
                "startBefore": "2026-11-24T21:30:00Z",
                "desiredVersion": { "version": "4.16.10", "image": "b" },
                "config": config,
            },
        })
    );
}

#[test]
fn without_an_update_the_job_only_runs_hooks() {
    let mut cluster = tuesdays();
    cluster.available = Some(Vec::new());
    let job = cluster.decide(FIRST).create.unwrap();
    assert_eq!(job.metadata.name.as_deref(), Some("nights-noop-1795554000"));
    assert_eq!(job.spec.desired_version, None);
}

#[test]
fn the_name_of_a_job_is_one_that_an_object_can_have() {
    let mut cluster = tuesdays();
    cluster.available = Some(vec![("4.17.0-RC.1+build_5", "a")]);
    let job = cluster.decide(FIRST).create.unwrap();
    assert_eq!(
        job.metadata.name.as_deref(),
        Some("nights-4-17-0-rc-1-build-5-1795554000")
    );
    let mut cluster = tuesdays();
    cluster.config.metadata.name = Some("n".repeat(253));
    let name = cluster.decide(FIRST).create.unwrap().metadata.name.unwrap();
    assert!(name.len() <= 253 && name.ends_with("-1795554000"), "{name}");
}

#[test]
fn a_job_notifies_the_receivers_of_its_config_too() {
    let receiver = |name: &str| JobNotification {
        webhook: WebhookReceiver {
            url_secret_ref: SecretKey {
                name: name.to_owned(),
                key: "url".to_owned(),
            },
            signing_key_secret_ref: None,
        },
        ..JobNotification::default()
    };
    let mut cluster = tuesdays();
    let spec = &mut cluster.config.spec;
    spec.notifications = Some(vec![receiver("both"), receiver("config")]);
    spec.job_template.spec.config.notifications = Some(vec![receiver("job"), receiver("both")]);
    let job = cluster.decide(FIRST).create.unwrap();
    assert_eq!(
        job.spec.config.notifications,
        Some(vec![receiver("job"), receiver("both"), receiver("config")])
    );
}

#[test]
fn without_the_cluster_version_a_job_waits_and_is_not_created_empty() {
    let mut cluster = tuesdays();
    cluster.available = None;
    let plan = cluster.decide(FIRST);
    assert_eq!(plan.create, None);
    assert_eq!(plan.wake, Some(at("2026-11-24T17:01:00Z")));
    let (status, reason, _) = condition(&cluster, "Ready");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "ClusterVersionNotRead")
    );
    cluster.available = Some(Vec::new());
    assert!(cluster.decide("2026-11-24T17:01:00Z").create.is_some());
}

#[test]
fn there_is_at_most_one_job_that_has_not_ended() {
    let mut cluster = tuesdays();
    cluster.decide(FIRST);
    for now in [FIRST, START, NEXT_FIRST, "2026-12-08T17:00:00Z"] {
        let plan = cluster.decide(now);
        assert_eq!(plan.create, None, "{now}");
        let job = "nights-noop-1795554000".to_owned();
        assert_eq!(plan.next, NextDecision::AwaitEnd { job });
    }
    end(&mut cluster.jobs[0], "Succeeded");
    // The two that have been missed meanwhile are not caught up on.
    let plan = cluster.decide("2026-12-09T00:00:00Z");
    assert_eq!((plan.create, plan.missed), (None, Some(at(NEXT_START))));
    assert_eq!(plan.wake, Some(at("2026-12-15T17:00:00Z")));
}

#[test]
fn a_failed_job_does_not_block_the_next() {
    let mut cluster = tuesdays();
    cluster.decide(FIRST);
    end(&mut cluster.jobs[0], "Failed");
    assert!(cluster.decide(NEXT_FIRST).create.is_some());
}

#[test]
fn a_job_that_ends_before_its_start_is_not_replaced_before_it() {
    let mut cluster = Cluster::new("0 * * * *");
    cluster.config.spec.pin_version_window = Some("4h".to_owned());
    let job = cluster.decide("2026-11-24T17:00:00Z").create.unwrap();
    end(&mut cluster.jobs[0], "Failed");
    let plan = cluster.decide("2026-11-24T18:00:00Z");
    assert_eq!(plan.create, None);
    assert!(matches!(plan.next, NextDecision::AwaitStart { start, .. } if start == job.spec.start_after.0));
    assert!(cluster.decide("2026-11-24T21:00:00Z").create.is_some());
}

#[test]
fn a_config_that_is_being_deleted_creates_no_job() {
    let mut cluster = tuesdays();
    let deleted = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(BEFORE));
    cluster.config.metadata.deletion_timestamp = Some(deleted);
    let plan = cluster.decide(FIRST);
    assert_eq!(
        (plan.create, plan.wake, plan.next),
        (None, None, NextDecision::Deleting)
    );
}

#[test]
fn jobs_of_others_do_not_count() {
    let mut cluster = tuesdays();
    let mut other = tuesdays();
    other.config.metadata.uid = Some("config-2".to_owned());
    other.decide(FIRST);
    cluster.jobs = other.jobs;
    // One of the same name that was deleted, one that only refers to it, and one of another namespace.
    let mut referring = cluster.jobs[0].clone();
    let owner = &mut referring.metadata.owner_references.as_mut().unwrap()[0];
    owner.uid = "config-1".to_owned();
    let mut elsewhere = referring.clone();
    elsewhere.metadata.namespace = Some("elsewhere".to_owned());
    referring.metadata.owner_references.as_mut().unwrap()[0].controller = None;
    cluster.jobs.extend([referring, elsewhere]);
    assert!(cluster.decide(FIRST).create.is_some());
}

#[test]
fn a_status_that_was_not_written_is_repaired_from_the_job() {
    let mut cluster = tuesdays();
    cluster.decide(FIRST);
    cluster.config.status = None;
    let plan = cluster.decide(FIRST);
    assert_eq!(plan.create, None);
    assert_eq!(last(&cluster), Some(at(START)));
}

#[test]
fn a_job_that_was_deleted_is_not_created_again() {
    let mut cluster = tuesdays();
    cluster.decide(FIRST);
    cluster.jobs.clear();
    assert_eq!(cluster.decide(LAST).create, None);
    assert!(cluster.decide(NEXT_FIRST).create.is_some());
}

// The original ends in an error after a hundred.
#[test]
fn any_number_of_maintenances_may_have_been_missed() {
    for cron in ["0 * * * *", "* * * * *", "@every 10m"] {
        let mut cluster = Cluster::new(cron);
        let plan = cluster.decide("2036-11-24T17:00:00Z");
        assert!(plan.create.is_some(), "{cron}");
        assert!(
            plan.missed
                .is_some_and(|missed| missed < at("2026-11-18T11:00:00Z"))
        );
    }
}

// With the original it fails at once.
#[test]
fn no_job_is_created_that_could_no_longer_start() {
    let mut cluster = Cluster::new("0 22 * * *");
    cluster.config.spec.max_scheduling_delay = "12h".to_owned();
    assert!(cluster.decide("2026-11-24T23:00:00Z").create.is_some());
    let mut cluster = Cluster::new("0 22 * * *");
    cluster.config.spec.max_scheduling_delay = "12h".to_owned();
    let plan = cluster.decide("2026-11-24T23:00:01Z");
    assert_eq!((plan.create, plan.wake), (None, Some(at("2026-11-25T22:00:00Z"))));
}

#[test]
fn succeeded_jobs_are_pruned_but_for_the_newest() {
    let names = |plan: Vec<drydock_schedule::config::PrunedJob>| -> Vec<String> {
        plan.into_iter().map(|job| job.name).collect()
    };
    for (limit, pruned) in [
        (None, vec!["job-2", "job-1"]),
        (Some(1), vec!["job-5", "job-4", "job-3", "job-2", "job-1"]),
        (Some(6), vec![]),
        (Some(0), vec![]),
        (Some(-1), vec![]),
    ] {
        let mut cluster = tuesdays();
        let template = tuesdays().decide(FIRST).create.unwrap();
        let job = |number: i64, how: &str| -> UpgradeJob {
            let mut job = template.clone();
            job.metadata.name = Some(format!("job-{number}"));
            job.spec.start_after.0 = at("2026-11-01T00:00:00Z") + jiff::SignedDuration::from_hours(number);
            end(&mut job, how);
            job
        };
        cluster.jobs = (1..=6).map(|number| job(number, "Succeeded")).collect();
        cluster.jobs.push(job(7, "Failed"));
        cluster.jobs.reverse();
        cluster.config.spec.successful_jobs_history_limit = limit;
        assert_eq!(names(cluster.plan(CREATED).prune), pruned, "{limit:?}");
    }
}

/// The last success says since when there has been none, however many maintenances have been skipped since.
#[test]
fn the_newest_job_that_was_not_skipped_is_never_pruned() {
    let mut cluster = tuesdays();
    let template = tuesdays().decide(FIRST).create.unwrap();
    let job = |number: i64, reason: &str| -> UpgradeJob {
        let mut job = template.clone();
        job.metadata.name = Some(format!("job-{number}"));
        job.spec.start_after.0 = at("2026-11-01T00:00:00Z") + jiff::SignedDuration::from_hours(number);
        end(&mut job, "Succeeded");
        let conditions = job.status.as_mut().unwrap().conditions.as_mut().unwrap();
        reason.clone_into(&mut conditions[0].reason);
        job
    };
    let reasons = ["Succeeded", "Succeeded", "Skipped", "Skipped", "Skipped"];
    let jobs = (1..).zip(reasons);
    cluster.jobs = jobs.map(|(number, reason)| job(number, reason)).collect();
    cluster.config.spec.successful_jobs_history_limit = Some(2);
    let pruned = cluster.plan(CREATED).prune.into_iter().map(|job| job.name);
    assert_eq!(pruned.collect::<Vec<_>>(), ["job-3", "job-1"]);
}
