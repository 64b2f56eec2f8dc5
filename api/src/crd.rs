//! The CustomResourceDefinitions of our kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::core::CustomResourceExt;
use serde_json::Value;

use crate::{
    mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord},
    upgradeconfig::UpgradeConfig,
};

/// The CustomResourceDefinitions of our kinds, in the order in which they are to be installed.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![
        ManagedClustersUpgrade::crd(),
        ManagedClustersUpgradeRecord::crd(),
        UpgradeConfig::crd(),
    ];
    for definition in &mut definitions {
        let kind = definition.spec.names.kind.clone();
        definition.spec.names.list_kind = Some(format!("{kind}List"));
        for version in &mut definition.spec.versions {
            let schema = version
                .schema
                .as_mut()
                .and_then(|validation| validation.open_api_v3_schema.as_mut());
            if let Some(schema) = schema {
                schema.title = None;
                forbid_null(schema);
                // The original's has none; the agent says what is missing.
                if kind == "UpgradeConfig" {
                    schema.required = None;
                }
            }
        }
    }
    definitions
}

/// A definition as YAML, as it stands in `crds/`.
///
/// # Errors
/// When the definition cannot be written as YAML.
pub fn to_yaml(definition: &CustomResourceDefinition) -> Result<String, RenderError> {
    let mut value = serde_json::to_value(definition)?;
    whole_numbers(&mut value);
    Ok(format!("---\n{}", serde_saphyr::to_string(&value)?))
}

/// Why a definition could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// It is not JSON.
    #[error("turning a CustomResourceDefinition into JSON")]
    Json(#[from] serde_json::Error),
    /// It is not YAML.
    #[error("turning a CustomResourceDefinition into YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

/// Rust's `Option` is generated as nullable, but what is optional here is left out, never `null`.
pub(crate) fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    let fields = schema
        .properties
        .iter_mut()
        .flat_map(|fields| fields.values_mut());
    fields.for_each(forbid_null);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => forbid_null(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(forbid_null),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        forbid_null(values);
    }
}

/// Limits are floating-point numbers in the type, but `minimum: 0.0` is nothing that a person would write.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0);
            if let (false, Some(float)) = (number.is_i64(), whole) {
                *value = Value::from(float as i64);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
