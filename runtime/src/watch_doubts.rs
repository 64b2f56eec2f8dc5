//! Watches that may have died without a word. Where an API server has not answered, nothing says whether a watch that brings nothing is still one:
//! it is begun anew, and until it has listed, what is seen by it counts as old.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use kube::runtime::watcher::{self, Event};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a watch that was begun anew may bring nothing before it is begun anew again: what has swallowed the first attempt may have been the end
/// of what was wrong. Each time it is twice as long, for a list of a large fleet may take a while.
const SILENT_FOR: Duration = Duration::from_secs(15);
/// How long it may bring nothing at most.
const SILENT_AT_MOST: Duration = Duration::from_mins(4);
/// The shortest time between two begins of a watch: a server that has too much to do gets no more of it.
const BETWEEN: Duration = Duration::from_secs(30);

/// The watches of a process, and which of them are in doubt. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WatchDoubts {
    watches: Arc<Mutex<BTreeMap<&'static str, Watch>>>,
    /// There is something new to look after.
    changed: Arc<Notify>,
}

/// One watch, for who runs it.
#[derive(Clone, Debug)]
pub struct DoubtedWatch {
    all: WatchDoubts,
    name: &'static str,
    begin: Arc<Notify>,
}

#[derive(Debug)]
struct Watch {
    begin: Arc<Notify>,
    begun: Option<Instant>,
    doubt: Option<Doubt>,
}

#[derive(Debug)]
struct Doubt {
    /// When it is begun anew, if nothing comes before.
    begin_at: Instant,
    /// How long nothing may come then.
    silence: Duration,
    /// It has been begun anew.
    is_begun: bool,
}

type Watched<K> = Pin<Box<dyn Stream<Item = watcher::Result<Event<K>>> + Send>>;

impl WatchDoubts {
    /// A watch of this name takes part.
    pub fn watch(&self, name: &'static str) -> DoubtedWatch {
        let begin = Arc::new(Notify::new());
        let watch = Watch {
            begin: Arc::clone(&begin),
            begun: None,
            doubt: None,
        };
        self.locked().insert(name, watch);
        DoubtedWatch {
            all: self.clone(),
            name,
            begin,
        }
    }

    /// The API server has not answered: each watch is begun anew.
    pub fn doubt(&self) {
        let now = Instant::now();
        for watch in self.locked().values_mut() {
            let earliest = watch.begun.map_or(now, |begun| begun + BETWEEN);
            watch.doubt.get_or_insert(Doubt {
                begin_at: now.max(earliest),
                silence: SILENT_FOR,
                is_begun: false,
            });
        }
        self.changed.notify_one();
    }

    /// The watches that have not listed since they were doubted.
    pub fn doubted(&self) -> Vec<&'static str> {
        let all = self.locked();
        let doubted = all.iter().filter(|(_, watch)| watch.doubt.is_some());
        doubted.map(|(name, _)| *name).collect()
    }

    /// Begins watches anew that are in doubt, for ever.
    pub async fn look_after(&self) -> std::convert::Infallible {
        loop {
            let next = self.begin_those_due(Instant::now());
            let due = async {
                match next {
                    Some(next) => sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Begins those anew for which it is time; when the next is due.
    fn begin_those_due(&self, now: Instant) -> Option<Instant> {
        let mut all = self.locked();
        let doubted = all.values_mut().filter_map(|watch| {
            let Watch { begin, begun, doubt } = watch;
            let doubt = doubt.as_mut()?;
            if doubt.begin_at <= now {
                begin.notify_one();
                (*begun, doubt.is_begun) = (Some(now), true);
                doubt.begin_at = now + doubt.silence;
                doubt.silence = SILENT_AT_MOST.min(doubt.silence * 2);
            }
            Some(doubt.begin_at)
        });
        doubted.min()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DoubtedWatch {
    /// The events of a watch, which is made anew where it is in doubt: it lists then, as after any interruption.
    pub fn events<K, S>(
        self,
        make: impl Fn() -> S + Send,
    ) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
    where
        K: Send + 'static,
        S: Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    {
        let events: Watched<K> = Box::pin(make());
        stream::unfold((events, make, self), |(mut events, make, watch)| async move {
            loop {
                tokio::select! {
                    biased;
                    () = watch.begin.notified() => events = Box::pin(make()),
                    event = events.next() => {
                        let event = event?;
                        watch.heard(matches!(event, Ok(Event::InitDone)));
                        return Some((event, (events, make, watch)));
                    }
                }
            }
        })
    }

    /// Something has come.
    fn heard(&self, has_listed: bool) {
        let now = Instant::now();
        let mut all = self.all.locked();
        let Some(watch) = all.get_mut(self.name) else {
            return;
        };
        match &mut watch.doubt {
            Some(doubt) if has_listed && doubt.is_begun => watch.doubt = None,
            Some(doubt) if doubt.is_begun => doubt.begin_at = now + doubt.silence,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    type Events = Vec<watcher::Result<Event<ConfigMap>>>;

    /// A watch that brings this each time that it is begun, and nothing more then.
    fn brings(begins: Vec<Events>) -> (WatchDoubts, impl Stream<Item = watcher::Result<Event<ConfigMap>>>) {
        let doubts = WatchDoubts::default();
        let begins = Arc::new(Mutex::new(begins.into_iter()));
        let make = move || {
            let events = begins.lock().unwrap().next().unwrap_or_default();
            stream::iter(events).chain(stream::pending())
        };
        let events = doubts.watch("works").events(make);
        (doubts, events)
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_in_doubt_is_begun_anew_until_it_has_listed() {
        let lists = || vec![Ok(Event::Init), Ok(Event::InitDone)];
        // The first attempt after the doubt is swallowed, and the second breaks off.
        let (doubts, events) = brings(vec![lists(), Vec::new(), vec![Ok(Event::Init)], lists()]);
        let looking = doubts.clone();
        let _looks = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
            looking.look_after().await;
        }));
        let mut events = Box::pin(events);
        for _ in 0..2 {
            events.next().await.unwrap().unwrap();
        }
        assert_eq!(events.next().now_or_never().map(|_| ()), None);
        assert!(doubts.doubted().is_empty());
        let begun = Instant::now();
        doubts.doubt();
        assert_eq!(doubts.doubted(), ["works"]);
        assert!(matches!(events.next().await, Some(Ok(Event::Init))));
        assert_eq!(begun.elapsed(), SILENT_FOR);
        assert_eq!(doubts.doubted(), ["works"]);
        assert!(matches!(events.next().await, Some(Ok(Event::Init))));
        assert!(matches!(events.next().await, Some(Ok(Event::InitDone))));
        assert!(doubts.doubted().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_is_not_begun_anew_all_the_time() {
        let lists = || vec![Ok(Event::InitDone)];
        let (doubts, events) = brings(vec![lists(), lists(), lists()]);
        let looking = doubts.clone();
        let _looks = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
            looking.look_after().await;
        }));
        let mut events = Box::pin(events);
        events.next().await.unwrap().unwrap();
        let begun = Instant::now();
        for after in [Duration::ZERO, BETWEEN] {
            doubts.doubt();
            doubts.doubt();
            events.next().await.unwrap().unwrap();
            assert_eq!(begun.elapsed(), after);
            assert!(doubts.doubted().is_empty());
        }
    }
}
