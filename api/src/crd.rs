//! The CustomResourceDefinitions of our kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::core::CustomResourceExt;

use crate::{mcu::ManagedClustersUpgrade, upgradeconfig::UpgradeConfig};

/// The CustomResourceDefinitions of our kinds, in the order in which they are to be installed.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![ManagedClustersUpgrade::crd(), UpgradeConfig::crd()];
    for definition in &mut definitions {
        for version in &mut definition.spec.versions {
            let schema = version
                .schema
                .as_mut()
                .and_then(|validation| validation.open_api_v3_schema.as_mut());
            if let Some(schema) = schema {
                forbid_null(schema);
            }
        }
    }
    definitions
}

/// Rust's `Option` is generated as nullable, but what is optional here is left out, never `null`.
fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema
        .properties
        .iter_mut()
        .flat_map(|fields| fields.values_mut())
        .for_each(forbid_null);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => forbid_null(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(forbid_null),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        forbid_null(values);
    }
}
