//! Answers: objects, lists, tables and errors as HTTP.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY};
use http::{Response, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde_json::{Value, json};

use super::body::AnswerBody;
use super::media::Form;
use crate::server::{ApiServer, Deletion, List, Origin, ServedKind, Status, Written};
use crate::store::Object;
use crate::table::{Columns, IncludeObject};

/// What time it is on the server, as answers say it.
pub(super) fn date(now: Timestamp) -> Option<HeaderValue> {
    let text = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok()?;
    HeaderValue::try_from(text).ok()
}

/// How the objects of one request are written.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) kind: Arc<ServedKind>,
    pub(super) form: Form,
    pub(super) include: IncludeObject,
    pub(super) server: ApiServer,
}

impl Writer {
    /// One object.
    pub(super) fn object(&self, object: &Object) -> Bytes {
        match self.form {
            Form::Object => plain(object),
            Form::Metadata => metadata_of(object).to_string().into(),
            Form::Table => {
                let meta = json!({"resourceVersion": object.resource_version()});
                self.table(&[object], &meta).to_string().into()
            }
        }
    }

    fn table(&self, objects: &[&Object], meta: &Value) -> Value {
        let columns = match &self.kind.definition {
            Some(version) => Columns::for_crd_version(version),
            None => Columns::for_builtin(&self.kind.group, &self.kind.version, &self.kind.kind),
        };
        let shown: Vec<Cow<'_, Value>> = objects
            .iter()
            .map(|object| match self.include {
                IncludeObject::None => Cow::Borrowed(object.value()),
                IncludeObject::Metadata | IncludeObject::Object => object.complete(),
            })
            .collect();
        let shown: Vec<&Value> = shown.iter().map(AsRef::as_ref).collect();
        columns.table(&shown, meta, self.include, self.server.clock().now())
    }

    /// Objects of one moment.
    pub(super) fn list(&self, list: &List) -> Bytes {
        let mut meta = json!({"resourceVersion": list.revision.to_string()});
        if let Some(token) = &list.continue_token {
            meta["continue"] = token.as_str().into();
        }
        if let Some(remaining) = list.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        let is_custom = self.kind.origin == Origin::Custom && self.form == Form::Object;
        if is_custom && list.continue_token.is_none() {
            meta["continue"] = "".into();
        }
        match self.form {
            Form::Table => {
                let objects: Vec<&Object> = list.items.iter().map(AsRef::as_ref).collect();
                self.table(&objects, &meta).to_string().into()
            }
            Form::Metadata => {
                let items: Vec<Value> = list.items.iter().map(|object| metadata_of(object)).collect();
                // An empty list of metadata is null, as Go writes it.
                let items = if items.is_empty() {
                    Value::Null
                } else {
                    items.into()
                };
                json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta, "items": items,
                })
                .to_string()
                .into()
            }
            Form::Object => self.plain_list(list, &meta),
        }
    }

    /// The items' texts are shared between answers; those of built-in kinds do not repeat their type.
    fn plain_list(&self, list: &List, meta: &Value) -> Bytes {
        let api_version = self.kind.api_version();
        let mut text = Vec::with_capacity(256 + list.items.len() * 1024);
        let head = format!(
            "{{\"kind\":\"{}\",\"apiVersion\":\"{api_version}\",\"metadata\":{meta},\"items\":[",
            self.kind.list_kind
        );
        text.extend_from_slice(head.as_bytes());
        let type_meta =
            (self.kind.origin == Origin::Custom).then_some((api_version.as_str(), self.kind.kind.as_str()));
        for (at, object) in list.items.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            object.write_text(&mut text, type_meta);
        }
        text.extend_from_slice(b"]}");
        text.into()
    }

    /// What a write did.
    pub(super) fn outcome(&self, outcome: &Written) -> Response<AnswerBody> {
        let code = if outcome.created {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        let response = json(code, self.object(&outcome.object));
        outcome
            .warnings
            .iter()
            .fold(response, |response, warning| warned(response, warning))
    }

    /// What a delete did.
    pub(super) fn deletion(&self, deletion: &Deletion) -> Response<AnswerBody> {
        match deletion {
            Deletion::Pending(object) => json(StatusCode::OK, self.object(object)),
            Deletion::Gone(object) if self.answers_with_object() => json(StatusCode::OK, self.object(object)),
            Deletion::Gone(object) => {
                let mut status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": {"name": object.name(), "kind": self.kind.plural, "uid": object.uid()},
                });
                if !self.kind.group.is_empty() {
                    status["details"]["group"] = self.kind.group.as_str().into();
                }
                json(StatusCode::OK, status.to_string())
            }
        }
    }

    /// The kinds whose deletion is answered with the object, even when it is gone.
    fn answers_with_object(&self) -> bool {
        self.kind.group.is_empty() && matches!(self.kind.kind.as_str(), "Pod" | "Service" | "ServiceAccount")
    }
}

/// A `Scale`, a `Status` or the object itself says its own type.
fn plain(object: &Object) -> Bytes {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    object.text(text("apiVersion"), text("kind"))
}

/// An object's metadata alone.
pub(super) fn metadata_of(object: &Object) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.complete_metadata(),
    })
}

/// JSON text.
pub(super) fn json(code: StatusCode, text: impl Into<Bytes>) -> Response<AnswerBody> {
    typed(code, "application/json", text)
}

/// Text of any type.
pub(super) fn typed(
    code: StatusCode,
    media_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::text(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// An error.
pub(super) fn failure(status: &Status) -> Response<AnswerBody> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(code, status.to_value().to_string());
    let wait = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if wait > 0 {
        response
            .headers_mut()
            .insert(http::header::RETRY_AFTER, HeaderValue::from(wait));
    }
    response
}

/// The answer with a warning for people.
pub(super) fn warned(mut response: Response<AnswerBody>, warning: &str) -> Response<AnswerBody> {
    let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
    if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
        response.headers_mut().append(http::header::WARNING, value);
    }
    response
}

/// 404 for a path that is of no group, version or anything else.
pub(super) fn no_such_page() -> Response<AnswerBody> {
    let text = "404 page not found\n";
    typed(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", text)
}

/// Texts shorter than this are not worth compressing.
const LEAST_COMPRESSED: usize = 128 * 1024;

/// The answer, compressed if it is long.
pub(super) fn compressed(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    let Some(text) = response.body().long_text(LEAST_COMPRESSED) else {
        return response;
    };
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), Compression::fast());
    if std::io::Write::write_all(&mut encoder, text).is_ok()
        && let Ok(packed) = encoder.finish()
    {
        *response.body_mut() = AnswerBody::text(packed);
        let headers = response.headers_mut();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

/// The same in YAML, if it is JSON.
pub(super) fn as_yaml(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    let value = response
        .body()
        .long_text(0)
        .and_then(|text| serde_json::from_slice::<Value>(text).ok());
    if let Some(value) = value
        && let Ok(text) = serde_saphyr::to_string(&value)
    {
        *response.body_mut() = AnswerBody::text(text);
        let yaml = HeaderValue::from_static("application/yaml");
        response.headers_mut().insert(CONTENT_TYPE, yaml);
    }
    response
}

/// The events of a watch.
pub(super) fn events(events: futures::stream::BoxStream<'static, Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::events(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
