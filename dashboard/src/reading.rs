//! The places of requests that read much of the hub: what they hold they hold until the answer is sent.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, header};
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::error::ApiError;
use crate::places::{Limits, Place, Places};

/// How many such requests are served at a time.
pub(crate) const LIMITS: Limits = Limits {
    in_all: 8,
    of_user: 2,
    asked: 16,
    what: "answers",
};
/// How many bytes are handed on at a time: so many, and what the connection takes, are held of an answer that is sent.
pub(crate) const PIECE: usize = 32 << 10;
/// By when an answer is sent, by the clock of who reads.
pub(crate) const SENT_WITHIN: Duration = Duration::from_mins(2);

/// The parts of an answer, made when they can be sent.
pub(crate) type Pieces = Box<dyn Iterator<Item = io::Result<Bytes>> + Send>;

impl Place {
    /// An answer in JSON that keeps the place until it is sent, in time of a clock that goes `speed` times as fast.
    pub fn answer(self, pieces: Pieces, speed: u32) -> Response {
        let body = Body::from_stream(stream::iter(pieces));
        let mut response = Response::new(self.until_sent(body, SENT_WITHIN * speed));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// Work that takes its time, such as reading a long text, beside what answers others: in a place of the user.
///
/// # Errors
/// If the user waits for many already, or it fails.
pub(crate) async fn beside<T: Send + 'static>(
    places: &Places,
    user: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let place = places.enter(user).await?;
    let working = spawn_blocking(move || {
        let _kept = place;
        work()
    });
    let failed = |_| ApiError::unavailable("the request has failed: see the log of this server");
    working.await.map_err(failed)
}

/// A value as JSON.
///
/// # Errors
/// If it cannot be written, which plain data rules out.
pub(crate) fn pieces(value: &impl Serialize) -> Result<Pieces, ApiError> {
    let text = serde_json::to_vec(value);
    let text = text.map_err(|error| ApiError::unavailable(format!("writing the answer: {error}")))?;
    let mut begin = 0;
    // Copies, so that a piece that waits to be sent does not hold all of them.
    Ok(Box::new(std::iter::from_fn(move || {
        let rest = text.get(begin..).filter(|rest| !rest.is_empty())?;
        let piece = Bytes::copy_from_slice(rest.get(..PIECE).unwrap_or(rest));
        begin += piece.len();
        Some(Ok(piece))
    })))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use http_body_util::BodyExt;
    use tokio::time::sleep;

    use super::*;
    use crate::places::Places;

    #[tokio::test(start_paused = true)]
    async fn an_answer_keeps_its_place_until_it_is_read_or_too_late() {
        let reading = Places::new(LIMITS);
        let text = "x".repeat(3 * PIECE);
        let answer = async || {
            let place = reading.enter("bob").await.unwrap();
            place.answer(pieces(&text).unwrap(), 1).into_body()
        };
        let (read, unread) = (answer().await, answer().await);
        assert!(reading.enter("bob").now_or_never().is_none());
        let read = read.collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<String>(&read).unwrap(), text);
        assert!(reading.enter("bob").now_or_never().is_some());
        sleep(SENT_WITHIN).await;
        tokio::task::yield_now().await;
        assert!(reading.are_free());
        assert!(
            unread.collect().await.is_err(),
            "nobody takes a part for all of it"
        );
    }
}
