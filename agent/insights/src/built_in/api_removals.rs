//! APIs that the target no longer has, and that are still used (APIRequestCount).

use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::APIRequestCount;
use jiff::Timestamp;
use kube::ResourceExt;
use semver::Version;

use super::draft::{Draft, object};
use crate::finding::Finding;

/// OpenShift 4.y comes with Kubernetes 1.(y + 13).
const KUBERNETES_AHEAD: u64 = 13;

pub(super) fn findings(requests: &[APIRequestCount], target: &str, now: Timestamp) -> Vec<Finding> {
    let Ok(target) = Version::parse(target) else {
        return Vec::new();
    };
    let removed = requests.iter().filter_map(|count| {
        let status = count.status.as_ref()?;
        let used = status.request_count.filter(|used| *used > 0)?;
        let release = status.removed_in_release.as_deref()?;
        is_removed(release, &target).then(|| draft(&count.name_any(), release, used))
    });
    removed.map(|draft| draft.finding(now)).collect()
}

/// Is an API gone in a version, that is removed in a release of Kubernetes, such as `1.29`?
fn is_removed(release: &str, target: &Version) -> bool {
    let minor = release
        .strip_prefix("1.")
        .and_then(|minor| minor.parse::<u64>().ok());
    target.major == 4 && minor.is_some_and(|minor| minor <= target.minor + KUBERNETES_AHEAD)
}

fn draft(name: &str, release: &str, used: i64) -> Draft {
    Draft {
        uid: "api-removed",
        level: Level::Warning,
        impact_type: ImpactType::ApiAvailability,
        summary: format!("{name} is used, and Kubernetes {release} no longer has it"),
        description: format!("It was asked for {used} times in the last 24 hours."),
        action: "Find out who uses it, and have them use its successor".to_owned(),
        verify: format!(
            "kubectl get apirequestcount {name} -o jsonpath='{{.status.requestCount}} {{.status.last24h[*].byNode[*].byUser[*].username}}'"
        ),
        reference: None,
        resources: vec![object("apiserver.openshift.io", "APIRequestCount", name)],
    }
}
