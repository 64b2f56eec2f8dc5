//! The series of the managed ClusterVersion.

use drydock_api::openshift::cluster_version::ClusterVersionSpec;
use drydock_api::schedule::ManagedClusterVersion;
use jiff::Timestamp;

use super::{Family, FamilyKind, Sample, key, seconds};
use crate::overlays;

/// The managed ClusterVersion.
pub const INFO: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_cluster_version_info",
    help: "1 for the managed ClusterVersion, with what is in force.",
    labels: &[
        "cluster_version",
        "baseline_capability_set",
        "channel",
        "cluster_id",
        "upstream",
        "namespace",
    ],
};
/// An overlay of it.
pub const OVERLAY: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_cluster_version_overlay_timestamp_seconds",
    help: "When an overlay of the managed ClusterVersion comes into force, in seconds since 1970, with what is in force then.",
    labels: &[
        "cluster_version",
        "baseline_capability_set",
        "channel",
        "cluster_id",
        "upstream",
        "from",
        "namespace",
    ],
};

/// The samples of the managed ClusterVersion.
pub fn of_cluster_version(version: &ManagedClusterVersion, now: Timestamp) -> Vec<Sample> {
    let [name, namespace] = key(&version.metadata);
    let plan = overlays::decide(&version.spec, None, now);
    let [baseline, channel, id, upstream] = texts(&plan.spec);
    let labels = [name, &baseline, &channel, &id, &upstream, namespace];
    let mut samples = vec![Sample::new(&INFO, &labels, 1.0)];
    for overlay in plan.status.overlays.iter().flatten() {
        let spec = overlay.preview.as_ref().and_then(|preview| preview.spec.as_ref());
        let [baseline, channel, id, upstream] = spec.map(texts).unwrap_or_default();
        let from = overlay.from.0;
        let labels = [
            name,
            &baseline,
            &channel,
            &id,
            &upstream,
            &from.to_string(),
            namespace,
        ];
        samples.push(Sample::new(&OVERLAY, &labels, seconds(from)));
    }
    samples
}

/// Baseline capabilities, channel, cluster ID and update service.
fn texts(spec: &ClusterVersionSpec) -> [String; 4] {
    let capabilities = spec.other.get("capabilities");
    let baseline = capabilities.and_then(|all| all.get("baselineCapabilitySet"));
    [
        baseline
            .and_then(|set| set.as_str())
            .unwrap_or_default()
            .to_owned(),
        spec.channel.clone().unwrap_or_default(),
        spec.cluster_id.clone().unwrap_or_default(),
        spec.upstream.clone().unwrap_or_default(),
    ]
}
