//! The upgrade that is planned, as it would be: that of the hub, with what a file changes of it. What the API server would refuse it
//! says itself, asked with `dryRun=All`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use drydock_api::mcu::ManagedClustersUpgrade;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams, PostParams, ValidationDirective};
use kube::core::{Request, Status};
use kube::{Api, Resource, ResourceExt};
use serde_json::Value;

use super::arguments::PlanArguments;
use crate::upgrades::hub::{Hub, MANAGER};

/// Where kubectl keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";
/// The uid of an upgrade that does not exist.
const PLANNED_UID: &str = "planned";

/// The upgrade that is planned.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The object, as it would be.
    pub upgrade: ManagedClustersUpgrade,
    /// Nothing has to be checked of an upgrade of the hub; of a file, whether the API server accepts it is known.
    pub is_checked: bool,
}

/// The upgrade that the arguments name.
///
/// # Errors
/// If there is none, the file cannot be read, or the API server would refuse it.
pub async fn read(hub: &Hub, arguments: &PlanArguments) -> anyhow::Result<Subject> {
    if let Some(file) = &arguments.file {
        let document = document(file)?;
        let namespace = namespace(hub, arguments, &document)?;
        return as_it_would_be(hub, &namespace, document).await;
    }
    let name = arguments
        .name
        .as_deref()
        .context("name a ManagedClustersUpgrade, or give one with -f FILE")?;
    let upgrade = hub.upgrade(name).await?;
    Ok(Subject {
        upgrade,
        is_checked: true,
    })
}

/// The same upgrade with the spec, labels and annotations of another file.
///
/// # Errors
/// If the file cannot be read, or the API server would refuse it.
pub async fn with_spec_of(hub: &Hub, subject: &Subject, file: &Path) -> anyhow::Result<Subject> {
    let mut document = document(file)?;
    document["metadata"]["name"] = subject.upgrade.name_any().into();
    let namespace = subject.upgrade.namespace().unwrap_or_default();
    as_it_would_be(hub, &namespace, document).await
}

/// The upgrade of a file as it stands there; `-` is standard input.
fn document(file: &Path) -> anyhow::Result<Value> {
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("reading standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?
    };
    let reading = || format!("reading a ManagedClustersUpgrade from {}", file.display());
    let document: Value = serde_saphyr::from_str(&text).with_context(reading)?;
    let kind = ManagedClustersUpgrade::kind(&());
    if document["kind"] != *kind {
        bail!(
            "{} is no {kind}: its kind is {}",
            file.display(),
            document["kind"]
        );
    }
    if !document["metadata"].is_object() {
        bail!("{} has no metadata: give the upgrade a name", file.display());
    }
    Ok(document)
}

fn namespace(hub: &Hub, arguments: &PlanArguments, document: &Value) -> anyhow::Result<String> {
    let asked = arguments.connection.namespace.as_deref();
    match (document["metadata"]["namespace"].as_str(), asked) {
        (Some(own), Some(asked)) if own != asked => {
            bail!("the upgrade of the file is in namespace {own}, and -n says {asked}")
        }
        (Some(own), _) => Ok(own.to_owned()),
        (None, _) => Ok(hub.namespace.clone()),
    }
}

/// What `kubectl apply` would make of the upgrade of a file.
async fn as_it_would_be(hub: &Hub, namespace: &str, mut document: Value) -> anyhow::Result<Subject> {
    let Some(name) = document["metadata"]["name"].as_str().map(str::to_owned) else {
        bail!("the upgrade of the file has no metadata.name");
    };
    document["metadata"]["namespace"] = namespace.into();
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.client.clone(), namespace);
    let live = api
        .get_opt(&name)
        .await
        .with_context(|| format!("reading the ManagedClustersUpgrade {namespace}/{name}"))?;
    let answer = match &live {
        None => created(hub, &api, &document).await,
        Some(live) => changed(&api, live, &document).await,
    };
    let upgrade = match answer {
        Ok(upgrade) => Some(upgrade),
        Err(kube::Error::Api(status)) if may_not(&status) => None,
        Err(kube::Error::Api(status)) if status.code < 500 => {
            bail!("the API server refuses the upgrade: {}", status.message)
        }
        Err(error) => return Err(error).context("asking the API server whether it accepts the upgrade"),
    };
    let is_checked = upgrade.is_some();
    let is_new = live.is_none();
    let mut upgrade = match upgrade {
        Some(upgrade) => upgrade,
        None => unchecked(live, &document)?,
    };
    if is_new {
        complete_new(&mut upgrade, hub.now());
    }
    Ok(Subject { upgrade, is_checked })
}

/// Whether the user lacks the permission, which says nothing about the object. What an admission plugin refuses has the same code.
fn may_not(status: &Status) -> bool {
    status.code == 403 && status.message.contains(" cannot ")
}

async fn created(
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

async fn changed(
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
        remove_what_is_gone(&last, &mut patch);
        api.patch(&name, &parameters, &Patch::Merge(patch)).await
    } else {
        parameters.force = true;
        api.patch(&name, &parameters, &Patch::Apply(document)).await
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

/// The upgrade of the file, or the live one as the file changes it, as far as that can be said without the API server.
fn unchecked(
    live: Option<ManagedClustersUpgrade>,
    document: &Value,
) -> anyhow::Result<ManagedClustersUpgrade> {
    let from_file: ManagedClustersUpgrade =
        serde_json::from_value(document.clone()).context("reading the ManagedClustersUpgrade of the file")?;
    let Some(mut live) = live else {
        return Ok(from_file);
    };
    if live.spec != from_file.spec {
        live.metadata.generation = live.metadata.generation.map(|generation| generation + 1);
    }
    live.spec = from_file.spec;
    live.annotations_mut()
        .extend(from_file.metadata.annotations.unwrap_or_default());
    live.labels_mut()
        .extend(from_file.metadata.labels.unwrap_or_default());
    Ok(live)
}

/// Gives an object that does not exist yet what the API server will give it.
fn complete_new(upgrade: &mut ManagedClustersUpgrade, now: Timestamp) {
    let metadata = &mut upgrade.metadata;
    metadata.uid = Some(PLANNED_UID.to_owned());
    metadata.generation.get_or_insert(1);
    metadata.creation_timestamp.get_or_insert(Time(now));
}

/// A change of the strategy of an upgrade.
pub fn with_strategy(
    subject: &ManagedClustersUpgrade,
    change: impl FnOnce(&mut drydock_api::mcu::UpgradeStrategy),
) -> ManagedClustersUpgrade {
    let mut upgrade = subject.clone();
    change(upgrade.spec.upgrade_strategy.get_or_insert_default());
    if upgrade.spec != subject.spec {
        upgrade.metadata.generation = upgrade.metadata.generation.map(|generation| generation + 1);
    }
    upgrade
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_file_does_not_say_any_more_is_removed() {
        let last = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"paused": true, "x": [1]}});
        let mut patch = json!({"metadata": {"labels": {"a": "3"}}, "spec": {"x": [2], "y": {}}});
        remove_what_is_gone(&last, &mut patch);
        let expected = json!({
            "metadata": {"labels": {"a": "3", "b": null}},
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

    #[test]
    fn a_live_upgrade_takes_over_what_the_file_says() {
        let object = |version: &str, metadata: Value| {
            json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
                "metadata": metadata, "spec": {"clusterVersion": {"version": version}},
            })
        };
        let live: ManagedClustersUpgrade = serde_json::from_value(object(
            "4.14.12",
            json!({"name": "spring", "uid": "u", "generation": 3, "resourceVersion": "7"}),
        ))
        .unwrap();
        let same = unchecked(Some(live.clone()), &object("4.14.12", json!({"name": "spring"}))).unwrap();
        assert_eq!((&same.spec, same.metadata.generation), (&live.spec, Some(3)));
        let file = object(
            "4.14.13",
            json!({"name": "spring", "annotations": {"drydock.dev/retry": "x"}}),
        );
        let other = unchecked(Some(live), &file).unwrap();
        assert_eq!(
            (other.uid().as_deref(), other.metadata.generation),
            (Some("u"), Some(4))
        );
        assert_eq!(other.annotations()["drydock.dev/retry"], "x");
    }
}
