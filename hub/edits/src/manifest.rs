//! A ManagedClustersUpgrade that somebody has written, as it is applied.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::Value;

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
        let mut documents: Vec<Value> =
            serde_saphyr::from_multiple(text).map_err(|error| invalid(format!("it is not YAML: {error}")))?;
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
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| invalid("it has no metadata.name that is a text".to_owned()))?;
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

    /// Applies it on the server's side, in a namespace. Fields of others are left to them: then it is a conflict. `edited` is the generation
    /// whose spec somebody has edited: what came since is not written over. True if it is new.
    ///
    /// # Errors
    /// If the API server refuses, or the spec is another one by now.
    pub async fn apply(
        &self,
        client: &Client,
        namespace: &str,
        edited: Option<i64>,
    ) -> Result<bool, EditError> {
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), namespace);
        let refused = |source| EditError::Server {
            doing: format!("applying the ManagedClustersUpgrade {namespace}/{}", self.name),
            source,
        };
        let parameters = PatchParams {
            field_validation: Some(kube::api::ValidationDirective::Strict),
            ..PatchParams::apply(MANAGER)
        };
        for _ in 0..TRIES {
            let before = api.get_opt(&self.name).await.map_err(refused)?;
            let generation = before.as_ref().and_then(|before| before.metadata.generation);
            if edited.is_some() && edited != generation {
                return Err(EditError::ChangedSince(format!("{namespace}/{}", self.name)));
            }
            let mut document = self.document.clone();
            if let (Some(_), Some(before)) = (edited, &before) {
                document["metadata"]["resourceVersion"] = before.resource_version().into();
            }
            match api.patch(&self.name, &parameters, &Patch::Apply(&document)).await {
                Ok(_) => return Ok(before.is_none()),
                // Only its status may have changed since it was read, which is written often.
                Err(kube::Error::Api(status)) if edited.is_some() && is_of_another_version(&status) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(EditError::Contended(format!(
            "applying the ManagedClustersUpgrade {namespace}/{}",
            self.name
        )))
    }
}

/// Whether a conflict is about the version of the object, not about who manages its fields.
fn is_of_another_version(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_conflict()
        && causes
            .into_iter()
            .all(|cause| cause.reason != "FieldManagerConflict")
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
        for text in [
            "",
            "[",
            "a: &a [*a, *a]",
            "just words",
            &two,
            &other,
            &nameless,
            &number,
        ] {
            assert!(Manifest::parse(text).is_err(), "{text}");
        }
    }
}
