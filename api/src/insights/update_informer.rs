//! UpdateInformer: who is asked about updates (insights.md, section 1.2).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time that an informer has for an answer, in seconds, if `timeoutSeconds` does not say.
const DEFAULT_TIMEOUT_SECONDS: i32 = 10;
/// The port of a service, if it is not given.
const DEFAULT_PORT: i32 = 443;

/// Where an informer is, and how it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "config.openshift.io",
    version = "v1beta1",
    kind = "UpdateInformer",
    plural = "updateinformers",
    singular = "updateinformer",
    shortname = "ui",
    status = "UpdateInformerStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpdateInformer is a system that is asked what it knows about updates of the cluster.",
    validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')")
        .message("the name must be a DNS label: lower-case letters, digits and hyphens, at most 63"),
    printcolumn = r#"{"name": "Enabled", "type": "boolean", "jsonPath": ".spec.enabled"}"#,
    printcolumn = r#"{"name": "Online", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Online\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Online\")].reason"}"#,
    printcolumn = r#"{"name": "Heartbeat", "type": "date", "jsonPath": ".status.conditions[?(@.type==\"Online\")].lastHeartbeatTime"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UpdateInformerSpec {
    /// False if it is not to be asked, because it is useless or does harm. What it has reported goes at once.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Where it is.
    pub client_config: ClientConfig,
    /// How long it has for an answer, in seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 30))]
    pub timeout_seconds: i32,
    /// What it means for a planned update that the informer does not answer.
    #[serde(default)]
    pub failure_policy: FailurePolicy,
}

fn yes() -> bool {
    true
}

fn default_timeout() -> i32 {
    DEFAULT_TIMEOUT_SECONDS
}

fn default_port() -> i32 {
    DEFAULT_PORT
}

impl Default for UpdateInformerSpec {
    fn default() -> Self {
        Self {
            enabled: true,
            client_config: ClientConfig::default(),
            timeout_seconds: DEFAULT_TIMEOUT_SECONDS,
            failure_policy: FailurePolicy::default(),
        }
    }
}

/// Where an informer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// The service of the cluster behind which it is.
    pub service: ServiceReference,
    /// The authorities (PEM in base64) that sign its certificate. The annotation `runtime.cluster.x-k8s.io/inject-ca-from-secret` comes first;
    /// with neither, OpenShift's service CA is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 51200))]
    pub ca_bundle: Option<String>,
}

/// A service of the cluster. Its certificate must be valid for `<name>.<namespace>.svc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReference {
    /// Its namespace.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: String,
    /// Its name.
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Its port.
    #[serde(default = "default_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// What comes before the path of the hooks, such as `/insights`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), regex(pattern = "^(/[-A-Za-z0-9._~]+)*/?$"))]
    pub path: Option<String>,
}

impl Default for ServiceReference {
    fn default() -> Self {
        Self {
            namespace: String::new(),
            name: String::new(),
            port: DEFAULT_PORT,
            path: None,
        }
    }
}

/// What it means for a planned update that an informer does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// It is a finding, which has to be fixed or accepted.
    #[default]
    Fail,
    /// It is only shown.
    Ignore,
}

/// A hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Handler {
    /// It knows about the update that is under way.
    #[serde(rename = "status")]
    Status,
    /// It knows about updates that are planned.
    #[serde(rename = "plan")]
    Plan,
}

/// How an informer is doing. The agent writes it, never the informer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateInformerStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The API levels of the hooks that it speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub api_versions: Vec<String>,
    /// The hooks that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub handlers: Vec<Handler>,
    /// When it last said what it can do.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_discovery_time: Option<Time>,
    /// Online: does it answer?
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<InformerCondition>,
}

/// A condition with a heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InformerCondition {
    /// What the condition is about.
    #[serde(rename = "type")]
    #[schemars(length(max = 316))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Why, as one CamelCase word.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// Why, and what to do.
    #[schemars(length(max = 32768))]
    pub message: String,
    /// When it last answered.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_heartbeat_time: Option<Time>,
    /// When the status last changed.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub last_transition_time: Time,
}
