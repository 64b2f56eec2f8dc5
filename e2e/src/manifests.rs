//! Objects from files, put on an API server as a user would put them there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, TypeMeta};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt, discovery};

use crate::control_plane::find_binary;

/// The objects that a folder of the repository is made to with kustomize.
///
/// # Errors
/// If kubectl is missing, or refuses the folder.
pub fn kustomized(folder: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let output = Command::new(find_binary("kubectl")?)
        .arg("kustomize")
        .arg(in_repository(folder))
        .output()
        .context("running kubectl kustomize")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl kustomize {folder}: {error}");
    serde_saphyr::from_multiple(std::str::from_utf8(&output.stdout)?).context("reading what kustomize says")
}

/// Who writes these objects.
const MANAGER: &str = "drydock-e2e";

/// A path from the repository's root.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The objects of a YAML file, in their order.
///
/// # Errors
/// If the file cannot be read or is not YAML.
pub fn read(path: &Path) -> anyhow::Result<Vec<DynamicObject>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_saphyr::from_multiple(&text).with_context(|| format!("parsing {}", path.display()))
}

/// The files below a folder that end so, by their paths.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_below(folder: &Path, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The YAML files of a folder, by name; none where the folder does not exist.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

/// Applies an object, server-side, and gives what the server made of it.
///
/// # Errors
/// If the server does not know its kind or refuses it.
pub async fn apply(client: &Client, object: &DynamicObject) -> anyhow::Result<DynamicObject> {
    let types = object
        .types
        .as_ref()
        .with_context(|| format!("{} has no apiVersion and kind", object.name_any()))?;
    let what = format!("{} {}", types.kind, object.name_any());
    api(client, types, object.namespace().as_deref())
        .await?
        .patch(
            &object.name_any(),
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(object),
        )
        .await
        .with_context(|| format!("applying {what}"))
}

/// Applies every object of a YAML file.
///
/// # Errors
/// As [`read`] and [`apply`].
pub async fn apply_file(client: &Client, path: &Path) -> anyhow::Result<()> {
    for object in read(path)? {
        apply(client, &object).await?;
    }
    Ok(())
}

/// Access to the objects of a kind in a namespace, or to those of no namespace.
///
/// # Errors
/// If the server does not know the kind.
pub async fn api(
    client: &Client,
    types: &TypeMeta,
    namespace: Option<&str>,
) -> anyhow::Result<Api<DynamicObject>> {
    let kind = GroupVersionKind::try_from(types).with_context(|| format!("parsing {}", types.api_version))?;
    let (resource, capabilities) = discovery::pinned_kind(client, &kind)
        .await
        .with_context(|| format!("looking up {} of {}", types.kind, types.api_version))?;
    Ok(match (capabilities.scope, namespace) {
        (discovery::Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
        (discovery::Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
        (discovery::Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), &resource),
    })
}

/// Installs CustomResourceDefinitions and waits until their kinds are served.
///
/// # Errors
/// If one is refused or not served within a minute.
pub async fn install(client: &Client, definitions: &[CustomResourceDefinition]) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions {
        api.patch(
            &definition.name_any(),
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(definition),
        )
        .await
        .with_context(|| format!("installing {}", definition.name_any()))?;
    }
    for definition in definitions {
        let name = definition.name_any();
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        tokio::time::timeout(std::time::Duration::from_mins(1), established)
            .await
            .with_context(|| format!("{name} was not established within a minute"))?
            .with_context(|| format!("watching {name}"))?;
    }
    for definition in definitions {
        discovered(client, definition).await?;
    }
    Ok(())
}

/// Waits until discovery lists a kind: the server brings it up to date by itself, some time after the kind is established.
async fn discovered(client: &Client, definition: &CustomResourceDefinition) -> anyhow::Result<()> {
    for version in definition.spec.versions.iter().filter(|version| version.served) {
        let kind = GroupVersionKind::gvk(&definition.spec.group, &version.name, &definition.spec.names.kind);
        let listed = async {
            while let Err(error) = discovery::pinned_kind(client, &kind).await {
                tracing::debug!(%error, kind = kind.kind, "not listed yet");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_mins(1), listed)
            .await
            .with_context(|| format!("discovery did not list {} within a minute", definition.name_any()))?;
    }
    Ok(())
}

/// The CustomResourceDefinitions of a cluster with Drydock: ours, and of the kinds that we read the real ones where the
/// test data beside the repository has them, else our lenient ones.
///
/// # Errors
/// If a file of the test data cannot be read.
pub fn definitions() -> anyhow::Result<Vec<CustomResourceDefinition>> {
    let real = ["../shared/crds/ocm", "../shared/crds/openshift"]
        .iter()
        .flat_map(|folder| files_in(&in_repository(folder)))
        .map(|path| {
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", path.display()))
        })
        .collect::<anyhow::Result<Vec<CustomResourceDefinition>>>()?;
    let lenient = [ocm_sandbox::crds::HUB, openshift_sandbox::crds::CLUSTER]
        .concat()
        .into_iter()
        .map(|text| serde_saphyr::from_str(text).context("parsing a definition of the sandbox"))
        .collect::<anyhow::Result<Vec<CustomResourceDefinition>>>()?
        .into_iter()
        .filter(|lenient| real.iter().all(|real| real.name_any() != lenient.name_any()))
        .collect::<Vec<_>>();
    Ok(drydock_api::crds()
        .into_iter()
        .chain(real)
        .chain(lenient)
        .collect())
}
