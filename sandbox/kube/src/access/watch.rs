//! Following objects for ever, over either kind of access.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};

use super::{Access, Kind, Selection};
use crate::server::{Watch, WatchFrame};
use crate::store::{ChangeKind, Object};

/// How long to wait before another attempt when the in-memory server cannot be reached, as a real client backs off.
const RETRY: Duration = Duration::from_secs(5);

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// All objects there are: forget what is not among them. Comes first, and again after a lost connection.
    Resync(Vec<Arc<Object>>),
    /// An object was made or changed.
    Applied(Arc<Object>),
    /// An object is gone, or no longer selected; its last version.
    Deleted(Arc<Object>),
}

pub(super) fn follow(access: Access, kind: Kind, selection: Selection) -> BoxStream<'static, WatchEvent> {
    match access {
        Access::Memory(_) => {
            let start = Following {
                access,
                kind,
                selection,
                watch: None,
            };
            futures::stream::unfold(start, |mut following| async {
                let event = following.next().await;
                Some((event, following))
            })
            .boxed()
        }
        Access::Remote(remote) => {
            let config = watcher::Config {
                label_selector: selection.labels,
                field_selector: selection.name.map(|name| format!("metadata.name={name}")),
                ..watcher::Config::default()
            };
            let api = remote.api(&kind, selection.namespace.as_deref());
            let events = watcher(api, config).default_backoff();
            gather(events)
        }
    }
}

struct Following {
    access: Access,
    kind: Kind,
    selection: Selection,
    watch: Option<Watch>,
}

impl Following {
    async fn next(&mut self) -> WatchEvent {
        loop {
            if let Some(watch) = &mut self.watch {
                match watch.next().await {
                    Some(WatchFrame::Change { kind, object }) => {
                        return match kind {
                            ChangeKind::Deleted => WatchEvent::Deleted(object),
                            ChangeKind::Added | ChangeKind::Modified => WatchEvent::Applied(object),
                        };
                    }
                    Some(WatchFrame::Bookmark { .. }) => {}
                    Some(WatchFrame::Error(_)) | None => self.watch = None,
                }
                continue;
            }
            let Access::Memory(memory) = &self.access else {
                std::future::pending::<()>().await;
                continue;
            };
            match memory.list_and_watch(&self.kind, &self.selection).await {
                Ok((objects, watch)) => {
                    self.watch = Some(watch);
                    return WatchEvent::Resync(objects);
                }
                Err(error) => {
                    tracing::debug!(kind = %self.kind, %error, "watch waits");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

/// Turns a watcher's events into ours: the pages of a list become one `Resync`.
fn gather(
    events: impl futures::Stream<Item = watcher::Result<watcher::Event<DynamicObject>>> + Send + 'static,
) -> BoxStream<'static, WatchEvent> {
    events
        .inspect_err(|error| tracing::debug!(%error, "watch waits"))
        .filter_map(|event| async { event.ok() })
        .scan(Vec::new(), |list, event| {
            let out = match event {
                watcher::Event::Init => {
                    list.clear();
                    None
                }
                watcher::Event::InitApply(object) => {
                    list.push(super::remote::shared(&object));
                    None
                }
                watcher::Event::InitDone => Some(WatchEvent::Resync(std::mem::take(list))),
                watcher::Event::Apply(object) => Some(WatchEvent::Applied(super::remote::shared(&object))),
                watcher::Event::Delete(object) => Some(WatchEvent::Deleted(super::remote::shared(&object))),
            };
            async { Some(out) }
        })
        .filter_map(|event| async { event })
        .boxed()
}
