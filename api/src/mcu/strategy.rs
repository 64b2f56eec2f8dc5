//! In which order clusters are upgraded, how many at a time, and how long each may take.

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use drydock_names::{IntOrPercent, InvalidIntOrPercent};

use crate::{selector::LabelMatch, upgradeconfig::UpgradeType};

/// In which order, how many at a time, and how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStrategy {
    /// Clusters that are upgraded first; all of them must complete before any other starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_clusters: Option<CanaryClusters>,
    /// How many clusters may be in flight at a time: a number of at least 1, or a percentage of the selected
    /// clusters, rounded up. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "at_least_one")]
    pub max_concurrency: Option<Limit>,
    /// How long the platform upgrade of a cluster may take. Default 3h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')")
            .message("clusterUpgradeTimeout must be a positive duration, for example 2h, 1h30m or 90s")
    )]
    pub cluster_upgrade_timeout: Option<String>,
    /// How long the operator upgrades of a cluster may take. Default 10m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')")
            .message("operatorsUpgradeTimeout must be a positive duration, for example 2h, 1h30m or 90s")
    )]
    pub operators_upgrade_timeout: Option<String>,
    /// The number of failed clusters, canaries not counted, at which no further cluster is started: a number, or a
    /// percentage of the selected clusters, rounded up. 0 has the same effect as 1. Default: no limit. A failed canary always
    /// stops further starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "at_least_zero")]
    pub max_failures: Option<Limit>,
    /// Clusters are started only inside one of their windows. Default: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub start_windows: Option<Vec<StartWindow>>,
    /// Times in which clusters are not started, whatever their windows say. Upgrades that are under way go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub freezes: Option<Vec<Freeze>>,
    /// A calendar of times in which no cluster is started, beside `freezes`. While it cannot be read, none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze_calendar: Option<FreezeCalendarSource>,
    /// If true, a cluster is started only if its upgrade, with its actions and operators, is expected to end before its start window closes
    /// and before its next freeze begins: nine of ten that are like it do (the p90 of the forecast). Each window is taken by itself.
    /// Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_only_if_it_fits: Option<bool>,
    /// How clusters are upgraded: `Agent` (an UpgradeConfig for Drydock's agent), `ClusterVersion` (directly), or
    /// `Auto` (by the agent where its add-on is available). Default Auto.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Auto", "Agent", "ClusterVersion"]))]
    pub upgrade_via: Option<String>,
    /// Settings for the agent, where it does the upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSettings>,
}

/// Clusters that are upgraded first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryClusters {
    /// Which of the selected clusters are canaries. If it matches none of them, nothing starts.
    pub cluster_selector: LabelMatch,
    /// How long the canaries must stay healthy before any other cluster starts. Default 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self == '0' || (self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) >= duration('0s'))")
            .message("soakTime must be a duration, for example 30m or 1h30m")
    )]
    pub soak_time: Option<String>,
}

/// A recurring time in which clusters may be started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartWindow {
    /// When the window opens: five cron fields (minute, hour, day of month, month, day of week).
    #[schemars(length(min = 9, max = 256))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^[^ ]+( +[^ ]+){4}$')")
            .message("cron must have five fields: minute, hour, day of month, month, day of week; for example 0 22 * * 1-5")
    )]
    pub cron: String,
    /// How long it stays open.
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')")
            .message("duration must be a positive duration, for example 6h")
    )]
    pub duration: String,
    /// The time zone of the cron fields, by its IANA name. Default UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
    /// The clusters whose window it is, by the labels of their ManagedClusters. Clusters that no window selects follow the windows
    /// without a clusterSelector; where all windows have one, they may always be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelMatch>,
}

/// A time in which clusters are not started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("timestamp(self.from) < timestamp(self.to)").message("from must be before to"),
    validation = Rule::new("timestamp(self.to) < timestamp('9000-01-01T00:00:00Z')")
        .message("to must be before the year 9000; where the end is not known, write a year such as 2100")
)]
pub struct Freeze {
    /// The first moment, for example 2026-12-19T00:00:00+01:00.
    #[schemars(length(max = 64))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$')")
            .message("from must be a time with a zone, for example 2026-12-19T00:00:00Z or 2026-12-19T00:00:00+01:00")
    )]
    pub from: String,
    /// The first moment after it.
    #[schemars(length(max = 64))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$')")
            .message("to must be a time with a zone, for example 2027-01-04T00:00:00Z or 2027-01-04T00:00:00+01:00")
    )]
    pub to: String,
    /// Why, for people.
    #[schemars(length(min = 1, max = 256))]
    pub reason: String,
    /// The clusters that it is for, by the labels of their ManagedClusters. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelMatch>,
}

/// Where a calendar of freezes is: iCalendar text (RFC 5545), each event of which is a freeze of all clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreezeCalendarSource {
    /// The ConfigMap, which has the label drydock.dev/freeze-calendar.
    pub config_map: ConfigMapKey,
    /// The time zone of whole days, and of times that have none, by its IANA name. Default UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
}

/// A text in a ConfigMap of the upgrade's namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct ConfigMapKey {
    /// The name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its data, for example `calendar.ics`.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// Settings for the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSettings {
    /// The list of steps that the agent runs: `OSD` or `ARO`. Default OSD.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["OSD", "ARO"]))]
    pub upgrade_type: Option<String>,
    /// How many minutes a PodDisruptionBudget may block the drain of a node before it is forced. Default 60.
    #[serde(
        rename = "PDBForceDrainTimeout",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub pdb_force_drain_timeout: Option<i32>,
    /// If true, extra workers are added for the duration of the upgrade. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reservation: Option<bool>,
    /// The namespace of the agent and its UpgradeConfig on the clusters. Default openshift-managed-upgrade-operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

impl AgentSettings {
    /// The list of steps; `OSD` if nothing (or something unknown) is said.
    pub fn steps(&self) -> UpgradeType {
        match self.upgrade_type.as_deref() {
            Some("ARO") => UpgradeType::Aro,
            _ => UpgradeType::Osd,
        }
    }
}

/// By what a cluster is upgraded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpgradeVia {
    /// By the agent where its add-on is available, else directly.
    #[default]
    Auto,
    /// By the agent, through an UpgradeConfig.
    Agent,
    /// Directly, through the ClusterVersion.
    ClusterVersion,
}

/// Why a text does not say by what clusters are upgraded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a way to upgrade: write Auto, Agent or ClusterVersion")]
pub struct InvalidUpgradeVia(String);

impl std::str::FromStr for UpgradeVia {
    type Err = InvalidUpgradeVia;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "Auto" => Ok(Self::Auto),
            "Agent" => Ok(Self::Agent),
            "ClusterVersion" => Ok(Self::ClusterVersion),
            _ => Err(InvalidUpgradeVia(text.to_owned())),
        }
    }
}

/// A number of clusters or a percentage, as it stands in an object. Any number and any text can be read, so that one object with a
/// number beyond all bounds does not make a whole list unreadable; what it means says [`parse_limit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// A number.
    Number(serde_json::Number),
    /// A percentage, as the API requires of text.
    Text(String),
}

impl From<u32> for Limit {
    fn from(count: u32) -> Self {
        Self::Number(count.into())
    }
}

/// The number of clusters, or share of them, that a field of the strategy names.
///
/// # Errors
/// If it is neither.
pub fn parse_limit(limit: &Limit) -> Result<IntOrPercent, InvalidIntOrPercent> {
    match limit {
        Limit::Number(count) => count.to_string().parse(),
        Limit::Text(text) => text.parse(),
    }
}

/// In an int-or-string, `minimum` applies to numbers and `pattern` for text.
fn int_or_percent(minimum: u32, percent: &str) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true,
        "minimum": minimum,
        "maximum": i32::MAX,
        "maxLength": 4,
        "pattern": percent,
    })
}

fn at_least_one(_: &mut SchemaGenerator) -> Schema {
    int_or_percent(1, "^(100|[1-9][0-9]?)%$")
}

fn at_least_zero(_: &mut SchemaGenerator) -> Schema {
    int_or_percent(0, "^(100|[1-9]?[0-9])%$")
}
