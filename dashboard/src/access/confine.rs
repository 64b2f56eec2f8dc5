//! What every answer says to the browser.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::Access;
use crate::error::ApiError;

/// Nothing is loaded from elsewhere, nothing inline is run, and nobody frames the page or makes a form of it.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; \
                                       img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// On a person's own machine answers only who asks it by its own name: a page of elsewhere whose name somebody lets resolve to 127.0.0.1
/// sends that name (DNS rebinding). No other page makes a browser ask. Every answer gets the headers by which the browser confines the page.
pub(crate) async fn confine(State(access): State<Access>, request: Request, next: Next) -> Response {
    let is_own = matches!(access, Access::Own(_));
    let mut response = if is_own && !is_loopback(request.headers()) {
        let why = "this page is only served under 127.0.0.1 and localhost";
        ApiError::new(StatusCode::MISDIRECTED_REQUEST, why).into_response()
    } else if is_from_elsewhere(&request) {
        ApiError::new(StatusCode::FORBIDDEN, "another page has asked for this").into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    if !is_own {
        let value = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    response
}

/// Whether the browser says that a page of elsewhere asks for what only this page asks for: where a proxy signs users in by a cookie, that goes
/// with the request.
fn is_from_elsewhere(request: &Request) -> bool {
    let site = request.headers().get("sec-fetch-site");
    let is_other = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    is_other && request.uri().path().starts_with("/api/")
}

fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(authority) = host.and_then(|host| host.parse::<http::uri::Authority>().ok()) else {
        return false;
    };
    let host = authority.host();
    authority.as_str().rsplit_once('@').is_none()
        && (["127.0.0.1", "[::1]"].contains(&host) || host.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for (host, is_own) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("LocalHost:1", true),
            ("[::1]:8080", true),
            ("127.0.0.1.evil.example", false),
            ("evil.example:8080", false),
            ("127.0.0.1@evil.example", false),
            ("evil.example@127.0.0.1", false),
            ("localhost.", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            assert_eq!(is_loopback(&headers), is_own, "{host}");
        }
        assert!(!is_loopback(&HeaderMap::new()));
    }
}
