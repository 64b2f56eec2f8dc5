//! `kubectl drydock plan`: what an upgrade will do to the fleet as it is. The fleet is read from the hub, nothing is written to it; then
//! the rollout is simulated many times, by the rules of the hub.

pub mod arguments;
mod clusters;
mod dry_run;
mod finish;
mod fleet;
pub mod page;
mod render;
mod report;
mod strategies;
mod subject;
mod tables;
#[cfg(test)]
pub mod tests;

use std::process::ExitCode;

use anyhow::ensure;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_forecast::{Forecast, Model};
use drydock_rollout::ForecastInput;
use jiff::Timestamp;
use kube::ResourceExt;

use arguments::Deadline;
pub use arguments::PlanArguments;
use fleet::{PlannedFleet, forecast};
use render::Detail;
use report::{Counts, Figures, PlanReport, StrategyFigures};
use subject::Subject;

use crate::upgrades::arguments::Output;
use crate::upgrades::hub::Hub;
use crate::upgrades::{self, table};

/// Reads the fleet, forecasts, prints. The exit code says whether the rollout comes to its end at the confidence that is asked for.
///
/// # Errors
/// If the hub cannot be read, the API server would refuse the upgrade, or there is nothing to forecast.
pub async fn run(arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let hub = Hub::connect(&arguments.connection).await?;
    // The fleet first: what is read of the upgrade itself is newer.
    let fleet = upgrades::fleet::read(&hub).await?;
    let subject = subject::read(&hub, arguments).await?;
    let mut variants = strategies::swept(&subject.upgrade, &arguments.sweep)?;
    let mut is_checked = subject.is_checked;
    for (name, variant) in &variants {
        is_checked &= subject::is_accepted(&hub, &subject, name, variant).await?;
    }
    if let Some(file) = &arguments.compare {
        let other = subject::with_spec_of(&hub, &subject, file).await?;
        is_checked &= other.is_checked;
        variants.push((file.display().to_string(), other.upgrade));
    }
    if !is_checked {
        warn(
            "you may not create or patch ManagedClustersUpgrades: the API server was not asked whether it accepts this one",
        );
    }
    let now = report::whole_seconds(hub.now());
    if let Some(Deadline(by)) = arguments.finish_by {
        ensure!(
            by > now,
            "--finish-by {by} is in the past: on the hub it is {now}"
        );
    }
    let mut planned = PlannedFleet::new(fleet, now, arguments);
    let mut report = plan(&mut planned, &subject, &variants, arguments)?;
    report.named = hub.named(&report.namespace, &report.upgrade);
    let detail = Detail {
        clusters: arguments.clusters,
        wide: arguments.output == Output::Wide,
    };
    let text = table::for_scripts(&report, arguments.output)?;
    table::print(&text.unwrap_or_else(|| render::render(&report, detail)))?;
    Ok(if report.confident {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[expect(clippy::print_stderr, reason = "standard output is for the result")]
fn warn(text: &str) {
    eprintln!("warning: {text}");
}

/// Forecasts the upgrade, and its variants.
///
/// # Errors
/// If there is nothing to forecast.
fn plan(
    fleet: &mut PlannedFleet<'_>,
    subject: &Subject,
    variants: &[(String, ManagedClustersUpgrade)],
    arguments: &PlanArguments,
) -> anyhow::Result<PlanReport> {
    let by = arguments.finish_by.map(|Deadline(by)| by);
    let confidence = arguments.confidence.0;
    let forecast_input = fleet.forecast_input(&subject.upgrade)?;
    let model = fleet.model(&forecast_input);
    let expected = forecast(&forecast_input, &model, arguments.runs(true));
    let mut report = reported(subject, &forecast_input, &expected, arguments);
    report.shared = fleet.shared(&subject.upgrade, &forecast_input);
    report.finish_by = by.map(|by| {
        let request = finish::Request {
            by,
            confidence,
            runs: arguments.runs(false),
        };
        let never_fails = fleet.model_without_failures(&forecast_input);
        finish::finish_by(
            &forecast_input,
            &model,
            &never_fails,
            expected.completes_by(by),
            &request,
        )
    });
    if !variants.is_empty() {
        report.strategies.push(StrategyFigures {
            strategy: "as it is".to_owned(),
            figures: report.figures.clone(),
        });
    }
    for (name, variant) in variants {
        let figures = variant_figures(fleet, variant, arguments, by)
            .map_err(|error| error.context(format!("forecasting with {name}")))?;
        report.strategies.push(StrategyFigures {
            strategy: name.clone(),
            figures,
        });
    }
    Ok(report)
}

fn variant_figures(
    fleet: &mut PlannedFleet<'_>,
    variant: &ManagedClustersUpgrade,
    arguments: &PlanArguments,
    by: Option<Timestamp>,
) -> anyhow::Result<Figures> {
    let forecast_input = fleet.forecast_input(variant)?;
    let model: Model = fleet.model(&forecast_input);
    let expected = forecast(&forecast_input, &model, arguments.runs(false));
    Ok(Figures::of(&expected, arguments.confidence.0, by))
}

/// What is said of the upgrade itself.
fn reported(
    subject: &Subject,
    forecast_input: &ForecastInput,
    expected: &Forecast,
    arguments: &PlanArguments,
) -> PlanReport {
    let by = arguments.finish_by.map(|Deadline(by)| by);
    let confidence = arguments.confidence.0;
    let figures = Figures::of(expected, confidence, by);
    let counts = Counts::of(forecast_input);
    // Where nothing can start, nothing stops either.
    let does_something = counts.waiting + counts.in_flight > 0 || counts.blocked == 0;
    PlanReport {
        namespace: subject.upgrade.namespace().unwrap_or_default(),
        upgrade: subject.upgrade.name_any(),
        named: subject.upgrade.name_any(),
        target: upgrades::target(&subject.upgrade),
        computed_at: expected.now,
        rollout_since: forecast_input.since,
        checked_by_server: subject.is_checked,
        paused: forecast_input.spec.paused,
        counts,
        shared: Vec::new(),
        runs: expected.runs,
        seed: arguments.seed,
        confidence,
        confident: does_something && figures.as_asked() >= confidence,
        figures,
        basis: expected.basis.to_string(),
        finish_by: None,
        strategies: Vec::new(),
        waves: clusters::waves(forecast_input, expected),
        clusters: clusters::entries(forecast_input, expected),
        ended: expected.ended_over_time(),
        blocked: clusters::blocked(forecast_input),
    }
}
