//! A connection whose watches deliver late: each watch its own events in order, each event by a time of its own, so that what
//! happens to one object is seen before or after what happens to another.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::{BoxError, Service, ServiceExt};

/// By how much the next event is late.
pub type Lateness = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The number of events of a watch that may be on their way at once; more wait until the first has come.
const ON_THEIR_WAY: usize = 1_024;

/// `transport`, with watches whose events are late.
pub fn delayed_watch<S, B>(
    transport: S,
    lateness: Lateness,
) -> impl Service<Request<kube::client::Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
+ Clone
+ Send
+ 'static
where
    S: Service<Request<kube::client::Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    tower::service_fn(move |request: Request<kube::client::Body>| {
        let (transport, lateness) = (transport.clone(), Arc::clone(&lateness));
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.split('&').any(|part| part == "watch=true");
        async move {
            let response = transport.oneshot(request).await.map_err(Into::<BoxError>::into)?;
            Ok(response.map(|body| {
                if is_watch {
                    delayed(body, lateness)
                } else {
                    Body::new(body)
                }
            }))
        }
    })
}

fn delayed<B>(body: B, lateness: Lateness) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError> + Send,
{
    let frames = body.into_data_stream().map(move |frame| {
        let wait = lateness();
        async move {
            tokio::time::sleep(wait).await;
            frame
        }
    });
    Body::from_stream(frames.buffered(ON_THEIR_WAY))
}
