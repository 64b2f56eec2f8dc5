//! What the server says of itself: health, version, kinds and their schemas.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::Value;

use super::body::AnswerBody;
use super::route::Route;
use super::{answer, media};
use crate::openapi;
use crate::server::{ApiServer, Status};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const OPENAPI_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers a path that is not of objects.
pub(super) fn answer(server: &ApiServer, route: &Route, request: &Request<Bytes>) -> Response<AnswerBody> {
    let registry = server.registry();
    let aggregated = media::wants_aggregated_discovery(request.headers());
    let whole = |core: bool| {
        let text = openapi::aggregated(&registry, core).to_string();
        answer::typed(StatusCode::OK, AGGREGATED, text)
    };
    match route {
        Route::Health => answer::typed(StatusCode::OK, "text/plain; charset=utf-8", "ok"),
        Route::Version => found(Some(openapi::version())),
        Route::CoreVersions if aggregated => whole(true),
        Route::Groups if aggregated => whole(false),
        Route::CoreVersions => found(Some(openapi::versions())),
        Route::Groups => found(Some(openapi::groups(&registry))),
        Route::Group(name) => found(openapi::group(&registry, name)),
        Route::Resources { group, version } if group.is_empty() && version != "v1" => {
            answer::failure(&Status::no_such_path())
        }
        Route::Resources { group, version } => found(openapi::resources(&registry, group, version)),
        Route::OpenApiIndex => found(Some(openapi::index(&registry))),
        Route::OpenApi { group, version } => found(openapi::document(&registry, group, version)),
        // Everything is in version 3; kubectl asks for this one too before it sends a list, and takes an empty document.
        Route::OpenApiV2 => answer::typed(StatusCode::OK, OPENAPI_V2, Bytes::new()),
        Route::Objects(_) => answer::failure(&Status::no_such_path()),
    }
}

fn found(value: Option<Value>) -> Response<AnswerBody> {
    match value {
        Some(value) => answer::json(StatusCode::OK, value.to_string()),
        None => answer::no_such_page(),
    }
}
