//! How statuses are written: over the version that was seen, or not at all.

use std::fmt::Debug;

use drydock_api::names::AGENT_MANAGER;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::ReconcileError;

/// Writes a status, and gives the object as it is then. A definition that is older than the agent, or somebody else's, does not have all of its
/// fields: what it does not know is left out there.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(crate) async fn status<K>(api: &Api<K>, object: &K, status: &impl Serialize) -> Result<K, ReconcileError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let name = object.name_any();
    let mut body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": {"name": name, "resourceVersion": object.meta().resource_version},
        "status": status,
    });
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    let mut written = api.patch_status(&name, &parameters, &Patch::Apply(&body)).await;
    if written.as_ref().is_err_and(is_undeclared) {
        remove_absent(object, &mut body);
        let parameters = PatchParams {
            field_manager: Some(AGENT_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        written = api.patch_status(&name, &parameters, &Patch::Merge(&body)).await;
    }
    written.map_err(|error| ReconcileError::write(format!("the status of {} {name}", K::kind(&())), &error))
}

/// Is it that a definition does not have a field that is applied? Other patches leave such fields out.
fn is_undeclared(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(refusal) if refusal.message.contains("field not declared in schema"))
}

/// As a merge patch, a status has to name the fields that it no longer has.
fn remove_absent(object: &impl Serialize, body: &mut Value) {
    let before = serde_json::to_value(object).unwrap_or_default();
    let fields = before["status"].as_object().into_iter().flatten();
    if let Some(status) = body["status"].as_object_mut() {
        for (field, _) in fields {
            status.entry(field).or_insert(Value::Null);
        }
    }
}
