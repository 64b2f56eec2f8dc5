use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Response, header};
use http_body_util::Full;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::http::Network;

/// What was asked, and with which proof.
type RequestLog = Vec<(String, Option<String>)>;

/// A registry: what it has, by address, and what it was asked with which proof.
#[derive(Clone, Default)]
struct Made {
    answers: Arc<BTreeMap<String, Response<Bytes>>>,
    asked: Arc<Mutex<RequestLog>>,
    /// The proof without which nothing of `/v2/` is given.
    wants: Option<&'static str>,
    challenge: &'static str,
}

fn digest(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    format!("sha256:{}", hex(digest.as_ref()))
}

fn answer(body: &[u8]) -> Response<Bytes> {
    Response::new(Bytes::copy_from_slice(body))
}

/// A release image of this version; `blob` answers for its configuration.
fn image(
    labels: &serde_json::Value,
    blob: impl Fn(&[u8]) -> Response<Bytes>,
) -> (String, BTreeMap<String, Response<Bytes>>) {
    let config = json!({"config": {"Labels": labels}}).to_string();
    let manifest = json!({"config": {"digest": digest(config.as_bytes())}}).to_string();
    let name = "quay.example/openshift/release";
    let path = "https://quay.example/v2/openshift/release";
    let answers = BTreeMap::from([
        (
            format!("{path}/manifests/{}", digest(manifest.as_bytes())),
            answer(manifest.as_bytes()),
        ),
        (
            format!("{path}/blobs/{}", digest(config.as_bytes())),
            blob(config.as_bytes()),
        ),
    ]);
    (format!("{name}@{}", digest(manifest.as_bytes())), answers)
}

impl Made {
    fn exchange(&self) -> Exchange {
        let made = self.clone();
        let service = service_fn(move |request: Request<Bytes>| {
            let made = made.clone();
            async move { Ok::<_, std::convert::Infallible>(made.respond(&request).map(Full::new)) }
        });
        Network::in_process(service).exchange(None).unwrap()
    }

    fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let proof = request.headers().get(AUTHORIZATION);
        let proof = proof.map(|value| value.to_str().unwrap().to_owned());
        let uri = request.uri().to_string();
        self.asked.lock().unwrap().push((uri.clone(), proof.clone()));
        let is_locked = uri.contains("/v2/") && self.wants.is_some() && proof.as_deref() != self.wants;
        let mut response = if is_locked {
            let mut refusal = answer(b"");
            *refusal.status_mut() = StatusCode::UNAUTHORIZED;
            refusal
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static(self.challenge));
            refusal
        } else {
            self.answers.get(&uri).cloned().unwrap_or_else(|| {
                let mut missing = answer(b"");
                *missing.status_mut() = StatusCode::NOT_FOUND;
                missing
            })
        };
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    async fn version(&self, image: &str, credentials: &Credentials) -> Result<String, String> {
        let exchange = self.exchange();
        let version = Registry::new(&exchange, credentials).version(image).await;
        version.map_err(|error| error.to_string())
    }
}

fn labels() -> serde_json::Value {
    json!({"io.openshift.release": "4.14.12"})
}

#[tokio::test]
async fn the_version_is_the_label_of_the_image() {
    let (name, answers) = image(&labels(), answer);
    let made = Made {
        answers: Arc::new(answers),
        ..Made::default()
    };
    let version = made.version(&name, &Credentials::default()).await;
    assert_eq!(version.as_deref(), Ok("4.14.12"));
    let (name, answers) = image(&json!({"other": "4.14.12"}), answer);
    let made = Made {
        answers: Arc::new(answers),
        ..Made::default()
    };
    let error = made.version(&name, &Credentials::default()).await.unwrap_err();
    assert!(error.contains("is not a release image"), "{error}");
}

#[tokio::test]
async fn the_pull_secret_proves_who_asks_directly_and_by_a_token() {
    let secret =
        br#"{"auths": {"quay.example": {"auth": "dTpw"}, "quay.example/openshift": {"auth": "b3M="}}}"#;
    let credentials = Credentials::parse(secret).unwrap();
    let (name, mut answers) = image(&labels(), answer);
    let token = "https://auth.example/token?service=quay&scope=repository%3Aopenshift%2Frelease%3Apull";
    answers.insert(token.to_owned(), answer(br#"{"token": "t1"}"#));
    let answers = Arc::new(answers);
    for (wants, challenge) in [
        ("Basic b3M=", "Basic realm=\"quay\""),
        (
            "Bearer t1",
            "Bearer realm=\"https://auth.example/token\",service=\"quay\",scope=\"x\"",
        ),
    ] {
        let made = Made {
            answers: Arc::clone(&answers),
            wants: Some(wants),
            challenge,
            ..Made::default()
        };
        assert_eq!(
            made.version(&name, &credentials).await.as_deref(),
            Ok("4.14.12"),
            "{wants}"
        );
    }
    let plain = Made {
        answers,
        wants: Some("Bearer t1"),
        challenge: "Bearer realm=\"http://auth.example/token\"",
        ..Made::default()
    };
    let error = plain.version(&name, &credentials).await.unwrap_err();
    assert!(
        error.contains("wants credentials that cannot be given"),
        "{error}"
    );
}

#[tokio::test]
async fn a_blob_elsewhere_is_fetched_without_credentials_and_never_without_tls() {
    let credentials = Credentials::parse(br#"{"auths": {"quay.example": {"auth": "dTpw"}}}"#).unwrap();
    let to = |location: &'static str| {
        move |_: &[u8]| {
            let mut response = answer(b"");
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response
                .headers_mut()
                .insert(LOCATION, HeaderValue::from_static(location));
            response
        }
    };
    let (name, mut answers) = image(&labels(), to("https://cdn.example/blob"));
    let config = json!({"config": {"Labels": labels()}}).to_string();
    answers.insert("https://cdn.example/blob".to_owned(), answer(config.as_bytes()));
    let made = Made {
        answers: Arc::new(answers),
        wants: Some("Basic dTpw"),
        challenge: "Basic",
        ..Made::default()
    };
    assert_eq!(made.version(&name, &credentials).await.as_deref(), Ok("4.14.12"));
    let asked = made.asked.lock().unwrap().clone();
    let elsewhere = asked.iter().find(|(uri, _)| uri.contains("cdn.example")).unwrap();
    assert_eq!(elsewhere.1, None);
    for (location, why) in [
        ("http://cdn.example/blob", "without TLS"),
        ("https://quay.example/again", "answers 404"),
    ] {
        let (name, answers) = image(&labels(), to(location));
        let made = Made {
            answers: Arc::new(answers),
            ..Made::default()
        };
        let error = made.version(&name, &credentials).await.unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn what_has_another_digest_or_is_huge_is_refused() {
    for (blob, why) in [
        (b"{}".to_vec(), "another digest"),
        (vec![b' '; LARGEST + 1], "larger than"),
    ] {
        let (name, answers) = image(&labels(), |_| answer(&blob));
        let made = Made {
            answers: Arc::new(answers),
            ..Made::default()
        };
        let error = made.version(&name, &Credentials::default()).await.unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn images_are_named_whole_and_by_digest() {
    let digest = format!("sha256:{}", "a".repeat(64));
    for (name, is_whole) in [
        (format!("quay.io/a/b@{digest}"), true),
        (format!("localhost:5000/b@{digest}"), true),
        (format!("b@{digest}"), false),
        (format!("a/b@{digest}"), false),
        (format!("quay.io/../b@{digest}"), false),
        (format!("quay.io/a?b@{digest}"), false),
        ("quay.io/a/b:4.14".to_owned(), false),
        ("quay.io/a/b@sha256:abc".to_owned(), false),
    ] {
        assert_eq!(name.parse::<ImageReference>().is_ok(), is_whole, "{name}");
    }
}
