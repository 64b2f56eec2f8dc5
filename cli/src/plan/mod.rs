//! `kubectl drydock plan`: what an upgrade would do to the fleet as it is. The fleet is read from the hub, nothing is
//! written to it; then the real hub controller takes a copy through the rollout, in virtual time.

mod arguments;
mod fleet;
mod rehearsal;
mod timeline;

use std::io::Read;

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use jiff::Timestamp;
use kube::ResourceExt;
use tokio::runtime::Runtime;

pub use arguments::PlanArguments;
use fleet::Fleet;
use timeline::Forecast;

use crate::upgrades::hub::Hub;
use crate::upgrades::table;

/// Reads the fleet, rehearses, prints. `real` runs in real time.
///
/// # Errors
/// If the hub cannot be read, the file is no upgrade, or a rehearsal cannot start.
pub fn run(real: &Runtime, arguments: &PlanArguments) -> anyhow::Result<()> {
    let (fleet, now) = real.block_on(read(arguments))?;
    let mut runs = Vec::new();
    for seed in 0..u64::from(arguments.runs.get()) {
        runs.push(rehearsal::rehearse(&fleet, seed, now)?);
    }
    let forecast = Forecast::of(runs).context("no rehearsal was made")?;
    let text = table::for_scripts(&forecast, arguments.output)?;
    table::print(&text.unwrap_or_else(|| forecast.render(&fleet.upgrade.name_any())));
    Ok(())
}

/// The fleet, and what time it is on its hub.
async fn read(arguments: &PlanArguments) -> anyhow::Result<(Fleet, Timestamp)> {
    let hub = Hub::connect(&arguments.connection).await?;
    let mut upgrade = match (&arguments.file, &arguments.name) {
        (Some(file), _) => from_file(file)?,
        (None, Some(name)) => hub.upgrade(name).await?,
        (None, None) => anyhow::bail!("name a ManagedClustersUpgrade, or give one with -f FILE"),
    };
    if upgrade.namespace().is_none() {
        upgrade.metadata.namespace = Some(hub.namespace.clone());
    }
    let fleet = Fleet::read(&hub, upgrade).await?;
    Ok((fleet, hub.now()))
}

/// The upgrade of a file; `-` is standard input.
fn from_file(file: &std::path::Path) -> anyhow::Result<ManagedClustersUpgrade> {
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("reading standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?
    };
    serde_saphyr::from_str(&text)
        .with_context(|| format!("reading a ManagedClustersUpgrade from {}", file.display()))
}
