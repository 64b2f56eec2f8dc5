//! Watches that wait longer and longer while the API server does not answer.

use std::hash::Hash;
use std::pin::Pin;
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, stream};
use kube::runtime::reflector::{Lookup, Store};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, DefaultBackoff, Event};
use tokio_util::sync::CancellationToken;

/// Puts a wait after each error: 0.8 s, 1.6 s … 30 s, with some jitter, until something is read again.
///
/// kube's own `default_backoff` begins again with every attempt to list, because the attempt is an event, too: a program that
/// starts while its API server is away would keep asking as often as at first.
pub fn with_backoff<K>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Send + 'static,
{
    let events: Pin<Box<dyn Stream<Item = watcher::Result<Event<K>>> + Send>> = Box::pin(events);
    let begin = (events, DefaultBackoff::default(), None::<Duration>);
    stream::unfold(begin, |(mut events, mut backoff, pause)| async move {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        let event = events.next().await?;
        let pause = match &event {
            Err(_) => backoff.next(),
            Ok(Event::Init) => None,
            Ok(_) => {
                backoff.reset();
                None
            }
        };
        Some((event, (events, backoff, pause)))
    })
}

/// Returns when `shutdown` comes before the first list is complete: a controller then has nothing to finish, and kube's would
/// wait for that list forever.
pub async fn stopped_before_the_first_list<K>(store: &Store<K>, shutdown: &CancellationToken)
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    shutdown.cancelled().await;
    if store.wait_until_ready().now_or_never().is_some() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::Instant;

    fn refused() -> watcher::Error {
        watcher::Error::NoResourceVersion
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_to_list_become_rare_and_an_answer_makes_them_quick_again() {
        let attempts = stream::iter(0..40).flat_map(|_| stream::iter([Ok(Event::Init), Err(refused())]));
        let answer = stream::iter([Ok(Event::InitDone), Err(refused()), Ok(Event::Init)]);
        let events = with_backoff::<ConfigMap>(attempts.chain(answer));
        let mut events = std::pin::pin!(events);
        let begun = Instant::now();
        for _ in 0..80 {
            events.next().await.unwrap().ok();
        }
        let waited = begun.elapsed();
        assert!(waited > Duration::from_mins(8), "40 attempts took {waited:?}");
        assert!(matches!(events.next().await, Some(Ok(Event::InitDone))));
        assert!(events.next().await.unwrap().is_err());
        let again = Instant::now();
        assert!(matches!(events.next().await, Some(Ok(Event::Init))));
        assert!(again.elapsed() < Duration::from_secs(3), "{:?}", again.elapsed());
    }
}
