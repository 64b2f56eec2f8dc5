//! The work by which a cluster is asked, before it starts, what would be a problem with its upgrade: an UpdatePlan where our agent is, and a
//! ClusterVersion that is only read. What comes back is bounded, and nothing of it is believed to be more than text.

use std::cmp::Reverse;
use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition};
use drydock_api::names::{
    CLUSTER_VERSION, KIND_LABEL, PRE_CHECKS_KIND, QUESTION_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::ManifestWork;
use drydock_api::ocm::manifest_work::{
    Manifest, ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier, Workload,
};
use drydock_rollout::{
    AcceptedFinding, AnswerSource, Finding, FindingLevel, Owner, PreCheckAnswer, PreCheckAsk,
    PreCheckQuestion, PreCheckWork, RiskAcceptance, Uid, UpgradeKey, bounded, pre_checks_work_name,
};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use semver::Version;
use serde_json::{Map, Value, json};

use super::feedback::{self, text};
use super::partial::PartialManifestWork;
use super::{cluster_version, read};

const GROUP: &str = "config.openshift.io";
const PLANS: &str = "updateplans";
const RBAC: &str = "rbac.authorization.k8s.io";
/// Our role on the cluster that lets the work agent read ClusterVersion, and no more: the klusterlet aggregates it into the agent's.
const READER: &str = "drydock-clusterversion-reader";
/// The agent's informer that reads ClusterVersion: what the hub reads there itself has its names.
const CLUSTER_VERSION_INFORMER: &str = "drydock.cluster-version";
/// The most findings that are fed back of a cluster: its worst.
pub const FINDINGS: usize = 5;
/// The longest text that is kept of a cluster, in bytes.
const TEXT: usize = 256;

const PLAN_PATHS: [(&str, &str); 6] = [
    ("generation", ".metadata.generation"),
    ("observedGeneration", ".status.observedGeneration"),
    ("asked", ".spec.refreshRequestedAt"),
    ("collectedAt", ".status.collectedAt"),
    ("verdict", ".status.verdict"),
    ("unaccepted", ".status.counts.unaccepted"),
];
const FINDING_FIELDS: [&str; 5] = ["uuid", "informer", "level", "summary", "accepted"];
const VERSION_PATHS: [(&str, &str); 8] = [
    ("version", ".status.history[0].version"),
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
            cluster_version::identifier(),
            &version_paths(version),
            feedback::read_only(),
        ),
        reader_config(),
    ];
    if let Some(version) = version.filter(|_| ask.question.asks_agent) {
        manifests.push(Manifest(plan(ask, version)));
        configs.push(feedback::watched_values(
            plan_identifier(version),
            &plan_paths(),
            feedback::server_side_apply(),
        ));
    }
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: manifests.into(),
            ..Workload::default()
        }),
        // ClusterVersion stays, whatever happens to the work.
        delete_option: Some(cluster_version::orphaning()),
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
    });
    if let Some(image) = &ask.target.image {
        spec["targetImage"] = image.clone().into();
    }
    if !ask.accepted.is_empty() {
        spec["acceptedRisks"] = ask.accepted.iter().map(accepted_risk).collect();
    }
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"),
        "kind": "UpdatePlan",
        "metadata": {"name": plan_name(version)},
        "spec": spec,
    })
}

fn accepted_risk(risk: &RiskAcceptance) -> Value {
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
    entry.insert("level".to_owned(), risk.level.as_str().into());
    entry.insert("acceptedBy".to_owned(), (*risk.accepted_by).into());
    entry.insert("reason".to_owned(), (*risk.reason).into());
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

/// The name of a value that is there when ClusterVersion was read with the paths of this target, and not with those of an earlier one.
fn mark(version: Option<&Version>) -> String {
    version.map_or_else(|| "read".to_owned(), |version| format!("read-for-{version}"))
}

/// A version has no character that a path would have to quote.
fn version_paths(version: Option<&Version>) -> Vec<(String, String)> {
    let mut all = paths(&VERSION_PATHS);
    all.push((mark(version), ".metadata.name".to_owned()));
    if let Some(version) = version {
        let conditional = format!(
            r#".status.conditionalUpdates[?(@.release.version=="{version}")].conditions[?(@.type=="Recommended")]"#
        );
        all.extend([
            (
                "offered".to_owned(),
                format!(r#".status.availableUpdates[?(@.version=="{version}")].version"#),
            ),
            ("recommended".to_owned(), format!("{conditional}.status")),
            ("recommendedReason".to_owned(), format!("{conditional}.reason")),
            ("recommendedMessage".to_owned(), format!("{conditional}.message")),
        ]);
    }
    all
}

/// One of our works that ask, and whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckDigest {
    /// Which cluster.
    pub cluster: ClusterName,
    /// The name of the work.
    pub name: Arc<str>,
    /// The work.
    pub work: Arc<PreCheckWork>,
}

/// The cluster that a work of this name asks, if it is one.
pub fn asked_cluster(namespace: &str, name: &str) -> Option<ClusterName> {
    let rest = name.strip_prefix(namespace)?;
    rest.starts_with("-pre-checks-")
        .then(|| ClusterName::from(namespace))
}

/// Reads a work that asks; `None` if it is none.
pub fn digest(work: &PartialManifestWork) -> Option<PreCheckDigest> {
    let name = work.name_any();
    let cluster = asked_cluster(&work.namespace()?, &name)?;
    let question = work.annotations().get(QUESTION_ANNOTATION);
    let question: Option<PreCheckQuestion> = question.and_then(|text| serde_json::from_str(text).ok());
    let (answer, trouble) = question
        .as_ref()
        .map_or((None, None), |question| answer(work, question));
    let owner = Owner {
        uid: Uid::new(
            work.labels()
                .get(UPGRADE_UID_LABEL)
                .map(String::as_str)
                .unwrap_or_default(),
        ),
        upgrade: work
            .annotations()
            .get(UPGRADE_ANNOTATION)
            .and_then(|text| UpgradeKey::parse(text)),
    };
    Some(PreCheckDigest {
        cluster,
        name: name.into(),
        work: Arc::new(PreCheckWork {
            uid: Uid::new(work.uid().unwrap_or_default()),
            owner,
            deleting: work.metadata.deletion_timestamp.is_some(),
            question: question.map(Arc::new),
            answer,
            trouble,
        }),
    })
}

/// The answer to a question, or why there is none.
fn answer(
    work: &PartialManifestWork,
    question: &PreCheckQuestion,
) -> (Option<PreCheckAnswer>, Option<Arc<str>>) {
    let target = Version::parse(&question.target).ok();
    let cluster = read::manifest(work, GROUP, "clusterversions", "", CLUSTER_VERSION);
    let running = cluster.and_then(|status| cluster_version::parse_version(&text(status, "version")?));
    let is_there = running
        .as_ref()
        .zip(target.as_ref())
        .is_some_and(|(running, target)| running.cmp_precedence(target).is_ge());
    if is_there {
        let answer = PreCheckAnswer {
            source: AnswerSource::AtTarget,
            findings: Arc::default(),
        };
        return (Some(answer), None);
    }
    let by_cluster_version = || {
        let status = cluster.filter(|status| text(status, &mark(target.as_ref())).is_some())?;
        let findings = by_cluster_version(status, running.as_ref()?, target.as_ref());
        Some(PreCheckAnswer {
            source: AnswerSource::ClusterVersion,
            findings: findings.into(),
        })
    };
    let Some(version) = target.as_ref().filter(|_| question.asks_agent) else {
        let trouble = || not_applied(work, "clusterversions").map(|(words, _)| words);
        let answer = by_cluster_version();
        return (answer.clone(), trouble().filter(|_| answer.is_none()));
    };
    match not_applied(work, PLANS) {
        Some((_, true)) => (by_cluster_version(), None),
        Some((words, false)) => (None, Some(words)),
        None => {
            let status = read::manifest(work, GROUP, PLANS, "", &plan_name(version));
            (status.and_then(|status| by_agent(status, question)), None)
        }
    }
}

/// Why an object of this resource is not applied, if it is not, and whether the cluster does not know its kind.
fn not_applied(work: &PartialManifestWork, resource: &str) -> Option<(Arc<str>, bool)> {
    let is_it = |manifest: &&ManifestStatus| {
        let meta = &manifest.resource_meta;
        let kind = meta.kind.as_deref().unwrap_or_default();
        // Where the kind is not known, nor is its plural.
        meta.resource.as_deref() == Some(resource) || (resource == PLANS && kind == "UpdatePlan")
    };
    let manifests = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref())?;
    let manifest = manifests.manifests.iter().find(is_it)?;
    let failed = conditions::find(&manifest.conditions, "Applied").filter(|applied| applied.is_false())?;
    let words = failed.message();
    // What `meta.NoKindMatchError` and kubectl's resource builder say.
    let is_unknown = ["no matches for kind", "doesn't have a resource type"]
        .iter()
        .any(|known| words.contains(known));
    Some((bounded(words, TEXT).into(), is_unknown))
}

/// What the agent says, if it is about this question: all values come from one read of the plan.
fn by_agent(status: &ManifestStatus, question: &PreCheckQuestion) -> Option<PreCheckAnswer> {
    let said = |name: &str| text(status, name);
    let number = |name: &str| said(name)?.parse::<i64>().ok();
    let is_current = number("observedGeneration")? >= number("generation")?;
    // Somebody on the cluster may have asked again since.
    let asked: Timestamp = said("asked")?.parse().ok()?;
    if !is_current || asked < question.asked_at {
        return None;
    }
    let collected_at = said("collectedAt")?.parse().ok()?;
    // A verdict that is not known holds.
    let stops = !matches!(said("verdict")?.as_str(), "Go" | "Caution");
    let unaccepted = number("unaccepted").and_then(|count| usize::try_from(count).ok());
    Some(PreCheckAnswer {
        source: AnswerSource::Agent {
            collected_at,
            stops,
            unaccepted: unaccepted.unwrap_or_default().min(MOST_FINDINGS),
        },
        findings: (0..FINDINGS).filter_map(|index| finding(status, index)).collect(),
    })
}

/// A cluster that says that it has more findings than that has lost count.
const MOST_FINDINGS: usize = 1_000_000;

fn finding(status: &ManifestStatus, index: usize) -> Option<Finding> {
    let said = |field: &str| text(status, &format!("{field}{index}"));
    let kept = |field: &str| -> Option<Arc<str>> { Some(printable(&said(field)?)) };
    let uuid = said("uuid").filter(|uuid| is_uuid(uuid)).map(Arc::from);
    Some(Finding {
        uuid,
        informer: kept("informer")?,
        uid: None,
        level: said("level")
            .and_then(|level| FindingLevel::parse(&level))
            .unwrap_or(FindingLevel::Unknown),
        summary: kept("summary")?,
        accepted: said("accepted").as_deref() == Some("true"),
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A text of a cluster, cut, on one line and without what a terminal would obey.
fn printable(said: &str) -> Arc<str> {
    let clean: String = bounded(said, TEXT)
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    clean.trim().into()
}

/// What ClusterVersion says would be a problem, in the agent's words (its informer `drydock.cluster-version`).
fn by_cluster_version(status: &ManifestStatus, running: &Version, target: Option<&Version>) -> Vec<Finding> {
    let is = |name, value| feedback::is(status, name, value);
    let said = |name: &str| {
        text(status, name)
            .map(|said| printable(&said))
            .unwrap_or_default()
    };
    let mut findings = Vec::new();
    let mut add = |uid: &str, level, summary: String| findings.push(own_finding(uid, "", level, &summary));
    if is("failing", "True") {
        let summary = format!("The cluster's update is failing: {}", said("failingMessage"));
        add("failing", FindingLevel::Warning, summary);
    }
    if is("progressing", "True") {
        let summary = "Another update is under way".to_owned();
        add("update-in-progress", FindingLevel::Warning, summary);
    }
    let is_minor = target.is_none_or(|target| (target.major, target.minor) != (running.major, running.minor));
    if is("upgradeable", "False") && is_minor {
        let reason = said("upgradeableReason");
        let uid = if reason.contains("AdminAck") {
            "admin-ack-required"
        } else {
            "not-upgradeable"
        };
        let summary = format!("The cluster may not be updated to another minor release: {reason}");
        add(uid, FindingLevel::Error, summary);
    }
    let Some(target) = target else {
        findings.sort_by_key(|found| Reverse(found.level));
        return findings;
    };
    if is("retrievedUpdates", "False") {
        let summary = "Whether the target is recommended is not known: the update service does not answer";
        add("updates-not-retrieved", FindingLevel::Warning, summary.to_owned());
    } else if text(status, "recommended").is_some_and(|recommended| recommended != "True") {
        let level = if is("recommended", "False") {
            FindingLevel::Warning
        } else {
            FindingLevel::Unknown
        };
        let reason = said("recommendedReason");
        // Which risks those are is in the words: who has accepted one has accepted no other.
        let risks = format!(
            "{reason}: {}",
            text(status, "recommendedMessage").unwrap_or_default()
        );
        let summary = format!("{target} is not recommended: {reason}");
        findings.push(own_finding("not-recommended", &risks, level, &summary));
    } else if text(status, "offered").is_none() && text(status, "recommended").is_none() {
        let summary = format!("{target} is not among the updates that the update service offers");
        add("not-offered", FindingLevel::Error, summary);
    }
    findings.sort_by_key(|found| Reverse(found.level));
    findings
}

/// A finding about ClusterVersion as a whole, under the identity that the agent gives it (insights.md, section 1.4), or about a part of it that
/// `about` tells from others.
fn own_finding(uid: &str, about: &str, level: FindingLevel, summary: &str) -> Finding {
    use sha2::Digest;
    let identity = format!(
        "{CLUSTER_VERSION_INFORMER}/ControlPlane//{GROUP}:ClusterVersion::{CLUSTER_VERSION}/{uid}{about}"
    );
    let digest = sha2::Sha256::digest(identity.as_bytes());
    let uuid: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Finding {
        uuid: Some(uuid.into()),
        informer: CLUSTER_VERSION_INFORMER.into(),
        uid: Some(uid.into()),
        level,
        summary: bounded(summary, TEXT).into(),
        accepted: false,
    }
}

#[cfg(test)]
mod tests;
