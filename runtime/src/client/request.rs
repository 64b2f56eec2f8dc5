//! What a request to the API server is, read from its method and path.

use http::{Method, Request};

/// What a request asks for, in the words of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// One object.
    Get,
    /// All objects of a kind.
    List,
    /// All changes of a kind.
    Watch,
    /// A new object.
    Create,
    /// A whole object.
    Update,
    /// A part of an object.
    Patch,
    /// An object's end.
    Delete,
    /// The end of all objects of a kind.
    DeleteCollection,
    /// Anything else.
    Other,
}

impl Verb {
    /// The word that RBAC uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "other",
        }
    }

    /// Whether the same request may be sent again without a second effect.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::List)
    }
}

/// A request's verb and resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// What it asks for.
    pub verb: Verb,
    /// The plural resource, with its subresource: `manifestworks`, `manifestworks/status`; `none` for anything that
    /// is not a resource, such as `/version`.
    pub resource: String,
}

impl RequestKind {
    /// Reads method, path and query.
    pub fn of<B>(request: &Request<B>) -> Self {
        Self::parse(
            request.method(),
            request.uri().path(),
            request.uri().query().unwrap_or_default(),
        )
    }

    fn parse(method: &Method, path: &str, query: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/');
        let skipped = match parts.next() {
            Some("api") => 1,
            Some("apis") => 2,
            _ => {
                return Self {
                    verb: Verb::Other,
                    resource: "none".to_owned(),
                };
            }
        };
        let mut rest: Vec<&str> = parts.skip(skipped).collect();
        // `/namespaces/NAME/RESOURCE…`: what follows the namespace is the resource, unless it is the namespace's own.
        if rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2], "status" | "finalize") {
            rest.drain(..2);
        }
        let Some(&plural) = rest.first() else {
            return Self {
                verb: Verb::Other,
                resource: "none".to_owned(),
            };
        };
        let resource = rest
            .get(2)
            .map_or_else(|| plural.to_owned(), |sub| format!("{plural}/{sub}"));
        Self {
            verb: verb(method, rest.len() > 1, query),
            resource,
        }
    }
}

fn verb(method: &Method, named: bool, query: &str) -> Verb {
    let watches = query
        .split('&')
        .any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"));
    match (method.as_str(), named) {
        ("GET", _) if watches => Verb::Watch,
        ("GET", true) => Verb::Get,
        ("GET", false) => Verb::List,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verb_and_resource_are_those_that_rbac_would_see() {
        let work = "/apis/work.open-cluster-management.io/v1/namespaces/dev1/manifestworks";
        let table = [
            (Method::GET, work, "limit=500", Verb::List, "manifestworks"),
            (
                Method::GET,
                work,
                "watch=true&resourceVersion=5",
                Verb::Watch,
                "manifestworks",
            ),
            (Method::POST, work, "", Verb::Create, "manifestworks"),
            (Method::DELETE, work, "", Verb::DeleteCollection, "manifestworks"),
            (Method::GET, &format!("{work}/a"), "", Verb::Get, "manifestworks"),
            (
                Method::PATCH,
                &format!("{work}/a/status"),
                "",
                Verb::Patch,
                "manifestworks/status",
            ),
            (Method::PUT, "/api/v1/nodes/n1", "", Verb::Update, "nodes"),
            (
                Method::GET,
                "/api/v1/namespaces/dev1",
                "",
                Verb::Get,
                "namespaces",
            ),
            (Method::GET, "/api/v1/namespaces", "", Verb::List, "namespaces"),
            (
                Method::PUT,
                "/api/v1/namespaces/dev1/finalize",
                "",
                Verb::Update,
                "namespaces/finalize",
            ),
            (Method::GET, "/version", "", Verb::Other, "none"),
            (Method::GET, "/apis/apps/v1", "", Verb::Other, "none"),
        ];
        for (method, path, query, verb, resource) in table {
            let kind = RequestKind::parse(&method, path, query);
            assert_eq!(
                (kind.verb, kind.resource.as_str()),
                (verb, resource),
                "{method} {path}?{query}"
            );
        }
    }
}
