use std::convert::Infallible;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use tower::service_fn;

use super::*;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(20),
    bytes: 1000,
};

fn get(uri: &str) -> Request<Bytes> {
    Request::get(uri).body(Bytes::new()).unwrap()
}

/// A server that sends chunks of this size without end, one after each delay.
fn endless(bytes: usize, wait: Duration) -> Exchange {
    let service = service_fn(move |_: Request<Bytes>| async move {
        let pieces = stream::repeat(()).then(move |()| async move {
            tokio::time::sleep(wait).await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes])))
        });
        Ok::<_, Infallible>(Response::new(StreamBody::new(Box::pin(pieces))))
    });
    Network::in_process(service).exchange(None).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_endless_huge_or_slow_is_bounded_in_time_and_memory() {
    for (bytes, wait, says) in [
        (10, Duration::ZERO, "is larger than 1000 bytes"),
        (5000, Duration::ZERO, "is larger than 1000 bytes"),
        (0, Duration::from_secs(1), "has not answered within 20 s"),
        (1, Duration::from_hours(1), "has not answered within 20 s"),
    ] {
        let error = send(
            &endless(bytes, wait),
            get("https://slow.example/x?secret=1"),
            LIMITS,
        )
        .await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(
            error.contains("GET https://slow.example/x") && !error.contains("secret"),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_is_an_answer_however_large_its_body_is() {
    let endless = endless(5000, Duration::ZERO);
    let answered = send_for_status(&endless, get("https://up.example/x?secret=1"), LIMITS.time);
    let (target, status) = answered.await.unwrap();
    assert_eq!(
        (target.as_str(), status),
        ("GET https://up.example/x", StatusCode::OK)
    );
    let silent =
        service_fn(|_: Request<Bytes>| std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>());
    let silent = Network::in_process(silent).exchange(None).unwrap();
    let error = send_for_status(&silent, get("https://up.example/x"), LIMITS.time)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("has not answered within 20 s"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_an_answer_and_nothing_is_sent_elsewhere() {
    let service = service_fn(|request: Request<Bytes>| async move {
        assert_eq!(request.uri().host(), Some("here.example"));
        let mut response = Response::new(Full::new(Bytes::new()));
        *response.status_mut() = StatusCode::FOUND;
        Ok::<_, Infallible>(response)
    });
    let exchange = Network::in_process(service).exchange(None).unwrap();
    let answer = send(&exchange, get("https://user:word@here.example:8443/x"), LIMITS)
        .await
        .unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
    let error = answer.success().unwrap_err().to_string();
    assert_eq!(error, "GET https://here.example:8443/x answers 302 Found");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_json_says_so() {
    let service = service_fn(|_: Request<Bytes>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("<html>"))))
    });
    let exchange = Network::in_process(service).exchange(None).unwrap();
    let answer = send(&exchange, get("https://here.example/x"), LIMITS)
        .await
        .unwrap();
    let error = answer.json::<Vec<String>>().unwrap_err().to_string();
    assert!(
        error.starts_with("the answer of GET https://here.example/x cannot be understood"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_come_to_stand_is_given_up_after_half_a_minute() {
    // The system takes the connection; nobody ever answers the first message of TLS.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("https://{}/x", silent.local_addr().unwrap());
    let patient = Limits {
        time: Duration::from_mins(5),
        ..LIMITS
    };
    let began = tokio::time::Instant::now();
    let network = Network::default();
    let error = send(&network.exchange(None).unwrap(), get(&uri), patient)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, HttpError::Unreachable { reason, .. } if reason.contains("timed out")),
        "{error:?}"
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

/// A server with TLS for this name, and the authority (PEM) that signed its certificate.
async fn server_for(name: &str) -> (String, String) {
    let authority = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters
        .distinguished_name
        .push(rcgen::DnType::CommonName, format!("authority of {name}"));
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = parameters.self_signed(&authority).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            rustls::pki_types::PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("https://{}/x", listener.local_addr().unwrap());
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _request = stream.read(&mut [0; 1024]).await;
                let _sent = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                    .await;
                let _ended = stream.shutdown().await;
            }
        }
    });
    (uri, root.pem())
}

#[tokio::test]
async fn only_who_has_a_certificate_for_its_name_by_the_given_authority_is_trusted() {
    let (uri, authority) = server_for("127.0.0.1").await;
    let (other, other_authority) = server_for("other.example").await;
    let both = format!("{other_authority}{authority}");
    let cases = [
        (&uri, &authority, ""),
        (&uri, &both, ""),
        (&uri, &other_authority, "UnknownIssuer"),
        (&other, &other_authority, "not valid for name"),
    ];
    for (uri, authorities, words) in cases {
        let exchange = Network::default().exchange(Some(authorities.as_bytes())).unwrap();
        match send(&exchange, get(uri), LIMITS).await {
            Ok(answer) => assert!(words.is_empty() && answer.status == StatusCode::OK, "{words}"),
            Err(HttpError::Untrusted { reason, .. }) => {
                assert!(!words.is_empty() && reason.contains(words), "{reason}");
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}
