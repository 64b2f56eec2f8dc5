//! UpgradeConfig: when a cluster has its maintenance, and how.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobNotification, UpgradeJobConfig, UpgradeNotificationStatus, cron, one_hour};

/// When UpgradeJobs are created, and from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "UpgradeConfig",
    plural = "upgradeconfigs",
    singular = "upgradeconfig",
    shortname = "uc",
    namespaced,
    status = "UpgradeConfigStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeConfig is the maintenance schedule of a cluster: it creates an UpgradeJob for each maintenance.",
    printcolumn = r#"{"name": "Cron", "type": "string", "jsonPath": ".spec.schedule.cron"}"#,
    printcolumn = r#"{"name": "Week", "type": "string", "jsonPath": ".spec.schedule.isoWeek"}"#,
    printcolumn = r#"{"name": "Location", "type": "string", "jsonPath": ".spec.schedule.location"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Suspended", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Suspended\")].status"}"#,
    printcolumn = r#"{"name": "Last", "type": "string", "jsonPath": ".status.lastScheduledUpgrade", "description": "The start of the last maintenance that was decided"}"#,
    printcolumn = r#"{"name": "Next", "type": "string", "jsonPath": ".status.nextPossibleSchedules[0].time", "description": "The next time of the schedule"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeConfigSpec {
    /// When maintenances start.
    pub schedule: Schedule,
    /// How long before the start of a maintenance its UpgradeJob is created, with the highest version that is available then. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin_version_window: Option<String>,
    /// How late an UpgradeJob may still be created. After that the maintenance is left out.
    #[serde(default = "one_hour")]
    #[schemars(extend("format" = "duration"))]
    pub max_scheduling_delay: String,
    /// How late an UpgradeJob may still start. After that it has failed.
    #[serde(default = "one_hour")]
    #[schemars(extend("format" = "duration"))]
    pub max_upgrade_start_delay: String,
    /// How many succeeded UpgradeJobs are kept; all if it is 0 or less. Default 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i64>,
    /// What UpgradeJobs are created from.
    pub job_template: UpgradeJobTemplate,
    /// Who is notified of what becomes of the maintenances: of those that are left out here, and, as every UpgradeJob gets a copy, of
    /// the states of the UpgradeJobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub notifications: Option<Vec<JobNotification>>,
}

impl Default for UpgradeConfigSpec {
    /// As a server fills it in; the schedule has no cron expression.
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            pin_version_window: None,
            max_scheduling_delay: one_hour(),
            max_upgrade_start_delay: one_hour(),
            successful_jobs_history_limit: None,
            job_template: UpgradeJobTemplate::default(),
            notifications: None,
        }
    }
}

/// When maintenances start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// When maintenances start, as a cron expression: minute, hour, day of the month, month, day of the week, such as `0 22 * * 2`, or
    /// `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`, `@every 36h`. If both days are given, either suffices. With `CRON_TZ=` and a
    /// time zone in front, its times are of that time zone.
    #[schemars(length(max = 1024))]
    #[x_kube(
        validation = Rule::new(cron::is_cron())
            .message("cron must have five fields (minute, hour, day of month, month, day of week), for example \"0 22 * * 2\", or be a descriptor such as @weekly or \"@every 36h\""),
        validation = Rule::new(cron::comes())
            .message("cron never occurs: none of its months has such a day; correct the day or the month")
    )]
    pub cron: String,
    /// The weeks in which maintenances start, by ISO 8601: `@odd`, `@even`, or a number from 1 to 53. Default every week. Week 53 exists
    /// in some years only; it and the week 1 that follows are both odd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(
        validation = Rule::new(cron::IS_WEEK)
            .message("isoWeek must be @odd, @even or the number of a week from 1 to 53")
    )]
    pub iso_week: Option<String>,
    /// The time zone of cron and isoWeek, such as `Europe/Zurich`; `Local` is that of the agent's process.
    #[serde(default = "local")]
    pub location: String,
    /// While true, no UpgradeJobs are created; those that exist are not affected. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            cron: String::new(),
            iso_week: None,
            location: local(),
            suspend: None,
        }
    }
}

fn local() -> String {
    super::LOCAL.to_owned()
}

/// What UpgradeJobs are created from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeJobTemplate {
    /// Labels and annotations of the UpgradeJobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<UpgradeJobTemplateMetadata>,
    /// The spec of the UpgradeJobs.
    pub spec: UpgradeJobTemplateSpec,
}

/// The metadata of UpgradeJobs: only labels and annotations are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeJobTemplateMetadata {
    /// Annotations of the UpgradeJobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Accepted and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
    /// Labels of the UpgradeJobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Accepted and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Accepted and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// The part of the spec that all UpgradeJobs have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeJobTemplateSpec {
    /// How the cluster is upgraded. Each UpgradeJob has a copy: an edit does not affect UpgradeJobs that exist.
    pub config: UpgradeJobConfig,
}

/// What has been decided, and what comes next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeConfigStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The start of the last maintenance that was decided: its UpgradeJob was created, or it was left out because the schedule was suspended.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_scheduled_upgrade: Option<Time>,
    /// The next ten times of the schedule, whether it is suspended or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_possible_schedules: Option<Vec<NextPossibleSchedule>>,
    /// Ready: can the schedule be used, and what is decided next? Suspended: are maintenances left out at present?
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
    /// The notifications that have been sent, or are to be sent, each once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Vec<UpgradeNotificationStatus>>,
}

/// A time of the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextPossibleSchedule {
    /// When a maintenance may start.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub time: Time,
}
