//! The controller of NodeForceDrains (Maintenance schedules, section 4): deletes pods from nodes whose drains take too long.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use drydock_api::fact::{Fact, Unread};
use drydock_api::schedule::NodeForceDrain;
use drydock_runtime::events::{NewEvent, Severity};
use drydock_runtime::pages::list_all;
use drydock_runtime::panics::Panicked;
use drydock_schedule::force_drain::metrics::{POD_DELETIONS, POD_TERMINATIONS, of_deletion};
use drydock_schedule::force_drain::{self, DrainDecision, DrainNeed, DrainObservation, PodDeletion};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, ObjectReference, Pod};
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use prometheus::{IntCounterVec, Opts, Registry};
use serde::de::DeserializeOwned;

use super::Context;
use super::watches::Seen;
use super::write;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Changed;
use crate::refusal;

/// What the controller has.
pub(super) struct NodeForceDrains {
    pub context: Context,
    pub seen: Seen,
    pub changed: Changed<NodeForceDrain>,
    pub deleted: DeletedPods,
    /// How often drains are looked at while a node is drained.
    pub recheck: Option<SignedDuration>,
}

/// Counts the pods that were deleted.
#[derive(Clone)]
pub(super) struct DeletedPods {
    deletions: IntCounterVec,
    terminations: IntCounterVec,
}

impl DeletedPods {
    /// Counts none yet.
    ///
    /// # Errors
    /// If the registry has one of the names already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let [deletions, terminations] = [&POD_DELETIONS, &POD_TERMINATIONS]
            .map(|family| IntCounterVec::new(Opts::new(family.name, family.help), family.labels));
        let (deletions, terminations) = (deletions?, terminations?);
        registry.register(Box::new(deletions.clone()))?;
        registry.register(Box::new(terminations.clone()))?;
        Ok(Self {
            deletions,
            terminations,
        })
    }

    fn count(&self, by: &str, pod: &PodDeletion) {
        let sample = of_deletion(by, pod);
        let counter = if sample.family == &POD_DELETIONS {
            &self.deletions
        } else {
            &self.terminations
        };
        counter.with_label_values(&sample.labels).inc();
    }
}

impl Reconcile for NodeForceDrains {
    type Object = NodeForceDrain;

    fn objects(&self) -> Vec<Arc<NodeForceDrain>> {
        if self.seen.nodes.is_looked_for() {
            self.seen.drains.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<NodeForceDrain>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let drain = self.changed.newest(seen);
        let decision = self.decide(&drain, now).await?;
        let is_current = drain.status.as_ref() == Some(&decision.status);
        if drain.metadata.deletion_timestamp.is_none() && !is_current {
            let written = write::status(&self.context.client, drain.as_ref(), &decision.status).await?;
            self.changed.note(written);
        }
        let mut failed = None;
        for pod in &decision.deletions {
            self.deleted.count(&drain.name_any(), pod);
            match self.delete(pod).await {
                Ok(true) => self.say(&drain, pod),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(decision.wake),
        }
    }
}

impl NodeForceDrains {
    /// Decides, with everything that the decision asks for.
    ///
    /// # Errors
    /// If the decision panics.
    async fn decide(&self, drain: &NodeForceDrain, now: Timestamp) -> Result<DrainDecision, ReconcileError> {
        let mut observation = DrainObservation::new(drain.clone(), now);
        observation.recheck = self.recheck;
        let mut asked = BTreeSet::new();
        loop {
            // Programs of users may take seconds, for which nothing else must wait.
            let deciding = tokio::task::spawn_blocking(move || {
                let decision = force_drain::decide(&observation);
                (observation, decision)
            });
            let (seen, decision) = deciding.await.map_err(|error| Panicked {
                message: error.to_string(),
            })?;
            observation = seen;
            let needs: Vec<_> = decision.needs.difference(&asked).cloned().collect();
            if needs.is_empty() {
                return Ok(decision);
            }
            for need in needs {
                self.read(&mut observation, &need).await;
                asked.insert(need);
            }
        }
    }

    async fn read(&self, seen: &mut DrainObservation, need: &DrainNeed) {
        let client = &self.context.client;
        match need {
            DrainNeed::Nodes => {
                seen.nodes = self.seen.nodes.known(seen.now).map(|()| {
                    let nodes = self.seen.nodes.objects();
                    nodes.iter().map(|node| (**node).clone()).collect()
                });
            }
            DrainNeed::Pods(nodes) => seen.pods = pods_on(client, nodes).await,
            DrainNeed::Namespaces => {
                let namespaces: Api<Namespace> = Api::all(client.clone());
                seen.namespaces = list(&namespaces, ListParams::default()).await;
            }
            DrainNeed::DaemonSets => {
                let sets: Api<DaemonSet> = Api::all(client.clone());
                let sets = list(&sets, ListParams::default()).await;
                seen.daemon_sets = sets.map(|sets| sets.iter().filter_map(ResourceExt::uid).collect());
            }
        }
    }

    /// Deletes a pod, if it is still the one that was looked at. Says whether it was.
    async fn delete(&self, pod: &PodDeletion) -> Result<bool, ReconcileError> {
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), &pod.namespace);
        let parameters = DeleteParams {
            grace_period_seconds: pod.deletion.grace_period_seconds(),
            ..DeleteParams::default()
        };
        let parameters = parameters.preconditions(Preconditions {
            uid: Some(pod.uid.clone()),
            resource_version: None,
        });
        match api.delete(&pod.name, &parameters).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => Ok(false),
            Err(error) => Err(ReconcileError::write(
                format!("the deletion of pod {}/{}", pod.namespace, pod.name),
                &error,
            )),
        }
    }

    fn say(&self, drain: &NodeForceDrain, pod: &PodDeletion) {
        let nodes = self.seen.nodes.objects();
        let node = nodes.iter().find(|node| node.name_any() == pod.node);
        self.context.publisher.publish(&NewEvent {
            object: ObjectReference {
                api_version: Some(Node::api_version(&()).into_owned()),
                kind: Some(Node::kind(&()).into_owned()),
                name: Some(pod.node.clone()),
                uid: node.and_then(|node| node.uid()),
                ..ObjectReference::default()
            },
            related: Some(drain.object_ref(&())),
            severity: Severity::Warning,
            reason: pod.deletion.reason(),
            action: "Draining",
            message: pod.message(&drain.name_any()),
        });
    }
}

async fn pods_on(client: &Client, nodes: &BTreeSet<String>) -> Fact<Vec<Pod>> {
    let api: Api<Pod> = Api::all(client.clone());
    let mut pods = Vec::new();
    for node in nodes {
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        pods.extend(list(&api, on_node).await?);
    }
    Ok(pods)
}

/// All objects, page by page.
async fn list<K>(api: &Api<K>, parameters: ListParams) -> Fact<Vec<K>>
where
    K: Clone + DeserializeOwned + Debug,
{
    let all = list_all(api, parameters).await;
    all.map_err(|error| Unread::Failed(refusal::words(&error)))
}
