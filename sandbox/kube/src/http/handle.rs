//! From a request to an operation, and back.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::Value;

use super::answer::{self, Writer};
use super::body::AnswerBody;
use super::media::{Encoding, Form};
use super::query::Query;
use super::route::{self, Objects, Route};
use super::{ConnectionError, discovery, media, watch};
use crate::schema::builtin::{WireError, decode_protobuf};
use crate::server::{
    ApiServer, Call, FaultOutcome, Identity, Origin, Patch, Refusal, RequestInfo, ServedKind, Status,
    Subresource, Verb, WriteOptions,
};
use crate::table::IncludeObject;

/// The warning for who deletes a Job.
const CHILD_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
     remove them or set propagationPolicy=Orphan to suppress this warning";

/// Answers one request.
pub(super) async fn handle(
    server: &ApiServer,
    identity: Identity,
    request: Request<Bytes>,
) -> Result<Response<AnswerBody>, ConnectionError> {
    let accepts_gzip = media::accepts_gzip(request.headers());
    let asked = media::form(request.headers());
    let mut response = answered(server, identity, &request, &asked).await?;
    if matches!(asked, Ok((_, Encoding::Yaml))) {
        response = answer::as_yaml(response);
    }
    if accepts_gzip {
        response = answer::compressed(response);
    }
    if let Some(date) = answer::date(server.clock().now()) {
        response.headers_mut().insert(http::header::DATE, date);
    }
    Ok(response)
}

async fn answered(
    server: &ApiServer,
    identity: Identity,
    request: &Request<Bytes>,
    form: &Result<(Form, Encoding), Status>,
) -> Result<Response<AnswerBody>, ConnectionError> {
    let route = route::parse(request.uri().path());
    if let Some(Route::Objects(place)) = &route {
        return objects(server, identity, place, request, form).await;
    }
    let asked = RequestInfo {
        identity: &identity,
        verb: Verb::Get,
        kind: None,
        namespace: None,
        name: "",
        subresource: None,
    };
    match server.pass(&asked).await {
        Ok(_) => {}
        Err(refusal) => return refused(refusal),
    }
    Ok(match route {
        None => answer::no_such_page(),
        Some(_) if request.method() != Method::GET => answer::failure(&Status::method_not_allowed()),
        Some(route) => discovery::answer(server, &route, request),
    })
}

fn refused(refusal: Refusal) -> Result<Response<AnswerBody>, ConnectionError> {
    match refusal {
        Refusal::Unreachable => Err(ConnectionError::Refused),
        Refusal::Status(status) => Ok(answer::failure(&status)),
    }
}

async fn objects(
    server: &ApiServer,
    identity: Identity,
    place: &Objects,
    request: &Request<Bytes>,
    form: &Result<(Form, Encoding), Status>,
) -> Result<Response<AnswerBody>, ConnectionError> {
    let query = Query::of(request.uri());
    let verb = verb_of(request.method(), place, &query);
    let kind = server.kind(&place.group, &place.version, &place.plural);
    let subresource = place.subresource.as_deref().and_then(subresource);
    let asked = RequestInfo {
        identity: &identity,
        verb: verb.unwrap_or(Verb::Get),
        kind: kind.as_deref().ok(),
        namespace: place.namespace.as_deref(),
        name: place.name.as_deref().unwrap_or_default(),
        subresource,
    };
    let warning = kind.as_ref().ok().and_then(|kind| deprecation(server, kind));
    let outcome = match server.pass(&asked).await {
        Ok(outcome) => outcome,
        Err(refusal) => return refused(refusal),
    };
    let answer = match kind {
        Ok(kind) if is_misplaced(&kind, place) => answer::no_such_page(),
        Err(_) if !server.serves(&place.group, &place.version) => answer::no_such_page(),
        kind => kind
            .and_then(|kind| call(identity, place, kind))
            .and_then(|call| {
                let verb = verb.ok_or_else(Status::method_not_allowed)?;
                let (form, _) = form.clone()?;
                operate(server, &call, verb, place, &query, request, form)
            })
            .unwrap_or_else(|status| answer::failure(&status)),
    };
    let answer = match warning {
        Some(warning) => answer::warned(answer, &warning),
        None => answer,
    };
    match outcome {
        FaultOutcome::Answered => Ok(answer),
        FaultOutcome::AnsweredLate(time) => {
            tokio::time::sleep(time).await;
            Ok(answer)
        }
        FaultOutcome::Dropped => Err(ConnectionError::Reset),
    }
}

/// Whether a custom kind that lives in no namespace is asked for in one.
fn is_misplaced(kind: &ServedKind, place: &Objects) -> bool {
    kind.origin == Origin::Custom && !kind.namespaced && place.namespace.is_some()
}

/// The warning for who uses a deprecated version of a custom kind.
fn deprecation(server: &ApiServer, kind: &ServedKind) -> Option<String> {
    let version = kind
        .definition
        .as_ref()
        .filter(|version| version["deprecated"] == true)?;
    if let Some(own) = version["deprecationWarning"].as_str() {
        return Some(own.to_owned());
    }
    let name = |kind: &ServedKind| format!("{} {}", kind.api_version(), kind.kind);
    let registry = server.registry();
    let newer = registry
        .kinds()
        .filter(|other| other.collection == kind.collection)
        .find(|other| {
            other
                .definition
                .as_ref()
                .is_some_and(|version| version["deprecated"] != true)
        });
    Some(match newer {
        Some(newer) => format!("{} is deprecated; use {}", name(kind), name(newer)),
        None => format!("{} is deprecated", name(kind)),
    })
}

fn verb_of(method: &Method, place: &Objects, query: &Query) -> Option<Verb> {
    let one = place.name.is_some();
    Some(match *method {
        Method::GET if place.watch || (query.flag("watch") && !one) => Verb::Watch,
        Method::GET if one => Verb::Get,
        Method::GET => Verb::List,
        Method::POST if one && place.subresource.is_none() => return None,
        Method::POST => Verb::Create,
        Method::PUT if one => Verb::Update,
        Method::PATCH if one => Verb::Patch,
        Method::DELETE if one => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => return None,
    })
}

fn subresource(word: &str) -> Option<Subresource> {
    [
        Subresource::Status,
        Subresource::Scale,
        Subresource::Eviction,
        Subresource::Binding,
        Subresource::Finalize,
    ]
    .into_iter()
    .find(|part| part.as_str() == word)
}

fn call(identity: Identity, place: &Objects, kind: Arc<ServedKind>) -> Result<Call, Status> {
    let part = match place.subresource.as_deref() {
        None => None,
        Some(word) => {
            let part = subresource(word).ok_or_else(Status::no_such_path)?;
            let is_served = match part {
                Subresource::Status => kind.status,
                Subresource::Scale => kind.scale.is_some(),
                Subresource::Eviction | Subresource::Binding => kind.is("", "Pod"),
                Subresource::Finalize => kind.is("", "Namespace"),
            };
            if !is_served {
                return Err(match kind.origin {
                    Origin::Custom => Status::not_found(&kind, place.name.as_deref().unwrap_or_default()),
                    Origin::BuiltIn => Status::no_such_path(),
                });
            }
            Some(part)
        }
    };
    if place.namespace.is_some() && !kind.namespaced {
        return Err(Status::no_such_path());
    }
    if place.namespace.is_none() && kind.namespaced && place.name.is_some() {
        return Err(Status::no_such_path());
    }
    Ok(Call {
        identity,
        kind,
        namespace: place.namespace.clone(),
        name: place.name.clone().unwrap_or_default(),
        subresource: part,
    })
}

fn operate(
    server: &ApiServer,
    call: &Call,
    verb: Verb,
    place: &Objects,
    query: &Query,
    request: &Request<Bytes>,
    form: Form,
) -> Result<Response<AnswerBody>, Status> {
    let writer = Writer {
        kind: Arc::clone(&call.kind),
        form,
        include: if form == Form::Table {
            media::include(query.get("includeObject"))?
        } else {
            IncludeObject::Metadata
        },
        server: server.clone(),
    };
    match verb {
        Verb::Get => Ok(answer::json(StatusCode::OK, writer.object(&*server.get(call)?))),
        Verb::List => Ok(answer::json(
            StatusCode::OK,
            writer.list(&server.list(call, &query.list()?)?),
        )),
        Verb::Watch => {
            let mut options = query.watch()?;
            if let Some(name) = &place.name {
                options.fields = crate::server::FieldSelector::name(name);
            }
            let over = Call {
                name: String::new(),
                ..call.clone()
            };
            let events = watch::lines(server.watch(&over, &options)?, writer);
            Ok(answer::events(events))
        }
        Verb::Create => {
            let (body, options) = body_of(request, query, "CreateOptions")?;
            Ok(writer.outcome(&server.create(call, body, &options)?))
        }
        Verb::Update => {
            let (body, options) = body_of(request, query, "UpdateOptions")?;
            Ok(writer.outcome(&server.update(call, body, &options)?))
        }
        Verb::Patch => {
            let mut options = query.write("PatchOptions")?;
            let patch = patch_of(request, &mut options)?;
            Ok(writer.outcome(&server.patch(call, &patch, &options)?))
        }
        Verb::Delete => {
            let options = query.delete(optional_body(request)?.as_ref())?;
            let answer = writer.deletion(&server.delete(call, &options)?);
            if call.kind.is("batch", "Job") && options.propagation.is_none() {
                return Ok(answer::warned(answer, CHILD_PODS));
            }
            Ok(answer)
        }
        Verb::DeleteCollection => {
            let options = query.delete(optional_body(request)?.as_ref())?;
            let deleted = server.delete_collection(call, &query.list()?, &options)?;
            Ok(answer::json(StatusCode::OK, writer.list(&deleted)))
        }
    }
}

fn optional_body(request: &Request<Bytes>) -> Result<Option<Value>, Status> {
    if request.body().is_empty() {
        return Ok(None);
    }
    Ok(Some(read_body(request)?.0))
}

/// The body of a write and its options.
fn body_of(request: &Request<Bytes>, query: &Query, options: &str) -> Result<(Value, WriteOptions), Status> {
    let mut options = query.write(options)?;
    let (body, duplicates) = read_body(request)?;
    options.duplicates = duplicates;
    Ok((body, options))
}

/// A body, and the paths of the fields that it has more than once.
fn read_body(request: &Request<Bytes>) -> Result<(Value, Vec<String>), Status> {
    match media::content_type(request.headers()) {
        "application/yaml" => yaml(request.body()),
        "application/vnd.kubernetes.protobuf" => protobuf(request.body()),
        "application/json" | "" => json(request.body()),
        _ => Err(Status::unsupported_media_type(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ])),
    }
}

/// Only built-in kinds have a form in protobuf.
fn protobuf(bytes: &[u8]) -> Result<(Value, Vec<String>), Status> {
    match decode_protobuf(bytes) {
        Ok(value) => Ok((value, Vec::new())),
        Err(WireError::Kind(_)) => Err(Status::unsupported_media_type(&[
            "application/json",
            "application/yaml",
        ])),
        Err(error) => Err(Status::bad_request(format!(
            "the body of the request is not valid protobuf: {error}"
        ))),
    }
}

fn json(text: &[u8]) -> Result<(Value, Vec<String>), Status> {
    super::json::read(text)
        .map_err(|error| Status::bad_request(format!("the body of the request is not valid JSON: {error}")))
}

fn yaml(text: &[u8]) -> Result<(Value, Vec<String>), Status> {
    // Most clients send JSON under this name, which is read faster.
    if let Ok(read) = super::json::read(text) {
        return Ok(read);
    }
    let text = std::str::from_utf8(text)
        .map_err(|_| Status::bad_request("the body of the request is not valid UTF-8"))?;
    serde_saphyr::from_str(text)
        .map(|value| (value, Vec::new()))
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))
}

fn patch_of(request: &Request<Bytes>, options: &mut WriteOptions) -> Result<Patch, Status> {
    let mut document = |read: Result<(Value, Vec<String>), Status>| {
        let (value, duplicates) = read?;
        options.duplicates = duplicates;
        if value.is_object() {
            return Ok(value);
        }
        Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::schema::builtin::json_name(&value)
        )))
    };
    match media::content_type(request.headers()) {
        "application/merge-patch+json" => Ok(Patch::Merge(document(json(request.body()))?)),
        "application/strategic-merge-patch+json" => Ok(Patch::Strategic(document(json(request.body()))?)),
        "application/apply-patch+yaml" => Ok(Patch::Apply(document(yaml(request.body()))?)),
        "application/json-patch+json" => match serde_json::from_slice::<Value>(request.body()) {
            Ok(list @ Value::Array(_)) => serde_json::from_value(list)
                .map(Patch::Json)
                .map_err(|_| Status::rejected()),
            Ok(other) => Err(Status::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
                crate::schema::builtin::json_name(&other)
            ))),
            Err(error) => Err(Status::bad_request(format!("error decoding patch: {error}"))),
        },
        _ => {
            let mut status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            status.details = Some(Box::default());
            Err(status)
        }
    }
}
