//! The ConfigMap `managed-upgrade-operator-config`, key `config.yaml`: read once, checked, with its defaults.

mod sections;
#[cfg(test)]
mod tests;
mod texts;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

pub use sections::{
    ConfigManager, Environment, ExternalDependencies, FeatureGate, HealthCheck, HttpDependencies,
    IgnoredAlerts, Maintenance, NodeDrainConfig, Notify, Scale, SecretReference, UpgradeWindow, Validation,
    Webhook,
};
pub use texts::{may_carry_secrets, pattern, regular_expression};

/// The name of the ConfigMap.
pub const CONFIG_MAP: &str = "managed-upgrade-operator-config";
/// The key in it.
pub const KEY: &str = "config.yaml";

/// Why a configuration is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// The ConfigMap has no such key.
    #[error(
        "the ConfigMap {CONFIG_MAP} has no key {KEY}: add it, with {{}} for the defaults; what was in force before stays so until then"
    )]
    NoKey,
    /// It has no fields: it is empty, or no mapping. What was in force is not given up for it.
    #[error(
        "{KEY} of the ConfigMap {CONFIG_MAP} has no fields: write {{}} for the defaults, or what should be in force"
    )]
    NoFields,
    /// It is not YAML of the right form.
    #[error("{KEY} of the ConfigMap {CONFIG_MAP} cannot be read: {0}")]
    Unreadable(String),
    /// A number makes no sense.
    #[error("{field} in the ConfigMap {CONFIG_MAP} is {value}: it must be {rule}")]
    OutOfRange {
        /// The field, as a path.
        field: &'static str,
        /// Its value.
        value: i64,
        /// What it must be.
        rule: &'static str,
    },
    /// A text is not what it should be.
    #[error("{field} in the ConfigMap {CONFIG_MAP} has {value:?}: {reason}")]
    Unusable {
        /// The field, as a path.
        field: &'static str,
        /// The text.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Where upgrade policies come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PolicySource {
    /// From OpenShift Cluster Manager.
    Ocm,
    /// The UpgradeConfig on the cluster is the policy.
    #[default]
    Local,
}

impl TryFrom<String> for PolicySource {
    type Error = String;

    /// As managed-upgrade-operator reads it: in any case; empty is the UpgradeConfig on the cluster.
    fn try_from(text: String) -> Result<Self, String> {
        match text.trim().to_ascii_uppercase().as_str() {
            "OCM" => Ok(Self::Ocm),
            "LOCAL" | "" => Ok(Self::Local),
            _ => Err("configManager.source is neither OCM nor LOCAL".to_owned()),
        }
    }
}

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Configuration {
    /// The default type of upgrade.
    pub upgrade_type: UpgraderType,
    /// Where policies come from.
    pub config_manager: ConfigManager,
    /// How targets are checked.
    pub validation: Validation,
    /// What kind of environment it is.
    pub environment: Environment,
    /// Maintenance windows.
    pub maintenance: Maintenance,
    /// Extra capacity.
    pub scale: Scale,
    /// How long an upgrade may take to commence.
    pub upgrade_window: UpgradeWindow,
    /// Drains of nodes.
    pub node_drain: NodeDrainConfig,
    /// What health checks pass over.
    pub health_check: HealthCheck,
    /// What else must be reachable.
    pub ext_dependency_availability_checks: ExternalDependencies,
    /// Features that are off by default.
    pub feature_gate: FeatureGate,
    /// Who is notified of the upgrade's states.
    pub notify: Notify,
    /// What was written and is ignored, human-readable: values that the default replaces.
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Keys that are not known, as paths, the first of them: a word that is misspelt is as if it were not there.
    #[serde(skip)]
    pub unknown_keys: Vec<String>,
}

/// The list of steps by name; ARO is managed-upgrade-operator's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum UpgraderType {
    /// OpenShift Dedicated.
    Osd,
    /// Azure Red Hat OpenShift.
    #[default]
    Aro,
}

impl TryFrom<String> for UpgraderType {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.trim().to_ascii_uppercase().as_str() {
            "OSD" => Ok(Self::Osd),
            "ARO" | "" => Ok(Self::Aro),
            _ => Err("upgradeType is neither OSD nor ARO".to_owned()),
        }
    }
}

/// Reads `config.yaml`. What managed-upgrade-operator accepts is accepted: a null is as if the field were not there.
///
/// # Errors
/// If it is not of the right form, or a number makes no sense.
pub fn parse(text: &str) -> Result<Configuration, ConfigurationError> {
    // The text there may be a secret: its position is reported, and not the text.
    let unreadable = |error: serde_saphyr::Error| {
        let position = error.location().map_or_else(String::new, |location| {
            format!(" at line {}, column {}", location.line(), location.column())
        });
        ConfigurationError::Unreadable(format!("it is not valid YAML{position}"))
    };
    let mut value: Value = serde_saphyr::from_str(text).map_err(unreadable)?;
    if !value.is_object() {
        return Err(ConfigurationError::NoFields);
    }
    drop_nulls(&mut value);
    refuse_lists(&value)?;
    let mut unknown_keys = Vec::new();
    let note_unknown = |path: serde_ignored::Path<'_>| {
        if unknown_keys.len() < UNKNOWN_KEYS {
            unknown_keys.push(path.to_string().chars().take(UNKNOWN_KEY).collect());
        }
    };
    let mut configuration: Configuration = serde_ignored::deserialize(value, note_unknown)
        .map_err(|error| ConfigurationError::Unreadable(texts::without_quotes(&error.to_string())))?;
    configuration.unknown_keys = unknown_keys;
    configuration.default_unused();
    configuration.check()?;
    Ok(configuration)
}

/// How many keys that are not known are named, and how much of each, in letters.
const UNKNOWN_KEYS: usize = 10;
const UNKNOWN_KEY: usize = 100;

/// The sections, which have fields.
const SECTIONS: [&str; 12] = [
    "/configManager",
    "/validation",
    "/environment",
    "/maintenance",
    "/maintenance/ignoredAlerts",
    "/scale",
    "/upgradeWindow",
    "/nodeDrain",
    "/healthCheck",
    "/extDependencyAvailabilityChecks",
    "/extDependencyAvailabilityChecks/http",
    "/featureGate",
];

/// A list would be taken for the fields of a section in their order, and an empty one for its defaults.
fn refuse_lists(value: &Value) -> Result<(), ConfigurationError> {
    let notify = value.get("notify");
    let webhooks = notify.and_then(|notify| notify["webhooks"].as_array());
    let webhooks = webhooks.into_iter().flatten();
    let of_notify = notify
        .into_iter()
        .map(|notify| ("notify".to_owned(), notify))
        .chain(
            webhooks
                .clone()
                .map(|webhook| ("notify.webhooks[]".to_owned(), webhook)),
        )
        .chain(webhooks.filter_map(|webhook| {
            let secret = webhook.get("secretRef")?;
            Some(("notify.webhooks[].secretRef".to_owned(), secret))
        }));
    let sections = SECTIONS.iter().filter_map(|path| {
        let section = value.pointer(path)?;
        Some((path.trim_start_matches('/').replace('/', "."), section))
    });
    match sections.chain(of_notify).find(|(_, section)| section.is_array()) {
        Some((path, _)) => Err(ConfigurationError::Unreadable(format!(
            "{path} is a list, and should have fields"
        ))),
        None => Ok(()),
    }
}

/// Takes nulls away: of objects and of lists.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        _ => {}
    }
}

impl Configuration {
    /// Numbers that are 0 where that cannot be meant, and nothing uses them: the default is used, and that is noted.
    fn default_unused(&mut self) {
        let usual = Self::default();
        let has_urls = !self.ext_dependency_availability_checks.http.urls.is_empty();
        let http = &mut self.ext_dependency_availability_checks.http;
        let fields = [
            (
                "configManager.watchInterval",
                &mut self.config_manager.watch_interval,
                usual.config_manager.watch_interval,
                true,
            ),
            (
                "scale.timeOut",
                &mut self.scale.time_out,
                usual.scale.time_out,
                true,
            ),
            (
                "extDependencyAvailabilityChecks.http.timeout",
                &mut http.timeout,
                usual.ext_dependency_availability_checks.http.timeout,
                !has_urls,
            ),
        ];
        for (field, value, default, is_unused) in fields {
            if *value == 0 && is_unused {
                *value = default;
                self.notes
                    .push(format!("{field} is 0, which is not possible: {default} is used"));
            }
        }
    }

    fn check(&self) -> Result<(), ConfigurationError> {
        let positive = [
            ("configManager.watchInterval", self.config_manager.watch_interval),
            (
                "maintenance.controlPlaneTime",
                self.maintenance.control_plane_time,
            ),
            ("scale.timeOut", self.scale.time_out),
            ("nodeDrain.timeOut", self.node_drain.time_out),
            (
                "nodeDrain.expectedNodeDrainTime",
                self.node_drain.expected_node_drain_time,
            ),
            (
                "extDependencyAvailabilityChecks.http.timeout",
                self.ext_dependency_availability_checks.http.timeout,
            ),
        ];
        let not_negative = [
            ("upgradeWindow.delayTrigger", self.upgrade_window.delay_trigger),
            ("upgradeWindow.timeOut", self.upgrade_window.time_out),
        ];
        let wrong = |least: i64, rule: &'static str| {
            move |(field, value): &(&'static str, i64)| {
                (*value < least).then_some(ConfigurationError::OutOfRange {
                    field,
                    value: *value,
                    rule,
                })
            }
        };
        // Later than that is no moment that can be written down.
        let too_large = |(field, value): &(&'static str, i64)| {
            (*value > i64::from(i32::MAX)).then_some(ConfigurationError::OutOfRange {
                field,
                value: *value,
                rule: "2147483647 or less",
            })
        };
        let mut wrong = positive
            .iter()
            .filter_map(wrong(1, "more than 0"))
            .chain(not_negative.iter().filter_map(wrong(0, "0 or more")))
            .chain(positive.iter().chain(&not_negative).filter_map(too_large));
        wrong.next().map_or(Ok(()), Err)?;
        texts::check(self)
    }
}
