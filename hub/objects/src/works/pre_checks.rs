//! The work by which a cluster is asked, before it starts, what would be a problem with its upgrade: an UpdatePlan where our agent is, and a
//! ClusterVersion that is only read. What comes back is bounded, and nothing of it is believed to be more than text.

mod answer;
mod cluster_version;

use drydock_api::ClusterName;
use drydock_api::names::{
    CLUSTER_VERSION, KIND_LABEL, PRE_CHECKS_KIND, QUESTION_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::ManifestWork;
use drydock_api::ocm::manifest_work::{
    Manifest, ManifestConfig, ManifestWorkSpec, ResourceIdentifier, Workload,
};
use drydock_rollout::{
    AcceptedFinding, PreCheckAsk, PreCheckQuestion, RiskAcceptance, Uid, UpgradeKey, pre_checks_work_name,
};
use jiff::Timestamp;
use kube::Resource;
use semver::Version;
use serde_json::{Map, Value, json};

use super::feedback;
pub use answer::{ASKED_FOR, PreCheckDigest, asked_cluster, digest};

const GROUP: &str = "config.openshift.io";
const PLANS: &str = "updateplans";
const RBAC: &str = "rbac.authorization.k8s.io";
/// Our role on the cluster that lets the work agent read ClusterVersion, and no more: the klusterlet aggregates it into the agent's.
const READER: &str = "drydock-clusterversion-reader";
/// The most findings that are fed back of a cluster: its worst.
pub const FINDINGS: usize = 5;

const PLAN_PATHS: [(&str, &str); 10] = [
    ("generation", ".metadata.generation"),
    ("observedGeneration", ".status.observedGeneration"),
    ("asked", ".spec.refreshRequestedAt"),
    ("askedFor", ".spec.askedFor"),
    ("targetImage", ".spec.targetImage"),
    ("collectedAt", ".status.collectedAt"),
    ("phase", ".status.phase"),
    ("verdict", ".status.verdict"),
    ("unaccepted", ".status.counts.unaccepted"),
    ("endedRisks", ".status.endedRisks"),
];
const FINDING_FIELDS: [&str; 8] = [
    "uuid",
    "uid",
    "informer",
    "level",
    "summary",
    "type",
    "action",
    "acceptance",
];
const VERSION_PATHS: [(&str, &str); 24] = [
    ("version", ".status.history[0].version"),
    ("state", ".status.history[0].state"),
    ("versionBefore", ".status.history[1].version"),
    // Of several the first counts, which is the newest.
    ("completed", r#".status.history[?(@.state=="Completed")].version"#),
    ("failing", r#".status.conditions[?(@.type=="Failing")].status"#),
    (
        "failingMessage",
        r#".status.conditions[?(@.type=="Failing")].message"#,
    ),
    (
        "progressing",
        r#".status.conditions[?(@.type=="Progressing")].status"#,
    ),
    (
        "upgradeable",
        r#".status.conditions[?(@.type=="Upgradeable")].status"#,
    ),
    (
        "upgradeableReason",
        r#".status.conditions[?(@.type=="Upgradeable")].reason"#,
    ),
    (
        "upgradeableMessage",
        r#".status.conditions[?(@.type=="Upgradeable")].message"#,
    ),
    (
        "available",
        r#".status.conditions[?(@.type=="Available")].status"#,
    ),
    (
        "availableReason",
        r#".status.conditions[?(@.type=="Available")].reason"#,
    ),
    ("invalid", r#".status.conditions[?(@.type=="Invalid")].status"#),
    (
        "invalidReason",
        r#".status.conditions[?(@.type=="Invalid")].reason"#,
    ),
    (
        "invalidMessage",
        r#".status.conditions[?(@.type=="Invalid")].message"#,
    ),
    ("wanted", ".spec.desiredUpdate.version"),
    ("wantedImage", ".spec.desiredUpdate.image"),
    ("wantedArchitecture", ".spec.desiredUpdate.architecture"),
    ("desired", ".status.desired.version"),
    ("desiredArchitecture", ".status.desired.architecture"),
    ("desiredImage", ".status.desired.image"),
    (
        "accepted",
        r#".status.conditions[?(@.type=="ReleaseAccepted")].status"#,
    ),
    (
        "acceptedReason",
        r#".status.conditions[?(@.type=="ReleaseAccepted")].reason"#,
    ),
    (
        "retrievedUpdates",
        r#".status.conditions[?(@.type=="RetrievedUpdates")].status"#,
    ),
];

/// The work that asks, as it is applied.
pub fn build(upgrade: &UpgradeKey, uid: &Uid, ask: &PreCheckAsk) -> Value {
    let spec = spec(ask);
    json!({
        "apiVersion": ManifestWork::api_version(&()),
        "kind": ManifestWork::kind(&()),
        "metadata": {
            "name": pre_checks_work_name(&ask.cluster, upgrade),
            "namespace": ask.cluster.as_str(),
            "labels": {UPGRADE_UID_LABEL: uid.as_str(), KIND_LABEL: PRE_CHECKS_KIND},
            "annotations": {
                UPGRADE_ANNOTATION: upgrade.to_string(),
                QUESTION_ANNOTATION: json!(ask.question).to_string(),
            },
        },
        "spec": spec,
    })
}

fn spec(ask: &PreCheckAsk) -> ManifestWorkSpec {
    let version = ask.target.version.as_ref();
    let mut manifests = vec![
        Manifest(json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "ClusterVersion",
            "metadata": {"name": CLUSTER_VERSION},
        })),
        Manifest(reader()),
    ];
    let mut configs = vec![
        feedback::watched_values(
            super::cluster_version::identifier(),
            &version_paths(version, &ask.question),
            feedback::read_only(),
        ),
        reader_config(),
    ];
    if let Some(version) = version.filter(|_| ask.question.asks_agent) {
        manifests.push(Manifest(plan(ask, version)));
        configs.push(feedback::watched_values(
            plan_identifier(version),
            &plan_paths(),
            if ask.question.yields {
                feedback::read_only()
            } else {
                feedback::server_side_apply()
            },
        ));
    }
    // ClusterVersion stays, whatever happens to the work, and so does a plan that another upgrade has asked.
    let yielded = version.filter(|_| ask.question.asks_agent && ask.question.yields);
    let orphans = std::iter::once(super::cluster_version::identifier()).chain(yielded.map(plan_identifier));
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: manifests.into(),
            ..Workload::default()
        }),
        delete_option: Some(super::cluster_version::orphaning_of(orphans.collect())),
        manifest_configs: configs.into(),
        ..ManifestWorkSpec::default()
    }
}

/// The name of the plan of a target, as the API server requires it.
fn plan_name(version: &Version) -> String {
    drydock_api::insights::plan_name(&version.to_string())
}

fn plan(ask: &PreCheckAsk, version: &Version) -> Value {
    let mut spec = json!({
        "targetRelease": version.to_string(),
        "refreshRequestedAt": ask.question.asked_at.to_string(),
        "askedFor": &*ask.question.asked_for,
        // Also where none is asked for: somebody on the cluster may have had the plan asked about another one.
        "targetImage": ask.target.image.as_deref().unwrap_or_default(),
    });
    if !ask.accepted.is_empty() {
        let risks = ask.accepted.iter();
        spec["acceptedRisks"] = risks.map(|risk| accepted_risk(risk, &ask.cluster)).collect();
    }
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"),
        "kind": "UpdatePlan",
        "metadata": {"name": plan_name(version)},
        "spec": spec,
    })
}

fn accepted_risk(risk: &RiskAcceptance, cluster: &ClusterName) -> Value {
    let mut entry = Map::new();
    match &risk.finding {
        AcceptedFinding::Uuid(uuid) => {
            entry.insert("uuid".to_owned(), (**uuid).into());
        }
        AcceptedFinding::Named { informer, uid } => {
            entry.insert("informer".to_owned(), (**informer).into());
            entry.insert("uid".to_owned(), (**uid).into());
        }
    }
    entry.insert("id".to_owned(), (*risk.id).into());
    if risk.ended.has(cluster) {
        entry.insert("ended".to_owned(), true.into());
    }
    entry.insert("level".to_owned(), risk.level.as_str().into());
    entry.insert("acceptedBy".to_owned(), (*risk.accepted_by).into());
    entry.insert("reason".to_owned(), (*risk.reason).into());
    if let Some(accepted_at) = risk.accepted_at {
        entry.insert("acceptedAt".to_owned(), accepted_at.to_string().into());
    }
    if let Some(until) = risk.until {
        entry.insert("until".to_owned(), until.to_string().into());
    }
    Value::Object(entry)
}

fn plan_identifier(version: &Version) -> ResourceIdentifier {
    ResourceIdentifier {
        group: Some(GROUP.to_owned()),
        resource: PLANS.to_owned(),
        name: plan_name(version),
        ..ResourceIdentifier::default()
    }
}

fn reader() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": {
            "name": READER,
            "labels": {"open-cluster-management.io/aggregate-to-work": "true"},
        },
        "rules": [{
            "apiGroups": [GROUP],
            "resources": ["clusterversions"],
            "verbs": ["get", "list", "watch"],
        }],
    })
}

fn reader_config() -> ManifestConfig {
    ManifestConfig {
        resource_identifier: ResourceIdentifier {
            group: Some(RBAC.to_owned()),
            resource: "clusterroles".to_owned(),
            name: READER.to_owned(),
            ..ResourceIdentifier::default()
        },
        update_strategy: Some(feedback::server_side_apply()),
        ..ManifestConfig::default()
    }
}

fn paths(fixed: &[(&str, &str)]) -> Vec<(String, String)> {
    let fixed = fixed.iter();
    fixed
        .map(|(name, path)| ((*name).to_owned(), (*path).to_owned()))
        .collect()
}

fn plan_paths() -> Vec<(String, String)> {
    let mut all = paths(&PLAN_PATHS);
    for index in 0..FINDINGS {
        let of_finding = FINDING_FIELDS.iter().map(|field| {
            (
                format!("{field}{index}"),
                format!(".status.reasons[{index}].{field}"),
            )
        });
        all.extend(of_finding);
    }
    all
}

/// How the name begins of a value that is there when ClusterVersion was read with the paths of this target, and not with those of an
/// earlier one.
fn marks(version: Option<&Version>) -> String {
    version.map_or_else(
        || "read-at-".to_owned(),
        |version| format!("read-for-{version}-at-"),
    )
}

/// The whole name: of a value that was read since it was asked at this moment. A work agent that is away leaves the one of before.
fn mark(version: Option<&Version>, asked_at: Timestamp) -> String {
    format!("{}{}", marks(version), asked_at.as_second())
}

/// By what the release is found among those that the update service offers, and its value, if no character of it has to be quoted in a path.
fn in_lists(version: Option<&Version>, image: &str) -> Option<(&'static str, String)> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte);
    match version {
        Some(version) => Some(("version", version.to_string())),
        None if !image.is_empty() && image.bytes().all(is_plain) => Some(("image", image.to_owned())),
        None => None,
    }
}

fn version_paths(version: Option<&Version>, question: &PreCheckQuestion) -> Vec<(String, String)> {
    let mut all = paths(&VERSION_PATHS);
    all.push((mark(version, question.asked_at), ".metadata.name".to_owned()));
    if !question.image.is_empty() {
        all.push(("image".to_owned(), ".status.history[0].image".to_owned()));
    }
    if let Some((field, value)) = in_lists(version, &question.image) {
        let update = format!(r#".status.availableUpdates[?(@.{field}=="{value}")]"#);
        let conditional_update = format!(r#".status.conditionalUpdates[?(@.release.{field}=="{value}")]"#);
        let conditional = format!(r#"{conditional_update}.conditions[?(@.type=="Recommended")]"#);
        all.extend([
            ("offeredImage".to_owned(), format!("{update}.image")),
            (
                "conditionalImage".to_owned(),
                format!("{conditional_update}.release.image"),
            ),
            ("offered".to_owned(), format!("{update}.version")),
            ("recommended".to_owned(), format!("{conditional}.status")),
            ("recommendedReason".to_owned(), format!("{conditional}.reason")),
            ("recommendedMessage".to_owned(), format!("{conditional}.message")),
        ]);
    }
    all
}

#[cfg(test)]
mod tests;
