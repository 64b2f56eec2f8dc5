//! In which form a client wants its answer, and in which it sends a patch.

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};

use crate::server::Status;
use crate::table::IncludeObject;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The objects themselves.
    Object,
    /// Only their metadata (`PartialObjectMetadata`).
    Metadata,
    /// Rows and columns, for people (`Table`).
    Table,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Yaml,
}

/// What a client accepts that names no form: what every server lists when it has nothing acceptable.
const SERVED: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Chooses among what the client accepts, in its order.
pub(super) fn form(headers: &HeaderMap) -> Result<(Form, Encoding), Status> {
    let accepted = accepted(headers);
    if accepted.is_empty() {
        return Ok((Form::Object, Encoding::Json));
    }
    for range in &accepted {
        let (media_type, parameters) = split(range);
        let encoding = match media_type {
            "application/json" | "*/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            _ => continue,
        };
        let parameter = |name: &str| {
            parameters
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        let meta = parameter("g") == Some("meta.k8s.io") && parameter("v") == Some("v1");
        match parameter("as") {
            None => return Ok((Form::Object, encoding)),
            Some("Table") if meta => return Ok((Form::Table, encoding)),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if meta => {
                return Ok((Form::Metadata, encoding));
            }
            Some(_) => {}
        }
    }
    // Types that the server does not know at all are refused before it looks at the parameters.
    if accepted.iter().any(|range| SERVED.contains(&split(range).0)) {
        return Err(Status::not_acceptable(SERVED));
    }
    let streams = ["json", "vnd.kubernetes.protobuf"].map(|name| format!("application/{name};stream=watch"));
    let mut status = Status::new(
        406,
        "NotAcceptable",
        format!(
            "406: Not Acceptable\n\nAvailable representations: {}, {}",
            SERVED.join(", "),
            streams.join(", ")
        ),
    );
    status.details = Some(Box::default());
    Err(status)
}

/// Whether the client accepts aggregated discovery.
pub(super) fn wants_aggregated_discovery(headers: &HeaderMap) -> bool {
    accepted(headers).iter().any(|range| {
        range.contains("as=APIGroupDiscoveryList") && range.contains("v=v2") && !range.contains("v2beta1")
    })
}

fn accepted(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.trim().to_owned())
        .filter(|range| !range.is_empty())
        .collect()
}

fn split(range: &str) -> (&str, Vec<(&str, &str)>) {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    (
        media_type,
        parts.filter_map(|part| part.split_once('=')).collect(),
    )
}

/// The media type of the body, without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map_or("", |value| split(value).0)
}

/// Whether the client reads compressed answers.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|encoding| split(encoding.trim()).0 == "gzip")
}

/// What the rows of a table carry besides their cells.
pub(super) fn include(word: Option<&str>) -> Result<IncludeObject, Status> {
    match word {
        Some("None") => Ok(IncludeObject::None),
        Some("Object") => Ok(IncludeObject::Object),
        Some("Metadata") | None => Ok(IncludeObject::Metadata),
        Some(other) => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
        ))),
    }
}
