//! Short paths: `configmaps/a` is the map `a` in the namespace of the case.

/// Groups whose kinds live in namespaces, by plural.
const NAMESPACED: &[(&str, &str)] = &[
    ("configmaps", "/api/v1"),
    ("secrets", "/api/v1"),
    ("pods", "/api/v1"),
    ("services", "/api/v1"),
    ("serviceaccounts", "/api/v1"),
    ("events", "/api/v1"),
    ("deployments", "/apis/apps/v1"),
    ("daemonsets", "/apis/apps/v1"),
    ("jobs", "/apis/batch/v1"),
    ("leases", "/apis/coordination.k8s.io/v1"),
    ("poddisruptionbudgets", "/apis/policy/v1"),
    ("roles", "/apis/rbac.authorization.k8s.io/v1"),
    ("rolebindings", "/apis/rbac.authorization.k8s.io/v1"),
];

/// Groups whose kinds live in none.
const CLUSTER: &[(&str, &str)] = &[
    ("namespaces", "/api/v1"),
    ("nodes", "/api/v1"),
    ("clusterroles", "/apis/rbac.authorization.k8s.io/v1"),
    ("clusterrolebindings", "/apis/rbac.authorization.k8s.io/v1"),
    ("customresourcedefinitions", "/apis/apiextensions.k8s.io/v1"),
];

/// The full path of a short one. `custom/v1/things/a` is of the group that a case defines for itself; what begins with a
/// slash is full already.
pub(super) fn full(path: &str, namespace: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    if let Some(rest) = path.strip_prefix("custom/") {
        let (version, rest) = rest.split_once('/').unwrap_or((rest, ""));
        return format!("/apis/{namespace}.example.com/{version}/namespaces/{namespace}/{rest}");
    }
    let plural = path.split(['/', '?']).next().unwrap_or_default();
    let group = |table: &[(&str, &'static str)]| {
        let found = table.iter().find(|(known, _)| *known == plural);
        found.map(|(_, group)| *group)
    };
    match (group(NAMESPACED), group(CLUSTER)) {
        (Some(group), _) => format!("{group}/namespaces/{namespace}/{path}"),
        (None, Some(group)) => format!("{group}/{path}"),
        (None, None) => format!("/{path}"),
    }
}
