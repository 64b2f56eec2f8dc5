//! The kinds that servers share: compiled once, whatever the number of servers.

use std::sync::{Arc, OnceLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;
use virtual_clock::Clock;

use super::definitions;
use super::{Registry, Status, builtin};
use crate::store::{Key, Object};

/// The built-in kinds, and the custom kinds that a server has from the start. Share one between servers: a server
/// that gets no other definitions never copies it.
#[derive(Debug)]
pub struct Types {
    registry: Arc<Registry>,
    definitions: Vec<Value>,
    // Made with the first server's clock, and then shared.
    seeded: OnceLock<Vec<(Key, Arc<Object>)>>,
}

/// A definition that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// It is not a valid definition; the message says which field.
    #[error("the CustomResourceDefinition {name} cannot be installed: {source}")]
    Refused {
        /// Its name.
        name: String,
        /// What a server would answer.
        #[source]
        source: Status,
    },
    /// It is not JSON.
    #[error("a CustomResourceDefinition cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// It is not YAML.
    #[error("a CustomResourceDefinition cannot be read as YAML: {0}")]
    Unreadable(#[from] serde_saphyr::Error),
}

/// Definitions in YAML, one a text, as JSON.
///
/// # Errors
/// The first text that is not YAML.
pub fn read_definitions(texts: &[&str]) -> Result<Vec<Value>, TypesError> {
    texts
        .iter()
        .map(|text| Ok(serde_saphyr::from_str(text)?))
        .collect()
}

impl Types {
    /// Only the built-in kinds.
    pub fn built_in() -> Arc<Self> {
        Arc::new(Self {
            registry: Arc::new(builtin::registry()),
            definitions: Vec::new(),
            seeded: OnceLock::new(),
        })
    }

    /// The built-in kinds and those of `definitions`.
    ///
    /// # Errors
    /// The first definition that a server would refuse.
    pub fn with_definitions(definitions: &[CustomResourceDefinition]) -> Result<Arc<Self>, TypesError> {
        let values: Result<Vec<Value>, _> = definitions.iter().map(serde_json::to_value).collect();
        Self::with_definition_values(values?)
    }

    /// The built-in kinds and those of `definitions`, given as JSON.
    ///
    /// # Errors
    /// The first definition that a server would refuse.
    pub fn with_definition_values(definitions: Vec<Value>) -> Result<Arc<Self>, TypesError> {
        let mut registry = builtin::registry();
        let mut completed = Vec::new();
        for mut definition in definitions {
            definition["apiVersion"] = Value::from("apiextensions.k8s.io/v1");
            definition["kind"] = Value::from("CustomResourceDefinition");
            let name = definition["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let refused = |source| TypesError::Refused {
                name: name.clone(),
                source,
            };
            definitions::complete(&mut definition, None).map_err(refused)?;
            definitions::register(&mut registry, &definition).map_err(refused)?;
            completed.push(definition);
        }
        Ok(Arc::new(Self {
            registry: Arc::new(registry),
            definitions: completed,
            seeded: OnceLock::new(),
        }))
    }

    pub(super) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The definitions as objects, established. `uid` makes the UID of the n-th.
    pub(super) fn objects(&self, clock: &Clock, mut uid: impl FnMut() -> String) -> &[(Key, Arc<Object>)] {
        self.seeded.get_or_init(|| {
            let now = super::metadata::time(clock.now());
            self.definitions
                .iter()
                .zip(2_u64..)
                .map(|(definition, revision)| {
                    let mut value = definition.clone();
                    super::metadata::stamp_new(&mut value, &uid(), &now, true);
                    definitions::establish(&mut value, &definitions::TakenNames::default(), &now);
                    value["metadata"]["resourceVersion"] = Value::from(revision.to_string());
                    let object = Object::new(value, revision);
                    (object.key(), Arc::new(object))
                })
                .collect()
        })
    }
}
