//! The plan of a release: it is created or refreshed, and its informers are waited for.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use drydock_api::insights::{PlanAsker, UpdateInformer, UpdatePlan, UpdatePlanInsight};
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::DesiredVersion;
use drydock_insights::InformerName;
use drydock_insights::cluster;
use drydock_insights::plan::prune::{MAX_AGE, is_reached};
use drydock_insights::plan::{other_request, plan_name};
use drydock_insights::pre_checks::{Population, population};
use drydock_insights::update_status::MAX_INFORMERS;
use drydock_runtime::pages::list_all;
use jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};

use super::super::{live, print};
use super::{Collection, Freshness, whole_seconds};
use crate::server::{MANAGER, Server};

/// How long a plan may be before the agent sees it, where it runs.
const SEEN: Duration = Duration::from_secs(20);
/// How old what a plan says may be when an update starts: something else may have come up since.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(5);
/// By how much the clocks of the agent and of the API server may differ.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What there is of a plan.
#[derive(Clone, Debug)]
pub enum Found {
    /// The plan, whose informers have answered.
    Populated(Box<UpdatePlan>),
    /// There is none, and nothing may be written.
    Missing,
    /// The agent keeps none of a release that the cluster runs, or is beyond.
    Reached,
    /// Nobody looks at it: the kinds are installed, and no agent runs.
    Unseen,
}

/// The plan of a release, whose informers have answered.
///
/// # Errors
/// If it cannot be written or read, the update has begun, or informers do not answer in time.
pub async fn populated(server: &Server, collection: &Collection<'_>) -> anyhow::Result<Found> {
    let target = collection.target.to_string();
    let name = plan_name(&target);
    let api: Api<UpdatePlan> = Api::all(server.client.clone());
    let known = api.get_opt(&name).await;
    let known = known.with_context(|| format!("reading the UpdatePlan {name}"))?;
    let is_new = known.is_none();
    let at = refreshed_at(known.as_ref(), server.now());
    let asker = known
        .as_ref()
        .map_or(PlanAsker::Cluster, |plan| plan.spec.asker());
    let informers = enabled_informers(&server.client).await?;
    let cluster = live::cluster_version(&server.client).await?;
    if is_new && cluster::facts(&cluster).is_ok_and(|facts| is_reached(&target, &facts.version)) {
        return Ok(Found::Reached);
    }
    if let Some(plan) = known.as_ref().filter(|_| starts(collection.freshness)) {
        refuse_another_release(plan, &cluster)?;
    }
    if collection.freshness != Freshness::Refreshed {
        match known {
            Some(plan)
                if is_current(&plan, &cluster, server.now(), oldest(collection.freshness))
                    && has_asked(&plan, &informers) =>
            {
                return Ok(Found::Populated(Box::new(plan)));
            }
            // Nobody has looked at it, and nobody may: the cluster's objects say what they can, unless others should have been asked.
            Some(plan)
                if collection.freshness == Freshness::ReadOnly && population(&plan) == Population::Unseen =>
            {
                ensure!(informers.is_empty(), "{}", refusal(&plan, &Population::Unseen));
                return Ok(Found::Missing);
            }
            Some(_) if collection.freshness == Freshness::ReadOnly => bail!(
                "what the UpdatePlan {name} says is out of date, and a dry run has nobody asked: run kubectl drydock cluster pre-checks \
                 --version {target} before it"
            ),
            None if collection.freshness == Freshness::ReadOnly => {
                ensure!(
                    informers.is_empty(),
                    "UpdateInformers have not been asked about {target}, and a dry run asks nobody: run kubectl drydock cluster pre-checks \
                     --version {target} before it"
                );
                return Ok(Found::Missing);
            }
            _ => {}
        }
    }
    let plan = refresh(&api, &name, &target, asker, at).await?;
    // Without an agent the cluster's own objects say what they can, unless there are others who should be asked, or something is accepted.
    let accepts = !collection.acceptance.accept.is_empty();
    let is_needed = accepts || !informers.is_empty();
    if !is_seen(&api, &name, &plan, collection.timeout.min(SEEN)).await? {
        if is_new {
            withdraw(&api, &name, &plan).await?;
        }
        if is_needed {
            bail!("{}", refusal(&plan, &Population::Unseen));
        }
        return Ok(Found::Unseen);
    }
    let plan = wait(&api, &name, &plan, &cluster, collection).await?;
    Ok(Found::Populated(Box::new(plan)))
}

/// Whether an update is to be requested by what the plan says.
pub fn starts(freshness: Freshness) -> bool {
    matches!(freshness, Freshness::JustNow | Freshness::ReadOnly)
}

/// What would be requested is the release that is offered: a plan of another one says nothing of it.
fn refuse_another_release(plan: &UpdatePlan, cluster: &ClusterVersion) -> anyhow::Result<()> {
    let target = &plan.spec.target_release;
    if is_about_offered(plan, cluster) {
        return Ok(());
    }
    if plan.spec.asker() == PlanAsker::Hub {
        bail!(
            "the hub asks about another image of {target} at present, and not about the one that is offered, which would be requested: wait until \
             it asks no more"
        );
    }
    bail!(
        "the UpdatePlan {} asks about another image or architecture of {target} than the one that is offered, which would be requested: take \
         targetImage and targetArchitecture out of it",
        plan_name(target)
    );
}

/// Whether a plan asks about the release that is offered under its version.
fn is_about_offered(plan: &UpdatePlan, cluster: &ClusterVersion) -> bool {
    let asked = DesiredVersion {
        version: Some(plan.spec.target_release.clone()),
        image: plan.spec.target_image.clone(),
        architecture: plan.spec.architecture().map(str::to_owned),
        force: None,
    };
    let asked = asked.planned(cluster);
    asked.is_some_and(|asked| asked.is_of_version())
}

/// How old what a plan says may be.
fn oldest(freshness: Freshness) -> SignedDuration {
    match freshness {
        // As the engines of the agent have it, and a dry run is asked what a start would do.
        Freshness::JustNow | Freshness::ReadOnly => JUST_NOW,
        Freshness::Populated | Freshness::Refreshed => MAX_AGE,
    }
}

/// The names of the informers that somebody has installed, and that are asked.
async fn enabled_informers(client: &Client) -> anyhow::Result<BTreeSet<String>> {
    let api: Api<UpdateInformer> = Api::all(client.clone());
    let informers = list_all(&api, ListParams::default()).await;
    let informers = informers.context("listing UpdateInformers")?.into_iter();
    let enabled = informers.filter(|informer| informer.spec.enabled);
    let names = enabled.filter_map(|informer| informer.metadata.name);
    // The agent asks none of another name.
    Ok(names.filter(|name| InformerName::parse(name).is_ok()).collect())
}

/// Does a plan know of all informers? One that was installed since has not been asked, or nobody is there to ask it.
fn has_asked(plan: &UpdatePlan, informers: &BTreeSet<String>) -> bool {
    let status = plan.status.as_ref();
    let asked: BTreeSet<_> = status
        .iter()
        .flat_map(|status| &status.informers)
        .map(|one| one.name.as_str())
        .collect();
    // Of more than are asked the plan says itself that some are not.
    informers
        .iter()
        .take(MAX_INFORMERS)
        .all(|name| asked.contains(name.as_str()))
}

/// Takes back a plan that nobody looks at: nobody would delete it. One that somebody has changed since stays.
async fn withdraw(api: &Api<UpdatePlan>, name: &str, applied: &UpdatePlan) -> anyhow::Result<()> {
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid: applied.metadata.uid.clone(),
            resource_version: applied.metadata.resource_version.clone(),
        }),
        ..DeleteParams::default()
    };
    match api.delete(name, &parameters).await {
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => Ok(()),
        deleted => deleted
            .map(drop)
            .with_context(|| format!("deleting the UpdatePlan {name}, at which nobody looks")),
    }
}

/// Whether an agent looks at the plan before long.
async fn is_seen(
    api: &Api<UpdatePlan>,
    name: &str,
    applied: &UpdatePlan,
    timeout: Duration,
) -> anyhow::Result<bool> {
    let generation = applied.metadata.generation;
    let sees = move |plan: Option<&UpdatePlan>| {
        plan.is_some_and(|plan| {
            plan.metadata.generation >= generation && population(plan) != Population::Unseen
        })
    };
    match tokio::time::timeout(timeout, await_condition(api.clone(), name, sees)).await {
        Ok(seen) => seen
            .map(|_| true)
            .with_context(|| format!("waiting for the UpdatePlan {name}")),
        Err(_) => Ok(false),
    }
}

/// Does it say what holds now? What was said of another version, or longer ago than the agent keeps it, was left by one that no longer runs; what
/// was said while something else was requested is about that.
fn is_current(plan: &UpdatePlan, cluster: &ClusterVersion, now: Timestamp, oldest: SignedDuration) -> bool {
    let Some(status) = &plan.status else { return false };
    let collected = status.collected_at.as_ref();
    let is_new = collected.is_some_and(|collected| {
        let age = now.duration_since(collected.0);
        -CLOCK_SKEW < age && age < oldest
    });
    let base = cluster::facts(cluster).map(|facts| facts.version).ok();
    let is_of_cluster = status.base_version == base && is_of_request(plan, cluster);
    is_new && is_of_cluster && population(plan) == Population::Populated
}

/// Was it asked while the same was requested of the cluster as now?
fn is_of_request(plan: &UpdatePlan, cluster: &ClusterVersion) -> bool {
    let Ok(facts) = cluster::facts(cluster) else {
        return true;
    };
    let asked = plan
        .status
        .as_ref()
        .and_then(|status| status.base_request.as_ref());
    asked == other_request(plan, &facts).as_ref()
}

/// When everything is asked anew: in whole seconds, and later than before, which may have been in this second. A time of the future is of a clock
/// that was set back since.
fn refreshed_at(known: Option<&UpdatePlan>, now: Timestamp) -> Timestamp {
    let before = known.and_then(|plan| plan.spec.last_refresh());
    let after = before.and_then(|before| before.checked_add(SignedDuration::from_secs(1)).ok());
    let after = after.filter(|after| after.duration_since(now) < CLOCK_SKEW);
    whole_seconds(after.map_or(now, |after| after.max(now)))
}

/// Creates the plan, or has everything asked anew.
async fn refresh(
    api: &Api<UpdatePlan>,
    name: &str,
    target: &str,
    asker: PlanAsker,
    at: Timestamp,
) -> anyhow::Result<UpdatePlan> {
    let plan = asker.refresh(target, at);
    let parameters = PatchParams::apply(MANAGER).force();
    let applied = api.patch(name, &parameters, &Patch::Apply(plan)).await;
    applied.with_context(|| format!("applying the UpdatePlan {name}"))
}

async fn wait(
    api: &Api<UpdatePlan>,
    name: &str,
    applied: &UpdatePlan,
    cluster: &ClusterVersion,
    collection: &Collection<'_>,
) -> anyhow::Result<UpdatePlan> {
    let generation = applied.metadata.generation;
    // The agent may see later than we do what is requested of the cluster.
    let is_done = |plan: Option<&UpdatePlan>| {
        plan.is_some_and(|plan| {
            let is_populated = population(plan) == Population::Populated && is_of_request(plan, cluster);
            plan.metadata.generation >= generation && (is_populated || population(plan) == Population::Over)
        })
    };
    if !is_done(Some(applied)) {
        let (target, seconds) = (collection.target, collection.timeout.as_secs());
        print::note(&format!(
            "asking the informers about {target}, for up to {seconds} s\n"
        ));
    }
    let waiting = await_condition(api.clone(), name, is_done);
    let plan = match tokio::time::timeout(collection.timeout, waiting).await {
        Ok(plan) => plan.with_context(|| format!("waiting for the UpdatePlan {name}"))?,
        Err(_) => api.get_opt(name).await.context("reading the UpdatePlan")?,
    };
    let plan = plan.with_context(|| format!("the UpdatePlan {name} has been deleted"))?;
    match population(&plan) {
        Population::Populated => {
            ensure!(
                is_of_request(&plan, cluster),
                "what the UpdatePlan {name} says is about what was requested of the cluster before: see whether drydock-agent runs"
            );
            Ok(plan)
        }
        // What is known is shown, and who is missing with it.
        missing @ Population::Awaits(_) if collection.freshness == Freshness::Refreshed => {
            print::note(&format!("{}\n", refusal(&plan, &missing)));
            Ok(plan)
        }
        missing => bail!("{}", refusal(&plan, &missing)),
    }
}

/// Why nothing is looked at any more, in words.
pub(super) fn has_begun(target: &str) -> String {
    format!(
        "the update to {target} has begun, or the cluster is beyond it: see kubectl drydock cluster status"
    )
}

/// Why a plan says nothing, in words.
fn refusal(plan: &UpdatePlan, missing: &Population) -> String {
    let target = &plan.spec.target_release;
    match missing {
        Population::Awaits(informers) => format!(
            "these informers have not answered about {target}: {}; give them longer with --timeout",
            informers.join(", ")
        ),
        Population::Over => has_begun(target),
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_counts_for_the_version_that_the_cluster_runs_for_a_day_and_for_a_start_for_minutes() {
        let cluster: ClusterVersion = serde_json::from_value(json!({
            "metadata": {"name": "version"},
            "status": {"history": [{
                "version": "4.14.3", "image": "i", "state": "Completed",
                "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z",
            }]},
        }))
        .unwrap();
        let now = "2026-01-05T12:00:00Z".parse().unwrap();
        for (base, collected, is_it, is_just_now) in [
            ("4.14.3", "2026-01-05T08:00:00Z", true, false),
            ("4.14.3", "2026-01-05T11:56:00Z", true, true),
            ("4.14.2", "2026-01-05T11:56:00Z", false, false),
            ("4.14.3", "2026-01-03T08:00:00Z", false, false),
            ("4.14.3", "2998-01-01T00:00:00Z", false, false),
        ] {
            let plan: UpdatePlan = serde_json::from_value(json!({
                "metadata": {"name": "update-plan-4.14.4", "generation": 1},
                "spec": {"targetRelease": "4.14.4"},
                "status": {
                    "observedGeneration": 1, "baseVersion": base, "phase": "Ready", "collectedAt": collected, "verdict": "Go",
                },
            }))
            .unwrap();
            for (freshness, is_it) in [(Freshness::Populated, is_it), (Freshness::JustNow, is_just_now)] {
                let found = is_current(&plan, &cluster, now, oldest(freshness));
                assert_eq!(found, is_it, "{base} {collected} {freshness:?}");
            }
        }
    }

    /// What is accepted of one image is not what `start` would request.
    #[test]
    fn a_plan_of_another_image_is_none_of_what_would_be_requested() {
        let cluster: ClusterVersion = serde_json::from_value(json!({
            "metadata": {"name": "version"},
            "status": {"availableUpdates": [{"version": "4.14.4", "image": "quay.io/r@sha256:44"}]},
        }))
        .unwrap();
        for (image, architecture, expected) in [
            ("", "", true),
            ("quay.io/r@sha256:44", "", true),
            ("mirror.example/r@sha256:44", "", true),
            ("quay.io/r@sha256:45", "", false),
            ("", "Multi", false),
        ] {
            let spec =
                json!({"targetRelease": "4.14.4", "targetImage": image, "targetArchitecture": architecture});
            let plan: UpdatePlan =
                serde_json::from_value(json!({"metadata": {"name": "update-plan-4.14.4"}, "spec": spec}))
                    .unwrap();
            assert_eq!(
                is_about_offered(&plan, &cluster),
                expected,
                "{image} {architecture}"
            );
        }
    }

    #[test]
    fn a_plan_that_does_not_know_an_informer_says_nothing_of_it() {
        let plan: UpdatePlan = serde_json::from_value(json!({
            "metadata": {"name": "update-plan-4.14.4"}, "spec": {"targetRelease": "4.14.4"},
            "status": {"informers": [{"name": "mco", "state": "Success"}]},
        }))
        .unwrap();
        let installed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert!(has_asked(&plan, &installed(&[])) && has_asked(&plan, &installed(&["mco"])));
        assert!(!has_asked(&plan, &installed(&["mco", "new"])));
    }

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

    #[test]
    fn what_is_asked_anew_within_a_second_is_another_question() {
        let now: Timestamp = "2026-01-05T08:00:00.7Z".parse().unwrap();
        for (before, expected) in [
            (None, "2026-01-05T08:00:00Z"),
            (Some("2026-01-05T07:59:00Z"), "2026-01-05T08:00:00Z"),
            (Some("2026-01-05T08:00:00Z"), "2026-01-05T08:00:01Z"),
            (Some("2026-01-05T08:00:01Z"), "2026-01-05T08:00:02Z"),
            (Some("2026-01-05T10:00:00Z"), "2026-01-05T08:00:00Z"),
        ] {
            let plan = before.map(|before| {
                let spec = json!({"targetRelease": "4.14.4", "refreshRequestedAt": before});
                serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
            });
            assert_eq!(
                refreshed_at(plan.as_ref(), now).to_string(),
                expected,
                "{before:?}"
            );
        }
    }
}
