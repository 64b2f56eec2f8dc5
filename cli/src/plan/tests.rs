//! A plan of a fleet that is fed by hand, and how it is shown.

use clap::Parser;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::PLACEMENT_LABEL;
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use drydock_objects::{Fleet, FleetKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use drydock_forecast::StopCause;

use super::report::{StopShare, whole_seconds};
use super::*;
use crate::arguments::{Arguments, Command};

fn arguments(flags: &[&str]) -> PlanArguments {
    let words = ["kubectl-drydock", "plan", "spring"].iter().chain(flags);
    match Arguments::try_parse_from(words).unwrap().command {
        Command::Plan(arguments) => arguments,
        other => panic!("{other:?}"),
    }
}

fn see<K: FleetKind + DeserializeOwned>(fleet: &mut Fleet, namespace: &str, name: &str, mut object: Value) {
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    object["metadata"]["name"] = name.into();
    object["metadata"]["resourceVersion"] = "1".into();
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    let object: K = serde_json::from_value(object).unwrap();
    let _change = K::see(fleet, namespace, name, Some(&object));
}

/// Clusters c1, c2, …, all of which a Placement selects; the last one is not available.
pub fn fleet(clusters: usize) -> Fleet {
    let mut fleet = Fleet::new(false);
    let names: Vec<String> = (1..=clusters).map(|number| format!("c{number}")).collect();
    for name in &names {
        let available = if *name == format!("c{clusters}") {
            "Unknown"
        } else {
            "True"
        };
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "Reported", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        see::<ManagedCluster>(
            &mut fleet,
            "",
            name,
            json!({
                "metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": "fleet", "name": name}},
                "spec": {"hubAcceptsClient": true},
                "status": {
                    "conditions": [
                        condition("HubAcceptedManagedCluster", "True"),
                        condition("ManagedClusterJoined", "True"),
                        condition("ManagedClusterConditionAvailable", available),
                    ],
                    "clusterClaims": [
                        {"name": "version.openshift.io", "value": "4.14.9"},
                        {"name": "product.open-cluster-management.io", "value": "OpenShift"},
                    ],
                },
            }),
        );
    }
    see::<ManagedClusterSet>(&mut fleet, "", "fleet", json!({"spec": {}}));
    see::<ManagedClusterSetBinding>(
        &mut fleet,
        "default",
        "fleet",
        json!({"spec": {"clusterSet": "fleet"}}),
    );
    let condition = json!({
        "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    see::<Placement>(
        &mut fleet,
        "default",
        "all",
        json!({
            "metadata": {"uid": "all-uid"}, "spec": {},
            "status": {"numberOfSelectedClusters": clusters, "conditions": [condition]},
        }),
    );
    let owner = json!({"apiVersion": "v1", "kind": "Placement", "name": "all", "uid": "all-uid"});
    let decisions: Vec<Value> = names
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    see::<PlacementDecision>(
        &mut fleet,
        "default",
        "all-decision-1",
        json!({
            "metadata": {"labels": {PLACEMENT_LABEL: "all"}, "ownerReferences": [owner]},
            "status": {"decisions": decisions},
        }),
    );
    fleet
}

pub fn spring(strategy: &Value) -> Subject {
    let upgrade = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "spring", "namespace": "default", "uid": "u", "generation": 1},
        "spec": {
            "placement": [{"name": "all", "namespace": "default"}],
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "upgradeStrategy": strategy,
        },
    });
    Subject {
        upgrade: serde_json::from_value(upgrade).unwrap(),
        is_checked: true,
    }
}

fn planned(clusters: usize, strategy: &Value, flags: &[&str]) -> anyhow::Result<PlanReport> {
    let arguments = arguments(flags);
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    let subject = spring(strategy);
    let variants: Vec<(String, ManagedClustersUpgrade)> =
        strategies::swept(&subject.upgrade, &arguments.sweep)?;
    let mut fleet = PlannedFleet::new(fleet(clusters), now, &arguments);
    plan(&mut fleet, &subject, &variants, &arguments)
}

#[test]
fn the_same_seed_gives_the_same_output() {
    let strategy = json!({"maxConcurrency": 3, "maxFailures": 1});
    let flags = [
        "--seed",
        "5",
        "--sweep",
        "maxConcurrency=1,100%",
        "--finish-by",
        "2026-03-02T00:00:00Z",
    ];
    let text = |flags: &[&str]| {
        let report = planned(12, &strategy, flags).unwrap();
        let detail = Detail {
            clusters: true,
            wide: true,
        };
        (
            render::render(&report, detail),
            serde_json::to_string(&report).unwrap(),
        )
    };
    let once = text(&flags);
    assert_eq!(text(&flags), once);
    assert_ne!(text(&["--seed", "6"]), once);
}

#[test]
fn a_large_fleet_is_folded_into_waves() {
    let report = planned(
        500,
        &json!({"maxConcurrency": 20}),
        &["--no-failures", "--confidence", "0"],
    )
    .unwrap();
    assert_eq!(report.clusters.len(), 500);
    assert!(report.waves.len() <= 12, "{}", report.waves.len());
    let in_waves: usize = report.waves.iter().map(|wave| wave.clusters).sum();
    assert_eq!(in_waves, 499, "all but the one that is not available");
    for pair in report.waves.windows(2) {
        assert!(pair[0].starts_p50 <= pair[1].starts_p50);
    }
    let shown = render::render(&report, Detail::default());
    let expected = "spring to 4.14.12: 500 clusters, 499 waiting, 1 that cannot start; nothing was written\n";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(shown.contains("c1, c2, c3, and "), "{shown}");
    assert!(shown.contains("NotAvailable  1         c500"), "{shown}");
    assert!(shown.lines().count() < 30, "{shown}");
}

/// Who starts a cluster later takes it from the upgrade in which it waits.
#[test]
fn from_which_upgrades_clusters_are_taken_is_said() {
    let arguments = arguments(&[]);
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    for (since, expected) in [
        (Some("2026-03-01T11:00:00Z"), vec![("default/autumn", 3)]),
        (None, vec![]),
    ] {
        let mut of_hub = fleet(4);
        let mut autumn = spring(&json!({"maxConcurrency": 1})).upgrade;
        (autumn.metadata.name, autumn.metadata.uid) = (Some("autumn".to_owned()), Some("a".to_owned()));
        let status = json!({"observedGeneration": 1, "startTime": since});
        autumn.status = Some(serde_json::from_value(status).unwrap());
        let _change = of_hub.set_upgrade(&std::sync::Arc::new(autumn));
        let mut of_hub = PlannedFleet::new(of_hub, now, &arguments);
        let report = plan(&mut of_hub, &spring(&json!({})), &[], &arguments).unwrap();
        let shared = report.shared.iter();
        let shared: Vec<_> = shared
            .map(|other| (other.upgrade.as_str(), other.clusters))
            .collect();
        assert_eq!(shared, expected);
        let said = "3 clusters wait in the earlier upgrade default/autumn, too: one that starts here first is left out there, for good";
        let shown = render::render(&report, Detail::default());
        assert_eq!(shown.contains(said), !expected.is_empty(), "{shown}");
    }
}

#[test]
fn few_clusters_start_in_waves_of_their_own() {
    let strategy = json!({"maxConcurrency": 2});
    let report = planned(4, &strategy, &["--no-failures"]).unwrap();
    let names: Vec<String> = report.waves.iter().map(|wave| wave.names.join(" ")).collect();
    assert_eq!(names, ["c1 c2", "c3"]);
    assert!(report.confident || report.figures.completes < 0.9);
    let alone = planned(1, &strategy, &[]).unwrap();
    assert_eq!(
        (alone.counts.blocked, alone.confident),
        (1, false),
        "it cannot start"
    );
    assert!(render::render(&alone, Detail::default()).contains("ends:       no cluster can start"));
}

#[test]
fn what_stands_in_the_way_is_named() {
    let closed = json!({"maxConcurrency": 1, "startWindows": [{"cron": "0 1 * * *", "duration": "1h"}]});
    let flags = ["--no-failures", "--finish-by", "2026-03-01T20:00:00Z"];
    let report = planned(6, &closed, &flags).unwrap();
    let finish = report.finish_by.as_ref().unwrap();
    assert_eq!((finish.in_time, finish.max_concurrency), (0.0, None));
    assert_eq!(finish.obstacles[0].what, "startWindows");
    let shown = render::render(&report, Detail::default());
    assert!(
        shown.contains("no maxConcurrency meets it: with all clusters at once 0% are in time"),
        "{shown}"
    );
    assert!(shown.contains("without startWindows it would be "), "{shown}");

    let paused = json!({"maxConcurrency": 1});
    let mut subject = spring(&paused);
    subject.upgrade.spec.paused = Some(true);
    let arguments = arguments(&flags);
    let mut fleet = PlannedFleet::new(fleet(6), "2026-03-01T12:00:00Z".parse().unwrap(), &arguments);
    let report = plan(&mut fleet, &subject, &[], &arguments).unwrap();
    let finish = report.finish_by.as_ref().unwrap();
    assert!(finish.max_concurrency.is_none() && !report.confident);
    assert!(finish.obstacles.iter().any(|obstacle| obstacle.what == "paused"));
    let shown = render::render(&report, Detail::default());
    assert!(
        shown.contains("paused: no end") && shown.contains("never"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_forecast_is_an_error() {
    for (strategy, why) in [
        (
            json!({"startWindows": [{"cron": "0 0 30 2 *", "duration": "1h"}]}),
            "default/spring: the spec is invalid: spec.upgradeStrategy.startWindows[0]: ",
        ),
        (json!({"clusterUpgradeTimeout": "soon"}), "the spec is invalid"),
    ] {
        let error = planned(3, &strategy, &[]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut complete = spring(&json!({}));
    let condition = json!({
        "type": "Complete", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let status = json!({"observedGeneration": 1, "conditions": [condition]});
    complete.upgrade.status = serde_json::from_value(status).unwrap();
    let arguments = arguments(&[]);
    let mut planned_fleet = PlannedFleet::new(fleet(3), "2026-03-01T12:00:00Z".parse().unwrap(), &arguments);
    let error = plan(&mut planned_fleet, &complete, &[], &arguments)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "default/spring: the upgrade is complete");
    let error = planned(0, &json!({}), &[]).unwrap_err().to_string();
    assert!(error.contains("no cluster is selected"), "{error}");
}

#[test]
fn one_wave_of_all_clusters_ends_when_the_rollout_does() {
    let report = planned(9, &json!({"maxConcurrency": 20}), &["--no-failures"]).unwrap();
    let ends = report.figures.ends.unwrap();
    let wave = &report.waves[0];
    assert_eq!((report.waves.len(), wave.clusters), (1, 8));
    assert_eq!(wave.ends_p50, Some(whole_seconds(ends.p50)));
    assert_eq!(wave.ends_p90, Some(whole_seconds(ends.p90)));
}

#[test]
fn a_rollout_with_more_failures_than_are_allowed_is_not_complete() {
    let at_once = json!({"maxConcurrency": 20, "maxFailures": 1});
    let flags = ["--failure-rate", "90%", "--ignore-blocked"];
    let report = planned(9, &at_once, &flags).unwrap();
    assert!(report.figures.completes < 0.1 && !report.confident, "{report:?}");
    let shown = render::render(&report, Detail::default());
    assert!(shown.contains("FailureBudgetSpent"), "{shown}");
    // Where nothing but failures comes of it, no budget has to say so.
    let all_fail = planned(
        9,
        &json!({"maxConcurrency": 20}),
        &["--failure-rate", "1", "--ignore-blocked"],
    )
    .unwrap();
    assert_eq!((all_fail.figures.completes, all_fail.confident), (0.0, false));
    let shown = render::render(&all_fail, Detail::default());
    assert!(shown.contains("with nothing but failures"), "{shown}");
}

/// 1 - 0.585 is more than 0.415 by less than any run is worth.
#[test]
fn where_each_run_completes_or_stops_no_failures_are_blamed() {
    let mut report = planned(9, &json!({"maxConcurrency": 20}), &["--no-failures"]).unwrap();
    report.confident = false;
    report.figures.completes = 0.415;
    report.figures.stops = vec![StopShare {
        cause: StopCause::TooLong.reason(),
        message: "",
        share: 0.585,
    }];
    let shown = render::render(&report, Detail::default());
    assert!(shown.contains("completes in 42% of the runs"), "{shown}");
    assert!(!shown.contains("nothing but failures"), "{shown}");
}

#[test]
fn a_rollout_whose_calendar_cannot_be_read_stops_by_that() {
    let calendar = json!({"configMap": {"name": "holidays", "key": "calendar.ics"}});
    let strategy = json!({"maxConcurrency": 20, "freezeCalendar": calendar});
    let report = planned(4, &strategy, &["--no-failures"]).unwrap();
    let causes: Vec<_> = report.figures.stops.iter().map(|stop| stop.cause).collect();
    assert_eq!(causes, ["FreezeCalendarUnreadable"]);
}

#[test]
fn clusters_that_no_window_is_long_enough_for_are_listed_with_how_long_they_take() {
    let strategy = |hours: &str| {
        json!({
            "maxConcurrency": 20, "startOnlyIfItFits": true,
            "startWindows": [{"cron": "0 22 * * *", "duration": hours}],
        })
    };
    let report = planned(4, &strategy("1h"), &["--no-failures"]).unwrap();
    assert_eq!((report.counts.waiting, report.counts.blocked), (0, 4));
    let never = report
        .blocked
        .iter()
        .find(|group| group.reason == "NeverFits")
        .unwrap();
    assert_eq!(never.clusters, ["c1", "c2", "c3"]);
    assert!(
        never.message.contains("assumed: few are on record"),
        "{}",
        never.message
    );
    let shown = render::render(&report, Detail::default());
    assert!(
        shown.contains("NeverFits") && shown.contains("open for longer than 1h"),
        "{shown}"
    );

    // Those of other windows are listed by themselves.
    let mut two = strategy("1h");
    two["startWindows"] = json!([
        {"cron": "0 22 * * *", "duration": "1h", "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["c1"]}]}},
        {"cron": "0 22 * * *", "duration": "30m"},
    ]);
    let report = planned(4, &two, &["--no-failures"]).unwrap();
    let never = report.blocked.iter().filter(|group| group.reason == "NeverFits");
    let never: Vec<_> = never
        .map(|group| (group.clusters.len(), group.message.as_str()))
        .collect();
    assert!(
        matches!(never[..], [(2, two), (1, one)] if two.contains("30m") && one.contains("1h")),
        "{never:?}"
    );

    let report = planned(4, &strategy("8h"), &["--no-failures"]).unwrap();
    assert_eq!((report.counts.waiting, report.counts.blocked), (3, 1));
    let starts = report.clusters[0].starts.unwrap();
    assert_eq!(starts.p50, "2026-03-01T22:00:00Z".parse().unwrap());

    // In time, if what does not fit into the evening's window did not wait for the night's.
    let mut two = strategy("1h");
    let windows = json!([
        {"cron": "0 13 * * *", "duration": "1h"},
        {"cron": "0 22 * * *", "duration": "8h"},
    ]);
    two["startWindows"] = windows;
    let flags = ["--no-failures", "--finish-by", "2026-03-01T20:00:00Z"];
    let report = planned(4, &two, &flags).unwrap();
    let obstacles = report.finish_by.unwrap().obstacles;
    let mut named = obstacles.iter().map(|obstacle| obstacle.what);
    assert!(named.any(|what| what == "startOnlyIfItFits"), "{obstacles:?}");
}
