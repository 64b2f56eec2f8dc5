//! What a cluster says: by its plan where it has such, else by its objects.

use std::time::Duration;

use anyhow::{Context, ensure};
use drydock_api::insights::{GROUP, VERSION};
use drydock_insights::built_in::BuiltInFacts;
use drydock_insights::pre_checks::{self, PreChecks};
use jiff::Timestamp;
use kube::Client;
use semver::Version;

use super::super::update_arguments::AcceptanceArguments;
use super::super::{live, print};
use super::plan::{self, Found};
use super::{accept, computed, whole_seconds};
use crate::server::Server;

/// How new the plan has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Everything is asked anew.
    Refreshed,
    /// Informers are asked only if they have not answered yet.
    Populated,
    /// Informers are asked unless they have just answered: what follows cannot be taken back.
    JustNow,
    /// Nothing is written: where there is no plan, the cluster's objects are looked at.
    ReadOnly,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Collection<'a> {
    /// The release.
    pub target: &'a Version,
    /// What is accepted.
    pub acceptance: &'a AcceptanceArguments,
    /// How long informers are waited for.
    pub timeout: Duration,
    /// How new the plan has to be.
    pub freshness: Freshness,
    /// The present moment; the server's, if it is not given.
    pub now: Option<Timestamp>,
}

/// What would be a problem with an update, after what is accepted has been written.
///
/// # Errors
/// If the cluster cannot be read or written, informers do not answer in time, or there is no such finding to accept.
pub async fn collect(server: &Server, collection: &Collection<'_>) -> anyhow::Result<PreChecks> {
    let now = || whole_seconds(collection.now.unwrap_or_else(|| server.now()));
    let target = collection.target.to_string();
    let of = if has_plans(&server.client).await? {
        match plan::populated(server, collection).await? {
            Found::Populated(plan) => {
                let mut objects = plan::parts(&server.client, &plan).await?;
                let checks = if plan::starts(collection.freshness) {
                    // What the hub has accepted, it has accepted for the upgrade for which it asks.
                    pre_checks::of_plan_for(&plan, None, &objects, now())
                } else {
                    pre_checks::of_plan(&plan, &objects, now())
                };
                if collection.acceptance.accept.is_empty() {
                    return Ok(checks);
                }
                accept::write(server, collection.acceptance, &checks, &mut objects, now()).await?;
                return Ok(pre_checks::of_plan(&plan, &objects, now()));
            }
            Found::Missing => "of the cluster's objects, since it has no plan yet",
            Found::Reached => {
                "of the cluster's objects, since no plan is kept of a release that the cluster runs or is beyond"
            }
            Found::Unseen => {
                "of the cluster's objects, since nobody looks at its UpdatePlans (does drydock-agent run, without --insights-off=plans?)"
            }
        }
    } else {
        "of the cluster's objects, since it has no UpdatePlans"
    };
    ensure!(
        collection.acceptance.accept.is_empty(),
        "nothing can be accepted: findings would be computed {of} (UpdatePlans are those of drydock-agent, with its insights)"
    );
    let facts = live::built_in_facts(server, &target).await?;
    ensure!(!is_taken_up(&facts, &target), "{}", plan::has_begun(&target));
    let checks = pre_checks::of_objects(&facts, &target, now());
    print::note(&computed(of));
    Ok(checks)
}

/// Whether a cluster runs a release, or is on its way to it.
pub fn is_taken_up(facts: &BuiltInFacts, target: &str) -> bool {
    facts.cluster.as_ref().is_ok_and(|cluster| {
        let history = cluster.status.iter().flat_map(|status| &status.history);
        let newest = history.map(|entry| entry.version.as_deref()).next();
        newest == Some(Some(target))
    })
}

/// Has the cluster the kinds of update insights? Everybody may ask that.
async fn has_plans(client: &Client) -> anyhow::Result<bool> {
    match client
        .list_api_group_resources(&format!("{GROUP}/{VERSION}"))
        .await
    {
        Ok(kinds) => Ok(kinds.resources.iter().any(|kind| kind.name == "updateplans")),
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(false),
        Err(error) => Err(error).context("asking which kinds the cluster has"),
    }
}
