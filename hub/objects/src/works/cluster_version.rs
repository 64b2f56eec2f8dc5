//! Upgrading a cluster through its ClusterVersion.

use drydock_api::lock;
use drydock_api::names::CLUSTER_VERSION;
use drydock_api::ocm::manifest_work::{
    DeleteOption, Manifest, ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier,
    SelectivelyOrphan, Workload,
};
use std::sync::Arc;

use drydock_api::ocm::ManifestWork;
use drydock_rollout::{RejectedTarget, Target, UpdateState, VersionFeedback, bounded};
use jiff::Timestamp;
use semver::Version;
use serde_json::{Map, Value, json};

use super::feedback::{self, text};
use super::partial::PartialManifestWork;

const GROUP: &str = "config.openshift.io";
const RESOURCE: &str = "clusterversions";
const RBAC: &str = "rbac.authorization.k8s.io";
/// Of our own role on the cluster, which the klusterlet aggregates into the work agent's.
const ROLE: &str = "drydock-clusterversion";

pub(super) const PATHS: [(&str, &str); 19] = [
    (
        "lock",
        r".metadata.annotations.managedupgrade\.appuio\.io/upgrade-job",
    ),
    ("generation", ".metadata.generation"),
    ("observedGeneration", ".status.observedGeneration"),
    ("version", ".status.history[0].version"),
    ("state", ".status.history[0].state"),
    ("verified", ".status.history[0].verified"),
    ("image", ".status.history[0].image"),
    ("channel", ".spec.channel"),
    ("asked", ".spec.desiredUpdate.version"),
    ("askedImage", ".spec.desiredUpdate.image"),
    (
        "retrievedUpdates",
        r#".status.conditions[?(@.type=="RetrievedUpdates")].status"#,
    ),
    (
        "message",
        r#".status.conditions[?(@.type=="Progressing")].message"#,
    ),
    ("failing", r#".status.conditions[?(@.type=="Failing")].status"#),
    (
        "failingMessage",
        r#".status.conditions[?(@.type=="Failing")].message"#,
    ),
    (
        "failingSince",
        r#".status.conditions[?(@.type=="Failing")].lastTransitionTime"#,
    ),
    ("invalid", r#".status.conditions[?(@.type=="Invalid")].status"#),
    (
        "invalidMessage",
        r#".status.conditions[?(@.type=="Invalid")].message"#,
    ),
    (
        "releaseAccepted",
        r#".status.conditions[?(@.type=="ReleaseAccepted")].status"#,
    ),
    (
        "releaseAcceptedMessage",
        r#".status.conditions[?(@.type=="ReleaseAccepted")].message"#,
    ),
];

/// The work that asks a cluster for the target, or only reads what it runs. ClusterVersion stays when the work goes.
pub(super) fn spec(cluster_version: Value, grant_cluster_admin: bool, observed: bool) -> ManifestWorkSpec {
    let strategy = if observed {
        feedback::read_only()
    } else {
        feedback::server_side_apply()
    };
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: vec![Manifest(cluster_version), Manifest(rights(grant_cluster_admin))].into(),
            ..Workload::default()
        }),
        delete_option: Some(orphaning()),
        // The first one: the end of enforcement finds it there.
        manifest_configs: vec![
            feedback::watched(identifier(), &PATHS, strategy),
            rights_config(grant_cluster_admin),
        ]
        .into(),
        ..ManifestWorkSpec::default()
    }
}

/// ClusterVersion stays when the work goes; all else goes with it.
pub(super) fn orphaning() -> DeleteOption {
    orphaning_of(vec![identifier()])
}

/// The same for these objects.
pub(super) fn orphaning_of(objects: Vec<ResourceIdentifier>) -> DeleteOption {
    DeleteOption {
        propagation_policy: Some("SelectivelyOrphan".to_owned()),
        selectively_orphans: Some(SelectivelyOrphan {
            orphaning_rules: objects.into(),
            ..SelectivelyOrphan::default()
        }),
        ..DeleteOption::default()
    }
}

/// What lets the work agent read and write ClusterVersion.
pub(super) fn rights(grant_cluster_admin: bool) -> Value {
    if grant_cluster_admin {
        cluster_admin()
    } else {
        role()
    }
}

/// A ClusterVersion that is only read.
pub(super) fn read_only() -> (Value, ManifestConfig) {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterVersion",
        "metadata": {"name": CLUSTER_VERSION},
    });
    (
        object,
        feedback::watched(identifier(), &PATHS, feedback::read_only()),
    )
}

/// The manifests of a work with a ClusterVersion that says nothing but a channel.
pub(super) fn manifests_with_channel(work: &ManifestWork, channel: &str) -> Vec<Value> {
    let manifests = work
        .spec
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter());
    manifests
        .map(|manifest| {
            let mut object = manifest.0.clone();
            if object["kind"] == "ClusterVersion" {
                object["spec"] = json!({"channel": channel});
            }
            object
        })
        .collect()
}

/// Group and plural, as the work agent compares them: a rule with an empty group matches nothing, and ClusterVersion would be
/// deleted with the work.
pub(super) fn identifier() -> ResourceIdentifier {
    ResourceIdentifier {
        group: Some(GROUP.to_owned()),
        resource: RESOURCE.to_owned(),
        name: CLUSTER_VERSION.to_owned(),
        ..ResourceIdentifier::default()
    }
}

/// The ClusterVersion that asks for a target.
pub(super) fn cluster_version(target: &Target, cluster_id: Option<&str>, has_architecture: bool) -> Value {
    // What is not asked for is emptied: what an earlier request has left there would contradict this one, or go beyond it.
    let mut update = Map::new();
    let version = target.version.as_ref().map(Version::to_string);
    update.insert("version".to_owned(), version.unwrap_or_default().into());
    update.insert(
        "image".to_owned(),
        target.image.clone().unwrap_or_default().into(),
    );
    update.insert("force".to_owned(), target.force.into());
    if has_architecture {
        update.insert("architecture".to_owned(), "".into());
    }
    let mut spec = Map::new();
    let texts = [
        ("clusterID", cluster_id),
        ("channel", target.channel.as_deref()),
        ("upstream", target.upstream.as_deref()),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            spec.insert(name.to_owned(), value.into());
        }
    }
    spec.insert("desiredUpdate".to_owned(), Value::Object(update));
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterVersion",
        "metadata": {"name": CLUSTER_VERSION},
        "spec": spec,
    })
}

fn role() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": {
            "name": ROLE,
            "labels": {"open-cluster-management.io/aggregate-to-work": "true"},
        },
        "rules": [{
            "apiGroups": [GROUP],
            "resources": [RESOURCE],
            "verbs": ["get", "list", "watch", "update", "patch"],
        }],
    })
}

fn cluster_admin() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "admin-ocm"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": "klusterlet-work-sa",
            "namespace": "open-cluster-management-agent",
        }],
    })
}

pub(super) fn rights_config(grant_cluster_admin: bool) -> ManifestConfig {
    let (resource, name) = if grant_cluster_admin {
        ("clusterrolebindings", "admin-ocm")
    } else {
        ("clusterroles", ROLE)
    };
    ManifestConfig {
        resource_identifier: ResourceIdentifier {
            group: Some(RBAC.to_owned()),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceIdentifier::default()
        },
        update_strategy: Some(feedback::server_side_apply()),
        ..ManifestConfig::default()
    }
}

/// The longest message of a cluster that is kept, in bytes.
const MESSAGE: usize = 512;

/// What ClusterVersion says, read at `now`; nothing before it has said anything.
pub(super) fn read(work: &PartialManifestWork, now: Timestamp) -> VersionFeedback {
    let Some(status) = super::read::manifest(work, GROUP, RESOURCE, "", CLUSTER_VERSION) else {
        return VersionFeedback::default();
    };
    let is = |name, value| feedback::is(status, name, value);
    let message = |name: &str, otherwise: &str| -> Arc<str> {
        let said = text(status, name).filter(|text| !text.is_empty());
        bounded(said.as_deref().unwrap_or(otherwise), MESSAGE).into()
    };
    let blocked_by = if is("releaseAccepted", "False") {
        Some(message("releaseAcceptedMessage", "the release is not accepted"))
    } else if is("failing", "True") {
        Some(message("failingMessage", "the cluster is failing"))
    } else {
        unreadable_version(status)
    };
    let failing = || is("failing", "True") && !is("releaseAccepted", "False");
    let failing_since = text(status, "failingSince").filter(|_| failing());
    let refused = is("invalid", "True") && has_looked(status);
    VersionFeedback {
        version: text(status, "version").and_then(|version| parse_version(&version)),
        state: match text(status, "state").as_deref() {
            Some("Completed") => Some(UpdateState::Completed),
            Some("Partial") => Some(UpdateState::Partial),
            _ => None,
        },
        image: text(status, "image").map(|image| bounded(&image, MESSAGE).into()),
        verified: text(status, "verified").and_then(|text| text.parse().ok()),
        channel: text(status, "channel").map(|channel| bounded(&channel, MESSAGE).into()),
        percent: text(status, "message").as_deref().and_then(percent),
        // Of what was asked before, a cluster that has not looked since says nothing about us.
        invalid: refused.then(|| {
            Box::new(RejectedTarget {
                message: message("invalidMessage", ""),
                since: now,
            })
        }),
        without_updates: is("retrievedUpdates", "False"),
        locked_by: text(status, "lock")
            .filter(|holder| !holder.is_empty())
            .map(|holder| bounded(&lock::describe(&holder), MESSAGE).into()),
        blocked_by,
        slow: is("failing", "Unknown").then(|| message("failingMessage", "the cluster is slow")),
        failing_since: failing_since.and_then(|since| since.parse().ok()),
        asked: text(status, "asked").and_then(|version| parse_version(&version)),
        asked_image: text(status, "askedImage")
            .filter(|image| !image.is_empty())
            .map(|image| bounded(&image, MESSAGE).into()),
    }
}

/// A version that a cluster says. Build metadata may be of any length, so it is bounded.
pub(super) fn parse_version(text: &str) -> Option<Version> {
    (text.len() <= 128).then(|| Version::parse(text).ok()).flatten()
}

/// A version that cannot be parsed is reported; otherwise the cluster would seem to have reported none.
pub(super) fn unreadable_version(status: &ManifestStatus) -> Option<Arc<str>> {
    let said = text(status, "version").filter(|said| !said.is_empty() && parse_version(said).is_none())?;
    let why = format!("the cluster reports version {said:?}, which is not a semantic version");
    Some(bounded(&why, MESSAGE).into())
}

/// Whether the status is about the present spec, as far as it says.
fn has_looked(status: &ManifestStatus) -> bool {
    let number = |name| text(status, name)?.parse::<i64>().ok();
    match (number("generation"), number("observedGeneration")) {
        (Some(generation), Some(observed)) => observed >= generation,
        _ => true,
    }
}

/// The share that is done, in steps of ten: each "N of M" would wake the hub.
fn percent(message: &str) -> Option<u8> {
    let (before, _) = message.split_once('%')?;
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    let percent: u8 = digits.parse().ok()?;
    Some(percent.min(100) / 10 * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With server-side apply what is left out stays as it is.
    #[test]
    fn nothing_of_an_earlier_request_remains() {
        let target = Target {
            version: Some(Version::new(4, 14, 12)),
            ..Target::default()
        };
        let asks = |has_architecture| {
            cluster_version(&target, None, has_architecture)["spec"]["desiredUpdate"].clone()
        };
        let expected = json!({"version": "4.14.12", "image": "", "force": false});
        assert_eq!(asks(false), expected, "older ones do not know the architecture");
        let expected = json!({"version": "4.14.12", "image": "", "force": false, "architecture": ""});
        assert_eq!(asks(true), expected);
    }

    #[test]
    fn a_version_that_is_none_is_reported() {
        let said = |version: &str| {
            let value = json!({"name": "version", "fieldValue": {"type": "String", "string": version}});
            let status = json!({"resourceMeta": {}, "statusFeedback": {"values": [value]}});
            unreadable_version(&serde_json::from_value(status).unwrap())
        };
        for readable in ["", "4.14.12", "4.14.12+build"] {
            assert_eq!(said(readable), None, "{readable}");
        }
        let endless = "9".repeat(100_000);
        for none in ["4.14.12\n", "99999999999999999999999.1.1", "4.14", &endless] {
            let message = said(none).unwrap();
            assert!(
                message.contains("not a semantic version") || message.len() > 500,
                "{message}"
            );
            assert!(message.len() <= MESSAGE && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn progress_is_made_coarse() {
        let cases = [
            (
                "Working towards 4.14.12: 106 of 859 done (12% complete), waiting on etcd",
                Some(10),
            ),
            (
                "Working towards 4.14.12: 859 of 859 done (100% complete)",
                Some(100),
            ),
            ("Cluster version is 4.14.12", None),
            ("%", None),
        ];
        for (message, progress) in cases {
            assert_eq!(percent(message), progress, "{message}");
        }
    }
}
