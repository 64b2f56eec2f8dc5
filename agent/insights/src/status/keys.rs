//! Annotations by which the machine config operator and its daemons talk, and their values.

pub use drydock_api::openshift::machine_config::{CURRENT_CONFIG, DESIRED_CONFIG};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

/// The image that it has.
pub const CURRENT_IMAGE: &str = "machineconfiguration.openshift.io/currentImage";
/// The image that it should have.
pub const DESIRED_IMAGE: &str = "machineconfiguration.openshift.io/desiredImage";
/// What its daemon does.
pub const STATE: &str = "machineconfiguration.openshift.io/state";
/// Why its daemon cannot.
pub const REASON: &str = "machineconfiguration.openshift.io/reason";
/// The drain that is wanted.
pub const DESIRED_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
/// The drain that was done last.
pub const LAST_DRAIN: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// The daemon has nothing to do.
pub const DONE: &str = "Done";
/// The node reboots.
pub const REBOOTING: &str = "Rebooting";
/// The daemon has failed.
pub const DEGRADED: &str = "Degraded";
/// The daemon cannot do what is wanted.
pub const UNRECONCILABLE: &str = "Unreconcilable";
/// How the value of a drain begins.
pub const DRAIN: &str = "drain";

/// An annotation of a node; empty if it has none.
pub fn annotation<'a>(node: &'a Node, key: &str) -> &'a str {
    node.annotations().get(key).map_or("", String::as_str)
}
