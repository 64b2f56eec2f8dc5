//! What the API server says of an upgrade, asked with `dryRun=All` as `kubectl apply` would write it.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::{Patch, PatchParams, PostParams, ValidationDirective};
use kube::core::{Request, Status};
use kube::{Api, ResourceExt};
use serde_json::{Map, Value};

use crate::server::MANAGER;
use crate::upgrades::hub::Hub;

/// Where kubectl keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// Whether the user lacks the permission, which says nothing about the object. What an admission plugin refuses has the same code.
pub fn may_not(status: &Status) -> bool {
    status.code == 403 && status.message.contains(" cannot ")
}

/// What the API server would make of a new upgrade.
///
/// # Errors
/// If it would refuse.
pub async fn created(
    hub: &Hub,
    api: &Api<ManagedClustersUpgrade>,
    document: &Value,
) -> kube::Result<ManagedClustersUpgrade> {
    let parameters = PostParams {
        dry_run: true,
        field_manager: Some(MANAGER.to_owned()),
    };
    let body = serde_json::to_vec(document).map_err(kube::Error::SerdeError)?;
    let request = Request::new(api.resource_url()).create(&parameters, body);
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    // As kubectl does: a field that does not exist is a mistake.
    if let Ok(strict) = format!("{}&fieldValidation=Strict", request.uri()).parse() {
        *request.uri_mut() = strict;
    }
    hub.client.request(request).await
}

/// What the API server would make of an upgrade that is there.
///
/// # Errors
/// If it would refuse.
pub async fn changed(
    api: &Api<ManagedClustersUpgrade>,
    live: &ManagedClustersUpgrade,
    document: &Value,
) -> kube::Result<ManagedClustersUpgrade> {
    let mut parameters = PatchParams {
        dry_run: true,
        field_manager: Some(KUBECTL.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let last = live.annotations().get(LAST_APPLIED);
    let last: Option<Value> = last.and_then(|last| serde_json::from_str(last).ok());
    let name = live.name_any();
    if let Some(last) = last {
        let mut patch = document.clone();
        keep_metadata(&mut patch);
        remove_what_is_gone(&last, &mut patch);
        api.patch(&name, &parameters, &Patch::Merge(patch)).await
    } else {
        parameters.force = true;
        api.patch(&name, &parameters, &Patch::Apply(document)).await
    }
}

/// What the API server would make of an upgrade that is there, with these fields of its spec.
///
/// # Errors
/// If it would refuse.
pub async fn with_fields(
    api: &Api<ManagedClustersUpgrade>,
    name: &str,
    document: &Value,
) -> kube::Result<ManagedClustersUpgrade> {
    let parameters = PatchParams {
        dry_run: true,
        field_manager: Some(MANAGER.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let patch = serde_json::json!({"spec": document["spec"]});
    api.patch(name, &parameters, &Patch::Merge(patch)).await
}

/// Names labels and annotations, so that those which somebody else has set are not removed with the last one of the file.
fn keep_metadata(patch: &mut Value) {
    for field in ["labels", "annotations"] {
        if patch["metadata"][field].is_null() {
            patch["metadata"][field] = Value::Object(Map::new());
        }
    }
}

/// Adds to a merge patch the removal of what was applied last and is not there any more.
fn remove_what_is_gone(last: &Value, patch: &mut Value) {
    let (Some(last), Some(patch)) = (last.as_object(), patch.as_object_mut()) else {
        return;
    };
    for (key, before) in last {
        match patch.get_mut(key) {
            Some(now) => remove_what_is_gone(before, now),
            None => {
                patch.insert(key.clone(), Value::Null);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_file_does_not_say_any_more_is_removed() {
        let last = json!({"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"c": "4"}}, "spec": {"paused": true, "x": [1]}});
        let mut patch = json!({"metadata": {"labels": {"a": "3"}}, "spec": {"x": [2], "y": {}}});
        keep_metadata(&mut patch);
        remove_what_is_gone(&last, &mut patch);
        let expected = json!({
            "metadata": {"labels": {"a": "3", "b": null}, "annotations": {"c": null}},
            "spec": {"x": [2], "y": {}, "paused": null},
        });
        assert_eq!(patch, expected);
    }

    #[test]
    fn only_a_missing_permission_leaves_the_upgrade_unchecked() {
        let says = |code: u16, message: &str| {
            may_not(&Status {
                code,
                message: message.to_owned(),
                ..Status::default()
            })
        };
        let missing = "managedclustersupgrades is forbidden: User \"jane\" cannot create resource \"managedclustersupgrades\"";
        assert!(says(403, missing));
        assert!(!says(
            403,
            "admission webhook \"policy\" denied the request: no upgrades in December"
        ));
        assert!(!says(422, missing));
    }
}
