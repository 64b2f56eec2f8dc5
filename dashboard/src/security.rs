//! What every answer says to the browser, and who is answered.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;

use crate::error::ApiError;

/// How many random bytes a token has.
const TOKEN_BYTES: usize = 32;

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

/// No random bytes can be had.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes, of which a token is made")]
pub struct TokenError;

/// What a browser must know to be answered.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token that nobody can guess.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(digits.into()))
    }

    /// The token as text, for the link.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the token, in a time that says nothing about how much of it is right.
    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Answers only who asks this machine by its own name: a page of elsewhere whose name somebody lets resolve to 127.0.0.1 sends that
/// name (DNS rebinding). Every answer gets the headers by which the browser confines the page.
pub(crate) async fn confine(request: Request, next: Next) -> Response {
    let mut response = if is_loopback(request.headers()) {
        next.run(request).await
    } else {
        ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this page is only served under 127.0.0.1 and localhost",
        )
        .into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
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

/// Answers only who has the token.
pub(crate) async fn authenticate(State(token): State<Token>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' '));
    let is_known =
        given.is_some_and(|(scheme, given)| scheme.eq_ignore_ascii_case("bearer") && token.is(given.trim()));
    if is_known {
        return next.run(request).await;
    }
    let mut response = ApiError::new(
        StatusCode::UNAUTHORIZED,
        "the token is missing or no longer valid: open the link again that the program has printed",
    )
    .into_response();
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
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

    #[test]
    fn a_token_is_itself_alone_and_is_not_printed() {
        let token = Token::random().unwrap();
        assert_eq!(token.as_str().len(), 2 * TOKEN_BYTES);
        assert!(token.is(token.as_str()));
        for other in ["", "x", &token.as_str()[1..], Token::random().unwrap().as_str()] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
