//! The plan of a release: it is created or refreshed, and its informers are waited for.

use anyhow::{Context, bail};
use drydock_api::insights::{UpdatePlan, UpdatePlanInsight};
use drydock_insights::plan::plan_name;
use drydock_insights::plan::prune::MAX_AGE;
use drydock_insights::pre_checks::{Population, population};
use drydock_runtime::pages::list_all;
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource};
use serde_json::json;

use super::{Collection, Freshness, whole_seconds};
use crate::server::{MANAGER, Server};

/// The plan of a release, whose informers have answered. Nothing, if nothing may be written and there is none.
///
/// # Errors
/// If it cannot be written or read, the update has begun, or informers do not answer in time.
pub async fn populated(server: &Server, collection: &Collection<'_>) -> anyhow::Result<Option<UpdatePlan>> {
    let target = collection.target.to_string();
    let name = plan_name(&target);
    let api: Api<UpdatePlan> = Api::all(server.client.clone());
    if collection.freshness != Freshness::Refreshed {
        let known = api.get_opt(&name).await;
        let known = known.with_context(|| format!("reading the UpdatePlan {name}"))?;
        match known {
            Some(plan) if population(&plan) == Population::Populated && is_new(&plan, server.now()) => {
                return Ok(Some(plan));
            }
            _ if collection.freshness == Freshness::ReadOnly => return Ok(None),
            _ => {}
        }
    }
    let plan = refresh(server, &api, &name, &target).await?;
    wait(&api, &name, &plan, collection).await.map(Some)
}

/// What was said longer ago than the agent keeps it was left by one that no longer runs.
fn is_new(plan: &UpdatePlan, now: Timestamp) -> bool {
    let collected = plan
        .status
        .as_ref()
        .and_then(|status| status.collected_at.as_ref());
    collected.is_some_and(|collected| now.duration_since(collected.0) < MAX_AGE)
}

/// Creates the plan, or has everything asked anew.
async fn refresh(
    server: &Server,
    api: &Api<UpdatePlan>,
    name: &str,
    target: &str,
) -> anyhow::Result<UpdatePlan> {
    let plan = json!({
        "apiVersion": UpdatePlan::api_version(&()),
        "kind": UpdatePlan::kind(&()),
        "metadata": {"name": name},
        "spec": {"targetRelease": target, "refreshRequestedAt": whole_seconds(server.now()).to_string()},
    });
    let parameters = PatchParams::apply(MANAGER).force();
    let applied = api.patch(name, &parameters, &Patch::Apply(plan)).await;
    applied.with_context(|| format!("applying the UpdatePlan {name}"))
}

async fn wait(
    api: &Api<UpdatePlan>,
    name: &str,
    applied: &UpdatePlan,
    collection: &Collection<'_>,
) -> anyhow::Result<UpdatePlan> {
    let generation = applied.metadata.generation;
    let is_done = move |plan: Option<&UpdatePlan>| {
        plan.is_some_and(|plan| {
            plan.metadata.generation >= generation
                && matches!(population(plan), Population::Populated | Population::Over)
        })
    };
    let waiting = await_condition(api.clone(), name, is_done);
    let plan = match tokio::time::timeout(collection.timeout, waiting).await {
        Ok(plan) => plan.with_context(|| format!("waiting for the UpdatePlan {name}"))?,
        Err(_) => api.get_opt(name).await.context("reading the UpdatePlan")?,
    };
    let plan = plan.with_context(|| format!("the UpdatePlan {name} has been deleted"))?;
    match population(&plan) {
        Population::Populated => Ok(plan),
        missing => bail!("{}", refusal(&plan, &missing)),
    }
}

/// Why a plan says nothing, in words.
fn refusal(plan: &UpdatePlan, missing: &Population) -> String {
    let target = &plan.spec.target_release;
    match missing {
        Population::Awaits(informers) => format!(
            "these informers have not answered about {target}: {}; give them longer with --timeout",
            informers.join(", ")
        ),
        Population::Over => format!(
            "the update to {target} has begun, or the cluster is beyond it: see kubectl drydock cluster status"
        ),
        Population::Unseen | Population::Populated => {
            let plan = plan.metadata.name.as_deref().unwrap_or_default();
            format!(
                "nobody has looked at the UpdatePlan {plan}: see whether drydock-agent runs, without --insights-off=plans"
            )
        }
    }
}

/// The parts of a plan.
///
/// # Errors
/// If they cannot be listed.
pub async fn parts(client: &Client, plan: &UpdatePlan) -> anyhow::Result<Vec<UpdatePlanInsight>> {
    let api: Api<UpdatePlanInsight> = Api::all(client.clone());
    let listed = list_all(&api, ListParams::default()).await;
    let mut parts = listed.context("listing UpdatePlanInsights")?;
    parts.retain(|part| part.spec.target_release == plan.spec.target_release);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whom_a_plan_waits_for() {
        let plan = UpdatePlan {
            spec: drydock_api::insights::UpdatePlanSpec {
                target_release: "4.14.4".to_owned(),
                ..Default::default()
            },
            ..UpdatePlan::default()
        };
        let awaited = Population::Awaits(vec!["mco".to_owned(), "etcd".to_owned()]);
        assert_eq!(
            refusal(&plan, &awaited),
            "these informers have not answered about 4.14.4: mco, etcd; give them longer with --timeout"
        );
        assert!(refusal(&plan, &Population::Over).starts_with("the update to 4.14.4 has begun"));
        assert!(refusal(&plan, &Population::Unseen).contains("whether drydock-agent runs"));
    }
}
