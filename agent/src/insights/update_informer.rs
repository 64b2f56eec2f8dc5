//! The controller of UpdateInformers (insights.md, section 1.2): asks each what it can do, now and then, and says in its condition Online
//! how it is doing. Several are asked at once: one that is slow keeps nobody waiting.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drydock_api::insights::{InformerCondition, UpdateInformer, UpdateInformerStatus, condition};
use drydock_insights::online::{self, Contact};
use drydock_runtime::events::{NewEvent, Severity};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use kube::{Resource, ResourceExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::contacts::Contacts;
use super::hook_client::HookClient;
use super::watches::Seen;
use super::{AT_ONCE, Context, IDLE, is_updating, write};
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Changed;

/// How often an informer is asked what it can do while the cluster is updated (insights.md, section 1.9, row 14).
const BUSY: SignedDuration = SignedDuration::from_secs(60);
/// After how long a write that has failed is tried again.
const RETRY: SignedDuration = SignedDuration::from_secs(30);
/// How long the controller sleeps at most.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// What the controller has.
pub(super) struct UpdateInformers {
    pub context: Context,
    pub seen: Seen,
    pub hooks: Arc<HookClient>,
    pub contacts: Contacts,
    pub changed: Changed<UpdateInformer>,
    pub woken: Arc<Notify>,
}

impl UpdateInformers {
    /// Runs until `shutdown`.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut sleep = LONGEST_SLEEP;
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = self.woken.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                next = self.pass() => sleep = next,
            }
        }
    }

    /// Asks who is due. Says for how long nobody is.
    async fn pass(&self) -> Duration {
        if !self.seen.informers.is_looked_for() || !self.seen.cluster.is_looked_for() {
            return LONGEST_SLEEP;
        }
        let informers = self.seen.informers.objects();
        let names: BTreeSet<_> = informers.iter().map(|informer| informer.name_any()).collect();
        self.contacts.retain(|name| names.contains(name));
        self.hooks.retain(|name| names.contains(name));
        let interval = if is_updating(&self.seen, self.context.clock.now()) {
            BUSY
        } else {
            IDLE
        };
        let reconciled = stream::iter(informers).map(|informer| self.reconcile(informer, interval));
        let wakes: Vec<_> = reconciled.buffer_unordered(AT_ONCE).collect().await;
        let now = self.context.clock.now();
        let next = wakes
            .into_iter()
            .flatten()
            .min()
            .map(|wake| wake.duration_since(now));
        let sleep = next.map(|wait| Duration::try_from(wait).unwrap_or_default());
        sleep.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
    }

    async fn reconcile(&self, seen: Arc<UpdateInformer>, interval: SignedDuration) -> Option<Timestamp> {
        let informer = self.changed.newest(&seen);
        if informer.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let (contact, next) = self.contact(&informer, interval).await;
        let now = self.context.clock.now();
        let generation = informer.metadata.generation;
        let status = online::status(informer.status.as_ref(), &contact, generation, interval, now);
        match self.write(&informer, &status).await {
            Ok(()) => next,
            Err(error) => {
                self.context.metrics.failed();
                let (name, error): (_, &dyn std::error::Error) = (informer.name_any(), &error);
                tracing::warn!(
                    informer = name,
                    error,
                    "writing how an informer is doing failed; it is tried again"
                );
                now.checked_add(RETRY).ok()
            }
        }
    }

    /// How an informer answers, and when it is to be asked next.
    async fn contact(
        &self,
        informer: &UpdateInformer,
        interval: SignedDuration,
    ) -> (Contact, Option<Timestamp>) {
        if !informer.spec.enabled {
            return (Contact::Disabled, None);
        }
        let now = self.context.clock.now();
        let known = self.contacts.of(informer);
        // By a clock that has been set back since it was asked at no time.
        let asked = known.as_ref().and_then(|known| known.discovered_at);
        let asked = asked.filter(|asked| *asked <= now);
        // Whom to trust may be corrected elsewhere.
        let after = |contact: &Contact| {
            if contact.is_of_trust() {
                interval.min(BUSY)
            } else {
                interval
            }
        };
        let pause = known.as_ref().map_or(interval, |known| after(&known.contact()));
        let due = asked.and_then(|asked| asked.checked_add(pause).ok());
        if let (Some(known), Some(due)) = (known, due)
            && due > now
        {
            return (known.contact(), Some(due));
        }
        let contact = self.contacts.discover(&self.hooks, informer, now).await;
        let contact = self
            .contacts
            .of(informer)
            .map_or(contact, |known| known.contact());
        let next = now.checked_add(after(&contact)).ok();
        (contact, next)
    }

    async fn write(
        &self,
        informer: &UpdateInformer,
        status: &UpdateInformerStatus,
    ) -> Result<(), ReconcileError> {
        if informer.status.as_ref() == Some(status) {
            return Ok(());
        }
        let written = write::status(&self.context.client, informer, status).await?;
        self.changed.note(written);
        if let Some(news) = news(informer.status.as_ref(), status) {
            self.context.publisher.publish(&NewEvent {
                object: informer.object_ref(&()),
                related: None,
                // Somebody has switched it off.
                severity: if news.status == "True" || news.reason == "Disabled" {
                    Severity::Normal
                } else {
                    Severity::Warning
                },
                reason: if news.status == "True" {
                    "InformerOnline"
                } else {
                    "InformerOffline"
                },
                action: "AskingInformer",
                message: format!("{}: {}", news.reason, news.message),
            });
        }
        Ok(())
    }
}

/// The condition, if it has another status or reason than before.
fn news<'a>(
    before: Option<&UpdateInformerStatus>,
    after: &'a UpdateInformerStatus,
) -> Option<&'a InformerCondition> {
    fn online(status: &UpdateInformerStatus) -> Option<&InformerCondition> {
        status
            .conditions
            .iter()
            .find(|known| known.type_ == condition::ONLINE)
    }
    let after = online(after)?;
    let is_known = before.and_then(online).is_some_and(|before| {
        (before.status.as_str(), before.reason.as_str()) == (after.status.as_str(), after.reason.as_str())
    });
    (!is_known).then_some(after)
}
