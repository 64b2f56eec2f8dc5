use std::convert::Infallible;
use std::path::PathBuf;

use futures::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use kube_sandbox::server::{ApiServer, ServerSettings, Types};
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::http::Body;

fn now() -> Timestamp {
    "2026-01-05T08:00:00Z".parse().unwrap()
}

fn informer() -> UpdateInformer {
    let mut informer = UpdateInformer::new("mco", drydock_api::insights::UpdateInformerSpec::default());
    informer.spec.client_config.service.namespace = "ns".to_owned();
    informer.spec.client_config.service.name = "svc".to_owned();
    informer.spec.client_config.service.path = Some("/prefix/".to_owned());
    informer.spec.client_config.ca_bundle = Some(STANDARD_BUNDLE.to_owned());
    informer
}

/// What is in its certificate does not matter within a process.
const STANDARD_BUNDLE: &str =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmVBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

fn client(network: Network) -> HookClient {
    let types = Types::with_definitions(&[]).unwrap();
    let clock = drydock_runtime::Clock::simulated(now());
    let server = ApiServer::new(ServerSettings::new("x", clock, 1, types));
    let authorities = Authorities {
        client: server.client("agent"),
        service_authority: PathBuf::from("/nowhere"),
    };
    HookClient::new(network, authorities)
}

/// An informer that answers each request like this.
fn answering(
    answer: impl Fn(&Request<Bytes>) -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
) -> HookClient {
    client(Network::in_process(service_fn(move |request: Request<Bytes>| {
        let answered = answer(&request);
        async move { Ok::<_, Infallible>(answered) }
    })))
}

fn body(value: &Value) -> Response<Full<Bytes>> {
    let bytes = Bytes::from(value.to_string());
    Response::builder()
        .header(CONTENT_TYPE, JSON)
        .body(Full::new(bytes))
        .unwrap()
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).body(Full::default()).unwrap()
}

async fn ask(client: &HookClient) -> Result<Answer, ContactFailure> {
    let name = InformerName::parse("mco").unwrap();
    let question = InsightsRequestSpec::default();
    client
        .insights(&informer(), &name, Hook::UpdateInsights, question, now())
        .await
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_asked_by_post_and_by_get_with_a_body_where_that_is_not_allowed() {
    for refusal in [
        None,
        Some(StatusCode::METHOD_NOT_ALLOWED),
        Some(StatusCode::NOT_FOUND),
    ] {
        let client = answering(move |request| {
            assert_eq!(
                request.uri(),
                "https://svc.ns.svc:443/prefix/hooks.config.openshift.io/v1alpha/updateInsights"
            );
            let asked: Value = serde_json::from_slice(request.body()).unwrap();
            assert_eq!(asked["kind"], "UpdateInsightsRequest");
            match refusal {
                Some(refusal) if request.method() == Method::POST => status(refusal),
                _ => body(&json!({"spec": {"insights": []}, "status": {"response": "Success"}})),
            }
        });
        assert_eq!(ask(&client).await, Ok(Answer::Success(vec![])));
    }
}

type Answering = Box<dyn Fn() -> Response<Full<Bytes>> + Send + Sync>;

#[tokio::test(start_paused = true)]
async fn every_bad_answer_has_its_reason() {
    let moved = || {
        let mut moved = status(StatusCode::FOUND);
        moved
            .headers_mut()
            .insert("location", "https://elsewhere.example/".parse().unwrap());
        moved
    };
    let page = || {
        Response::builder()
            .header(CONTENT_TYPE, "text/html")
            .body(Full::from("{}"))
            .unwrap()
    };
    let twice = || {
        let insight = json!({
            "uid": "a", "acquisitionTime": "2026-01-05T08:00:00Z", "scope": {"type": "ControlPlane"},
            "impact": {"summary": "x"},
        });
        body(&json!({"spec": {"insights": [insight, insight]}, "status": {"response": "Success"}}))
    };
    let huge = || Response::new(Full::new(Bytes::from(vec![b' '; MAX_BYTES + 1])));
    let cases: [(Answering, FailureKind, &str); 6] = [
        (
            Box::new(moved),
            FailureKind::DiscoveryFailed,
            "redirects are not followed",
        ),
        (
            Box::new(|| status(StatusCode::NOT_FOUND)),
            FailureKind::DiscoveryFailed,
            "404",
        ),
        (
            Box::new(|| status(StatusCode::INTERNAL_SERVER_ERROR)),
            FailureKind::DiscoveryFailed,
            "500",
        ),
        (
            Box::new(page),
            FailureKind::InvalidResponse,
            "not application/json",
        ),
        (
            Box::new(twice),
            FailureKind::InvalidResponse,
            "two insights have uid \"a\"",
        ),
        (
            Box::new(huge),
            FailureKind::InvalidResponse,
            "larger than 2097152 bytes",
        ),
    ];
    for (answer, kind, words) in cases {
        let answer = std::sync::Arc::new(answer);
        let failure = ask(&answering(move |_| answer())).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{}", failure.message);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_silent_or_endless_costs_no_more_than_its_time() {
    let silent = service_fn(|_: Request<Bytes>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let drip = service_fn(|_: Request<Bytes>| async {
        let pieces = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" ")))
        });
        Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(pieces))))
    });
    for network in [Network::in_process(silent), Network::in_process(drip)] {
        let began = tokio::time::Instant::now();
        let failure = ask(&client(network)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{}", failure.message);
        assert_eq!(began.elapsed(), Duration::from_secs(10));
    }
}

#[tokio::test(start_paused = true)]
async fn whom_to_trust_has_to_be_known() {
    let client = answering(|_| panic!("nothing is sent"));
    let mut informer = informer();
    let kind = |result: Result<Discovery, ContactFailure>| result.unwrap_err();
    for no_pem in ["?", "aGVsbG8K"] {
        informer.spec.client_config.ca_bundle = Some(no_pem.to_owned());
        let failure = kind(client.discover(&informer).await);
        assert_eq!(failure.kind, FailureKind::CAUnavailable);
        assert!(failure.message.contains("PEM in base64"), "{}", failure.message);
    }
    informer.spec.client_config.ca_bundle = None;
    let failure = kind(client.discover(&informer).await);
    assert_eq!(failure.kind, FailureKind::CAUnavailable);
    assert!(failure.message.contains("/nowhere"), "{}", failure.message);
    for (secret, words) in [("name", "namespace/name"), ("ns/gone", "reading Secret ns/gone")] {
        let annotations = [(
            drydock_api::insights::INJECT_CA_ANNOTATION.to_owned(),
            secret.to_owned(),
        )];
        informer.metadata.annotations = Some(annotations.into());
        let failure = kind(client.discover(&informer).await);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}
