//! Maintenance schedules: the real agent on a simulated cluster, with the kinds of `managedupgrade.appuio.io`.

mod absent;
mod bare;
mod force_drain;
mod hooks;
mod idle;
mod jobs;
mod killed;
mod metrics;
mod namespaces;
mod notifications;
mod overlays;
mod suspension;
mod upgrades;

use std::collections::BTreeSet;
use std::time::Duration;

use drydock_agent::{SchedulePart, ScheduleSettings};
use drydock_api::conditions::Condition;
use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use drydock_e2e::spoke::Spoke;
use drydock_runtime::Clock;
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// The first maintenance of [`weekly`]: time begins on the Monday before, at 08:00.
const TUESDAY: &str = "2026-01-06T22:00:00Z";

/// A cluster whose UpgradeJobs nobody acts on: a test ends them.
async fn spoke() -> Spoke {
    Spoke::scheduled(|_| {}, |outside| outside, without_jobs())
        .await
        .unwrap()
}

fn without_jobs() -> ScheduleSettings {
    ScheduleSettings {
        off: [SchedulePart::UpgradeJobs].into(),
        ..ScheduleSettings::default()
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Waits until a moment.
async fn until(clock: &Clock, moment: &str) {
    let left = at(moment).duration_since(clock.now());
    tokio::time::sleep(Duration::try_from(left).unwrap()).await;
}

fn configs(client: &Client) -> Api<UpgradeConfig> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

fn windows(client: &Client) -> Api<UpgradeSuspensionWindow> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

fn jobs(client: &Client) -> Api<UpgradeJob> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

/// A maintenance each Tuesday at 22:00, pinned four hours before.
fn weekly() -> Value {
    json!({
        "schedule": {"cron": "0 22 * * 2", "location": "UTC"}, "pinVersionWindow": "4h",
        "jobTemplate": {"metadata": {"labels": {"team": "night"}}, "spec": {"config": {
            "upgradeTimeout": "6h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
        }}},
    })
}

async fn create(client: &Client, name: &str, spec: Value) {
    let config = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeConfig",
        "metadata": {"name": name, "labels": {"app": name}}, "spec": spec,
    });
    let config = serde_json::from_value(config).unwrap();
    configs(client)
        .create(&PostParams::default(), &config)
        .await
        .unwrap();
}

async fn change(client: &Client, name: &str, patch: Value) {
    configs(client)
        .patch(
            name,
            &PatchParams::default(),
            &Patch::Merge(json!({ "spec": patch })),
        )
        .await
        .unwrap();
}

async fn holidays(client: &Client, start: &str, end: &str) {
    let window = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeSuspensionWindow",
        "metadata": {"name": "holidays"},
        "spec": {"start": start, "end": end, "reason": "nobody is there", "configSelector": {}},
    });
    let window = serde_json::from_value(window).unwrap();
    windows(client)
        .create(&PostParams::default(), &window)
        .await
        .unwrap();
}

/// The names of the UpgradeJobs, sorted.
async fn job_names(client: &Client) -> Vec<String> {
    let all = jobs(client).list(&ListParams::default()).await.unwrap();
    let mut names: Vec<String> = all.items.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}

/// Ends an UpgradeJob, as its controller would.
async fn end_job(client: &Client, name: &str, how: &str) {
    let status = json!({"status": {"conditions": [{
        "type": how, "status": "True", "reason": how, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    jobs(client)
        .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
}

/// An UpgradeJob that starts then, up to a day later, and upgrades to 4.14.12.
fn job_at(start: &str) -> Value {
    let before = at(start) + jiff::SignedDuration::from_hours(24);
    json!({
        "startAfter": start, "startBefore": before.to_string(),
        "desiredVersion": {"version": "4.14.12"},
        "config": {"upgradeTimeout": "24h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {}},
    })
}

async fn create_job(client: &Client, name: &str, spec: Value) {
    let job = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeJob",
        "metadata": {"name": name, "labels": {"app": name}}, "spec": spec,
    });
    let job = serde_json::from_value(job).unwrap();
    jobs(client).create(&PostParams::default(), &job).await.unwrap();
}

async fn job_condition(client: &Client, name: &str, type_: &str) -> Option<Condition> {
    let job = jobs(client).get(name).await.unwrap();
    let conditions = job.status?.conditions?;
    conditions.into_iter().find(|condition| condition.type_ == type_)
}

async fn condition(client: &Client, name: &str, type_: &str) -> Option<Condition> {
    let config = configs(client).get(name).await.unwrap();
    let conditions = config.status?.conditions?;
    conditions.into_iter().find(|condition| condition.type_ == type_)
}

async fn last_scheduled(client: &Client, name: &str) -> Option<Timestamp> {
    let config = configs(client).get(name).await.unwrap();
    Some(config.status?.last_scheduled_upgrade?.0)
}

/// How many Events there are of a reason.
async fn events(spoke: &Spoke, reason: &str) -> usize {
    let events = spoke.events().await.unwrap();
    events.iter().filter(|known| *known == reason).count()
}
