//! Plays the lifecycle manager on an API server.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use kube_sandbox::Clock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::decide::decide;
use super::kinds::{CATALOG_SOURCE, CLUSTER_SERVICE_VERSION, CONFIG_MAP, INSTALL_PLAN, SUBSCRIPTION};
use super::objects::{CatalogSource, OlmObjects, Write};
use kube_sandbox::access::{Access, AccessError, Removal, Selection, WatchEvent};
use kube_sandbox::sleep::{duration_until, sleep_until_some};

/// How long to wait before a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Plays it until `shutdown`, on a server that has its kinds.
pub async fn run(access: Access, clock: Clock, shutdown: CancellationToken) {
    let mut events = watches(&access);
    let mut seen = OlmObjects::default();
    let mut wake: Option<Instant> = None;
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            Some((source, event)) = events.next() => seen.take(source, event),
            () = sleep_until_some(wake) => {}
        }
        let now = clock.now();
        let plan = decide(&seen, now);
        wake = plan.wake.map(|at| Instant::now() + duration_until(now, at));
        for write in plan.writes {
            if let Err(error) = carry_out(&access, write).await {
                tracing::debug!(%error, "the lifecycle manager's write is tried again");
                let retry = Instant::now() + RETRY;
                wake = Some(wake.map_or(retry, |wake| wake.min(retry)));
            }
        }
    }
}

fn watches(access: &Access) -> SelectAll<BoxStream<'static, (CatalogSource, WatchEvent)>> {
    let mut events = SelectAll::new();
    for (source, kind) in [
        (CatalogSource::Catalogs, &CATALOG_SOURCE),
        (CatalogSource::ConfigMaps, &CONFIG_MAP),
        (CatalogSource::Subscriptions, &SUBSCRIPTION),
        (CatalogSource::Plans, &INSTALL_PLAN),
        (CatalogSource::Versions, &CLUSTER_SERVICE_VERSION),
    ] {
        let watch = access.watch(kind, &Selection::everything());
        events.push(watch.map(move |event| (source, event)).boxed());
    }
    events
}

async fn carry_out(access: &Access, write: Write) -> Result<(), AccessError> {
    let done = match write {
        Write::Create(kind, object) => access.create(kind, object).await.map(drop),
        Write::Status(kind, key, status) => {
            let mut object = access.get(kind, &key).await?.value().clone();
            object["status"] = status;
            access.replace_status(kind, object).await.map(drop)
        }
        Write::Delete(kind, key) => access.delete(kind, &key, &Removal::default()).await,
    };
    match done {
        // What is there already, is gone, or was changed by somebody else is seen soon.
        Err(error) if error.is_already_exists() || error.is_not_found() || error.is_conflict() => Ok(()),
        other => other,
    }
}
