//! `--explain`: the decision about one UpgradeConfig, step by step, as the agent makes it.

use drydock_api::conditions::{self, AnyCondition};
use drydock_api::schedule::{UpgradeConfig, UpgradeSuspensionWindow};
use drydock_schedule::config::{NextDecision, Outlook, Plan, decide, outlook};
use drydock_schedule::suspension::{Affects, is_selected};
use drydock_schedule::window;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde::Serialize;

use super::cluster::ObservedCluster;
use super::outlook::{Run, runs};
use super::{list, state, times, versions};
use crate::upgrades::arguments::Output;
use crate::upgrades::table;

/// How many times of the expression are shown.
const TIMES_SHOWN: usize = 5;

/// The decision about an UpgradeConfig.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    namespace: String,
    name: String,
    now: Timestamp,
    /// When it runs next.
    next: Option<Timestamp>,
    /// What would come of it, as one word.
    would: String,
    /// The same in words.
    message: String,
    steps: Vec<Step>,
}

/// A step of the decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// What it is about.
    about: &'static str,
    lines: Vec<String>,
}

/// Explains what is decided about an UpgradeConfig.
///
/// # Errors
/// If there is no such UpgradeConfig, or the output cannot be written.
pub fn run(cluster: &ObservedCluster, name: &str, output: Output) -> anyhow::Result<()> {
    let explanation = explanation(cluster, cluster.config(name)?);
    let text = table::for_scripts(&explanation, output)?;
    table::print(&text.unwrap_or_else(|| render(&explanation)))
}

/// What is decided about an UpgradeConfig.
pub fn explanation(cluster: &ObservedCluster, config: &UpgradeConfig) -> Explanation {
    let observed = cluster.observed(config);
    let plan = decide(&observed, cluster.now);
    let runs = runs(cluster, config);
    let mut steps = Vec::new();
    let mut step = |about, lines: Vec<String>| {
        if !lines.is_empty() {
            steps.push(Step { about, lines });
        }
    };
    match outlook(&observed, cluster.now, 1) {
        Ok(outlook) => {
            step("Schedule", schedule(config, &outlook));
            step("Next times", next_times(cluster, &outlook));
            step("Creation of the UpgradeJob", creation(&outlook));
        }
        Err(invalid) => step("Schedule", vec![invalid.to_string()]),
    }
    step("Suspension", suspension(cluster, config));
    step("Version", version(cluster));
    step("Cluster", state::cluster(cluster, &runs));
    let mut jobs: Vec<String> = state::last(cluster, config).into_iter().collect();
    jobs.extend(runs.iter().flat_map(state::run));
    step("UpgradeJobs", jobs);
    step("Decision", decision(&plan, &runs));
    step("Not looked at", list::notes(cluster, &[config]));
    let next = runs.last();
    Explanation {
        namespace: config.namespace().unwrap_or_default(),
        name: config.name_any(),
        now: cluster.now,
        next: next.and_then(|next| next.start),
        would: next
            .map(|next| next.would.reason().to_owned())
            .unwrap_or_default(),
        message: next.map(|next| next.would.to_string()).unwrap_or_default(),
        steps,
    }
}

fn schedule(config: &UpgradeConfig, outlook: &Outlook) -> Vec<String> {
    let schedule = &config.spec.schedule;
    let week = schedule.iso_week.as_deref().filter(|week| !week.is_empty());
    let calendar = &outlook.settings.calendar;
    let location = times::name(calendar.location());
    let mut lines = vec![format!(
        "cron {:?}, {}, in {location}",
        schedule.cron,
        week.map_or("every week".to_owned(), |week| format!("isoWeek {week}"))
    )];
    if calendar.clock() != calendar.location() {
        lines.push(format!(
            "the times are those of {}, as cron says; weeks are counted in {location}",
            times::name(calendar.clock())
        ));
    }
    lines.push(format!("times are looked for after {}", outlook.origin));
    if let Some(missed) = outlook.missed {
        lines.push(format!(
            "the maintenance at {missed} has been missed: nothing was decided while its UpgradeJob could have been created, or another UpgradeJob had not ended"
        ));
    }
    lines
}

/// The next times of the expression, whether their week counts or not.
fn next_times(cluster: &ObservedCluster, outlook: &Outlook) -> Vec<String> {
    let calendar = &outlook.settings.calendar;
    let anchor = outlook.origin.at();
    let after = anchor.max(cluster.now);
    let times = calendar.times_in_any_week(anchor, after).take(TIMES_SHOWN);
    let mut lines: Vec<String> = times
        .map(|time| {
            let week = calendar.week(time);
            let counts = if calendar.is_in_weeks(time) {
                ""
            } else {
                ": not in isoWeek, no maintenance"
            };
            format!(
                "{}  week {:02}{counts}",
                times::shown(time, calendar.location()),
                week.week()
            )
        })
        .collect();
    let irregular = calendar.irregularities(anchor, after, TIMES_SHOWN);
    lines.extend(irregular.iter().map(ToString::to_string));
    lines
}

fn creation(outlook: &Outlook) -> Vec<String> {
    let settings = &outlook.settings;
    let mut lines = vec![format!(
        "created {} before the start (pinVersionWindow), or up to {} later (maxSchedulingDelay); it may start up to {} late (maxUpgradeStartDelay)",
        times::length(settings.pin_version_window),
        times::length(settings.max_scheduling_delay),
        times::length(settings.max_upgrade_start_delay),
    )];
    if let Some(first) = outlook.maintenances.first() {
        let shown = |time| times::shown(time, settings.calendar.location());
        lines.push(format!(
            "for the maintenance at {}: created from {} until {}",
            shown(first.start),
            shown(first.create_from),
            shown(first.create_until)
        ));
    }
    lines
}

fn suspension(cluster: &ObservedCluster, config: &UpgradeConfig) -> Vec<String> {
    let suspend = config.spec.schedule.suspend == Some(true);
    let mut lines = vec![if suspend {
        "spec.schedule.suspend is true: all maintenances are left out".to_owned()
    } else {
        "spec.schedule.suspend is not true".to_owned()
    }];
    let near = |window: &&UpgradeSuspensionWindow| window.namespace() == config.namespace();
    let mut windows: Vec<_> = cluster.windows.iter().flatten().filter(near).collect();
    if windows.is_empty() && cluster.windows.is_ok() {
        lines.push("there is no UpgradeSuspensionWindow in its namespace".to_owned());
    }
    windows.sort_by_key(|window| (window.spec.start.0, window.name_any()));
    lines.extend(
        windows
            .into_iter()
            .map(|window| one_window(cluster, config, window)),
    );
    lines
}

fn one_window(cluster: &ObservedCluster, config: &UpgradeConfig, window: &UpgradeSuspensionWindow) -> String {
    let (start, end) = (window.spec.start.0, window.spec.end.0);
    let span = match cluster.now {
        now if now < start => format!("from {start} until {end}"),
        now if now <= end => format!("in force until {end}"),
        _ => format!("over since {end}"),
    };
    let template = config.spec.job_template.metadata.clone().unwrap_or_default();
    let job = ObjectMeta {
        namespace: config.namespace(),
        labels: template.labels,
        ..ObjectMeta::default()
    };
    let mut selected = Vec::new();
    if is_selected(window, Affects::Configs, &config.metadata) {
        selected.push("the UpgradeConfig (no UpgradeJob is created)");
    }
    if is_selected(window, Affects::Jobs, &job) {
        selected.push("its UpgradeJobs (they are skipped)");
    }
    let selected = if selected.is_empty() {
        "neither the UpgradeConfig nor its UpgradeJobs".to_owned()
    } else {
        selected.join(" and ")
    };
    let problem = unusable(window, cluster.now).map_or_else(String::new, |why| format!("; {why}"));
    format!(
        "UpgradeSuspensionWindow {} ({}), {span}: selects {selected}{problem}",
        window.name_any(),
        window.spec.reason
    )
}

/// What is wrong with a window.
fn unusable(window: &UpgradeSuspensionWindow, now: Timestamp) -> Option<String> {
    let none = UpgradeSuspensionWindow {
        status: None,
        ..window.clone()
    };
    let status = window::status(&none, [], [], now);
    let ready = conditions::find(status.conditions.as_deref()?, "Ready")?.clone();
    ready.is_false().then_some(ready.message)
}

fn version(cluster: &ObservedCluster) -> Vec<String> {
    match &cluster.cluster_version {
        Ok(version) => versions::explained(version),
        Err(why) => vec![format!("ClusterVersion is not read: {why}")],
    }
}

fn decision(plan: &Plan, runs: &[Run]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(plan.events.iter().map(|event| format!("now: {}", event.note())));
    match (&plan.create, &plan.next) {
        (Some(job), _) => lines.push(format!("now: UpgradeJob {} is created", job.name_any())),
        (None, NextDecision::Create { .. } | NextDecision::LeaveOut { .. }) => {
            lines.push(format!("then: {}", plan.next));
        }
        (None, next) => lines.push(next.to_string()),
    }
    if let Some(wake) = plan.wake {
        lines.push(format!("looked at again at {wake}, or when something changes"));
    }
    lines.extend(
        runs.last()
            .map(|next| format!("the next run would {}", next.would)),
    );
    lines
}

/// The same for people.
pub fn render(explanation: &Explanation) -> String {
    let mut lines = vec![format!(
        "UpgradeConfig {} in {}, as things are at {}",
        explanation.name, explanation.namespace, explanation.now
    )];
    for (index, step) in explanation.steps.iter().enumerate() {
        lines.push(String::new());
        lines.push(format!("{}. {}", index + 1, step.about));
        lines.extend(step.lines.iter().map(|line| format!("   {line}")));
    }
    let printable: Vec<String> = lines.iter().map(|line| table::printable(line)).collect();
    printable.join("\n")
}
