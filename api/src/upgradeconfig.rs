//! UpgradeConfig: one cluster's upgrade, for the agent. Accepts every object that the original accepts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason of the condition `UpgradeConfigValidated` where the cluster is at the desired release, or beyond.
pub const NOT_AN_UPGRADE: &str = "NotAnUpgrade";

/// When a cluster is upgraded, to what, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "upgrade.managed.openshift.io",
    version = "v1alpha1",
    kind = "UpgradeConfig",
    plural = "upgradeconfigs",
    singular = "upgradeconfig",
    shortname = "upgrade",
    namespaced,
    status = "UpgradeConfigStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeConfig is the upgrade of one cluster, run by the agent on that cluster.",
    printcolumn = r#"{"name": "desired_version", "type": "string", "jsonPath": ".spec.desired.version"}"#,
    printcolumn = r#"{"name": "phase", "type": "string", "jsonPath": ".status.history[0].phase"}"#,
    printcolumn = r#"{"name": "stage", "type": "string", "jsonPath": ".status.history[0].conditions[0].type"}"#,
    printcolumn = r#"{"name": "status", "type": "string", "jsonPath": ".status.history[0].conditions[0].status"}"#,
    printcolumn = r#"{"name": "reason", "type": "string", "jsonPath": ".status.history[0].conditions[0].reason"}"#,
    printcolumn = r#"{"name": "message", "type": "string", "jsonPath": ".status.history[0].conditions[0].message"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct UpgradeConfigSpec {
    /// The list of steps that the agent runs.
    #[serde(rename = "type")]
    pub upgrade_type: UpgradeType,
    /// When the upgrade starts (RFC 3339).
    pub upgrade_at: String,
    /// How many minutes a PodDisruptionBudget may block the drain of a node before it is forced. With 0 it is
    /// forced as soon as the expected time of a drain is over.
    #[serde(rename = "PDBForceDrainTimeout")]
    #[schemars(range(min = 0))]
    pub pdb_force_drain_timeout: i32,
    /// If true, extra workers are added for the duration of the upgrade. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reservation: Option<bool>,
    /// The release to upgrade to.
    pub desired: Desired,
}

/// A spec as it is read: an UpgradeConfig may have none, as the original's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecOnTheWire {
    #[serde(rename = "type")]
    upgrade_type: UpgradeType,
    upgrade_at: String,
    #[serde(rename = "PDBForceDrainTimeout")]
    pdb_force_drain_timeout: i32,
    capacity_reservation: Option<bool>,
    desired: Desired,
}

impl From<Option<SpecOnTheWire>> for UpgradeConfigSpec {
    fn from(spec: Option<SpecOnTheWire>) -> Self {
        let Some(spec) = spec else {
            return Self::default();
        };
        Self {
            upgrade_type: spec.upgrade_type,
            upgrade_at: spec.upgrade_at,
            pdb_force_drain_timeout: spec.pdb_force_drain_timeout,
            capacity_reservation: spec.capacity_reservation,
            desired: spec.desired,
        }
    }
}

/// The list of steps that the agent runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeType {
    /// OpenShift Dedicated and ROSA.
    #[default]
    #[serde(rename = "OSD")]
    Osd,
    /// Azure Red Hat OpenShift.
    #[serde(rename = "ARO")]
    Aro,
}

/// The release to upgrade to: version and channel, or an image by digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Desired {
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The channel that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Its image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// What the agent has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeConfigStatus {
    /// One entry per desired version, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<UpgradeHistory>>,
    /// Resources that upgrades created on the cluster and that may still exist. An entry is added before the resource is
    /// created and removed once its deletion has been observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Vec<MadeResource>>,
    /// The nodes that are being drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drains: Option<Vec<NodeDrain>>,
    /// The worker that has not been ready for longer than a reboot takes, while workers are updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unready: Option<UnreadyNode>,
}

/// A node that does not come back from its reboot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadyNode {
    /// The node.
    pub node: String,
    /// Since when it is not ready.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub start_time: Time,
}

/// A resource that exists for the duration of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum MadeResource {
    /// Silences of Alertmanager.
    Silences,
    /// MachineSets for extra workers.
    MachineSets,
}

/// A node that is being drained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDrain {
    /// The node.
    pub node: String,
    /// The desired drain annotation that the machine-config operator set on the node; it identifies the drain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub drain: String,
    /// Since when it is drained.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub start_time: Time,
    /// True while the drain makes no progress although all drain strategies have been tried. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stuck: bool,
}

/// The upgrade to one version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeHistory {
    /// The version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The version before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preceding_version: Option<String>,
    /// How far it is.
    pub phase: UpgradePhase,
    /// The steps, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<UpgradeCondition>>,
    /// When it started.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub start_time: Option<Time>,
    /// When it ended.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub complete_time: Option<Time>,
    /// When the first worker node was taken.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub worker_start_time: Option<Time>,
    /// When the last worker node was done.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub worker_complete_time: Option<Time>,
    /// The spec with which the upgrade commenced: it is in force until the upgrade has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_spec: Option<UpgradeConfigSpec>,
    /// The notifications that have been sent, or are to be sent, each once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Vec<UpgradeNotification>>,
}

/// A notification about the upgrade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeNotification {
    /// Which notification, such as `StateStarted`.
    pub event: String,
    /// The message, human-readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was raised.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub raised_time: Option<Time>,
    /// The receivers that have it while others do not: a digest of each address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_to: Option<Vec<String>>,
    /// When all receivers had it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub sent_time: Option<Time>,
}

/// How far an upgrade is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradePhase {
    /// Just observed.
    New,
    /// Waits for its time.
    Pending,
    /// Under way.
    Upgrading,
    /// Done.
    Upgraded,
    /// Given up before it commenced.
    Failed,
    /// Not known.
    #[default]
    #[serde(other)]
    Unknown,
}

impl UpgradePhase {
    /// The phase's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Pending => "Pending",
            Self::Upgrading => "Upgrading",
            Self::Upgraded => "Upgraded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

impl std::fmt::Display for UpgradePhase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// How far one step is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeCondition {
    /// The step's condition type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the step started.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub start_time: Option<Time>,
    /// When the step was done.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub complete_time: Option<Time>,
    /// When the step was last looked at.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_probe_time: Option<Time>,
    /// When the status last changed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_transition_time: Option<Time>,
}

/// How the message of a condition is built that waits for an acceptance.
const HELD_UNTIL: &str = "it fails at ";
const UNLESS: &str = " unless this ends: ";

/// Says until when an acceptance is waited for, and why: [`read_held`] reads both of it.
pub fn held_until(end: jiff::Timestamp, why: &str) -> String {
    format!("{HELD_UNTIL}{end}{UNLESS}{why}")
}

/// When an upgrade fails that waits for an acceptance, and why it waits, by its message; nothing if that does not say.
pub fn read_held(message: &str) -> Option<(jiff::Timestamp, &str)> {
    let (end, why) = message.strip_prefix(HELD_UNTIL)?.split_once(UNLESS)?;
    Some((end.parse().ok()?, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_reads_until_when_an_acceptance_is_waited_for() {
        let end: jiff::Timestamp = "2026-01-05T08:56:46Z".parse().unwrap();
        let why = "findings that nobody has accepted: 1";
        assert_eq!(read_held(&held_until(end, why)), Some((end, why)));
        for other in ["", "it fails at noon unless this ends: why", why] {
            assert_eq!(read_held(other), None, "{other}");
        }
    }
}
