//! The places of requests that read much of the hub: what they hold they hold until the answer is sent.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::Stream;
use futures::stream::unfold;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::error::ApiError;

/// How many such requests are served at a time.
const IN_ALL: usize = 8;
/// How many of them are of one user.
const OF_USER: usize = 2;
/// How many a user may have altogether, with those that wait for a place.
const ASKED: usize = 16;
/// How many bytes are handed on at a time: so many, and what the connection takes, are held of an answer that is sent.
pub(crate) const PIECE: usize = 32 << 10;
/// By when an answer is sent, by the clock of who reads.
const SENT_WITHIN: Duration = Duration::from_mins(2);

/// The parts of an answer, made when they can be sent.
pub(crate) type Pieces = Box<dyn Iterator<Item = io::Result<Bytes>> + Send>;

/// Who reads, and who waits for it. Clones share it.
#[derive(Clone)]
pub(crate) struct Reading {
    places: Arc<Semaphore>,
    users: Arc<Mutex<BTreeMap<String, User>>>,
}

struct User {
    asked: usize,
    places: Arc<Semaphore>,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(IN_ALL)),
            users: Arc::default(),
        }
    }
}

impl Reading {
    /// Waits for a place of a user. Nothing is read before.
    ///
    /// # Errors
    /// If the user waits for many already.
    pub async fn enter(&self, user: &str) -> Result<Place, ApiError> {
        let (asked, own) = self.ask(user)?;
        // One's own first: who waits for that keeps nobody else from a place.
        let own = own.acquire_owned().await;
        let any = Arc::clone(&self.places).acquire_owned().await;
        let closed = |_| ApiError::unavailable("this server ends");
        Ok(Place {
            _places: [own.map_err(closed)?, any.map_err(closed)?],
            _asked: asked,
        })
    }

    fn ask(&self, user: &str) -> Result<(Asked, Arc<Semaphore>), ApiError> {
        let mut users = self.lock();
        let known = users.entry(user.to_owned()).or_insert_with(|| User {
            asked: 0,
            places: Arc::new(Semaphore::new(OF_USER)),
        });
        if known.asked >= ASKED {
            let why = format!("{user} waits for {ASKED} answers already: try again when they are there");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, why));
        }
        known.asked += 1;
        let asked = Asked {
            reading: self.clone(),
            user: user.to_owned(),
        };
        Ok((asked, Arc::clone(&known.places)))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a user.
struct Asked {
    reading: Reading,
    user: String,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut users = self.reading.lock();
        if let Some(user) = users.get_mut(&self.user) {
            user.asked -= 1;
            if user.asked == 0 {
                users.remove(&self.user);
            }
        }
    }
}

/// A place, until it is dropped.
pub(crate) struct Place {
    _places: [OwnedSemaphorePermit; 2],
    _asked: Asked,
}

/// What is still to be sent, and the place that it takes.
struct Sending {
    pieces: Pieces,
    _place: Place,
}

impl Place {
    /// An answer in JSON that keeps the place until it is sent. Who does not read it in time, of a clock that goes `speed` times as fast, loses
    /// it: others wait for the place.
    pub fn answer(self, pieces: Pieces, speed: u32) -> Response {
        let sending = Arc::new(Mutex::new(Some(Sending { pieces, _place: self })));
        let late = Arc::downgrade(&sending);
        let timer = tokio::spawn(async move {
            sleep(SENT_WITHIN * speed).await;
            if let Some(late) = late.upgrade() {
                late.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        });
        let mut response = Response::new(Body::from_stream(sent(sending, AbortOnDropHandle::new(timer))));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

fn sent(
    sending: Arc<Mutex<Option<Sending>>>,
    timer: AbortOnDropHandle<()>,
) -> impl Stream<Item = io::Result<Bytes>> {
    unfold(Some((sending, timer)), |state| async move {
        let (sending, timer) = state?;
        let mut held = sending.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = if let Some(sending) = held.as_mut() {
            sending.pieces.next()
        } else {
            let late = io::Error::new(io::ErrorKind::TimedOut, "the answer was not read in time");
            Some(Err(late))
        };
        let goes_on = matches!(piece, Some(Ok(_)));
        if !goes_on {
            held.take();
        }
        drop(held);
        Some((piece?, goes_on.then_some((sending, timer))))
    })
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

    use super::*;

    fn entered(reading: &Reading, user: &str) -> Option<Place> {
        let place = reading.enter(user).now_or_never();
        place.map(|place| place.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_leaves_places_to_others_and_gives_them_back() {
        let reading = Reading::default();
        let own: Vec<_> = (0..OF_USER)
            .map(|_| entered(&reading, "bob").expect("a place"))
            .collect();
        assert!(entered(&reading, "bob").is_none());
        assert!(entered(&reading, "ann").is_some());
        let mut waiting: Vec<_> = (0..ASKED - OF_USER)
            .map(|_| Box::pin(reading.enter("bob")))
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        let refused = reading.enter("bob").await.err().expect("a refusal");
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        drop((waiting, own));
        assert!(reading.lock().is_empty());
        let all: Vec<_> = (0..IN_ALL)
            .map(|number| entered(&reading, &number.to_string()).expect("a place"))
            .collect();
        assert!(entered(&reading, "bob").is_none());
        drop(all);
        assert!(entered(&reading, "bob").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_keeps_its_place_until_it_is_read_or_too_late() {
        let reading = Reading::default();
        let text = "x".repeat(3 * PIECE);
        let answer = async || {
            let place = reading.enter("bob").await.unwrap();
            place.answer(pieces(&text).unwrap(), 1).into_body()
        };
        let (read, unread) = (answer().await, answer().await);
        assert!(entered(&reading, "bob").is_none());
        let read = read.collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<String>(&read).unwrap(), text);
        assert!(entered(&reading, "bob").is_some());
        sleep(SENT_WITHIN).await;
        tokio::task::yield_now().await;
        assert!(reading.lock().is_empty());
        assert!(
            unread.collect().await.is_err(),
            "nobody takes a part for all of it"
        );
    }
}
