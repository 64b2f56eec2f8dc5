//! The CustomResourceDefinitions of our kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::core::CustomResourceExt;
use serde_json::Value;

use crate::{
    insights,
    mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord, UpgradeRiskAcceptance},
    schedule, upgradeconfig,
};

/// The CustomResourceDefinitions of our kinds, in the order in which they are to be installed.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![
        ManagedClustersUpgrade::crd(),
        ManagedClustersUpgradeRecord::crd(),
        UpgradeRiskAcceptance::crd(),
        upgradeconfig::UpgradeConfig::crd(),
        schedule::UpgradeConfig::crd(),
        schedule::UpgradeJob::crd(),
        schedule::UpgradeJobHook::crd(),
        schedule::UpgradeSuspensionWindow::crd(),
        schedule::NodeForceDrain::crd(),
        schedule::ManagedClusterVersion::crd(),
        insights::UpdateInformer::crd(),
        insights::UpdateStatus::crd(),
        insights::UpdatePlan::crd(),
        insights::UpdatePlanInsight::crd(),
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
                if !needs_spec(&definition.spec.group, &kind) {
                    schema.required = None;
                }
            }
        }
    }
    definitions
}

/// Is an object without a spec refused? Kinds that others have defined accept it where the original does.
fn needs_spec(group: &str, kind: &str) -> bool {
    match group {
        schedule::GROUP => kind == "UpgradeConfig",
        "upgrade.managed.openshift.io" => false,
        insights::GROUP => kind != "UpdateStatus",
        _ => true,
    }
}

/// The file of a definition in `crds/`. Maintenance schedules have a folder of their own, since two kinds share their plurals with
/// others, and so have update insights, which only the agent needs.
pub fn file_name(definition: &CustomResourceDefinition) -> String {
    let plural = &definition.spec.names.plural;
    match definition.spec.group.as_str() {
        schedule::GROUP => format!("schedule/{plural}.yaml"),
        insights::GROUP => format!("insights/{plural}.yaml"),
        _ => format!("{plural}.yaml"),
    }
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
