//! `cluster status`.

use std::process::ExitCode;

use drydock_insights::facts::ClusterFacts;
use drydock_insights::{render, status};
use jiff::Timestamp;

use super::arguments::{Source, StatusArguments};
use super::{files, live, print};
use crate::server::Server;

/// Reads a cluster, and says how its update proceeds.
///
/// # Errors
/// If the cluster cannot be read, or does not say whether it updates.
pub async fn run(arguments: &StatusArguments) -> anyhow::Result<ExitCode> {
    let (facts, now) = read(&arguments.source).await?;
    let report = status::assess(&facts, now, arguments.estimate.into())?;
    for note in &report.notes {
        print::note(&format!("{note}\n"));
    }
    match arguments.output {
        Some(format) => print::value(&report, format)?,
        None => print::text(&render::status(&report, arguments.details.into()))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn read(source: &Source) -> anyhow::Result<(ClusterFacts, Timestamp)> {
    if let Some(folder) = &source.from {
        let facts = files::read(folder)?;
        let now = match source.now {
            Some(now) => now,
            None => files::moment(&facts)?,
        };
        return Ok((facts, now));
    }
    let server = Server::connect(&source.connection).await?;
    let facts = live::read(&server).await?;
    let now = source.now.unwrap_or_else(|| whole_seconds(server.now()));
    Ok((facts, now))
}

/// Times of conditions are whole seconds: so are differences to them.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
