//! Applying a work to the objects of a cluster.

use serde_json::{Value, json};

use super::super::work::manifest;
use super::super::work::status::ApplyOutcome as Applied;
use super::super::work::wire::ResourceMeta;
use super::cluster::{CLUSTER_VERSION, ClusterTimeline, Id, Timer, UPDATE_PLAN, UPGRADE_CONFIG};
use kube_sandbox::access::Object;
use kube_sandbox::object;

/// The manager of works that name none.
const MANAGER: &str = "work-agent";

/// Which object a manifest is.
pub(super) fn id(meta: &ResourceMeta) -> Id {
    let kind = match meta.kind.as_str() {
        "ClusterVersion" => CLUSTER_VERSION,
        "UpgradeConfig" => UPGRADE_CONFIG,
        "UpdatePlan" => UPDATE_PLAN,
        "Job" => "Job",
        "Pod" => "Pod",
        "ClusterRole" => "ClusterRole",
        "ClusterRoleBinding" => "ClusterRoleBinding",
        "Namespace" => "Namespace",
        "ServiceAccount" => "ServiceAccount",
        "ConfigMap" => "ConfigMap",
        _ => "Other",
    };
    (kind, meta.namespace.clone(), meta.name.clone())
}

fn is_cluster_wide(kind: &str) -> bool {
    matches!(
        kind,
        "ClusterVersion" | "UpdatePlan" | "ClusterRole" | "ClusterRoleBinding" | "Namespace"
    )
}

/// Which resources a work is about.
pub(super) fn metas(work: &Object) -> impl Iterator<Item = ResourceMeta> {
    let manifests = object::list(&work["spec"]["workload"]["manifests"]);
    manifests.iter().zip(0..).map(|(manifest, ordinal)| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        ResourceMeta {
            ordinal,
            group: group.to_owned(),
            version: version.to_owned(),
            resource: format!("{}s", kind.to_lowercase()),
            name: object::name(manifest).to_owned(),
            namespace: if is_cluster_wide(&kind) {
                String::new()
            } else {
                object::namespace(manifest).to_owned()
            },
            kind,
        }
    })
}

/// Applies each manifest by its update strategy. Says as well whether an object that upgrades the cluster was among them, and was not only
/// read.
pub(super) fn apply(cluster: &mut ClusterTimeline, work: &Object) -> (Vec<(ResourceMeta, Applied)>, bool) {
    let mut upgrades = false;
    let metas: Vec<ResourceMeta> = metas(work).collect();
    let manifests = object::list(&work["spec"]["workload"]["manifests"]);
    for (meta, manifest) in metas.iter().zip(manifests) {
        if !is_known(cluster, meta) {
            continue;
        }
        let configuration = manifest::configuration(&work["spec"], meta);
        let strategy = configuration.map_or(&Value::Null, |config| &config["updateStrategy"]);
        let id = id(meta);
        match strategy["type"].as_str() {
            Some("ReadOnly") => continue,
            Some("ServerSideApply") => {
                let manager = strategy["serverSideApply"]["fieldManager"].as_str();
                merge(cluster, &id, manifest, manager.unwrap_or(MANAGER));
            }
            _ if cluster.objects.contains_key(&id) => {}
            _ => create(cluster, &id, manifest),
        }
        upgrades |= matches!(&*meta.kind, CLUSTER_VERSION | UPGRADE_CONFIG);
        own(cluster, &id, work.uid(), manifest::is_owned(&work["spec"], meta));
    }
    let results = metas.into_iter().map(|meta| {
        let outcome = if is_known(cluster, &meta) {
            Applied::Applied
        } else {
            Applied::Failed {
                reason: "AppliedManifestFailed",
                message: format!(
                    "no matches for kind \"{}\" in version \"{}/{}\"",
                    meta.kind, meta.group, meta.version
                ),
            }
        };
        (meta, outcome)
    });
    (results.collect(), upgrades)
}

/// The kind of plans comes with the agent.
fn is_known(cluster: &ClusterTimeline, meta: &ResourceMeta) -> bool {
    cluster.agent || meta.kind != UPDATE_PLAN
}

fn create(cluster: &mut ClusterTimeline, id: &Id, manifest: &Value) {
    let mut object = manifest.clone();
    object["metadata"]["generation"] = 1.into();
    let draw = cluster.draw("job");
    object["metadata"]["uid"] = draw.into();
    cluster.objects.insert(id.clone(), object);
    if matches!(id.0, "Job" | "Pod") {
        let takes = cluster.job_takes(id);
        cluster.after(takes, Timer::Ends(id.clone(), draw));
    }
}

/// Server-side apply: the manager's fields become those of the manifest, all others stay.
fn merge(cluster: &mut ClusterTimeline, id: &Id, manifest: &Value, manager: &str) {
    let Some(object) = cluster.objects.get_mut(id) else {
        create(cluster, id, manifest);
        cluster
            .applied_by
            .insert((id.clone(), manager.to_owned()), manifest["spec"].clone());
        return;
    };
    let key = (id.clone(), manager.to_owned());
    let before = cluster.applied_by.insert(key, manifest["spec"].clone());
    let spec = object["spec"].clone();
    merge_fields(
        &mut object["spec"],
        &before.unwrap_or_default(),
        &manifest["spec"],
    );
    if object["spec"] != spec {
        let generation = object::generation(object) + 1;
        object["metadata"]["generation"] = generation.into();
    }
}

fn merge_fields(target: &mut Value, before: &Value, wanted: &Value) {
    let Some(fields) = wanted.as_object() else {
        *target = wanted.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for gone in before.as_object().into_iter().flatten().map(|(name, _)| name) {
        if let Some(target) = target.as_object_mut().filter(|_| !fields.contains_key(gone)) {
            target.remove(gone);
        }
    }
    for (name, value) in fields {
        merge_fields(&mut target[name.as_str()], &before[name.as_str()], value);
    }
}

/// Notes on an object that a work owns it, or not.
fn own(cluster: &mut ClusterTimeline, id: &Id, work: &str, owned: bool) {
    let Some(object) = cluster.objects.get_mut(id) else {
        return;
    };
    let mut owners = object::list(&object["metadata"]["ownerReferences"]).to_vec();
    owners.retain(|owner| owner["uid"] != work);
    if owned {
        owners.push(json!({"kind": "AppliedManifestWork", "uid": work}));
    }
    object["metadata"]["ownerReferences"] = Value::Array(owners);
}

/// A work does not want an object any more: it goes with its last owner.
pub(super) fn remove(cluster: &mut ClusterTimeline, meta: &ResourceMeta, work: &str) {
    let id = id(meta);
    let Some(object) = cluster.objects.get(&id) else {
        return;
    };
    let owners = object::list(&object["metadata"]["ownerReferences"]);
    if !owners.iter().any(|owner| owner["uid"] == work) {
        return;
    }
    if owners.len() == 1 {
        cluster.objects.remove(&id);
        cluster.applied_by.retain(|(applied, _), _| *applied != id);
    } else {
        own(cluster, &id, work, false);
    }
}
