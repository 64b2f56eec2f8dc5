//! Upgrading a cluster's operators: a Job that approves their InstallPlans and waits until the operators run.

use drydock_api::names::APPROVE_COMMAND;
use drydock_api::ocm::manifest_work::{
    DeleteOption, Manifest, ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier, Workload,
};
use drydock_rollout::{ActionJob, ActionJobState, OperatorKey, Operators};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::action::{self, ATTEMPT};
use super::feedback;
use super::partial::PartialManifestWork;

/// All objects of the work have this name, and the Job is in the namespace of this name.
const NAME: &str = "installplan-approver";
const RBAC: &str = "rbac.authorization.k8s.io";
/// How much longer than its own time the Job may take: to start, and to say how it ended.
const GRACE: SignedDuration = SignedDuration::from_secs(90);
/// How often the Job's pod is started again.
const BACK_OFF_LIMIT: i64 = 3;

const FAILED: &str = "jobFailed";
const PATHS: [(&str, &str); 5] = [
    ("succeeded", ".status.succeeded"),
    ("active", ".status.active"),
    ("failed", ".status.failed"),
    (FAILED, r#".status.conditions[?(@.type=="Failed")].status"#),
    (ATTEMPT, r".metadata.annotations.drydock\.dev/attempt"),
];

/// The work that approves the upgrades of these operators within `timeout`.
pub(super) fn spec(
    operators: &Operators,
    timeout: SignedDuration,
    image: &str,
    attempt: &str,
) -> ManifestWorkSpec {
    let mut job = job(operators, timeout, image);
    action::mark(&mut job, attempt);
    let manifests = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}),
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": NAME, "namespace": NAME},
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": NAME},
            "rules": [
                {
                    "apiGroups": ["operators.coreos.com"],
                    "resources": ["installplans", "subscriptions"],
                    "verbs": ["get", "list", "patch"],
                },
                {
                    "apiGroups": ["operators.coreos.com"],
                    "resources": ["clusterserviceversions"],
                    "verbs": ["get", "list"],
                },
            ],
        }),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": NAME},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}],
        }),
        job,
    ];
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: manifests.into_iter().map(Manifest).collect::<Vec<_>>().into(),
            ..Workload::default()
        }),
        delete_option: Some(DeleteOption {
            propagation_policy: Some("Foreground".to_owned()),
            ..DeleteOption::default()
        }),
        manifest_configs: vec![ManifestConfig {
            resource_identifier: identifier(),
            feedback_rules: vec![feedback::json_paths(&PATHS)].into(),
            feedback_scrape_type: Some("Watch".to_owned()),
            update_strategy: Some(feedback::create_only()),
            ..ManifestConfig::default()
        }]
        .into(),
        ..ManifestWorkSpec::default()
    }
}

fn identifier() -> ResourceIdentifier {
    ResourceIdentifier {
        group: Some("batch".to_owned()),
        resource: "jobs".to_owned(),
        name: NAME.to_owned(),
        namespace: Some(NAME.to_owned()),
        ..ResourceIdentifier::default()
    }
}

fn job(operators: &Operators, timeout: SignedDuration, image: &str) -> Value {
    let wait = timeout.as_secs();
    let text = |name: &str, value: String| json!({"name": name, "value": value});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": NAME, "namespace": NAME},
        "spec": {
            "activeDeadlineSeconds": wait.saturating_add(GRACE.as_secs()),
            "backoffLimit": BACK_OFF_LIMIT,
            "template": {"spec": {
                "restartPolicy": "OnFailure",
                "serviceAccountName": NAME,
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": NAME,
                    "image": image,
                    "command": APPROVE_COMMAND,
                    "env": [
                        text("WAITTIME", wait.to_string()),
                        text("INCLUDELIST", pairs(operators.include.as_deref().unwrap_or_default())),
                        text("EXCLUDELIST", pairs(&operators.exclude)),
                    ],
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                }],
            }},
        },
    })
}

/// `name,namespace` pairs, joined by spaces.
fn pairs(operators: &[OperatorKey]) -> String {
    let pairs: Vec<String> = operators
        .iter()
        .map(|operator| format!("{},{}", operator.name, operator.namespace))
        .collect();
    pairs.join(" ")
}

/// How far the Job is, as actions are read.
pub(super) fn runs(work: &PartialManifestWork) -> Vec<ActionJob> {
    let manifests = work
        .spec
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter());
    let mut jobs = manifests.filter(|manifest| manifest.0["kind"] == "Job");
    let status = super::read::manifest(work, "batch", "jobs", NAME, NAME);
    let state = match (jobs.next(), status) {
        (Some(job), Some(status)) => action::of_this_attempt(&job.0, status, state),
        _ => ActionJobState::Running,
    };
    vec![ActionJob {
        name: format!("Job {NAME}/{NAME}").into(),
        state,
    }]
}

fn state(status: &ManifestStatus) -> ActionJobState {
    let number = |name| feedback::text(status, name).and_then(|text| text.parse::<i64>().ok());
    match number("succeeded") {
        _ if feedback::is(status, FAILED, "True") => ActionJobState::Failed,
        Some(1..) => ActionJobState::Succeeded,
        Some(_) | None => ActionJobState::Running,
    }
}

/// The agent's image of this release.
pub fn default_agent_image() -> &'static str {
    concat!("ghcr.io/drydock-dev/drydock-agent:", env!("CARGO_PKG_VERSION"))
}
