//! The list of schedules.

use drydock_api::fact::Unread;
use drydock_api::insights::{PlanAsker, UpdatePlanState};
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_schedule::job::lock::{HolderState, JobRef, ObservedHolder};
use drydock_schedule::version;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::fixture::*;
use crate::schedule::cluster::ObservedCluster;
use crate::schedule::list::{shown, text};
use crate::schedule::outlook::runs;

/// Of each run of a config: when, the UpgradeJob, and what would come of it.
fn said(cluster: &ObservedCluster, config: &str) -> Vec<(String, String, String)> {
    let runs = runs(cluster, cluster.config(config).unwrap()).into_iter();
    runs.map(|run| {
        (
            run.start.map(|start| start.to_string()).unwrap_or_default(),
            run.job().map(ResourceExt::name_any).unwrap_or_default(),
            format!("{}: {}", run.would.reason(), run.would),
        )
    })
    .collect()
}

/// What would come of the next run of `nights`.
fn next(cluster: &ObservedCluster) -> String {
    said(cluster, "nights").pop().unwrap().2
}

fn locked_by(cluster: &mut ObservedCluster, has_ended: bool) {
    let version = cluster.cluster_version.as_mut().unwrap();
    let other = JobRef {
        namespace: "other".to_owned(),
        name: "j".to_owned(),
    };
    version
        .annotations_mut()
        .insert(UPGRADE_LOCK_ANNOTATION.to_owned(), other.to_string());
    let uid = "u".to_owned();
    let state = HolderState::Present { uid, has_ended };
    cluster.holder = Ok(ObservedHolder { job: other, state });
}

fn degraded() -> Value {
    json!({
        "metadata": {"name": "dns"},
        "status": {"conditions": [{"type": "Degraded", "status": "True", "message": "no answer"}]},
    })
}

fn unread<T>() -> Result<T, Unread> {
    Err(Unread::Failed("you may not".to_owned()))
}

#[test]
fn what_would_come_of_the_next_run_is_what_the_agent_would_decide() {
    let spec = |cluster: &mut ObservedCluster, change: fn(&mut drydock_api::schedule::UpgradeConfigSpec)| {
        change(&mut cluster.configs[1].spec);
    };
    let status = |cluster: &mut ObservedCluster, updates: Value| {
        let version = cluster.cluster_version.as_mut().unwrap();
        version.status.as_mut().unwrap().available_updates = read(updates);
    };
    let everything = json!({"configSelector": {}});
    let cases = vec![
        (cluster(), "Start: start"),
        (
            with(|cluster| status(cluster, json!([]))),
            "RunHooks: run hooks only: no update is available",
        ),
        (
            with(|cluster| spec(cluster, |spec| spec.schedule.suspend = Some(true))),
            "Suspended: be left out: spec.schedule.suspend is true",
        ),
        (
            with(|cluster| cluster.windows = Ok(vec![holidays(&everything)])),
            "SuspensionWindow: be left out: UpgradeSuspensionWindow holidays (nobody is there) lasts until 2027-01-31T00:00:00Z",
        ),
        (
            with(|cluster| {
                cluster.windows = Ok(vec![holidays(
                    &json!({"jobSelector": {"matchLabels": {"team": "nights"}}}),
                )]);
            }),
            "SuspensionWindow: be left out: skipped: UpgradeSuspensionWindow holidays (nobody is there) lasts until 2027-01-31T00:00:00Z",
        ),
        (
            with(|cluster| cluster.operators = Ok(vec![read(degraded())])),
            "Unhealthy: wait until the cluster is healthy: cluster operators are not healthy: dns is degraded: no answer",
        ),
        (
            with(|cluster| locked_by(cluster, false)),
            "LockHeld: wait for UpgradeJob other/j, which has the lock of the cluster: annotation managedupgrade.appuio.io/upgrade-job of ClusterVersion version",
        ),
        (with(|cluster| locked_by(cluster, true)), "Start: start"),
        (
            with(|cluster| spec(cluster, |spec| spec.schedule.location = "Mars/Olympus".to_owned())),
            "InvalidLocation: not run: spec.schedule: location \"Mars/Olympus\" is no time zone: write an IANA name such as Europe/Zurich, or Local",
        ),
        (
            with(|cluster| cluster.jobs = unread()),
            "NotKnown: not known: UpgradeJobs are not read: you may not",
        ),
        (
            with(|cluster| cluster.windows = unread()),
            "NotKnown: not known: UpgradeSuspensionWindows are not read: you may not",
        ),
        (
            with(|cluster| cluster.cluster_version = unread()),
            "NotKnown: not known: ClusterVersion is not read: you may not",
        ),
        (
            with(|cluster| cluster.pools = unread()),
            "NotKnown: not known: cannot read the machine config pools: you may not",
        ),
    ];
    for (cluster, expected) in cases {
        assert_eq!(next(&cluster), expected);
    }
}

/// The next UpgradeJob of this spec would fare no better than the last.
#[test]
fn what_the_server_has_refused_is_not_said_to_start() {
    let refused = with(|cluster| {
        let ready = json!([{
            "type": "Ready", "status": "False", "reason": "WriteRefused", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "the UpgradeJob of the maintenance at X cannot be created: its labels are no labels",
        }]);
        cluster.configs[1].status.get_or_insert_default().conditions = Some(read(ready));
    });
    assert_eq!(
        next(&refused),
        "WriteRefused: not run: the UpgradeJob of the maintenance at X cannot be created: its labels are no labels"
    );
}

#[test]
fn a_run_has_an_upgrade_job_from_when_its_version_is_pinned() {
    let pending = |version: &str| {
        let mut job = job("nights", "n", NIGHT, &json!([]));
        job.spec.desired_version.as_mut().unwrap().version = Some(version.to_owned());
        with(|cluster| cluster.jobs = Ok(vec![job]))
    };
    let pinned = |would: &str| vec![(NIGHT.to_owned(), "n".to_owned(), would.to_owned())];
    assert_eq!(said(&pending("4.16.9"), "nights"), pinned("Start: start"));
    assert_eq!(
        said(&pending("4.16.8"), "nights"),
        pinned(
            "UpgradeWithdrawn: fail (UpgradeWithdrawn): 4.16.8 is not among the available updates of the cluster any more"
        )
    );
}

/// What runs is one run, and what comes next another, which would have to wait for it.
#[test]
fn what_runs_is_listed_before_what_comes_next() {
    let started = [
        condition("Started", "True", "Started", "it has started"),
        condition("PreHealthCheckDone", "False", "InProgress", "unhealthy"),
    ];
    let mut running = job("nights", "n", "2026-11-25T07:00:00Z", &json!(started));
    let mut beside = job("nights", "b", "2026-11-25T09:00:00Z", &json!([]));
    beside.metadata.owner_references.as_mut().unwrap()[0].controller = None;
    running.metadata.uid = Some("uid-n".to_owned());
    let ended = job(
        "nights",
        "e",
        "2026-11-24T07:00:00Z",
        &json!([condition("Failed", "True", "TimedOut", "")]),
    );
    let cluster = with(|cluster| {
        cluster.jobs = Ok(vec![beside, running, ended]);
        cluster.operators = Ok(vec![read(degraded())]);
        let version = cluster.cluster_version.as_mut().unwrap();
        version
            .annotations_mut()
            .insert(UPGRADE_LOCK_ANNOTATION.to_owned(), "maintenance/n".to_owned());
        cluster.holder = Ok(ObservedHolder {
            job: JobRef::parse("maintenance/n").unwrap(),
            state: HolderState::Present {
                uid: "uid-n".to_owned(),
                has_ended: false,
            },
        });
    });
    let said = said(&cluster, "nights");
    let short: Vec<(&str, &str, &str)> = said
        .iter()
        .map(|(start, job, would)| (start.as_str(), job.as_str(), would.split(':').next().unwrap()))
        .collect();
    assert_eq!(
        short,
        [
            ("2026-11-25T07:00:00Z", "n", "Unhealthy"),
            ("2026-11-25T09:00:00Z", "b", "LockHeld"),
            (NIGHT, "", "AwaitEnd"),
        ]
    );
}

#[test]
fn what_others_have_written_does_not_act_on_the_terminal() {
    let mut window = holidays(&json!({"configSelector": {}}));
    window.spec.reason = "sale\u{1b}[2J\u{202e}".to_owned();
    let cluster = with(|cluster| cluster.windows = Ok(vec![window]));
    let said = text(&cluster, true, &new_york());
    assert!(
        said.contains("(sale[2J)") && !said.contains(['\u{1b}', '\u{202e}']),
        "{said:?}"
    );
}

#[test]
fn upgrade_jobs_that_somebody_has_made_by_hand_are_listed_until_they_end() {
    let by_hand = |conditions: &Value| {
        with(|cluster| {
            let mut job = job("nights", "by-hand", NIGHT, conditions);
            job.metadata.owner_references = None;
            cluster.jobs = Ok(vec![job]);
        })
    };
    let waiting = by_hand(&json!([]));
    let listed = serde_json::to_value(shown(&waiting, &new_york())).unwrap();
    assert_eq!(
        (
            &listed["upgradeJobs"][0]["job"],
            &listed["upgradeJobs"][0]["namespace"]
        ),
        (&json!("by-hand"), &json!(NAMESPACE))
    );
    let said = text(&waiting, false, &new_york());
    let line = said.lines().find(|line| line.contains("by-hand")).unwrap();
    assert!(line.starts_with("-  ") && line.contains("4.16.9"), "{said}");
    let ended = json!([{
        "type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": NIGHT,
    }]);
    assert!(!text(&by_hand(&ended), false, &new_york()).contains("by-hand"));
    let no_schedule = with(|cluster| {
        cluster.jobs = waiting.jobs.clone();
        cluster.configs.clear();
    });
    assert!(text(&no_schedule, false, &new_york()).contains("by-hand"));
}

/// What the UpdatePlan says is read as the agent reads it; that it has to be asked for first is nothing that would be known now.
#[test]
fn a_run_that_its_update_plan_holds_waits_for_it() {
    let with_plan = |state: UpdatePlanState| {
        next(&with(|cluster| {
            let job = &mut cluster.configs[1].spec.job_template.spec;
            job.config.pre_upgrade_health_checks.check_update_plan = Some(true);
            let release = cluster.available_updates().and_then(version::highest).unwrap();
            let update = release
                .planned(cluster.cluster_version.as_ref().unwrap())
                .unwrap();
            cluster.update_plans.insert(update, Ok(state));
        }))
    };
    assert_eq!(with_plan(UpdatePlanState::Startable), "Start: start");
    let held = with_plan(UpdatePlanState::Held("a pool is paused".to_owned()));
    assert!(
        held.starts_with("Unhealthy: wait") && held.contains("a pool is paused"),
        "{held}"
    );
    let outdated = with_plan(UpdatePlanState::Outdated(PlanAsker::Cluster));
    assert!(
        outdated.contains("informers are to be asked about the update to 4.16.10"),
        "{outdated}"
    );
}

#[test]
fn ones_own_zone_is_shown_only_where_it_is_another() {
    let utc = jiff::tz::TimeZone::UTC;
    let days = with(|cluster| {
        cluster.configs.truncate(1);
    });
    assert!(!text(&days, false, &utc).contains("UTC  "));
    assert!(text(&days, false, &new_york()).contains("America/New_York"));
}

#[test]
fn what_was_not_read_or_looked_at_is_said() {
    let cluster = with(|cluster| {
        cluster.configs[0].spec.schedule.location = "Local".to_owned();
        cluster.configs[1]
            .spec
            .job_template
            .spec
            .config
            .pre_upgrade_health_checks
            .check_critical_alerts = Some(true);
        cluster.hooks = unread();
    });
    let said = text(&cluster, false, &new_york());
    for part in [
        "UpgradeJobHooks: you may not",
        "location Local of days: the zone of the agent's process, taken to be UTC",
        "critical alerts, which nights would look at",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn scripts_get_moments_and_one_word() {
    let listed = serde_json::to_value(shown(&cluster(), &new_york())).unwrap();
    let night = &listed["schedules"][1];
    assert_eq!(
        (&night["name"], &night["isoWeek"]),
        (&json!("nights"), &json!("@odd"))
    );
    assert_eq!(
        night["runs"],
        json!([{
            "start": NIGHT, "startLocal": "Tue 2026-12-01 22:00 +01:00", "startYours": "Tue 2026-12-01 16:00 -05:00",
            "started": false, "createFrom": "2026-12-01T17:00:00Z", "createUntil": "2026-12-01T18:00:00Z",
            "version": "4.16.10", "job": null, "beside": false, "would": "Start", "message": "start",
        }])
    );
}

#[test]
fn where_there_are_no_schedules_it_is_said_where_to_look() {
    let none = with(|cluster| cluster.configs.clear());
    let said = text(&none, false, &new_york());
    assert_eq!(
        said,
        "There is no UpgradeConfig of managedupgrade.appuio.io in namespace maintenance: choose another with -n, or look into all with -A."
    );
    let unknown = cluster().config("night").unwrap_err().to_string();
    assert_eq!(
        unknown,
        "there is no UpgradeConfig night in namespace maintenance; there are: days, nights"
    );
}
