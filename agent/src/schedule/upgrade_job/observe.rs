//! What a decision about an UpgradeJob is shown. Most of it is watched; what is needed rarely is asked for.

use std::sync::Arc;

use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::ClusterOperator;
use drydock_api::schedule::UpgradeJob;
use drydock_insights::cluster;
use drydock_runtime::pages::list_all;
use drydock_schedule::job::health::ALERTS;
use drydock_schedule::job::lock::ObservedHolder;
use drydock_schedule::job::{JobObservation, Need};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};

use super::super::lock;
use super::UpgradeJobs;
use crate::refusal;
use crate::update_plan;
use crate::watched::Watched;

impl UpgradeJobs {
    /// What is known before anything is read.
    pub(super) fn begin(&self, job: &UpgradeJob, now: Timestamp) -> JobObservation {
        let mut observation = JobObservation::new(job.clone(), now);
        let uid = job.uid().unwrap_or_default();
        observation.refused_hook_jobs = self.memory().refused.get(&uid).cloned().unwrap_or_default();
        observation
    }

    /// Reads what is needed.
    pub(super) async fn read(&self, seen: &mut JobObservation, need: &Need) {
        let namespace = seen.job.namespace();
        let now = seen.now;
        let written = &self.written;
        match need {
            Need::Hooks => {
                let hooks = near(&self.seen.hooks, namespace.as_ref(), now);
                seen.hooks = hooks.map(|hooks| {
                    hooks
                        .iter()
                        .map(|hook| (*written.hooks.newest(hook)).clone())
                        .collect()
                });
            }
            Need::HookJobs => {
                seen.hook_jobs = near(&self.seen.hook_jobs, namespace.as_ref(), now).map(|jobs| {
                    let jobs = written.created_hook_jobs.with(jobs, now).into_iter();
                    let jobs = jobs.filter(|job| job.namespace() == namespace);
                    jobs.map(|job| (*written.hook_jobs.newest(&job)).clone())
                        .collect()
                });
            }
            Need::Windows => {
                let windows = near(&self.seen.windows, namespace.as_ref(), now);
                seen.windows =
                    windows.map(|windows| windows.iter().map(|window| (**window).clone()).collect());
            }
            Need::ClusterVersion => {
                seen.cluster_version = self.seen.upstream.fact(now).and_then(|found| {
                    let found = found
                        .ok_or_else(|| Unread::Failed("the cluster has none: is it OpenShift?".to_owned()))?;
                    Ok((*written.upstream.newest(&found)).clone())
                });
            }
            Need::Pools => {
                seen.pools = self.seen.pools.known(now).map(|()| {
                    let pools = self.seen.pools.objects();
                    pools
                        .iter()
                        .map(|pool| (*written.pools.newest(pool)).clone())
                        .collect()
                });
            }
            Need::Operators => seen.operators = self.operators().await,
            Need::Alerts => {
                let alerts = self.context.monitoring.firing(ALERTS).await;
                seen.alerts = alerts.map_err(|error| Unread::Failed(error.to_string()));
            }
            Need::Holder(job) => {
                let state = lock::state(&self.context, &self.seen, written, job, now).await;
                seen.holder = state.map(|state| ObservedHolder {
                    job: job.clone(),
                    state,
                });
            }
            Need::UpdatePlan(update) => {
                let client = &self.context.client;
                let current = seen.cluster_version.as_ref().ok().and_then(cluster::completed);
                seen.update_plan = update_plan::read(client, current.as_deref(), update, now).await;
            }
            Need::PausingJob(job) => {
                let state = lock::state(&self.context, &self.seen, written, job, now).await;
                seen.pausing_jobs.insert(job.clone(), state);
            }
        }
    }

    async fn operators(&self) -> Fact<Vec<ClusterOperator>> {
        let operators = Api::all(self.context.client.clone());
        let operators = list_all(&operators, ListParams::default()).await;
        operators.map_err(|error| Unread::Failed(refusal::words(&error)))
    }
}

/// The objects of a namespace.
fn near<K>(watched: &Watched<K>, namespace: Option<&String>, now: Timestamp) -> Fact<Vec<Arc<K>>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    watched.known(now)?;
    let mut objects = watched.objects();
    objects.retain(|object| object.meta().namespace.as_ref() == namespace);
    Ok(objects)
}
