//! From a request to an operation, and back.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::Value;

use super::answer::{self, Writer};
use super::body::AnswerBody;
use super::query::Query;
use super::route::{self, Objects, Route};
use super::{ConnectionError, discovery, media, watch};
use crate::server::{
    ApiServer, Asked, Call, Identity, KindType, Passage, Patch, Refusal, Status, Subresource, Verb,
};

/// Answers one request.
pub(super) async fn handle(
    server: &ApiServer,
    identity: Identity,
    request: Request<Bytes>,
) -> Result<Response<AnswerBody>, ConnectionError> {
    match route::parse(request.uri().path()) {
        Some(Route::Objects(place)) => objects(server, identity, &place, &request).await,
        Some(route) => {
            let asked = Asked {
                identity: &identity,
                verb: Verb::Get,
                kind: None,
                namespace: None,
                name: "",
                subresource: None,
            };
            match server.pass(&asked).await {
                Ok(_) => Ok(discovery::answer(server, &route, &request)),
                Err(refusal) => refused(refusal),
            }
        }
        None => Ok(answer::failure(&Status::no_such_path())),
    }
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
) -> Result<Response<AnswerBody>, ConnectionError> {
    let query = Query::of(request.uri());
    let verb = verb_of(request.method(), place, &query);
    let kind = server.kind(&place.group, &place.version, &place.plural);
    let subresource = place.subresource.as_deref().and_then(subresource);
    let asked = Asked {
        identity: &identity,
        verb: verb.unwrap_or(Verb::Get),
        kind: kind.as_deref().ok(),
        namespace: place.namespace.as_deref(),
        name: place.name.as_deref().unwrap_or_default(),
        subresource,
    };
    let passage = match server.pass(&asked).await {
        Ok(passage) => passage,
        Err(refusal) => return refused(refusal),
    };
    let answer = kind
        .and_then(|kind| call(identity, place, kind))
        .and_then(|call| {
            let verb = verb.ok_or_else(Status::method_not_allowed)?;
            operate(server, &call, verb, place, &query, request)
        })
        .unwrap_or_else(|status| answer::failure(&status));
    match passage {
        Passage::Answered => Ok(answer),
        Passage::Dropped => Err(ConnectionError::Reset),
    }
}

fn verb_of(method: &Method, place: &Objects, query: &Query) -> Option<Verb> {
    let one = place.name.is_some();
    Some(match *method {
        Method::GET if place.watch || query.flag("watch") => Verb::Watch,
        Method::GET if one => Verb::Get,
        Method::GET => Verb::List,
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
    ]
    .into_iter()
    .find(|part| part.as_str() == word)
}

fn call(identity: Identity, place: &Objects, kind: Arc<KindType>) -> Result<Call, Status> {
    let part = match place.subresource.as_deref() {
        None => None,
        Some(word) => {
            let part = subresource(word).ok_or_else(Status::no_such_path)?;
            let is_served = match part {
                Subresource::Status => kind.status,
                Subresource::Scale => kind.scale.is_some(),
                Subresource::Eviction | Subresource::Binding => kind.is("", "Pod"),
            };
            if !is_served {
                return Err(Status::no_such_path());
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
) -> Result<Response<AnswerBody>, Status> {
    let writer = Writer {
        kind: Arc::clone(&call.kind),
        form: media::form(request.headers())?,
        include: media::include(query.get("includeObject")),
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
            let body = body_of(request)?;
            Ok(writer.outcome(&server.create(call, body, &query.write()?)?))
        }
        Verb::Update => {
            let body = body_of(request)?;
            Ok(writer.outcome(&server.update(call, body, &query.write()?)?))
        }
        Verb::Patch => {
            let patch = patch_of(request)?;
            Ok(writer.outcome(&server.patch(call, &patch, &query.write()?)?))
        }
        Verb::Delete => {
            let options = query.delete(optional_body(request)?.as_ref())?;
            Ok(writer.deletion(&server.delete(call, &options)?))
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
    body_of(request).map(Some)
}

fn body_of(request: &Request<Bytes>) -> Result<Value, Status> {
    match media::content_type(request.headers()) {
        "application/yaml" => yaml(request.body()),
        "application/vnd.kubernetes.protobuf" => Err(Status::unsupported_media_type(&[
            "application/json",
            "application/yaml",
        ])),
        _ => json(request.body()),
    }
}

fn json(text: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(text)
        .map_err(|error| Status::bad_request(format!("the body of the request is not valid JSON: {error}")))
}

fn yaml(text: &[u8]) -> Result<Value, Status> {
    // Most clients send JSON under this name, which is read faster.
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(value);
    }
    let text = std::str::from_utf8(text)
        .map_err(|_| Status::bad_request("the body of the request is not valid UTF-8"))?;
    serde_saphyr::from_str(text).map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))
}

fn patch_of(request: &Request<Bytes>) -> Result<Patch, Status> {
    match media::content_type(request.headers()) {
        "application/merge-patch+json" => Ok(Patch::Merge(json(request.body())?)),
        "application/strategic-merge-patch+json" => Ok(Patch::Strategic(json(request.body())?)),
        "application/apply-patch+yaml" => Ok(Patch::Apply(yaml(request.body())?)),
        "application/json-patch+json" => serde_json::from_slice(request.body())
            .map(Patch::Json)
            .map_err(|error| Status::bad_request(format!("error decoding patch: {error}"))),
        _ => Err(Status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ])),
    }
}
