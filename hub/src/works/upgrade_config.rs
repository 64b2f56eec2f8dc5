//! Upgrading a cluster through its agent, by an UpgradeConfig (hub 4).

use drydock_api::mcu::AgentSettings;
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::ocm::manifest_work::{Manifest, ManifestWorkSpec, ResourceIdentifier, Workload};
use drydock_api::upgradeconfig::UpgradeType;
use drydock_rollout::{ClusterFeedback, Target};
use jiff::Timestamp;
use semver::Version;
use serde_json::{Map, Value, json};

use super::feedback::{self, text};
use super::seen::SeenWork;

const GROUP: &str = "upgrade.managed.openshift.io";
const RESOURCE: &str = "upgradeconfigs";
/// Minutes that a PodDisruptionBudget may hold up a drain, if the user does not say.
const DRAIN_TIMEOUT: i32 = 60;

const PATHS: [(&str, &str); 8] = [
    ("phase", ".status.history[0].phase"),
    ("version", ".status.history[0].version"),
    ("startTime", ".status.history[0].startTime"),
    ("completeTime", ".status.history[0].completeTime"),
    ("conditionType", ".status.history[0].conditions[0].type"),
    ("conditionStatus", ".status.history[0].conditions[0].status"),
    ("conditionReason", ".status.history[0].conditions[0].reason"),
    ("message", ".status.history[0].conditions[0].message"),
];

/// The work that tells a cluster's agent to upgrade to the target, from `start` on.
pub(super) fn spec(target: &Target, settings: &AgentSettings, start: Timestamp) -> ManifestWorkSpec {
    let namespace = settings.namespace.as_deref().unwrap_or(AGENT_NAMESPACE);
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: vec![Manifest(upgrade_config(target, settings, namespace, start))].into(),
            ..Workload::default()
        }),
        // The first one: the end of enforcement finds it there.
        manifest_configs: vec![feedback::enforced(identifier(namespace), &PATHS)].into(),
        ..ManifestWorkSpec::default()
    }
}

pub(super) fn identifier(namespace: &str) -> ResourceIdentifier {
    ResourceIdentifier {
        group: Some(GROUP.to_owned()),
        resource: RESOURCE.to_owned(),
        name: UPGRADE_CONFIG.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..ResourceIdentifier::default()
    }
}

fn upgrade_config(target: &Target, settings: &AgentSettings, namespace: &str, start: Timestamp) -> Value {
    let mut desired = Map::new();
    // The agent wants an image alone, or a version with its channel (agent 1).
    match (&target.image, &target.version) {
        (Some(image), _) => {
            desired.insert("image".to_owned(), image.clone().into());
        }
        (None, version) => {
            desired.insert(
                "version".to_owned(),
                version.as_ref().map(Version::to_string).into(),
            );
            desired.insert("channel".to_owned(), target.channel.clone().into());
        }
    }
    let steps = match settings.steps() {
        UpgradeType::Osd => "OSD",
        UpgradeType::Aro => "ARO",
    };
    let mut spec = json!({
        "type": steps,
        "upgradeAt": start.to_string(),
        "PDBForceDrainTimeout": settings.pdb_force_drain_timeout.unwrap_or(DRAIN_TIMEOUT),
        "desired": desired,
    });
    if let Some(reserve) = settings.capacity_reservation {
        spec["capacityReservation"] = reserve.into();
    }
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "UpgradeConfig",
        "metadata": {"name": UPGRADE_CONFIG, "namespace": namespace},
        "spec": spec,
    })
}

/// What the agent says about the upgrade; `None` before it has said anything.
pub(super) fn read(work: &SeenWork) -> Option<ClusterFeedback> {
    let status = work
        .status
        .as_ref()?
        .resource_status
        .as_ref()?
        .manifests
        .iter()
        .find(|manifest| manifest.resource_meta.resource.as_deref() == Some(RESOURCE))?;
    let phase = text(status, "phase");
    let message = text(status, "message").filter(|message| !message.is_empty());
    let stuck = phase.as_deref() == Some("Failed") || feedback::is(status, "conditionStatus", "False");
    Some(ClusterFeedback {
        version: text(status, "version").and_then(|version| Version::parse(&version).ok()),
        state: phase,
        image: None,
        progress: text(status, "conditionType").filter(|step| !step.is_empty()),
        invalid: None,
        hindrance: message.filter(|_| stuck),
    })
}
