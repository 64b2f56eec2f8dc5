//! `accept`: says, in an UpgradeRiskAcceptance, that findings hold no cluster.

use anyhow::ensure;
use drydock_edits::Accepting;

use super::arguments::AcceptArguments;
use super::hub::Hub;
use super::{pre_checks, table};
use crate::server::user;

/// Accepts findings for the clusters of an upgrade.
///
/// # Errors
/// If there is no such finding, or the hub refuses.
pub async fn run(hub: &Hub, arguments: &AcceptArguments) -> anyhow::Result<()> {
    if let Some(until) = arguments.until {
        ensure!(until > hub.now(), "--until {until} is over already");
    }
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    // What is wrong with the upgrade comes before what is wrong with the fleet.
    drydock_edits::target(&upgrade)?;
    let found = pre_checks::read(hub, &upgrade).await?;
    let who = user(&hub.client).await;
    let accepting = Accepting {
        findings: &arguments.findings,
        level: arguments.level.map(|level| level.0),
        clusters: &arguments.clusters,
        labels: &arguments.labels,
        reason: &arguments.reason,
        until: arguments.until,
        who: &who,
    };
    let (risks, name) = drydock_edits::accept(&hub.client, &upgrade, &accepting, &found).await?;
    for risk in &risks {
        let what = risk
            .finding
            .as_deref()
            .or(risk.uid.as_deref())
            .unwrap_or_default();
        let level = risk.level.as_deref().unwrap_or_default();
        table::print(&format!(
            "{what} accepted up to {level} by {who}, in UpgradeRiskAcceptance {name}"
        ))?;
    }
    Ok(())
}
