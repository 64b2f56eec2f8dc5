//! What is done about the pods of nodes whose drains take too long.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::fact::Fact;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use serde_json::json;

use super::jq::{Program, Selected};
use super::{DrainNeed, DrainPass, DrainSettings, Readiness};
use crate::instants::later;

/// How a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deletion {
    /// As a user does, with the pod's own grace period. It is not evicted: PodDisruptionBudgets do not count.
    Delete,
    /// With a grace period of a second, as its deletion hangs. Without any, the object would go while its containers still run, and keep
    /// the node from rebooting.
    Terminate,
}

impl Deletion {
    /// The grace period of the request, in seconds.
    pub fn grace_period_seconds(self) -> Option<u32> {
        match self {
            Self::Delete => None,
            Self::Terminate => Some(1),
        }
    }

    /// The reason of the event, of type Warning, on the node.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Delete => "NodeDrainDeletePod",
            Self::Terminate => "NodeDrainForcingPodTermination",
        }
    }
}

/// A pod that is deleted. The UID is a precondition: another pod of the same name stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDeletion {
    /// How.
    pub deletion: Deletion,
    /// The node on which it runs.
    pub node: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl PodDeletion {
    /// The message of the event on the node.
    pub fn message(&self, by: &str) -> String {
        let Self { namespace, name, .. } = self;
        match self.deletion {
            Deletion::Delete => {
                format!("NodeForceDrain {by} deletes pod {namespace}/{name}: the drain takes too long")
            }
            Deletion::Terminate => {
                format!("NodeForceDrain {by} terminates pod {namespace}/{name}: its deletion takes too long")
            }
        }
    }
}

/// Deletes the pods that are due on these nodes.
pub(super) fn delete(
    pass: &mut DrainPass<'_>,
    settings: &DrainSettings,
    overdue: &BTreeSet<String>,
    pods: &[Pod],
) {
    let seen = pass.seen;
    let on_nodes = |pod: &&Pod| node_of(pod).is_some_and(|node| overdue.contains(node));
    let mut pods: Vec<&Pod> = pods.iter().filter(on_nodes).collect();
    pods.sort_by_key(|pod| (pod.namespace(), pod.name_any()));
    if settings.namespaces.is_some() {
        pass.read(&seen.namespaces, DrainNeed::Namespaces, "the namespaces");
    }
    let has_daemons = pods
        .iter()
        .any(|pod| owner(pod).is_some_and(|owner| owner.kind == "DaemonSet"));
    if has_daemons {
        pass.read(&seen.daemon_sets, DrainNeed::DaemonSets, "the DaemonSets");
    }
    if !pass.needs.is_empty() {
        return;
    }
    for pod in pods {
        if stays(pod, &seen.daemon_sets) || !is_in_namespace(settings, &seen.namespaces, pod) {
            continue;
        }
        match deletion(pod, settings, seen.now) {
            Due::Never => {}
            Due::At(time) => pass.wake_at(time),
            Due::Now(deletion) if is_selected(pass, settings, pod) => {
                if deletion == Deletion::Delete && !settings.pod_grace.is_zero() {
                    pass.wake_after(settings.pod_grace);
                }
                pass.deletions.push(PodDeletion {
                    deletion,
                    node: node_of(pod).unwrap_or_default().to_owned(),
                    namespace: pod.namespace().unwrap_or_default(),
                    name: pod.name_any(),
                    uid: pod.uid().unwrap_or_default(),
                });
            }
            Due::Now(_) => {}
        }
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref())
}

fn owner(pod: &Pod) -> Option<&OwnerReference> {
    let mut owners = pod.owner_references().iter();
    owners.find(|owner| owner.controller == Some(true))
}

/// Static pods, and those of DaemonSets that exist, come back at once. Where it is not known which exist, all do.
fn stays(pod: &Pod, daemon_sets: &Fact<BTreeSet<String>>) -> bool {
    owner(pod).is_some_and(|owner| match owner.kind.as_str() {
        "Node" => true,
        "DaemonSet" => daemon_sets
            .as_ref()
            .map_or(true, |known| known.contains(&owner.uid)),
        _ => false,
    })
}

/// A namespace that cannot be read does not match.
fn is_in_namespace(settings: &DrainSettings, namespaces: &Fact<Vec<Namespace>>, pod: &Pod) -> bool {
    let Some(selection) = &settings.namespaces else {
        return true;
    };
    let name = pod.namespace().unwrap_or_default();
    let known = namespaces.iter().flatten();
    let mut labels = known
        .filter(|known| known.name_any() == name)
        .map(|known| known.metadata.labels.clone().unwrap_or_default());
    labels
        .next()
        .is_some_and(|labels: BTreeMap<String, String>| selection.selects(&labels))
}

/// When something is done about a pod.
enum Due {
    Never,
    At(Timestamp),
    Now(Deletion),
}

fn deletion(pod: &Pod, settings: &DrainSettings, now: Timestamp) -> Due {
    let Some(deletes_by) = &pod.metadata.deletion_timestamp else {
        return if settings.node_grace.is_zero() {
            Due::Never
        } else {
            Due::Now(Deletion::Delete)
        };
    };
    if settings.pod_grace.is_zero() {
        return Due::Never;
    }
    // The timestamp is when its own grace period ends; its deletion was asked for that much earlier.
    let own_grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
    let own_grace = SignedDuration::from_secs(own_grace.saturating_neg());
    let due = later(later(deletes_by.0, own_grace), settings.pod_grace);
    if now >= due {
        Due::Now(Deletion::Terminate)
    } else {
        Due::At(due)
    }
}

/// Does the program select the pod? Where it fails before it has said so, the pod is left alone.
fn is_selected(pass: &mut DrainPass<'_>, settings: &DrainSettings, pod: &Pod) -> bool {
    let selected = settings
        .program
        .as_ref()
        .map(|program: &Program| program.run(&json!(pod), &mut pass.steps));
    let why = match selected {
        None | Some(Selected::Yes) => return true,
        Some(Selected::No) => return false,
        Some(Selected::Stopped(why)) => why,
    };
    if matches!(pass.readiness, Readiness::Usable) {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        pass.readiness = Readiness::ProgramFailed(format!(
            "spec.podJQSelector: pod {namespace}/{name} is left alone: {why}"
        ));
    }
    false
}
