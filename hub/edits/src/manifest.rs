//! A ManagedClustersUpgrade that somebody has written, as it is applied.

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::selector::{is_dns_label, is_dns_name};
use kube::api::{Patch, PatchParams, ValidationDirective};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{EditError, MANAGER};

/// How often an apply is tried that another write came before.
const TRIES: usize = 5;

/// What the API server gives an object, and who applies it does not.
const GIVEN: [&str; 5] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// A ManagedClustersUpgrade as a text has it; what is wrong with its spec the API server says.
#[derive(Clone, Debug)]
pub struct Manifest {
    document: Value,
    name: String,
}

impl Manifest {
    /// Reads one from YAML, or JSON. What only the API server writes is left out: it may be what `kubectl get -o yaml` has printed.
    ///
    /// # Errors
    /// If the text is not one ManagedClustersUpgrade with a name.
    pub fn parse(text: &str) -> Result<Self, EditError> {
        let invalid = |why: String| EditError::InvalidManifest(why);
        let mut documents = documents(text).map_err(|error| invalid(format!("it is not YAML: {error}")))?;
        let (Some(mut document), true) = (documents.pop(), documents.is_empty()) else {
            return Err(invalid(
                "give one ManagedClustersUpgrade, not none or several".to_owned(),
            ));
        };
        let kind = ManagedClustersUpgrade::kind(&());
        let version = ManagedClustersUpgrade::api_version(&());
        if document["kind"] != *kind || document["apiVersion"] != *version {
            return Err(invalid(format!(
                "its kind must be {kind}, its apiVersion {version}"
            )));
        }
        let name = document["metadata"]["name"].as_str().map(str::to_owned);
        let name = name.filter(|name| is_dns_name(name));
        let name =
            name.ok_or_else(|| invalid("it has no metadata.name that is a name of an object".to_owned()))?;
        let namespace = &document["metadata"]["namespace"];
        if !namespace.is_null() && !namespace.as_str().is_some_and(is_dns_label) {
            return Err(invalid(
                "its metadata.namespace is no name of a namespace".to_owned(),
            ));
        }
        remove_what_the_server_gives(&mut document);
        Ok(Self { document, name })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace, if it names one.
    pub fn namespace(&self) -> Option<&str> {
        self.document["metadata"]["namespace"].as_str()
    }

    /// The version, the image and the channel that it asks for, with a space between; empty if none.
    pub fn target(&self) -> String {
        let target = &self.document["spec"]["clusterVersion"];
        let given = |field: &str| match &target[field] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            other => Some(other.to_string()),
        };
        let given = ["version", "image", "channel"].into_iter().filter_map(given);
        given.collect::<Vec<_>>().join(" ")
    }

    /// Whether it approves the upgrades of all operators.
    pub fn approves_all_operators(&self) -> bool {
        self.document["spec"]["ocpOperators"]["approveAllUpgrades"] == true
    }

    /// Applies it on the server's side, in a namespace. Fields of others are left to them: then it is a conflict, unless they are taken over.
    /// True if it is new.
    ///
    /// # Errors
    /// If the API server refuses, or others manage fields that it names.
    pub async fn apply(&self, client: &Client, namespace: &str, takes_over: bool) -> Result<bool, EditError> {
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), namespace);
        let refused = |source| self.refused(namespace, source);
        let parameters = PatchParams {
            field_validation: Some(ValidationDirective::Strict),
            force: takes_over,
            ..PatchParams::apply(MANAGER)
        };
        let before = api.get_opt(&self.name).await.map_err(refused)?;
        match api
            .patch(&self.name, &parameters, &Patch::Apply(&self.document))
            .await
        {
            Ok(_) => Ok(before.is_none()),
            Err(kube::Error::Api(status)) if is_of_managers(&status) => Err(EditError::FieldsOfOthers {
                upgrade: format!("{namespace}/{}", self.name),
                fields: status.message.clone(),
            }),
            Err(error) => Err(refused(error)),
        }
    }

    /// Makes spec and labels of an upgrade those of the text, as an editor does. Only what differs is written, whoever manages it. `edited`
    /// is the [`edition`] that somebody opened: what came since is not written over. Returns the edition that was written, which whoever
    /// goes on editing has seen; one that is read later may be somebody else's.
    ///
    /// # Errors
    /// If the API server refuses, the text says more than that, or the upgrade is another one by now.
    pub async fn edit(&self, client: &Client, namespace: &str, edited: &str) -> Result<String, EditError> {
        self.is_an_edit()?;
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), namespace);
        let refused = |source| self.refused(namespace, source);
        let upgrade = format!("{namespace}/{}", self.name);
        for _ in 0..TRIES {
            let before = api.get_opt(&self.name).await.map_err(refused)?;
            let Some(before) = before.filter(|before| edition(before) == edited) else {
                return Err(EditError::ChangedSince(upgrade));
            };
            let mut patch = json!({});
            if let Some(spec) = difference(&json!(before.spec), &self.document["spec"]) {
                patch["spec"] = spec;
            }
            let labels = self.document["metadata"].get("labels").cloned();
            let labels = labels.filter(|labels| !labels.is_null()).unwrap_or(json!({}));
            if let Some(labels) = difference(&json!(before.labels()), &labels) {
                patch["metadata"]["labels"] = labels;
            }
            if patch == json!({}) {
                return Err(EditError::NothingChanged(upgrade));
            }
            patch["metadata"]["resourceVersion"] = before.resource_version().into();
            let parameters = PatchParams {
                field_validation: Some(ValidationDirective::Strict),
                ..crate::parameters()
            };
            match api.patch(&self.name, &parameters, &Patch::Merge(&patch)).await {
                Ok(written) => return Ok(edition(&written)),
                // Only its status may have changed since it was read, which is written often.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(EditError::Contended(format!(
            "changing the ManagedClustersUpgrade {upgrade}"
        )))
    }

    /// An edit that says more would do less than it says.
    fn is_an_edit(&self) -> Result<(), EditError> {
        const TOP: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
        // Nobody who edits sees annotations.
        const METADATA: [&str; 3] = ["name", "namespace", "labels"];
        let unknown = |object: &Value, known: &[&str], of: &str| {
            let fields = object.as_object().into_iter().flat_map(Map::keys);
            let mut others = fields.filter(|field| !known.contains(&field.as_str()));
            others
                .next()
                .map(|field| format!("{of}{field} is nothing that an edit changes"))
        };
        let why = unknown(&self.document, &TOP, "")
            .or_else(|| unknown(&self.document["metadata"], &METADATA, "metadata."))
            .or_else(|| (!self.document["spec"].is_object()).then(|| "it has no spec".to_owned()));
        why.map_or(Ok(()), |why| Err(EditError::InvalidManifest(why)))
    }

    fn refused(&self, namespace: &str, source: kube::Error) -> EditError {
        EditError::Server {
            doing: format!("applying the ManagedClustersUpgrade {namespace}/{}", self.name),
            source,
        }
    }
}

/// How much of an upgrade's text is read: its actions have 500 KiB at most. A text of a few lines may say a thing again and again by aliases.
const MOST_NODES: usize = 100_000;
const MOST_TEXT: usize = 4 << 20;
const MOST_REPEATED: usize = 10_000;

/// The documents of a text in YAML, numbers as kubectl reads them: `0400` is octal.
///
/// # Errors
/// If it is not YAML, or more of it than an upgrade can have.
pub fn documents(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    let budget = serde_saphyr::budget! {
        max_nodes: MOST_NODES,
        max_total_scalar_bytes: MOST_TEXT,
        max_recorded_anchor_events: MOST_REPEATED,
        max_recorded_anchor_bytes: MOST_TEXT,
    };
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPEATED },
    };
    serde_saphyr::from_multiple_with_options(text, options)
}

/// What of an upgrade somebody has seen who edits it, in short: which object it is, its spec and its labels.
pub fn edition(upgrade: &ManagedClustersUpgrade) -> String {
    let metadata = &upgrade.metadata;
    let seen = json!([metadata.uid, metadata.generation, upgrade.labels()]);
    let digest = Sha256::digest(seen.to_string().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The merge patch that makes one value of another; nothing if they are equal.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return (before != after).then(|| after.clone());
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<_, _> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        let known = old.get(key).unwrap_or(&Value::Null);
        // What is new is taken whole: in a patch of it an empty object would be none.
        let changed = if known.is_object() {
            difference(known, value)
        } else {
            (known != value).then(|| value.clone())
        };
        if let Some(changed) = changed {
            patch.insert(key.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Whether a conflict is about who manages fields.
fn is_of_managers(status: &kube::core::Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_conflict() && causes.any(|cause| cause.reason == "FieldManagerConflict")
}

/// Takes out of an object what only the API server writes: it may be what `kubectl get -o yaml` has printed, and its version is old by then.
pub fn remove_what_the_server_gives(document: &mut Value) {
    if let Some(metadata) = document["metadata"].as_object_mut() {
        metadata.retain(|field, _| !GIVEN.contains(&field.as_str()));
    }
    if let Some(fields) = document.as_object_mut() {
        fields.remove("status");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: ManagedClustersUpgrade\nmetadata:\n  name: spring\n  uid: u\nspec: {}\nstatus: {}\n";

    #[test]
    fn what_only_the_api_server_writes_is_left_out() {
        let manifest = Manifest::parse(ONE).unwrap();
        assert_eq!((manifest.name(), manifest.namespace()), ("spring", None));
        assert!(manifest.document["metadata"]["uid"].is_null() && manifest.document["status"].is_null());
    }

    #[test]
    fn anything_but_one_named_upgrade_is_refused() {
        let two = format!("{ONE}---\n{ONE}");
        let other = ONE.replace("ManagedClustersUpgrade", "Secret");
        let nameless = ONE.replace("name: spring", "namespace: default");
        let number = ONE.replace("name: spring", "name: 7");
        let namespace = ONE.replace("name: spring", "name: spring\n  namespace: a/b");
        for text in [
            "",
            "[",
            "a: &a [*a, *a]",
            "just words",
            &two,
            &other,
            &nameless,
            &number,
            &namespace,
            &ONE.replace("name: spring", "name: spring/status"),
            &ONE.replace("name: spring", "name: \"spring?dryRun=All&x=\""),
            &ONE.replace("name: spring", "name: A b"),
        ] {
            assert!(Manifest::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_short_text_that_says_much_by_aliases_is_refused() {
        let long = "x".repeat(250);
        let mut text = format!("a: &a [{}]\n", [long.as_str(); 9].join(", "));
        for (name, before) in ["b", "c", "d", "e", "f"]
            .into_iter()
            .zip(["a", "b", "c", "d", "e"])
        {
            let repeated = [format!("*{before}").as_str(); 9].join(", ");
            text = [text, format!("{name}: &{name} [{repeated}]\n")].concat();
        }
        assert!(text.len() < 4000);
        assert!(documents(&text).is_err());
        assert!(documents("a: &a [1, 2]\nb: *a\n").is_ok());
    }

    #[test]
    fn numbers_are_those_that_kubectl_reads() {
        let read = documents("a: 0400\nb: 0o400\nc: 400\nd: '0400'\n").unwrap();
        assert_eq!(read, [json!({"a": 256, "b": 256, "c": 400, "d": "0400"})]);
    }

    /// What the merge patch makes of the one is the other.
    #[test]
    fn an_edit_writes_what_differs_and_no_more() {
        let before = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}});
        for (after, patch) in [
            (before.clone(), None),
            (
                json!({"a": 2, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}}),
                Some(json!({"a": 2})),
            ),
            (
                json!({"a": 1, "b": {"c": [2]}}),
                Some(json!({"b": {"c": [2], "d": null}, "e": null})),
            ),
            (
                json!({"a": {"new": {}}, "b": {"c": [1, 2], "d": "x"}, "e": 7}),
                Some(json!({"a": {"new": {}}, "e": 7})),
            ),
        ] {
            assert_eq!(difference(&before, &after), patch, "{after}");
        }
    }

    #[test]
    fn an_edit_of_anything_else_is_refused() {
        for (text, why) in [
            (
                ONE.replace("  uid: u", "  finalizers: [a]"),
                "metadata.finalizers",
            ),
            (ONE.replace("  uid: u", "  annotations:"), "metadata.annotations"),
            (ONE.replace("spec: {}", "specs: {}"), "specs"),
            (ONE.replace("spec: {}", "spec: 7"), "no spec"),
        ] {
            let said = Manifest::parse(&text)
                .unwrap()
                .is_an_edit()
                .unwrap_err()
                .to_string();
            assert!(said.contains(why), "{said}");
        }
        Manifest::parse(ONE).unwrap().is_an_edit().unwrap();
    }
}
