//! Maintenances beside the schedule.

use clap::Parser;
use drydock_api::fact::Unread;
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::schedule::UpgradeJob;
use kube::ResourceExt;
use serde_json::json;

use super::fixture::*;
use crate::schedule::arguments::RunNowArguments;
use crate::schedule::cluster::ObservedCluster;
use crate::schedule::run_now::Manual;

#[derive(Parser)]
#[command(disable_version_flag = true)]
struct Line {
    #[command(flatten)]
    arguments: RunNowArguments,
}

/// The UpgradeJob that would be created, and what is said.
fn asked(cluster: &ObservedCluster, words: &[&str]) -> anyhow::Result<(UpgradeJob, String)> {
    let line = Line::try_parse_from([&["run-now"], words].concat())?;
    let config = cluster.config(&line.arguments.config)?;
    let manual = Manual::of(cluster, config, &line.arguments)?;
    let said = manual.said(cluster, config, line.arguments.dry_run);
    Ok((manual.job, said.join("\n")))
}

fn refused(cluster: &ObservedCluster, words: &[&str]) -> String {
    asked(cluster, words).unwrap_err().to_string()
}

#[test]
fn the_job_is_what_the_schedule_would_create_now_and_starts_at_once() {
    let (job, said) = asked(&cluster(), &["nights"]).unwrap();
    assert_eq!(job.name_any(), "nights-4-16-10-1795593600");
    assert_eq!(
        (job.spec.start_after.0, job.spec.start_before.0),
        (at("2026-11-25T08:00:00Z"), at("2026-11-25T09:00:00Z"))
    );
    assert_eq!(job.labels()["team"], "nights");
    assert_eq!(job.owner_references()[0].controller, None);
    assert_eq!(
        said,
        "\
UpgradeJob nights-4-16-10-1795593600 is created in maintenance
  it upgrades to 4.16.10; starts at Wed 2026-11-25 09:00 +01:00, or until Wed 2026-11-25 10:00 +01:00
  as things are, it would ask the cluster for 4.16.10
  the schedule goes on as before, with the maintenance at Tue 2026-12-01 22:00 +01:00
Watch it:
  kubectl get upgradejobs.managedupgrade.appuio.io nights-4-16-10-1795593600 -n maintenance -w
  kubectl drydock schedule --explain nights -n maintenance"
    );
    let (job, said) = asked(
        &cluster(),
        &["nights", "--start-in", "30m", "--version", "4.16.9", "--dry-run"],
    )
    .unwrap();
    assert_eq!(job.spec.start_after.0, at("2026-11-25T08:30:00Z"));
    let release = job.spec.desired_version.unwrap();
    assert_eq!(release.image.as_deref(), Some("quay.io/release:4.16.9"));
    assert!(
        said.contains("would be created in maintenance (dry run: nothing was written)"),
        "{said}"
    );
    assert!(!said.contains("Watch it"), "{said}");
}

#[test]
fn what_it_would_wait_for_is_said_before() {
    let unhealthy = with(|cluster| {
        cluster.operators = Ok(vec![read(json!({
            "metadata": {"name": "dns"},
            "status": {"conditions": [{"type": "Available", "status": "False", "message": "down"}]},
        }))]);
    });
    let (_, said) = asked(&unhealthy, &["nights"]).unwrap();
    assert!(said.contains("it would wait until the cluster is healthy: cluster operators are not healthy: dns is not available: down"), "{said}");
    let none = with(|cluster| {
        let version = cluster.cluster_version.as_mut().unwrap();
        version.status.as_mut().unwrap().available_updates = Vec::new().into();
    });
    let (job, said) = asked(&none, &["nights"]).unwrap();
    assert_eq!(job.spec.desired_version, None);
    assert!(
        said.contains("it runs hooks only, as no update is available"),
        "{said}"
    );
}

/// An UpgradeJob of `nights` that has not ended.
fn unfinished(controller: Option<bool>) -> ObservedCluster {
    with(|cluster| {
        let mut job = job("nights", "n", NIGHT, &json!([]));
        job.metadata.owner_references.as_mut().unwrap()[0].controller = controller;
        cluster.jobs = Ok(vec![job]);
    })
}

fn locked() -> ObservedCluster {
    with(|cluster| {
        let version = cluster.cluster_version.as_mut().unwrap();
        let other = "upgradeconfig.upgrade.managed.openshift.io/c".to_owned();
        version
            .annotations_mut()
            .insert(UPGRADE_LOCK_ANNOTATION.to_owned(), other);
    })
}

#[test]
fn what_must_not_start_is_refused_with_why() {
    let windows = |selectors| with(|cluster| cluster.windows = Ok(vec![holidays(&selectors)]));
    let of_configs = windows(json!({"configSelector": {}}));
    let suspended = with(|cluster| cluster.configs[1].spec.schedule.suspend = Some(true));
    let of_jobs = windows(json!({"jobSelector": {}}));
    for (cluster, words, why) in [
        (
            &unfinished(Some(true)),
            &["nights"][..],
            "UpgradeJob n of nights has not ended",
        ),
        (
            &unfinished(None),
            &["nights"],
            "UpgradeJob n of nights has not ended",
        ),
        (
            &locked(),
            &["nights"],
            "UpgradeConfig c of upgrade.managed.openshift.io has its lock",
        ),
        (
            &of_configs,
            &["nights"],
            "lasts until 2027-01-31T00:00:00Z. Add --ignore-suspension",
        ),
        (
            &suspended,
            &["nights"],
            "spec.schedule.suspend is true. Add --ignore-suspension",
        ),
        (
            &of_jobs,
            &["nights", "--ignore-suspension"],
            "the UpgradeJob would be skipped: UpgradeSuspensionWindow holidays",
        ),
        (
            &cluster(),
            &["nights", "--version", "4.16.8"],
            "4.16.8 is not available for the cluster; these are: 4.16.10, 4.16.9",
        ),
        (
            &cluster(),
            &["nights", "--version", "4.17.2"],
            "4.17.2: not pinned, it is conditional: SlowPods: pods start slowly",
        ),
        (
            &with(|cluster| cluster.configs[1].spec.max_upgrade_start_delay = "0s".to_owned()),
            &["nights"],
            "add --start-in 1m",
        ),
        (
            &with(|cluster| {
                cluster.cluster_version = Err(Unread::Failed("no".to_owned()));
            }),
            &["nights"],
            "ClusterVersion cannot be read: no",
        ),
    ] {
        let refused = refused(cluster, words);
        assert!(refused.contains(why), "{refused}");
    }
    for cluster in [of_configs, suspended] {
        assert!(asked(&cluster, &["nights", "--ignore-suspension"]).is_ok());
    }
}

#[test]
fn a_window_that_begins_before_the_start_counts_as_well() {
    let later = with(|cluster| {
        let from = "2026-11-25T08:10:00Z";
        cluster.windows = Ok(vec![window("w", from, NIGHT, &json!({"configSelector": {}}))]);
    });
    assert!(asked(&later, &["nights"]).is_ok());
    let why = refused(&later, &["nights", "--start-in", "15m"]);
    assert!(why.contains("UpgradeSuspensionWindow w"), "{why}");
}
