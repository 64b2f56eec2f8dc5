//! Upgrading a cluster through its ClusterVersion (hub 4).

use drydock_api::names::CLUSTER_VERSION;
use drydock_api::ocm::manifest_work::{
    DeleteOption, Manifest, ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier,
    SelectivelyOrphan, Workload,
};
use drydock_rollout::{ClusterFeedback, Target};
use semver::Version;
use serde_json::{Map, Value, json};

use super::feedback::{self, text};
use super::seen::SeenWork;

const GROUP: &str = "config.openshift.io";
const RESOURCE: &str = "clusterversions";
const RBAC: &str = "rbac.authorization.k8s.io";
/// Of our own role on the cluster, which the klusterlet aggregates into the work agent's.
const ROLE: &str = "drydock-clusterversion";

const PATHS: [(&str, &str); 13] = [
    ("generation", ".metadata.generation"),
    ("observedGeneration", ".status.observedGeneration"),
    ("version", ".status.history[0].version"),
    ("state", ".status.history[0].state"),
    ("verified", ".status.history[0].verified"),
    ("image", ".status.history[0].image"),
    (
        "message",
        r#".status.conditions[?(@.type=="Progressing")].message"#,
    ),
    ("failing", r#".status.conditions[?(@.type=="Failing")].status"#),
    (
        "failingMessage",
        r#".status.conditions[?(@.type=="Failing")].message"#,
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

/// The work that asks a cluster for the target. ClusterVersion stays when the work goes.
pub(super) fn spec(target: &Target, cluster_id: Option<&str>, grant_cluster_admin: bool) -> ManifestWorkSpec {
    let rights = if grant_cluster_admin {
        cluster_admin()
    } else {
        role()
    };
    ManifestWorkSpec {
        workload: Some(Workload {
            manifests: vec![Manifest(cluster_version(target, cluster_id)), Manifest(rights)].into(),
            ..Workload::default()
        }),
        delete_option: Some(DeleteOption {
            propagation_policy: Some("SelectivelyOrphan".to_owned()),
            selectively_orphans: Some(SelectivelyOrphan {
                orphaning_rules: vec![identifier()].into(),
                ..SelectivelyOrphan::default()
            }),
            ..DeleteOption::default()
        }),
        // The first one: the end of enforcement finds it there.
        manifest_configs: vec![
            feedback::enforced(identifier(), &PATHS),
            rights_config(grant_cluster_admin),
        ]
        .into(),
        ..ManifestWorkSpec::default()
    }
}

/// Group and plural: the document's rule, with an empty group, matches nothing and deletes ClusterVersion (fleet
/// reference 0.1).
pub(super) fn identifier() -> ResourceIdentifier {
    ResourceIdentifier {
        group: Some(GROUP.to_owned()),
        resource: RESOURCE.to_owned(),
        name: CLUSTER_VERSION.to_owned(),
        ..ResourceIdentifier::default()
    }
}

fn cluster_version(target: &Target, cluster_id: Option<&str>) -> Value {
    let mut update = Map::new();
    if let Some(version) = &target.version {
        update.insert("version".to_owned(), version.to_string().into());
    }
    if let Some(image) = &target.image {
        update.insert("image".to_owned(), image.clone().into());
    }
    if target.force {
        update.insert("force".to_owned(), true.into());
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

fn rights_config(grant_cluster_admin: bool) -> ManifestConfig {
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

/// What the cluster says about its upgrade; `None` before it has said anything.
pub(super) fn read(work: &SeenWork) -> Option<ClusterFeedback> {
    let status = super::read::manifest(work, GROUP, RESOURCE, "", CLUSTER_VERSION)?;
    let is = |name, value| feedback::is(status, name, value);
    let hindrance = if is("releaseAccepted", "False") {
        Some(
            text(status, "releaseAcceptedMessage")
                .unwrap_or_else(|| "the release is not accepted".to_owned()),
        )
    } else if is("failing", "True") {
        Some(text(status, "failingMessage").unwrap_or_else(|| "the cluster is failing".to_owned()))
    } else {
        None
    };
    Some(ClusterFeedback {
        version: text(status, "version").and_then(|version| Version::parse(&version).ok()),
        state: text(status, "state"),
        image: text(status, "image"),
        progress: text(status, "message").as_deref().and_then(coarse),
        // Of what was asked before, a cluster that has not looked since says nothing about us.
        invalid: (is("invalid", "True") && has_looked(status))
            .then(|| text(status, "invalidMessage").unwrap_or_default()),
        hindrance,
    })
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
fn coarse(message: &str) -> Option<String> {
    let (before, _) = message.split_once('%')?;
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    let percent: u32 = digits.parse().ok()?;
    Some(format!("about {} % done", percent / 10 * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_made_coarse() {
        let cases = [
            (
                "Working towards 4.14.12: 106 of 859 done (12% complete), waiting on etcd",
                Some("about 10 % done"),
            ),
            (
                "Working towards 4.14.12: 859 of 859 done (100% complete)",
                Some("about 100 % done"),
            ),
            ("Cluster version is 4.14.12", None),
            ("%", None),
        ];
        for (message, progress) in cases {
            assert_eq!(coarse(message).as_deref(), progress, "{message}");
        }
    }
}
