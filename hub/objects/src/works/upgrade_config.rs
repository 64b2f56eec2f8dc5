//! Upgrading a cluster through its agent, by an UpgradeConfig. ClusterVersion is fed back beside it: the agent's word alone is not
//! enough.

use std::sync::Arc;

use drydock_api::mcu::reason::RISKS_NOT_ACCEPTED;
use drydock_api::names::{UPGRADE_ANNOTATION, UPGRADE_CONFIG};
use drydock_api::ocm::manifest_work::{Manifest, ManifestWorkSpec, ResourceIdentifier, Workload};
use drydock_api::upgradeconfig::{self, NOT_AN_UPGRADE};
use drydock_rollout::{AgentFeedback, AgentOptions, AgentPhase, Target, UpgradeKey, bounded};
use jiff::Timestamp;
use semver::Version;
use serde_json::{Map, Value, json};

use super::cluster_version::{self, parse_version};
use super::feedback::{self, text};
use super::partial::PartialManifestWork;

const GROUP: &str = "upgrade.managed.openshift.io";
const RESOURCE: &str = "upgradeconfigs";
/// The longest text of the agent that is kept, in bytes.
const MESSAGE: usize = 512;

const PATHS: [(&str, &str); 10] = [
    ("phase", ".status.history[0].phase"),
    ("version", ".status.history[0].version"),
    ("startTime", ".status.history[0].startTime"),
    ("completeTime", ".status.history[0].completeTime"),
    ("conditionType", ".status.history[0].conditions[0].type"),
    ("conditionStatus", ".status.history[0].conditions[0].status"),
    ("conditionReason", ".status.history[0].conditions[0].reason"),
    ("message", ".status.history[0].conditions[0].message"),
    ("desiredVersion", ".spec.desired.version"),
    ("desiredImage", ".spec.desired.image"),
];

/// The work that asks a cluster's agent to upgrade to the target, from `start` on, or only reads what the cluster runs.
pub(super) fn spec(
    upgrade: &UpgradeKey,
    target: &Target,
    settings: &AgentOptions,
    start: Timestamp,
    grant_cluster_admin: bool,
    observed: bool,
) -> ManifestWorkSpec {
    let strategy = if observed {
        feedback::read_only()
    } else {
        feedback::server_side_apply()
    };
    let namespace = settings.namespace.as_str();
    let (cluster_version, reads_version) = cluster_version::read_only();
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: vec![
                Manifest(upgrade_config(upgrade, target, settings, start)),
                Manifest(cluster_version),
                Manifest(cluster_version::rights(grant_cluster_admin)),
            ]
            .into(),
            ..Workload::default()
        }),
        delete_option: Some(cluster_version::orphaning()),
        // The first one: the end of enforcement finds it there.
        manifest_configs: vec![
            feedback::watched(identifier(namespace), &PATHS, strategy),
            reads_version,
            cluster_version::rights_config(grant_cluster_admin),
        ]
        .into(),
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

fn upgrade_config(upgrade: &UpgradeKey, target: &Target, settings: &AgentOptions, start: Timestamp) -> Value {
    let mut desired = Map::new();
    // The agent takes an image alone, or a version with its channel.
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
    let mut spec = json!({
        "type": settings.steps,
        "upgradeAt": start.to_string(),
        "PDBForceDrainTimeout": settings.pdb_force_drain_minutes,
        "desired": desired,
    });
    if let Some(reserve) = settings.capacity_reservation {
        spec["capacityReservation"] = reserve.into();
    }
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": "UpgradeConfig",
        "metadata": {
            "name": UPGRADE_CONFIG, "namespace": settings.namespace,
            // By that the agent knows whose acceptances count for it.
            "annotations": {UPGRADE_ANNOTATION: upgrade.to_string()},
        },
        "spec": spec,
    })
}

/// Whether a condition says no more than that its step has not ended: then it names nothing that it waits for.
fn only_goes_on(message: &str) -> bool {
    message.ends_with(" has started") || message.ends_with(" still in progress")
}

/// What the agent and ClusterVersion say, read at `now`; nothing before they have said anything.
pub(super) fn read(work: &PartialManifestWork, now: Timestamp) -> AgentFeedback {
    let cluster = cluster_version::read(work, now);
    let resources = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref());
    let status = resources.and_then(|resources| {
        let mut manifests = resources.manifests.iter();
        manifests.find(|manifest| manifest.resource_meta.resource.as_deref() == Some(RESOURCE))
    });
    let Some(status) = status else {
        return AgentFeedback {
            cluster,
            ..AgentFeedback::default()
        };
    };
    let said = |name: &str| -> Option<Arc<str>> {
        let text = text(status, name).filter(|text| !text.is_empty())?;
        Some(bounded(&text, MESSAGE).into())
    };
    let needs_nothing = feedback::is(status, "conditionReason", NOT_AN_UPGRADE);
    let phase = said("phase").map(|phase| match &*phase {
        "Pending" if needs_nothing => AgentPhase::NotNeeded,
        "Upgrading" => AgentPhase::Upgrading,
        "Upgraded" => AgentPhase::Upgraded,
        "Failed" => AgentPhase::Failed,
        _ => AgentPhase::Waiting,
    });
    let stuck = phase == Some(AgentPhase::Failed) || feedback::is(status, "conditionStatus", "False");
    let is_held = feedback::is(status, "conditionReason", RISKS_NOT_ACCEPTED);
    let message = said("message");
    // Until when it waits is shown as the deadline.
    let held = message
        .as_deref()
        .filter(|_| is_held)
        .and_then(upgradeconfig::read_held);
    let version = |name: &str| said(name).and_then(|text| parse_version(&text));
    AgentFeedback {
        version: version("version"),
        phase,
        desired_version: version("desiredVersion"),
        desired_image: said("desiredImage"),
        step: said("conditionType"),
        blocked_by: held.map(|(_, why)| why.into()).or_else(|| {
            let message = message.as_ref().filter(|message| stuck && !only_goes_on(message));
            message.map(Arc::clone)
        }),
        is_held,
        fails_at: held.map(|(end, _)| end),
        cluster,
    }
}

#[cfg(test)]
mod tests {
    use super::only_goes_on;

    #[test]
    fn a_step_that_only_goes_on_names_nothing_that_it_waits_for() {
        for (message, expected) in [
            ("ControlPlaneUpgraded has started", true),
            ("WorkerNodesUpgraded still in progress", true),
            (
                "the MachineConfigPool worker is paused: its nodes are updated when spec.paused is false",
                false,
            ),
            ("the workers do not make progress: node a is degraded", false),
        ] {
            assert_eq!(only_goes_on(message), expected, "{message}");
        }
    }
}
