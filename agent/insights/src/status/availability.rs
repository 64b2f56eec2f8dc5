//! Why a node is not available, as the machine config operator sees it.

use drydock_api::openshift::MachineConfigPool;
use drydock_api::openshift::machine_config::LONGEST_REBOOT;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::ResourceExt;

use super::keys::{self, annotation};

/// A pool whose nodes run an image of their own.
const LAYERED: &str = "machineconfiguration.openshift.io/layering-enabled";
/// That image.
const POOL_IMAGE: &str = "machineconfiguration.openshift.io/newestImageEquivalentConfig";

/// Why a node is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    NotReady,
    DiskPressure,
    NetworkUnavailable,
    Unschedulable,
    DaemonWorks,
}

/// A cause, with what the condition behind it says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BadCondition {
    cause: Cause,
    message: String,
    since: Option<Timestamp>,
}

/// Whether a node is available, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    causes: Vec<BadCondition>,
    is_unavailable: bool,
}

impl Availability {
    /// Looks at a node of a pool, as `oc` does: one whose image is not that of its pool counts as available.
    pub fn of(node: &Node, pool: &MachineConfigPool) -> Self {
        let mut availability = Self::of_node(node);
        availability.is_unavailable &= has_image_of(node, pool);
        availability
    }

    /// Looks at a node, whatever pool it is in.
    pub fn of_node(node: &Node) -> Self {
        let mut causes: Vec<_> = conditions(node).iter().filter_map(bad).collect();
        if node
            .spec
            .as_ref()
            .is_some_and(|spec| spec.unschedulable == Some(true))
        {
            causes.push(BadCondition::without_condition(Cause::Unschedulable));
        }
        if causes.is_empty() && !is_done(node) && !has_given_up(node) {
            causes.push(BadCondition::without_condition(Cause::DaemonWorks));
        }
        Self {
            is_unavailable: !causes.is_empty(),
            causes,
        }
    }

    /// Whether the node is not available.
    pub fn is_unavailable(&self) -> bool {
        self.is_unavailable
    }

    /// Whether it probably does not become available by itself. Judged at the moment that is looked at, not by the clock.
    pub fn is_serious(&self, now: Timestamp) -> bool {
        self.is_unavailable && self.causes.iter().any(|bad| bad.is_serious(now))
    }

    /// Whether it has not been ready for longer than a reboot takes: it does not come back by itself (openshift.md, failure F16).
    pub fn is_unready_for_long(&self, now: Timestamp) -> bool {
        let unready = self.causes.iter().filter(|bad| bad.cause == Cause::NotReady);
        unready
            .filter_map(|bad| bad.since)
            .any(|since| now.duration_since(since) >= LONGEST_REBOOT)
    }

    /// That it is not ready alone, where that is so: what else a kubelet said that is gone is not known any more.
    pub fn most_certain(mut self) -> Self {
        let is_unready = |bad: &BadCondition| bad.cause == Cause::NotReady;
        if self.causes.iter().any(is_unready) {
            self.causes.retain(is_unready);
        }
        self
    }

    /// Since when.
    pub fn since(&self) -> Option<Timestamp> {
        self.causes.iter().filter_map(|bad| bad.since).min()
    }

    /// Why, in few words.
    pub fn reasons(&self) -> String {
        self.join(|bad| bad.cause.reason().to_owned())
    }

    /// Why, in a line that names the node.
    pub fn summary(&self, node: &str) -> String {
        self.join(|bad| match bad.cause {
            Cause::NotReady => format!("Node {node} is not ready"),
            Cause::DiskPressure => format!("Node {node} has disk pressure"),
            Cause::NetworkUnavailable => format!("Node {node} has unavailable network"),
            other => other.reason().to_owned(),
        })
    }

    /// Why, in full.
    pub fn description(&self) -> String {
        self.join(BadCondition::description)
    }

    fn join(&self, words: impl Fn(&BadCondition) -> String) -> String {
        self.causes.iter().map(words).collect::<Vec<_>>().join(" | ")
    }
}

impl Cause {
    fn reason(self) -> &'static str {
        match self {
            Self::NotReady => "Not ready",
            Self::DiskPressure => "Disk pressure",
            Self::NetworkUnavailable => "Network unavailable",
            Self::Unschedulable => "Node is marked unschedulable",
            Self::DaemonWorks => "Machine Config Daemon is processing the node",
        }
    }

    /// How long it may last; nothing if it may last for ever.
    fn tolerated_for(self) -> Option<SignedDuration> {
        match self {
            Self::NotReady => Some(SignedDuration::from_mins(5)),
            Self::DiskPressure | Self::NetworkUnavailable => Some(SignedDuration::from_mins(1)),
            Self::Unschedulable | Self::DaemonWorks => None,
        }
    }

    /// The condition behind it, and the status that it should have.
    fn condition(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::NotReady => Some(("Ready", "True")),
            Self::DiskPressure => Some(("DiskPressure", "False")),
            Self::NetworkUnavailable => Some(("NetworkUnavailable", "False")),
            Self::Unschedulable | Self::DaemonWorks => None,
        }
    }
}

impl BadCondition {
    fn without_condition(cause: Cause) -> Self {
        Self {
            cause,
            message: String::new(),
            since: None,
        }
    }

    fn is_serious(&self, now: Timestamp) -> bool {
        let Some(tolerated) = self.cause.tolerated_for() else {
            return false;
        };
        self.since
            .is_none_or(|since| now.duration_since(since) >= tolerated)
    }

    fn description(&self) -> String {
        let reason = self.cause.reason();
        match self.cause.condition() {
            Some((type_, wanted)) => format!(
                "Node has a {type_}!={wanted} condition with Reason {reason:?} and message {:?}",
                self.message
            ),
            None => reason.to_owned(),
        }
    }
}

fn conditions(node: &Node) -> &[NodeCondition] {
    let status = node.status.as_ref();
    status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default()
}

fn bad(condition: &NodeCondition) -> Option<BadCondition> {
    let causes = [Cause::NotReady, Cause::DiskPressure, Cause::NetworkUnavailable];
    let is_behind = |cause: &Cause| {
        cause
            .condition()
            .is_some_and(|(type_, wanted)| condition.type_ == type_ && condition.status != wanted)
    };
    Some(BadCondition {
        cause: causes.into_iter().find(is_behind)?,
        message: condition.message.clone().unwrap_or_default(),
        since: condition.last_transition_time.as_ref().map(|time| time.0),
    })
}

/// Whether the machine config daemon has done what it was to do.
fn is_done(node: &Node) -> bool {
    let (current, desired) = (
        annotation(node, keys::CURRENT_CONFIG),
        annotation(node, keys::DESIRED_CONFIG),
    );
    let is_configured = !current.is_empty() && current == desired;
    is_configured && has_desired_image(node) && annotation(node, keys::STATE) == keys::DONE
}

fn has_desired_image(node: &Node) -> bool {
    let image = |key| node.annotations().get(key).map(String::as_str);
    match (image(keys::CURRENT_IMAGE), image(keys::DESIRED_IMAGE)) {
        (None, None) => true,
        (Some(current), Some(desired)) => !current.is_empty() && current == desired,
        _ => false,
    }
}

/// Whether the machine config daemon has given up: then the node can be given another configuration.
fn has_given_up(node: &Node) -> bool {
    [keys::DEGRADED, keys::UNRECONCILABLE].contains(&annotation(node, keys::STATE))
}

/// Whether a node is to run the image that its pool runs, or none of its own where the pool has none.
fn has_image_of(node: &Node, pool: &MachineConfigPool) -> bool {
    let is_layered = pool.labels().contains_key(LAYERED);
    let image = pool.annotations().get(POOL_IMAGE).filter(|_| is_layered);
    annotation(node, keys::DESIRED_IMAGE) == image.map_or("", String::as_str)
}
