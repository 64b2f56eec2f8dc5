//! Places of what takes much of the server: so many in all, and so many of one user, so that nobody keeps the others waiting.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::error::ApiError;

/// How many there are.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// How many are taken at a time.
    pub in_all: usize,
    /// How many of them by one user.
    pub of_user: usize,
    /// How many a user may ask for, with those that wait.
    pub asked: usize,
    /// What is waited for, as the refusal names it.
    pub what: &'static str,
}

/// Who has a place, and who waits for one. Clones share it.
#[derive(Clone)]
pub(crate) struct Places {
    limits: Limits,
    free: Arc<Semaphore>,
    users: Arc<Mutex<BTreeMap<String, User>>>,
}

struct User {
    asked: usize,
    free: Arc<Semaphore>,
}

impl Places {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            free: Arc::new(Semaphore::new(limits.in_all)),
            users: Arc::default(),
        }
    }

    /// Waits for a place of a user.
    ///
    /// # Errors
    /// If the user waits for many already.
    pub async fn enter(&self, user: &str) -> Result<Place, ApiError> {
        let (asked, own) = self.ask(user)?;
        // One's own first: who waits for that keeps nobody else from a place.
        let own = own.acquire_owned().await;
        let any = Arc::clone(&self.free).acquire_owned().await;
        let closed = |_| ApiError::unavailable("this server ends");
        Ok(Place {
            _places: [own.map_err(closed)?, any.map_err(closed)?],
            _asked: asked,
        })
    }

    fn ask(&self, user: &str) -> Result<(Asked, Arc<Semaphore>), ApiError> {
        let Limits {
            asked, of_user, what, ..
        } = self.limits;
        let mut users = self.lock();
        let known = users.entry(user.to_owned()).or_insert_with(|| User {
            asked: 0,
            free: Arc::new(Semaphore::new(of_user)),
        });
        if known.asked >= asked {
            let why = format!("{user} waits for {asked} {what} already: try again when they are there");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, why));
        }
        known.asked += 1;
        let asked = Asked {
            places: self.clone(),
            user: user.to_owned(),
        };
        Ok((asked, Arc::clone(&known.free)))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody has a place, or waits for one.
    #[cfg(test)]
    pub fn are_free(&self) -> bool {
        self.lock().is_empty()
    }
}

/// A request of a user.
struct Asked {
    places: Places,
    user: String,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut users = self.places.lock();
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

impl Place {
    /// A body that keeps the place until it is sent. What is not read in time is given up with the place: others wait for it.
    pub fn until_sent(self, body: Body, within: Duration) -> Body {
        let sending = Arc::new(Mutex::new(Some(Sending { body, _place: self })));
        let late = Arc::downgrade(&sending);
        let timer = tokio::spawn(async move {
            sleep(within).await;
            if let Some(late) = late.upgrade() {
                late.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        });
        Body::new(Sent {
            sending,
            _timer: AbortOnDropHandle::new(timer),
        })
    }
}

/// What is still to be sent, and the place that it takes.
struct Sending {
    body: Body,
    _place: Place,
}

/// A body that is sent from a place.
struct Sent {
    sending: Arc<Mutex<Option<Sending>>>,
    _timer: AbortOnDropHandle<()>,
}

impl Sent {
    fn sending(&self) -> MutexGuard<'_, Option<Sending>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(sending) = self.sending().as_mut() {
            return Pin::new(&mut sending.body).poll_frame(context);
        }
        let late = io::Error::new(io::ErrorKind::TimedOut, "the answer was not read in time");
        Poll::Ready(Some(Err(axum::Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.sending()
            .as_ref()
            .is_some_and(|sending| sending.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let sending = self.sending();
        sending
            .as_ref()
            .map(|sending| sending.body.size_hint())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const LIMITS: Limits = Limits {
        in_all: 8,
        of_user: 2,
        asked: 16,
        what: "answers",
    };

    fn entered(places: &Places, user: &str) -> Option<Place> {
        let place = places.enter(user).now_or_never();
        place.map(|place| place.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_keeps_its_place_until_it_is_sent_or_too_late() {
        let places = Places::new(LIMITS);
        let sent = |place: Place| place.until_sent(Body::from("all is well"), Duration::from_secs(9));
        let own = [entered(&places, "bob").unwrap(), entered(&places, "bob").unwrap()].map(sent);
        assert!(entered(&places, "bob").is_none());
        let [read, unread] = own;
        assert_eq!(http_body::Body::size_hint(&read).exact(), Some(11));
        assert_eq!(axum::body::to_bytes(read, 99).await.unwrap(), "all is well");
        assert!(entered(&places, "bob").is_some());
        sleep(Duration::from_secs(9)).await;
        tokio::task::yield_now().await;
        assert!(places.are_free());
        assert!(
            axum::body::to_bytes(unread, 99).await.is_err(),
            "nobody takes a part for all of it"
        );
    }

    #[tokio::test]
    async fn one_user_leaves_places_to_others_and_gives_them_back() {
        let places = Places::new(LIMITS);
        let own: Vec<_> = (0..LIMITS.of_user)
            .map(|_| entered(&places, "bob").expect("a place"))
            .collect();
        assert!(entered(&places, "bob").is_none());
        assert!(entered(&places, "ann").is_some());
        let mut waiting: Vec<_> = (0..LIMITS.asked - LIMITS.of_user)
            .map(|_| Box::pin(places.enter("bob")))
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        let refused = places.enter("bob").await.err().expect("a refusal");
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        // Who gives up waiting may ask again.
        waiting.pop();
        assert!(places.ask("bob").is_ok());
        drop((waiting, own));
        assert!(places.are_free());
        let all: Vec<_> = (0..LIMITS.in_all)
            .map(|number| entered(&places, &number.to_string()).expect("a place"))
            .collect();
        assert!(entered(&places, "bob").is_none());
        drop(all);
        assert!(entered(&places, "bob").is_some());
    }
}
