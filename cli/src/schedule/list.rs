//! All schedules of a cluster, one line each.

use comfy_table::Cell;
use drydock_api::schedule::UpgradeConfig;
use drydock_schedule::config::Settings;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::ResourceExt;
use serde::Serialize;

use super::cluster::{ObservedCluster, Scope};
use super::outlook::{Run, Stage, runs, runs_of_no_schedule};
use super::{times, versions};
use crate::upgrades::arguments::Output;
use crate::upgrades::table;

/// The schedules of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleList {
    now: Timestamp,
    schedules: Vec<ScheduleRow>,
    /// UpgradeJobs of no schedule that have not ended: somebody has made them by hand.
    upgrade_jobs: Vec<JobRow>,
    /// What was not read or not looked at, and so may change what is said.
    notes: Vec<String>,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleRow {
    namespace: String,
    name: String,
    cron: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    iso_week: Option<String>,
    location: String,
    /// Those that have not ended, and the next one.
    runs: Vec<RunRow>,
}

/// An UpgradeJob of no schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobRow {
    namespace: String,
    #[serde(flatten)]
    run: RunRow,
}

/// A run of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunRow {
    /// When it starts, or has started.
    start: Option<Timestamp>,
    /// By the clocks of the schedule.
    start_local: Option<String>,
    /// By the clocks of who asks.
    start_yours: Option<String>,
    started: bool,
    /// From when on the UpgradeJob is created, and until when; nothing if there is one, or none will be.
    create_from: Option<Timestamp>,
    create_until: Option<Timestamp>,
    /// The release that is pinned by the UpgradeJob, or would be now.
    version: Option<String>,
    /// The UpgradeJob, if it exists.
    job: Option<String>,
    /// Was it made beside the schedule?
    beside: bool,
    /// What would come of it, as one word.
    would: String,
    /// The same in words.
    message: String,
}

/// Prints the schedules.
///
/// # Errors
/// If the output cannot be written.
pub fn run(cluster: &ObservedCluster, output: Output, yours: &TimeZone) -> anyhow::Result<()> {
    let for_scripts = table::for_scripts(&shown(cluster, yours), output)?;
    table::print(&for_scripts.unwrap_or_else(|| text(cluster, output == Output::Wide, yours)))
}

/// The schedules as a table.
pub fn text(cluster: &ObservedCluster, is_wide: bool, yours: &TimeZone) -> String {
    let schedules = shown(cluster, yours);
    if schedules.schedules.is_empty() && schedules.upgrade_jobs.is_empty() {
        return format!("{}.", capital(&cluster.nothing()));
    }
    render(&schedules, &cluster.scope, is_wide, yours)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The schedules of a cluster, for scripts.
pub fn shown(cluster: &ObservedCluster, yours: &TimeZone) -> ScheduleList {
    let rows = cluster.configs.iter().map(|config| row(cluster, config, yours));
    ScheduleList {
        now: cluster.now,
        schedules: rows.collect(),
        upgrade_jobs: other_jobs(cluster, yours),
        notes: notes(cluster, &Vec::from_iter(&cluster.configs)),
    }
}

fn row(cluster: &ObservedCluster, config: &UpgradeConfig, yours: &TimeZone) -> ScheduleRow {
    let settings = Settings::parse(&config.spec, &cluster.local_zone).ok();
    let zone = settings.map_or(TimeZone::UTC, |settings| settings.calendar.location().clone());
    let schedule = &config.spec.schedule;
    ScheduleRow {
        namespace: config.namespace().unwrap_or_default(),
        name: config.name_any(),
        cron: schedule.cron.clone(),
        iso_week: schedule.iso_week.clone().filter(|week| !week.is_empty()),
        location: schedule.location.clone(),
        runs: runs(cluster, config)
            .iter()
            .map(|run| run_row(run, &zone, yours))
            .collect(),
    }
}

fn other_jobs(cluster: &ObservedCluster, yours: &TimeZone) -> Vec<JobRow> {
    let rows = runs_of_no_schedule(cluster).into_iter();
    rows.map(|(namespace, run)| JobRow {
        namespace,
        run: run_row(&run, &cluster.local_zone, yours),
    })
    .collect()
}

fn run_row(run: &Run, zone: &TimeZone, yours: &TimeZone) -> RunRow {
    let planned = match &run.stage {
        Stage::Planned(planned) => planned.as_ref(),
        Stage::Job { .. } => None,
    };
    RunRow {
        start: run.start,
        start_local: run.start.map(|start| times::shown(start, zone)),
        start_yours: run.start.map(|start| times::shown(start, yours)),
        started: run.is_started(),
        create_from: planned.map(|planned| planned.create_from),
        create_until: planned.map(|planned| planned.create_until),
        version: run
            .version
            .as_ref()
            .map(|version| versions::name(version).to_owned()),
        job: run.job().map(ResourceExt::name_any),
        beside: matches!(run.stage, Stage::Job { is_beside: true, .. }),
        would: run.would.reason().to_owned(),
        message: run.would.to_string(),
    }
}

/// What may be otherwise than is said of these UpgradeConfigs.
pub fn notes(cluster: &ObservedCluster, configs: &[&UpgradeConfig]) -> Vec<String> {
    let mut notes = cluster.not_read();
    let names = |is: &dyn Fn(&UpgradeConfig) -> bool| -> String {
        let named = configs.iter().filter(|config| is(config));
        let names: Vec<String> = named.map(|config| config.name_any()).collect();
        names.join(", ")
    };
    let local = names(&|config| {
        let location = &config.spec.schedule.location;
        location.is_empty() || location == drydock_api::schedule::LOCAL
    });
    if !local.is_empty() {
        notes.push(format!(
            "location Local of {local}: the zone of the agent's process, taken to be {}; --local-zone says otherwise",
            times::name(&cluster.local_zone)
        ));
    }
    let alerts = names(&|config| {
        let job = &config.spec.job_template.spec.config;
        let checks = [&job.pre_upgrade_health_checks, &job.post_upgrade_health_checks];
        checks
            .iter()
            .any(|checks| checks.check_critical_alerts == Some(true))
    });
    if !alerts.is_empty() {
        notes.push(format!(
            "critical alerts, which {alerts} would look at: the cluster's monitoring is not asked"
        ));
    }
    notes
}

fn render(schedules: &ScheduleList, scope: &Scope, is_wide: bool, yours: &TimeZone) -> String {
    let others = || schedules.upgrade_jobs.iter().map(|job| &job.run);
    let runs = || {
        schedules
            .schedules
            .iter()
            .flat_map(|schedule| &schedule.runs)
            .chain(others())
    };
    let is_same = runs().all(|run| run.start_local == run.start_yours);
    let here = times::name(yours);
    let columns = [
        (*scope == Scope::All, "NAMESPACE"),
        (true, "NAME"),
        (is_wide, "CRON"),
        (is_wide, "WEEK"),
        (is_wide, "LOCATION"),
        (true, "NEXT"),
        (!is_same, here),
        (true, "IN"),
        (is_wide, "PINNED FROM"),
        (true, "VERSION"),
        (true, "JOB"),
        (true, "WOULD"),
    ];
    let header: Vec<&str> = columns
        .iter()
        .filter(|(is_shown, _)| *is_shown)
        .map(|(_, name)| *name)
        .collect();
    let mut shown = table::plain(&header);
    let of_schedules = schedules.schedules.iter().flat_map(|schedule| {
        let cells = |run| cells(Some(schedule), &schedule.namespace, run, schedules.now);
        schedule.runs.iter().map(cells)
    });
    let of_no_schedule = schedules.upgrade_jobs.iter();
    let of_no_schedule = of_no_schedule.map(|job| cells(None, &job.namespace, &job.run, schedules.now));
    for cells in of_schedules.chain(of_no_schedule) {
        let cells = columns.iter().zip(&cells).filter(|((is_shown, _), _)| *is_shown);
        shown.add_row(cells.map(|(_, cell)| Cell::new(table::printable(cell))));
    }
    let mut lines = vec![table::text(&shown)];
    if !schedules.notes.is_empty() {
        lines.extend([String::new(), "Not looked at:".to_owned()]);
        lines.extend(
            schedules
                .notes
                .iter()
                .map(|note| format!("  {}", table::printable(note))),
        );
    }
    lines.join("\n")
}

/// The cells of all columns.
fn cells(schedule: Option<&ScheduleRow>, namespace: &str, run: &RunRow, now: Timestamp) -> [String; 12] {
    let or_none = |text: Option<&String>| text.cloned().unwrap_or_else(|| "-".to_owned());
    let of_schedule = |text: &dyn Fn(&ScheduleRow) -> String| schedule.map_or("-".to_owned(), text);
    let within = match run.start {
        _ if run.started => "started".to_owned(),
        Some(start) if start <= now => "due".to_owned(),
        Some(start) => table::short(start.duration_since(now)),
        None => "-".to_owned(),
    };
    [
        namespace.to_owned(),
        of_schedule(&|schedule| schedule.name.clone()),
        of_schedule(&|schedule| schedule.cron.clone()),
        of_schedule(&|schedule| schedule.iso_week.clone().unwrap_or_else(|| "every".to_owned())),
        of_schedule(&|schedule| schedule.location.clone()),
        or_none(run.start_local.as_ref()),
        or_none(run.start_yours.as_ref()),
        within,
        table::moment(run.create_from),
        or_none(run.version.as_ref()),
        or_none(run.job.as_ref()),
        run.message.clone(),
    ]
}
