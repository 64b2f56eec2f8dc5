//! Paths of the Kubernetes API.

use percent_encoding::percent_decode_str;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/healthz`, `/livez`, `/readyz` and what is below.
    Health,
    /// `/version`
    Version,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/api/v1`, `/apis/{group}/{version}`
    Resources { group: String, version: String },
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApiIndex,
    /// `/openapi/v3/api/v1`, `/openapi/v3/apis/{group}/{version}`
    OpenApi { group: String, version: String },
    /// Objects of a kind.
    Objects(Objects),
}

/// A path of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Objects {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) namespace: Option<String>,
    pub(super) plural: String,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    /// Whether the path is an old one that begins with `watch/`.
    pub(super) watch: bool,
}

/// Reads a path; `None` if it names nothing.
pub(super) fn parse(path: &str) -> Option<Route> {
    let parts: Option<Vec<String>> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned()))
        .collect();
    let parts = parts?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Some(match parts.as_slice() {
        ["healthz" | "livez" | "readyz"] => Route::Health,
        ["healthz" | "livez" | "readyz", "ping" | "etcd" | "log"] => Route::Health,
        ["version"] => Route::Version,
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version] => Route::Resources {
            group: String::new(),
            version: (*version).to_owned(),
        },
        ["apis", group, version] => Route::Resources {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
        },
        ["openapi", "v2"] => Route::OpenApiV2,
        ["openapi", "v3"] => Route::OpenApiIndex,
        ["openapi", "v3", "api", version] => Route::OpenApi {
            group: String::new(),
            version: (*version).to_owned(),
        },
        ["openapi", "v3", "apis", group, version] => Route::OpenApi {
            group: (*group).to_owned(),
            version: (*version).to_owned(),
        },
        ["api", version, rest @ ..] => Route::Objects(objects("", version, rest)?),
        ["apis", group, version, rest @ ..] => Route::Objects(objects(group, version, rest)?),
        _ => return None,
    })
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Option<Objects> {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let owned = |part: &str| part.to_owned();
    let base = Objects {
        group: owned(group),
        version: owned(version),
        watch,
        ..Objects::default()
    };
    Some(match rest {
        ["namespaces", namespace, plural, rest @ ..] if !is_part_of_namespace(plural) => Objects {
            namespace: Some(owned(namespace)),
            plural: owned(plural),
            name: rest.first().map(|name| owned(name)),
            subresource: rest.get(1).map(|part| owned(part)),
            ..base
        },
        [plural] => Objects {
            plural: owned(plural),
            ..base
        },
        [plural, name] => Objects {
            plural: owned(plural),
            name: Some(owned(name)),
            ..base
        },
        [plural, name, part] => Objects {
            plural: owned(plural),
            name: Some(owned(name)),
            subresource: Some(owned(part)),
            ..base
        },
        _ => return None,
    })
}

/// `/namespaces/x/status` is about the namespace, not about things named `status` in it.
fn is_part_of_namespace(part: &str) -> bool {
    matches!(part, "status" | "finalize")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(
        group: &str,
        namespace: Option<&str>,
        plural: &str,
        name: Option<&str>,
        part: Option<&str>,
    ) -> Route {
        Route::Objects(Objects {
            group: group.to_owned(),
            version: "v1".to_owned(),
            namespace: namespace.map(str::to_owned),
            plural: plural.to_owned(),
            name: name.map(str::to_owned),
            subresource: part.map(str::to_owned),
            watch: false,
        })
    }

    #[test]
    fn paths_name_what_kubernetes_says_they_name() {
        let table = [
            ("/api/v1/pods", place("", None, "pods", None, None)),
            ("/api/v1/namespaces", place("", None, "namespaces", None, None)),
            (
                "/api/v1/namespaces/a",
                place("", None, "namespaces", Some("a"), None),
            ),
            (
                "/api/v1/namespaces/a/status",
                place("", None, "namespaces", Some("a"), Some("status")),
            ),
            (
                "/api/v1/namespaces/a/pods",
                place("", Some("a"), "pods", None, None),
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments/x%2Dy/scale",
                place("apps", Some("a"), "deployments", Some("x-y"), Some("scale")),
            ),
            ("/apis/g/v1/things/x", place("g", None, "things", Some("x"), None)),
            ("/apis", Route::Groups),
            ("/readyz/ping", Route::Health),
        ];
        for (path, route) in table {
            assert_eq!(parse(path), Some(route), "{path}");
        }
        assert_eq!(parse("/nothing"), None);
        assert_eq!(parse("/apis/g/v1/a/b/c/d/e"), None);
    }
}
