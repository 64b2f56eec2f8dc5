//! `cluster pre-checks`: of the plan that the agent has made, or of the cluster's objects, where there is no agent.

mod accept;
mod live;
mod plan;
mod render;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use drydock_api::fact::Unread;
use drydock_api::openshift::ClusterVersion;
use drydock_insights::pre_checks::{self, PreChecks};
use drydock_insights::recommend;
use jiff::Timestamp;
use semver::Version;

use super::update_arguments::PreChecksArguments;
use super::{files, print};
use crate::server::Server;
pub use live::{Collection, Freshness, collect};
pub use render::text;

/// Says what would be a problem with an update. The exit code says whether something holds it that nobody has accepted.
///
/// # Errors
/// If the cluster cannot be read, or its informers do not answer in time.
pub async fn run(arguments: &PreChecksArguments) -> anyhow::Result<ExitCode> {
    let checks = match &arguments.source.from {
        Some(folder) => of_files(arguments, folder)?,
        None => of_cluster(arguments).await?,
    };
    match arguments.output {
        Some(format) => print::value(&checks, format)?,
        None => print::text(&text(&checks))?,
    }
    Ok(if checks.is_held() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn of_cluster(arguments: &PreChecksArguments) -> anyhow::Result<PreChecks> {
    let server = Server::connect(&arguments.source.connection).await?;
    let cluster = super::live::cluster_version(&server.client).await?;
    let accepts = !arguments.acceptance.accept.is_empty();
    let collection = Collection {
        target: &target(arguments, &cluster)?,
        acceptance: &arguments.acceptance,
        timeout: arguments.timeout,
        // What is accepted now is what was shown before.
        freshness: if accepts {
            Freshness::Populated
        } else {
            Freshness::Refreshed
        },
        now: arguments.source.now,
    };
    collect(&server, &collection).await
}

fn of_files(arguments: &PreChecksArguments, folder: &Path) -> anyhow::Result<PreChecks> {
    ensure!(
        arguments.acceptance.accept.is_empty(),
        "nothing can be accepted of objects in files: leave --from out, where the cluster has UpdatePlans"
    );
    let (facts, built_in) = files::read_built_in(folder)?;
    let now = match arguments.source.now {
        Some(now) => now,
        None => files::moment(&facts)?,
    };
    let target = target(arguments, &facts.version)?.to_string();
    ensure!(
        !live::is_taken_up(&built_in, &target),
        "{}",
        plan::has_begun(&target)
    );
    let checks = pre_checks::of_objects(&built_in, &target, whole_seconds(now));
    print::note(&computed("of objects in files"));
    Ok(checks)
}

/// That nobody was asked.
fn computed(of: &str) -> String {
    format!("computed {of}: nobody was asked, and nothing can be accepted\n")
}

fn target(arguments: &PreChecksArguments, cluster: &ClusterVersion) -> anyhow::Result<Version> {
    if let Some(version) = &arguments.version {
        return Ok(version.clone());
    }
    newest_recommended(cluster).context("no update is recommended: name a release with --version")
}

/// The newest release that is recommended.
fn newest_recommended(cluster: &ClusterVersion) -> Option<Version> {
    let recommendation = recommend::assess(cluster, &Err(Unread::NotAsked), None);
    let targets = recommendation.groups.iter().flat_map(|group| &group.targets);
    let recommended = targets.filter(|target| target.not_recommended.is_none());
    recommended.map(|target| target.version.clone()).max()
}

/// Times of conditions and of acceptances are whole seconds.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}
