//! `cluster recommend`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use drydock_insights::facts::ClusterFacts;
use drydock_insights::recommend::{self, Choice, Recommendation};
use drydock_insights::render::{self, RecommendationView};
use serde::Serialize;

use super::arguments::{Format, RecommendArguments};
use super::{files, live, print};
use crate::server::Server;

/// Reads a cluster, and says which updates it may have. The exit code says whether the release that was asked for is one of them.
///
/// # Errors
/// If the cluster cannot be read.
pub async fn run(arguments: &RecommendArguments) -> anyhow::Result<ExitCode> {
    let folder = arguments.source.from.as_deref();
    let facts = match folder {
        Some(folder) => files::read(folder)?,
        None => read_live(arguments).await?,
    };
    let folder = folder.map(files::name);
    let recommendation = recommend::assess(&facts.version, &facts.alerts, folder.as_deref());
    let view = RecommendationView {
        version: arguments.version.clone(),
        with_outdated: arguments.show_outdated_releases,
        quiet: arguments.quiet,
        accepted: arguments.accept.iter().cloned().collect(),
    };
    let is_refused = if let Some(format) = arguments.output {
        print_value(&recommendation, &view, format)?
    } else {
        let rendered = render::recommendation(&recommendation, &view);
        print::note(&rendered.warnings);
        print::text(&rendered.text)?;
        rendered.is_refused
    };
    Ok(if is_refused {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn read_live(arguments: &RecommendArguments) -> anyhow::Result<ClusterFacts> {
    let server = Server::connect(&arguments.source.connection).await?;
    live::read_version(&server).await
}

/// What scripts get of a release.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(flatten)]
    recommendation: &'a Recommendation,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<ReleaseReport<'a>>,
}

/// The release that was asked for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReleaseReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a recommend::TargetRelease>,
    issues: BTreeSet<String>,
    unaccepted: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn print_value(
    recommendation: &Recommendation,
    view: &RecommendationView,
    format: Format,
) -> anyhow::Result<bool> {
    let release = view.version.as_ref().map(|version| {
        match recommend::choose(recommendation, version, &view.accepted) {
            Ok(Choice {
                target,
                issues,
                unaccepted,
            }) => ReleaseReport {
                target: Some(target),
                issues,
                unaccepted,
                error: None,
            },
            Err(not_found) => ReleaseReport {
                target: None,
                issues: BTreeSet::new(),
                unaccepted: BTreeSet::new(),
                error: Some(not_found.to_string()),
            },
        }
    });
    let is_refused = release
        .as_ref()
        .is_some_and(|release| release.error.is_some() || !release.unaccepted.is_empty());
    let report = Report {
        recommendation,
        release,
    };
    print::value(&report, format)?;
    Ok(is_refused)
}
