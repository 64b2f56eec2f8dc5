//! The upgrade that is planned, as it would be: that of the hub, with what a file changes of it. What the API server would refuse it
//! says itself, asked with `dryRun=All`.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_edits::{EditError, Manifest, Writing, edition, remove_what_the_server_gives};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Resource, ResourceExt};
use serde_json::Value;

use super::arguments::PlanArguments;
use super::dry_run;
use crate::upgrades::hub::Hub;

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
    of_hub(hub, name).await
}

/// The same upgrade with the spec, labels and annotations of another file.
///
/// # Errors
/// If the file cannot be read, or the API server would refuse it.
pub async fn with_spec_of(hub: &Hub, subject: &Subject, file: &Path) -> anyhow::Result<Subject> {
    let mut document = document(file)?;
    document["metadata"]["name"] = subject.upgrade.name_any().into();
    let namespace = subject.upgrade.namespace().unwrap_or_default();
    as_it_would_be(hub, &namespace, document)
        .await
        .with_context(|| format!("the spec of {}", file.display()))
}

/// Asks the API server whether it accepts a variant of the upgrade; false if the user may not ask.
///
/// # Errors
/// If it would refuse, or does not answer.
pub async fn is_accepted(
    hub: &Hub,
    subject: &Subject,
    name: &str,
    variant: &ManagedClustersUpgrade,
) -> anyhow::Result<bool> {
    let mut document = serde_json::to_value(variant).with_context(|| format!("writing {name} as JSON"))?;
    remove_what_the_server_gives(&mut document);
    let namespace = variant.namespace().unwrap_or_default();
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.client.clone(), &namespace);
    let answer = if subject.upgrade.uid().as_deref() == Some(PLANNED_UID) {
        dry_run::created(hub, &api, &document).await
    } else {
        dry_run::with_fields(&api, &variant.name_any(), &document).await
    };
    let accepted = accepted(answer, &format!("the upgrade with {name}"))?;
    Ok(accepted.is_some())
}

/// What the API server would make of `what`; nothing if the user may not ask.
fn accepted(
    answer: kube::Result<ManagedClustersUpgrade>,
    what: &str,
) -> anyhow::Result<Option<ManagedClustersUpgrade>> {
    match answer {
        Ok(upgrade) => Ok(Some(upgrade)),
        Err(kube::Error::Api(status)) if dry_run::may_not(&status) => Ok(None),
        Err(kube::Error::Api(status)) if status.code < 500 => {
            bail!("the API server refuses {what}: {}", status.message)
        }
        Err(error) => Err(error).context("asking the API server whether it accepts the upgrade"),
    }
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
    parse(&text, &file.display().to_string())
}

/// The upgrade of a text, which comes from `source`.
fn parse(text: &str, source: &str) -> anyhow::Result<Value> {
    let reading = || format!("reading a ManagedClustersUpgrade from {source}");
    let mut documents = drydock_edits::documents(text).with_context(reading)?;
    documents.retain(|document| !document.is_null());
    let kind = ManagedClustersUpgrade::kind(&());
    // What stands beside it, such as its Placement, is applied by the user.
    let is_it = |document: &Value| document["kind"] == *kind;
    let found = documents.iter().filter(|document| is_it(document)).count();
    let document = match (found, documents.first()) {
        (_, None) => bail!("{source} is empty"),
        (0, Some(other)) => bail!("{source} is no {kind}: its kind is {}", other["kind"]),
        (1, Some(_)) => documents.into_iter().find(is_it).unwrap_or_default(),
        (more, Some(_)) => bail!("{source} has {more} upgrades: give one of them"),
    };
    if !document["metadata"].is_object() {
        bail!("{source} has no metadata: give the upgrade a name");
    }
    Ok(document)
}

/// What applying a text on the fleet page would make. Of the upgrade that was `opened` to be edited nothing stays that the text leaves out; of
/// another one that is there what others manage does.
///
/// # Errors
/// If the text is no upgrade, or the API server would refuse it.
pub async fn of_page(hub: &Hub, text: &str, opened: Option<&str>) -> anyhow::Result<Subject> {
    let mut document = parse(text, "the text")?;
    let namespace = document["metadata"]["namespace"]
        .as_str()
        .unwrap_or(&hub.namespace);
    let namespace = namespace.to_owned();
    document["metadata"]["namespace"] = namespace.clone().into();
    remove_what_the_server_gives(&mut document);
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.client.clone(), &namespace);
    let name = document["metadata"]["name"].as_str().unwrap_or_default();
    let key = format!("{namespace}/{name}");
    let live = match name {
        "" => None,
        name => api
            .get_opt(name)
            .await
            .with_context(|| format!("reading the ManagedClustersUpgrade {key}"))?,
    };
    let Some(live) = live else {
        return as_it_would_be(hub, &namespace, document).await;
    };
    let manifest = Manifest::of(document.clone())?;
    let edited = edition(&live);
    let writing = if opened == Some(key.as_str()) {
        Writing::Edit { opened: &edited }
    } else {
        Writing::Apply {
            takes_over: true,
            seen: None,
        }
    };
    match manifest.preview(&hub.client, &namespace, writing).await {
        Ok(written) => Ok(Subject {
            upgrade: written.after,
            is_checked: true,
        }),
        Err(EditError::NothingChanged(_)) => Ok(Subject {
            upgrade: live,
            is_checked: true,
        }),
        Err(EditError::Server { source, .. }) => {
            accepted(Err(source), "the upgrade")?;
            Ok(Subject {
                upgrade: unchecked(Some(live), &document)?,
                is_checked: false,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// An upgrade of the hub, as it is.
///
/// # Errors
/// If there is none of this name.
pub async fn of_hub(hub: &Hub, name: &str) -> anyhow::Result<Subject> {
    Ok(Subject {
        upgrade: hub.upgrade(name).await?,
        is_checked: true,
    })
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
    let name = match &document["metadata"]["name"] {
        Value::String(name) => name.clone(),
        Value::Null => bail!("the upgrade has no metadata.name"),
        other => bail!("its metadata.name is {other}, which is no text: put it in quotes"),
    };
    document["metadata"]["namespace"] = namespace.into();
    remove_what_the_server_gives(&mut document);
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(hub.client.clone(), namespace);
    let live = api
        .get_opt(&name)
        .await
        .with_context(|| format!("reading the ManagedClustersUpgrade {namespace}/{name}"))?;
    let answer = match &live {
        None => dry_run::created(hub, &api, &document).await,
        Some(live) => dry_run::changed(&api, live, &document).await,
    };
    let upgrade = accepted(answer, "the upgrade")?;
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
    fn the_upgrade_of_a_file_is_found_beside_its_placement() {
        let upgrade = "kind: ManagedClustersUpgrade\nmetadata: {name: spring}\n";
        let other = "kind: Placement\nmetadata: {name: some}\n";
        for (text, found) in [
            (upgrade.to_owned(), Ok("spring")),
            (format!("---\n{other}---\n{upgrade}"), Ok("spring")),
            (
                format!("{upgrade}---\n{upgrade}"),
                Err("f has 2 upgrades: give one of them"),
            ),
            (
                other.to_owned(),
                Err("f is no ManagedClustersUpgrade: its kind is \"Placement\""),
            ),
            (String::new(), Err("f is empty")),
        ] {
            let parsed = parse(&text, "f").map_err(|error| error.to_string());
            let name = parsed
                .as_ref()
                .map(|found| found["metadata"]["name"].as_str().unwrap());
            assert_eq!(name.map_err(String::as_str), found, "{text}");
        }
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
