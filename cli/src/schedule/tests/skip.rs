//! Which window leaves a maintenance out.

use clap::Parser;
use drydock_api::schedule::UpgradeSuspensionWindow;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::fixture::*;
use crate::schedule::arguments::SkipArguments;
use crate::schedule::cluster::ObservedCluster;
use crate::schedule::skip::{Found, Skip};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: SkipArguments,
}

fn arguments(words: &[&str]) -> SkipArguments {
    Line::try_parse_from([&["skip"], words].concat())
        .unwrap()
        .arguments
}

/// The window that would be written, and what is said.
fn skipped(
    cluster: &ObservedCluster,
    words: &[&str],
) -> anyhow::Result<(Option<UpgradeSuspensionWindow>, String)> {
    let arguments = arguments(words);
    let config = cluster.config(&arguments.config)?;
    match Skip::of(cluster, config, &arguments)? {
        Found::Already(said) => Ok((None, said)),
        Found::Skip(skip) => {
            skip.check(&arguments)?;
            Ok((Some(skip.window.clone()), skip.said(arguments.dry_run).join("\n")))
        }
    }
}

fn refused(cluster: &ObservedCluster, words: &[&str]) -> String {
    skipped(cluster, words).unwrap_err().to_string()
}

#[test]
fn the_next_maintenance_is_left_out_for_as_long_as_it_is_decided() {
    let (window, said) = skipped(&cluster(), &["nights", "--reason", "sale"]).unwrap();
    let window = window.unwrap();
    assert_eq!(window.metadata.name.as_deref(), Some("skip-nights-1796158800"));
    assert_eq!(
        serde_json::to_value(&window.spec).unwrap(),
        json!({
            "start": "2026-12-01T17:00:00Z", "end": "2026-12-01T18:00:00Z", "reason": "sale",
            "configSelector": {"matchLabels": {"app": "nights"}},
        })
    );
    assert_eq!(
        said,
        "\
nights: the maintenance at Tue 2026-12-01 22:00 +01:00 is left out
  UpgradeSuspensionWindow skip-nights-1796158800 selects app=nights from 2026-12-01T17:00:00Z until 2026-12-01T18:00:00Z, when its UpgradeJob would be created
  the maintenance after it is at Tue 2026-12-15 22:00 +01:00
Undo it before Tue 2026-12-01 18:00 +01:00:
  kubectl delete upgradesuspensionwindows.managedupgrade.appuio.io skip-nights-1796158800 -n maintenance"
    );
    // Once it is there, there is nothing left to do.
    let with_it = with(|cluster| cluster.windows = Ok(vec![window]));
    let (none, said) = skipped(&with_it, &["nights"]).unwrap();
    assert_eq!(none, None);
    assert!(
        said.contains("is left out already: UpgradeSuspensionWindow skip-nights-1796158800 (sale)"),
        "{said}"
    );
    let (later, _) = skipped(&with_it, &["nights", "--at", NEXT_NIGHT]).unwrap();
    assert_eq!(later.unwrap().spec.start.0, at("2026-12-15T17:00:00Z"));
}

#[test]
fn a_maintenance_whose_job_exists_is_left_out_by_the_jobs_labels() {
    let pending = with(|cluster| cluster.jobs = Ok(vec![job("nights", "n", NIGHT, &json!([]))]));
    let (window, said) = skipped(&pending, &["nights"]).unwrap();
    let spec = serde_json::to_value(window.unwrap().spec).unwrap();
    assert_eq!(spec["jobSelector"], json!({"matchLabels": {"team": "nights"}}));
    assert_eq!(
        (&spec["start"], &spec["end"]),
        (&json!(NIGHT), &json!("2026-12-01T22:00:00Z"))
    );
    assert!(said.contains("when UpgradeJob n would start"), "{said}");

    let started = json!([condition("Started", "True", "Started", "")]);
    let running =
        with(|cluster| cluster.jobs = Ok(vec![job("nights", "n", "2026-11-25T07:00:00Z", &started)]));
    let why = refused(&running, &["nights", "--at", "2026-11-25T07:00:00Z"]);
    assert!(why.contains("has started: what runs is not stopped"), "{why}");
    // The next one is another.
    let (window, _) = skipped(&running, &["nights"]).unwrap();
    assert_eq!(window.unwrap().spec.start.0, at("2026-12-01T17:00:00Z"));
}

#[test]
fn an_overdue_maintenance_is_left_out_from_now_on_with_the_one_that_is_due_as_well() {
    let started = json!([condition("Started", "True", "Started", "")]);
    let behind = with(|cluster| {
        cluster.configs[1].spec.schedule = read(json!({"cron": "0 * * * *", "location": "UTC"}));
        cluster.configs[1].spec.pin_version_window = None;
        cluster.configs[1].spec.max_scheduling_delay = "3h".to_owned();
        cluster.configs[1].spec.max_upgrade_start_delay = "4h".to_owned();
        cluster.now = at("2026-11-25T08:30:00Z");
        cluster.jobs = Ok(vec![job("nights", "n", "2026-11-25T05:00:00Z", &started)]);
    });
    let why = refused(&behind, &["nights"]);
    assert!(
        why.contains("leaves out others as well: that of nights at 2026-11-25T07:00:00Z"),
        "{why}"
    );
    let (window, _) = skipped(&behind, &["nights", "--yes"]).unwrap();
    let spec = window.unwrap().spec;
    assert_eq!(
        (spec.start.0, spec.end.0),
        (at("2026-11-25T06:00:00Z"), at("2026-11-25T09:00:00Z"))
    );
}

#[test]
fn others_are_left_out_only_on_purpose() {
    let both = with(|cluster| {
        cluster.configs[0].metadata.labels = Some([("app".to_owned(), "nights".to_owned())].into());
        cluster.configs[0].spec.schedule.cron = "30 17 * * *".to_owned();
    });
    let why = refused(&both, &["nights"]);
    assert_eq!(
        why,
        "a window for app=nights leaves out others as well: that of days at 2026-12-01T17:30:00Z. Give --yes if that is meant, or \
         --label to select UpgradeConfig nights alone"
    );
    let (_, said) = skipped(&both, &["nights", "--yes"]).unwrap();
    assert!(
        said.contains("also left out: that of days at 2026-12-01T17:30:00Z"),
        "{said}"
    );
    let (_, said) = skipped(&both, &["nights", "--dry-run"]).unwrap();
    assert!(
        said.contains("would be left out (dry run: nothing was written)"),
        "{said}"
    );
    assert!(said.contains("also left out"), "{said}");
    let (window, said) = skipped(&both, &["nights", "--label"]).unwrap();
    assert_eq!(
        window.unwrap().spec.config_selector.unwrap().match_labels,
        Some([("drydock.dev/name".to_owned(), "nights".to_owned())].into())
    );
    assert!(
        said.contains("label drydock.dev/name=nights is set on UpgradeConfig nights"),
        "{said}"
    );
    // The same labels at another time leave out nothing else.
    let apart = with(|cluster| {
        cluster.configs[0].metadata.labels = Some([("app".to_owned(), "nights".to_owned())].into());
    });
    assert!(skipped(&apart, &["nights"]).is_ok());
}

/// A copy of an UpgradeConfig may have the label that was to name the other one alone.
#[test]
fn a_copy_with_the_label_of_its_own_counts_as_another() {
    let copied = with(|cluster| {
        let label = ("drydock.dev/name".to_owned(), "nights".to_owned());
        cluster.configs[0].metadata.labels = Some([label].into());
        cluster.configs[0].spec.schedule.cron = "30 17 * * *".to_owned();
    });
    let why = refused(&copied, &["nights", "--label"]);
    assert!(why.contains("that of days at 2026-12-01T17:30:00Z"), "{why}");
}

/// UpgradeJobs that do not exist yet are skipped as well.
#[test]
fn jobs_that_will_have_the_same_labels_count_as_others() {
    let alike = with(|cluster| {
        cluster.jobs = Ok(vec![job("nights", "n", NIGHT, &json!([]))]);
        let days = &mut cluster.configs[0].spec;
        days.schedule.cron = "30 21 * * *".to_owned();
        let template = days.job_template.metadata.as_mut().unwrap();
        template.labels = Some([("team".to_owned(), "nights".to_owned())].into());
    });
    let why = refused(&alike, &["nights"]);
    assert!(why.contains("that of days at 2026-12-01T21:30:00Z"), "{why}");
    let (window, _) = skipped(&alike, &["nights", "--label"]).unwrap();
    assert_eq!(
        window.unwrap().spec.job_selector.unwrap().match_labels,
        Some([("drydock.dev/name".to_owned(), "n".to_owned())].into())
    );
}

#[test]
fn what_cannot_be_left_out_is_refused_with_what_to_do() {
    let unread = with(|cluster| {
        cluster.jobs = Err(drydock_api::fact::Unread::Failed("you may not".to_owned()));
    });
    for (cluster, words, why) in [
        (
            cluster(),
            &["days"][..],
            "add --label, which sets drydock.dev/name on it",
        ),
        (
            cluster(),
            &["nights", "--at", "2026-12-08T21:00:00Z"],
            "the next ones are at Tue 2026-12-01 22:00 +01:00, Tue 2026-12-15 22:00 +01:00",
        ),
        (
            with(|cluster| cluster.configs[1].metadata.deletion_timestamp = Some(Time(cluster.now))),
            &["nights"],
            "is being deleted",
        ),
        (unread, &["nights"], "UpgradeJobs cannot be read: you may not"),
        (
            with(|cluster| cluster.configs[1].spec.schedule.cron = "0 22 30 2 *".to_owned()),
            &["nights"],
            "UpgradeConfig nights has no maintenance",
        ),
    ] {
        let refused = refused(&cluster, words);
        assert!(refused.contains(why), "{refused}");
    }
}

/// The whole hour is the time in which two maintenances are decided: the original may come back to the first.
#[test]
fn where_decisions_overlap_it_is_said_what_the_original_may_do() {
    let hourly = with(|cluster| cluster.configs[1].spec.schedule.cron = "0 * * * *".to_owned());
    let (window, said) = skipped(&hourly, &["nights"]).unwrap();
    let (start, end) = window
        .map(|window| (window.spec.start.0, window.spec.end.0))
        .unwrap();
    assert_eq!(end.duration_since(start).as_secs(), 3_599);
    assert!(
        said.contains("the UpgradeJob may still be created afterwards"),
        "{said}"
    );
}
