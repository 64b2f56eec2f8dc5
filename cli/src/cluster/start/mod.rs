//! `cluster start`: requests an update, unless something holds it.

mod lock;

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::DesiredUpdate;
use drydock_insights::pre_checks::PreChecks;
use drydock_insights::start::{Decision, decide};
use kube::Api;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::pre_checks::{Collection, Freshness, collect, text};
use super::update_arguments::{AcceptanceArguments, StartArguments};
use super::{live, print};
use crate::server::{MANAGER, Server};

/// OpenShift's ClusterVersion.
const CLUSTER_VERSION: &str = "version";
/// How often a request is decided anew that a write of somebody else came before: the cluster-version operator writes often.
const TRIES: usize = 5;

/// Requests an update.
///
/// # Errors
/// If a guard refuses it, something holds it that nobody has accepted, or the server refuses.
pub async fn run(arguments: &StartArguments) -> anyhow::Result<ExitCode> {
    ensure!(
        arguments.pre_checks || arguments.acceptance.accept.is_empty(),
        "--accept needs the pre-checks: leave --pre-checks=false out"
    );
    let server = Server::connect(&arguments.connection).await?;
    let cluster = live::cluster_version(&server.client).await?;
    // Nobody is asked about an update that is refused in any case.
    let locked_by = lock::holder(&server.client, &cluster).await;
    let decision = decide(
        &cluster,
        &arguments.version,
        arguments.allowed(),
        locked_by.as_deref(),
    )?;
    if let Decision::Nothing { is_reached } = decision {
        print::text(&nothing(arguments, is_reached))?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.pre_checks {
        check(&server, arguments).await?;
    }
    print::text(&request(&server, arguments, cluster.spec.desired_update.as_ref()).await?)?;
    Ok(ExitCode::SUCCESS)
}

fn nothing(arguments: &StartArguments, is_reached: bool) -> String {
    let target = &arguments.version;
    if is_reached {
        format!("The cluster runs {target} already.\n")
    } else {
        format!("The update to {target} is requested already: see kubectl drydock cluster status.\n")
    }
}

async fn check(server: &Server, arguments: &StartArguments) -> anyhow::Result<()> {
    let nothing = AcceptanceArguments::default();
    let collection = |acceptance, freshness| Collection {
        target: &arguments.version,
        acceptance,
        timeout: arguments.timeout,
        freshness,
        now: None,
    };
    if !arguments.acceptance.accept.is_empty() {
        // What is accepted is what was shown before: where it is worse by now, it holds the update.
        let shown = collection(&arguments.acceptance, Freshness::Populated);
        collect(server, &shown).await?;
    }
    let freshness = if arguments.dry_run {
        Freshness::ReadOnly
    } else {
        Freshness::JustNow
    };
    let checks = collect(server, &collection(&nothing, freshness)).await?;
    if checks.is_held() {
        print::text(&text(&checks))?;
        bail!("{}{}", held(&checks), turn(&checks));
    }
    Ok(())
}

/// For which upgrade the hub has it asked: what is accepted for that one does not count here.
fn turn(checks: &PreChecks) -> String {
    let upgrade = checks.asked_for.as_deref();
    let turn = upgrade.map(|upgrade| {
        format!(
            ". The hub has the cluster asked for its upgrade {upgrade}: what is accepted there is accepted for that one alone, and what is accepted on the \
             cluster for whoever starts the update"
        )
    });
    turn.unwrap_or_default()
}

fn held(checks: &PreChecks) -> String {
    let target = &checks.target_release;
    match checks.counts.unaccepted {
        0 => format!("the update to {target} is not requested: not every informer has answered"),
        count if checks.computed => format!(
            "the update to {target} is not requested: what was found holds it ({count}). Correct that, or leave the pre-checks out with \
             --pre-checks=false"
        ),
        count => format!(
            "the update to {target} is not requested: findings that nobody has accepted: {count}. Accept them, or leave the pre-checks \
             out with --pre-checks=false"
        ),
    }
}

/// Decides once more, with the object that is written over: what has been decided before may be out of date. `seen` is what was requested of the
/// cluster before it was looked at: what somebody has requested since is not replaced.
async fn request(
    server: &Server,
    arguments: &StartArguments,
    seen: Option<&DesiredUpdate>,
) -> anyhow::Result<String> {
    let api: Api<ClusterVersion> = Api::all(server.client.clone());
    let parameters = PatchParams {
        dry_run: arguments.dry_run,
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let target = &arguments.version;
    let mut tries = 0;
    loop {
        tries += 1;
        let cluster = live::cluster_version(&server.client).await?;
        let locked_by = lock::holder(&server.client, &cluster).await;
        let image = match decide(&cluster, target, arguments.allowed(), locked_by.as_deref())? {
            Decision::Nothing { is_reached } => return Ok(nothing(arguments, is_reached)),
            Decision::Request { image } => image,
        };
        ensure!(
            cluster.spec.desired_update.as_ref() == seen,
            "somebody has changed meanwhile what is requested of the cluster: the update to {target} is not requested; see kubectl drydock \
             cluster status, and start it once more"
        );
        let patch = Patch::Merge(body(&cluster, &target.to_string(), image.as_deref()));
        match api.patch(CLUSTER_VERSION, &parameters, &patch).await {
            Ok(_) => return Ok(requested(arguments, image.as_deref())),
            Err(kube::Error::Api(refusal)) if refusal.is_conflict() && tries < TRIES => {}
            Err(error) => return Err(error).context("requesting the update"),
        }
    }
}

fn requested(arguments: &StartArguments, image: Option<&str>) -> String {
    let target = &arguments.version;
    let image = image.map(|image| format!(" ({image})")).unwrap_or_default();
    let dry_run = if arguments.dry_run {
        " (dry run: nothing is written)"
    } else {
        ""
    };
    format!("Requested the update to {target}{image}{dry_run}.\n")
}

/// Requests the update over the version that was seen. Force, or an architecture, of an earlier update must not go with this one; everything else
/// stays, such as the risks that are accepted.
fn body(cluster: &ClusterVersion, target: &str, image: Option<&str>) -> Value {
    json!({
        "metadata": {"uid": cluster.uid(), "resourceVersion": cluster.resource_version()},
        "spec": {"desiredUpdate": {"version": target, "image": image, "force": null, "architecture": null}},
    })
}
