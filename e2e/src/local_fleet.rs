//! Local fleets as tests start them.

use std::sync::Arc;
use std::time::Duration;

use drydock_agent::ScheduleSettings;
pub use drydock_sandbox::local_fleet::{EPOCH, LocalFleet, program_client, programs};
use drydock_sandbox::local_fleet::{LocalFleetError, LocalFleetSettings};
use drydock_sandbox::test_env::{Outside, TestEnvSettings};

/// Runs of forecasts in suites that are about something else: they take no time worth mentioning.
pub const FEW_FORECAST_RUNS: u32 = 20;

/// How long agents wait where what a test writes is to be there before them. What a test writes at its beginning takes no virtual time.
const OBJECTS_FIRST: Duration = Duration::from_secs(5);

/// Starts the clusters, an agent on each that has one, and the hub.
///
/// # Errors
/// If a part cannot start.
pub async fn start(settings: TestEnvSettings) -> Result<LocalFleet, LocalFleetError> {
    let mut fleet = without_hub(settings).await?;
    fleet.start_hub(hub_settings())?;
    Ok(fleet)
}

/// The hub's settings in suites.
pub fn hub_settings() -> drydock_hub::Settings {
    drydock_hub::Settings {
        forecast_runs: FEW_FORECAST_RUNS,
        ..drydock_hub::Settings::default()
    }
}

/// Starts the clusters and an agent on each that has one.
///
/// # Errors
/// If a part cannot start.
pub async fn without_hub(settings: TestEnvSettings) -> Result<LocalFleet, LocalFleetError> {
    with_outside(settings, |outside| outside).await
}

/// Starts the clusters and an agent on each that has one, which reaches what `extend` makes of what there is besides API servers.
///
/// # Errors
/// If a part cannot start.
pub async fn with_outside(
    settings: TestEnvSettings,
    extend: impl Fn(Outside) -> Outside + Send + Sync + 'static,
) -> Result<LocalFleet, LocalFleetError> {
    with_schedule(settings, extend, ScheduleSettings::default()).await
}

/// The same, with agents that act on maintenance schedules like this.
///
/// # Errors
/// If a part cannot start.
pub async fn with_schedule(
    settings: TestEnvSettings,
    extend: impl Fn(Outside) -> Outside + Send + Sync + 'static,
    schedule: ScheduleSettings,
) -> Result<LocalFleet, LocalFleetError> {
    LocalFleet::start(LocalFleetSettings {
        agents_after: agents_after(),
        outside: Arc::new(extend),
        schedule,
        ..LocalFleetSettings::new(settings)
    })
    .await
}

/// Users write before an agent runs, and while it does. Of the agent's tests every other one has the one order, by its name, and
/// `AGENT_ORDER=other` exchanges them.
fn agents_after() -> Duration {
    let thread = std::thread::current();
    let Some(test) = thread.name().filter(|name| name.starts_with("agent::")) else {
        return Duration::ZERO;
    };
    let is_exchanged = std::env::var("AGENT_ORDER").is_ok_and(|order| order == "other");
    let is_first = test.len().is_multiple_of(2) != is_exchanged;
    if is_first { Duration::ZERO } else { OBJECTS_FIRST }
}
