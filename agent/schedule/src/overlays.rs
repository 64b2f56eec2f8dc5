//! Managed ClusterVersions: which spec is in force, and which ones will be (Maintenance schedules, sections 1.6 and 3.7).

use drydock_api::Fields;
use drydock_api::conditions::{self, DesiredCondition, FALSE, TRUE};
use drydock_api::openshift::cluster_version::ClusterVersionSpec;
use drydock_api::schedule::{
    ClusterVersionPreview, ManagedClusterVersionSpec, ManagedClusterVersionStatus, OverlayPreview,
    ScheduledOverlay, condition,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// What a managed ClusterVersion says at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct OverlayPlan {
    /// The spec that is in force, without a desired update.
    pub spec: ClusterVersionSpec,
    /// The status of the object.
    pub status: ManagedClusterVersionStatus,
    /// When the next overlay comes into force.
    pub wake: Option<Timestamp>,
}

/// Decides which spec is in force. The overlay that came into force last applies, alone; of several at the same moment, the one that is
/// listed last. `status` is the present one, of which only the fields that are decided here change.
pub fn decide(
    spec: &ManagedClusterVersionSpec,
    status: Option<&ManagedClusterVersionStatus>,
    now: Timestamp,
) -> OverlayPlan {
    let template = spec.template.as_ref().and_then(|template| template.spec.as_ref());
    let template = ClusterVersionSpec {
        desired_update: None,
        ..template.cloned().unwrap_or_default()
    };
    let overlays = spec.overlays.as_deref().unwrap_or_default();
    let with = |overlay: &ScheduledOverlay| match &overlay.overlay.spec {
        Some(overlay) => merged(&template, overlay),
        None => template.clone(),
    };
    let applied = overlays
        .iter()
        .filter(|overlay| overlay.from.0 <= now)
        .max_by_key(|overlay| overlay.from.0);
    let in_force = applied.map_or_else(|| template.clone(), with);
    let previews = overlays.iter().map(|overlay| OverlayPreview {
        from: overlay.from.clone(),
        preview: Some(ClusterVersionPreview {
            spec: Some(with(overlay)),
        }),
    });
    OverlayPlan {
        status: ManagedClusterVersionStatus {
            current: Some(in_force.clone()),
            overlays: Some(previews.collect()),
            overlay_applied: applied.map(|overlay| overlay.from.clone()),
            ..status.cloned().unwrap_or_default()
        },
        spec: in_force,
        wake: overlays
            .iter()
            .map(|overlay| overlay.from.0)
            .filter(|from| *from > now)
            .min(),
    }
}

/// The spec that OpenShift's ClusterVersion is to have: the one in force as a whole, with the desired update that it has.
pub fn upstream(in_force: &ClusterVersionSpec, present: &ClusterVersionSpec) -> ClusterVersionSpec {
    ClusterVersionSpec {
        desired_update: present.desired_update.clone(),
        ..in_force.clone()
    }
}

/// What has to change in the spec of OpenShift's ClusterVersion, as a JSON merge patch of it; nothing if it is as it should be.
pub fn change(in_force: &ClusterVersionSpec, present: &ClusterVersionSpec) -> Option<Value> {
    let wanted = upstream(in_force, present);
    merge_patch(&json!(present), &json!(wanted))
}

fn merge_patch(present: &Value, wanted: &Value) -> Option<Value> {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            let mut patch = Map::new();
            let gone = present
                .iter()
                .filter(|(name, value)| !value.is_null() && wanted.get(*name).is_none_or(Value::is_null));
            patch.extend(gone.map(|(name, _)| (name.clone(), Value::Null)));
            for (name, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
                let known = present.get(name).unwrap_or(&Value::Null);
                patch.extend(merge_patch(known, value).map(|change| (name.clone(), change)));
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (present, wanted) => (present != wanted).then(|| wanted.clone()),
    }
}

/// Does a spec say which cluster it is of? OpenShift requires it.
pub fn names_cluster(spec: &ClusterVersionSpec) -> bool {
    spec.cluster_id.as_deref().is_some_and(|id| !id.is_empty())
}

/// What has come of applying a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Application {
    /// OpenShift's ClusterVersion has it.
    Applied,
    /// The spec in force names no cluster: it would take away what OpenShift requires.
    NoClusterId,
    /// OpenShift's ClusterVersion is not known, or refuses it.
    Failed(String),
}

impl Application {
    fn readiness(&self) -> (&'static str, &'static str, String) {
        match self {
            Self::Applied => (TRUE, "Applied", "OpenShift's ClusterVersion has the spec".to_owned()),
            Self::NoClusterId => (
                FALSE,
                "NoClusterID",
                "spec.template.spec.clusterID is missing: set it, until then OpenShift's ClusterVersion is left as it is"
                    .to_owned(),
            ),
            Self::Failed(why) => (
                FALSE,
                "NotApplied",
                format!("OpenShift's ClusterVersion does not have the spec, it is tried again: {why}"),
            ),
        }
    }
}

/// Completes the status with what has come of it.
pub fn conclude(
    status: &mut ManagedClusterVersionStatus,
    generation: Option<i64>,
    application: &Application,
    now: Timestamp,
) {
    status.observed_generation = generation;
    // What names no cluster is no spec: the server refuses it here, too.
    status.current.take_if(|spec| !names_cluster(spec));
    for overlay in status.overlays.iter_mut().flatten() {
        let is_whole = |preview: &ClusterVersionPreview| preview.spec.as_ref().is_some_and(names_cluster);
        overlay.preview.take_if(|preview| !is_whole(preview));
    }
    let (is_ready, reason, message) = application.readiness();
    let wanted = DesiredCondition {
        type_: condition::READY,
        status: is_ready,
        reason,
        message: &message,
        observed_generation: generation,
    };
    conditions::set(status.conditions.get_or_insert_default(), &wanted, now);
}

/// A spec with an overlay: what is not empty in it takes precedence, objects are merged, lists are replaced.
fn merged(template: &ClusterVersionSpec, overlay: &ClusterVersionSpec) -> ClusterVersionSpec {
    let ClusterVersionSpec {
        cluster_id,
        channel,
        upstream,
        desired_update: _,
        other,
    } = overlay;
    let text = |overlay: &Option<String>, template: &Option<String>| {
        let overlay = overlay.clone().filter(|text| !text.is_empty());
        overlay.or_else(|| template.clone())
    };
    let mut fields: Fields = template.other.clone();
    for (name, value) in other {
        merge(fields.entry(name.clone()).or_insert(Value::Null), value);
    }
    fields.retain(|_, value| !value.is_null());
    ClusterVersionSpec {
        cluster_id: text(cluster_id, &template.cluster_id),
        channel: text(channel, &template.channel),
        upstream: text(upstream, &template.upstream),
        desired_update: None,
        other: fields,
    }
}

fn merge(target: &mut Value, overlay: &Value) {
    match (target, overlay) {
        (Value::Object(target), Value::Object(overlay)) => {
            for (name, value) in overlay {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
            target.retain(|_, value| !value.is_null());
        }
        (target, overlay) if !is_empty(overlay) => *target = overlay.clone(),
        _ => {}
    }
}

/// Does a value count as absent? An overlay cannot remove a field.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
