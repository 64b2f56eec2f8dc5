//! A client that acts as somebody else.

use http::{HeaderMap, HeaderName, HeaderValue};
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::Client;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tower::service_fn;

/// What may stand in the name of a header as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// The name of the user, or of something about it, cannot be sent as a header.
#[derive(Debug, thiserror::Error)]
#[error("what the API server says of the user cannot be sent as a header, so that nobody can act as it: {0}")]
pub(super) struct HeaderError(String);

/// A client that makes the same requests as `user`, with everything that the API server has said of it: a scope among what is extra makes
/// rights narrower.
///
/// # Errors
/// If what is known of the user cannot be sent.
pub(super) fn client_of(user: &UserInfo, client: &Client) -> Result<Client, HeaderError> {
    let headers = headers(user)?;
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let impersonating = service_fn(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().extend(headers.clone());
        let client = client.clone();
        async move { client.send(request).await }
    });
    Ok(Client::new(impersonating, namespace))
}

fn headers(user: &UserInfo) -> Result<HeaderMap, HeaderError> {
    let value = |text: &str| {
        // Blanks at the ends of a header are no part of it (RFC 9110, section 5.5): without them it may be the name of another one.
        let is_whole = text.trim() == text;
        let value = HeaderValue::from_bytes(text.as_bytes()).ok();
        value
            .filter(|_| is_whole)
            .ok_or_else(|| HeaderError(format!("{text:?}")))
    };
    let mut headers = HeaderMap::new();
    let name = user.username.as_deref().unwrap_or_default();
    headers.append("impersonate-user", value(name)?);
    if let Some(uid) = &user.uid {
        headers.append("impersonate-uid", value(uid)?);
    }
    for group in user.groups.iter().flatten() {
        if group.is_empty() {
            return Err(HeaderError("a group without a name".to_owned()));
        }
        headers.append("impersonate-group", value(group)?);
    }
    for (key, values) in user.extra.iter().flatten() {
        let name = format!("impersonate-extra-{}", utf8_percent_encode(key, PLAIN));
        let name: HeaderName = name.parse().map_err(|_| HeaderError(key.clone()))?;
        for text in values {
            headers.append(name.clone(), value(text)?);
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_known_of_a_user_is_sent() {
        let user = UserInfo {
            username: Some("ann".to_owned()),
            uid: Some("7".to_owned()),
            groups: Some(vec!["platform".to_owned(), "system:authenticated".to_owned()]),
            extra: Some([("scopes/a".to_owned(), vec!["user:info".to_owned()])].into()),
        };
        let headers = headers(&user).unwrap();
        let of = |name: &str| headers.get_all(name).iter().collect::<Vec<_>>();
        assert_eq!(of("impersonate-user"), ["ann"]);
        assert_eq!(of("impersonate-uid"), ["7"]);
        assert_eq!(of("impersonate-group"), ["platform", "system:authenticated"]);
        assert_eq!(of("impersonate-extra-scopes%2fa"), ["user:info"]);
    }

    /// A line break would begin a header of its own, and blanks at the ends are left out: somebody else would act.
    #[test]
    fn what_is_no_header_is_refused() {
        let user = |name: &str, uid: &str, group: &str, extra: &str| UserInfo {
            username: Some(name.to_owned()),
            uid: Some(uid.to_owned()),
            groups: Some(vec![group.to_owned()]),
            extra: Some([("scopes".to_owned(), vec![extra.to_owned()])].into()),
        };
        for (known, is_sent) in [
            (user("ann", "7", "platform", "user:info"), true),
            (user("ann smith", "7", "the platform", ""), true),
            (
                user("ann\r\nimpersonate-group: system:masters", "7", "platform", ""),
                false,
            ),
            (user("ann ", "7", "platform", ""), false),
            (user("\tann", "7", "platform", ""), false),
            (user("ann", " 7", "platform", ""), false),
            (user("ann", "7", " system:masters", ""), false),
            (user("ann", "7", "system:masters\u{a0}", ""), false),
            (user("ann", "7", "", ""), false),
            (user("ann", "7", "platform", "user:full "), false),
        ] {
            assert_eq!(headers(&known).is_ok(), is_sent, "{known:?}");
        }
    }
}
