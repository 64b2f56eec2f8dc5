//! In which form a client wants its answer, and in which it sends a patch.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

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

/// Chooses among what the client accepts, in its order.
pub(super) fn form(headers: &HeaderMap) -> Result<Form, Status> {
    let accepted = accepted(headers);
    if accepted.is_empty() {
        return Ok(Form::Object);
    }
    for range in &accepted {
        let (media_type, parameters) = split(range);
        if !matches!(
            media_type,
            "application/json" | "*/*" | "application/*" | "text/html"
        ) {
            continue;
        }
        let parameter = |name: &str| {
            parameters
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        match parameter("as") {
            None => return Ok(Form::Object),
            Some("Table") if parameter("g") == Some("meta.k8s.io") => return Ok(Form::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Form::Metadata),
            Some(_) => {}
        }
    }
    Err(Status::not_acceptable(&["application/json"]))
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

/// What the rows of a table carry besides their cells.
pub(super) fn include(word: Option<&str>) -> IncludeObject {
    match word {
        Some("None") => IncludeObject::None,
        Some("Object") => IncludeObject::Object,
        _ => IncludeObject::Metadata,
    }
}
