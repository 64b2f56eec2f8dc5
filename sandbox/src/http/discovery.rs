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

/// Answers a path that is not of objects.
pub(super) fn answer(server: &ApiServer, route: &Route, request: &Request<Bytes>) -> Response<AnswerBody> {
    let registry = server.registry();
    let aggregated = media::wants_aggregated_discovery(request.headers());
    let whole = |core: bool| {
        let text = openapi::aggregated(&registry, core).to_string();
        answer::typed(StatusCode::OK, AGGREGATED, text)
    };
    match route {
        Route::Health => answer::typed(StatusCode::OK, "text/plain", "ok"),
        Route::Version => found(Some(openapi::version())),
        Route::CoreVersions if aggregated => whole(true),
        Route::Groups if aggregated => whole(false),
        Route::CoreVersions => found(Some(openapi::versions())),
        Route::Groups => found(Some(openapi::groups(&registry))),
        Route::Group(name) => found(openapi::group(&registry, name)),
        Route::Resources { group, version } => found(openapi::resources(&registry, group, version)),
        Route::OpenApiIndex => found(Some(openapi::index(&registry))),
        Route::OpenApi { group, version } => found(openapi::document(&registry, group, version)),
        // Clients that ask for version 2 ask for version 3 first, and get it.
        Route::OpenApiV2 | Route::Objects(_) => answer::failure(&Status::no_such_path()),
    }
}

fn found(value: Option<Value>) -> Response<AnswerBody> {
    match value {
        Some(value) => answer::json(StatusCode::OK, value.to_string()),
        None => answer::failure(&Status::no_such_path()),
    }
}
