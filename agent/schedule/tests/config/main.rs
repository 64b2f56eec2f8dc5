//! What an UpgradeConfig decides (Maintenance schedules, sections 2.4, 2.5, 2.8 and 11).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod jobs;
mod manual;
mod outlook;
#[path = "../shared/mod.rs"]
mod shared;
mod status;
mod suspension;

use drydock_api::conditions::find;
use shared::Cluster;

/// Maintenances every Tuesday at 21:00, whose UpgradeJobs are created at 17:00, until 18:00; the next one is that of 24 November.
fn tuesdays() -> Cluster {
    let mut cluster = Cluster::new("0 21 * * 2");
    cluster.config.spec.pin_version_window = Some("4h".to_owned());
    cluster
}

const CREATED: &str = "2026-11-18T09:00:00Z";
const BEFORE: &str = "2026-11-24T16:59:59Z";
const FIRST: &str = "2026-11-24T17:00:00Z";
const LAST: &str = "2026-11-24T18:00:00Z";
const AFTER: &str = "2026-11-24T18:00:01Z";
const START: &str = "2026-11-24T21:00:00Z";
const NEXT_FIRST: &str = "2026-12-01T17:00:00Z";
const NEXT_START: &str = "2026-12-01T21:00:00Z";

fn condition(cluster: &Cluster, type_: &str) -> (String, String, String) {
    let status = cluster.config.status.clone().unwrap();
    let conditions = status.conditions.unwrap();
    let condition = find(&conditions, type_).unwrap().clone();
    (condition.status, condition.reason, condition.message)
}

fn last(cluster: &Cluster) -> Option<jiff::Timestamp> {
    let status = cluster.config.status.as_ref()?;
    Some(status.last_scheduled_upgrade.as_ref()?.0)
}
