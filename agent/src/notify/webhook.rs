//! Webhooks: a state as a CloudEvent 1.0 in JSON, signed with HMAC-SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use serde_json::json;

use super::outbox::Notification;
use crate::http::{self as bounded, Exchange, HttpError, Limits};
use crate::registry::hex;

/// The header with the signature of the body: `sha256=` and hexadecimal digits.
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("x-drydock-signature-256");

/// Sends a notification to `url`; with a key it is signed.
///
/// # Errors
/// If the receiver does not take it.
pub(crate) async fn send(
    exchange: &Exchange,
    url: &str,
    key: Option<&[u8]>,
    notification: &Notification,
) -> Result<(), HttpError> {
    post(exchange, url, key, &event(notification)).await
}

/// Posts a CloudEvent to `url`; with a key it is signed.
///
/// # Errors
/// If the receiver does not take it.
pub(crate) async fn post(
    exchange: &Exchange,
    url: &str,
    key: Option<&[u8]>,
    event: &serde_json::Value,
) -> Result<(), HttpError> {
    let body = Bytes::from(event.to_string());
    let mut request = Request::post(url)
        .header("content-type", "application/cloudevents+json")
        .body(body.clone())
        .map_err(|error| HttpError::Unreachable {
            target: "the webhook".to_owned(),
            reason: error.to_string(),
        })?;
    if let Some(key) = key {
        request.headers_mut().insert(SIGNATURE, signature(key, &body));
    }
    // The path is the secret of many a chat service.
    let answered = bounded::send(exchange, request, Limits::default()).await;
    let taken = answered.and_then(bounded::Answer::success);
    taken.map(|_| ()).map_err(HttpError::without_path)
}

/// The id is the same however often a notification is sent, so that a receiver can recognize it.
fn event(notification: &Notification) -> serde_json::Value {
    let id = format!(
        "{}/{}/{}",
        notification.upgrade,
        notification.version,
        notification.event.name()
    );
    json!({
        "specversion": "1.0",
        "id": URL_SAFE_NO_PAD.encode(id),
        "source": format!("/clusters/{}/upgradeconfigs/{}", notification.cluster, notification.name),
        "type": format!("dev.drydock.upgrade.{}", notification.event.name()),
        "subject": notification.version,
        "time": notification.raised.to_string(),
        "datacontenttype": "application/json",
        "data": {"version": notification.version, "state": notification.event.name(), "description": notification.description},
    })
}

fn signature(key: &[u8], body: &[u8]) -> HeaderValue {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    let tag = ring::hmac::sign(&key, body);
    let text = format!("sha256={}", hex(tag.as_ref()));
    // Hexadecimal digits are good in a header.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("sha256="))
}
