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
    let mut response = if request.headers().get_all(header::HOST).iter().count() > 1 {
        // RFC 9112, section 3.2: which of them counts would be anybody's guess.
        ApiError::new(StatusCode::BAD_REQUEST, "the request names more than one host").into_response()
    } else if is_own && !is_loopback(request.headers()) {
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
/// with the request. Browsers of before 2023 say only by which page they were asked.
fn is_from_elsewhere(request: &Request) -> bool {
    let headers = request.headers();
    let is_other = match headers.get("sec-fetch-site") {
        Some(site) => site == "cross-site" || site == "same-site",
        None => headers
            .get(header::ORIGIN)
            .is_some_and(|origin| !is_own_origin(origin, request)),
    };
    is_other && request.uri().path().starts_with("/api/")
}

/// Whether an origin is that under which this page is asked for.
fn is_own_origin(origin: &HeaderValue, request: &Request) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    // Of HTTP/2 the address has it.
    let host = host.or(request.uri().authority().map(http::uri::Authority::as_str));
    match (origin, host) {
        (Some((_, origin)), Some(host)) => origin.eq_ignore_ascii_case(host),
        _ => false,
    }
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
    fn what_another_page_asks_for_is_from_elsewhere() {
        let own = "https://page.example:8443";
        for (path, headers, is_elsewhere) in [
            ("/api/x", vec![], false),
            ("/api/x", vec![("sec-fetch-site", "same-origin")], false),
            ("/api/x", vec![("sec-fetch-site", "cross-site")], true),
            (
                "/api/x",
                vec![("sec-fetch-site", "same-site"), ("origin", own)],
                true,
            ),
            ("/api/x", vec![("origin", own)], false),
            ("/api/x", vec![("origin", "https://evil.example")], true),
            ("/api/x", vec![("origin", "https://page.example")], true),
            ("/api/x", vec![("origin", "null")], true),
            ("/", vec![("origin", "https://evil.example")], false),
        ] {
            let request = Request::builder().uri(path).header("host", "page.example:8443");
            let request = headers
                .iter()
                .fold(request, |request, (name, value)| request.header(*name, *value));
            let request = request.body(axum::body::Body::empty()).unwrap();
            assert_eq!(is_from_elsewhere(&request), is_elsewhere, "{path} {headers:?}");
        }
    }

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
