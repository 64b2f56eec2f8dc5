//! Asking all informers one question: those behind hooks, several at once, and the agent's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::insights::hooks::{Hook, InsightsRequestSpec};
use drydock_api::insights::{Handler, UpdateInformer};
use drydock_insights::InformerName;
use drydock_insights::hooks::Answer;
use drydock_insights::merge::Attempt;
use drydock_insights::online::{Contact, Readiness};
use jiff::SignedDuration;
use kube::ResourceExt;

use super::Context;
use super::contacts::Contacts;
use super::hook_client::HookClient;

/// How long before a question about a planned update an informer must have said what it can do, and how it is: an update may start by it.
const BEFORE_UPDATE: SignedDuration = SignedDuration::from_secs(30);
/// The same during an update: it is asked that once a minute anyway.
const DURING_UPDATE: SignedDuration = SignedDuration::from_mins(2);

/// Asks informers.
#[derive(Clone)]
pub(super) struct Questioner {
    pub context: Context,
    pub hooks: Arc<HookClient>,
    pub contacts: Contacts,
}

impl Questioner {
    /// Asks one informer behind a hook.
    pub async fn ask(
        &self,
        informer: &UpdateInformer,
        name: &InformerName,
        hook: Hook,
        question: InsightsRequestSpec,
    ) -> Attempt {
        if !informer.spec.enabled {
            return Attempt::Disabled;
        }
        let degraded = match self.discovered(informer, hook).await.readiness(handler(hook)) {
            Readiness::Ready => None,
            Readiness::Degraded(why) => Some(why),
            Readiness::NotImplemented => return Attempt::NotImplemented,
            Readiness::Unavailable(why) => return Attempt::Unavailable(why),
            Readiness::Updating(why) => {
                // It says itself when it is back.
                let message = format!("it is updating itself: {why}");
                return Attempt::Answered(Answer::Wait { message });
            }
        };
        let now = self.context.clock.now();
        match self.hooks.insights(informer, name, hook, question, now).await {
            Ok(answer) => {
                self.contacts.answered(informer, handler(hook), None, now);
                match degraded {
                    Some(why) if !matches!(answer, Answer::Wait { .. }) => Attempt::Degraded { why, answer },
                    _ => Attempt::Answered(answer),
                }
            }
            Err(failure) => {
                let why = failure.message.clone();
                self.contacts
                    .answered(informer, handler(hook), Some(failure), now);
                Attempt::Unavailable(why)
            }
        }
    }
}

impl Questioner {
    /// What an informer says that it can do, as of now: what is known of one that has said nothing good, or not lately, is asked anew.
    async fn discovered(&self, informer: &UpdateInformer, hook: Hook) -> Contact {
        let now = self.context.clock.now();
        let lasts = match hook {
            Hook::UpdatePlanInsights => BEFORE_UPDATE,
            Hook::Discovery | Hook::UpdateInsights => DURING_UPDATE,
        };
        let known = self.contacts.of(informer);
        let is_recent = |at| now.duration_since(at).abs() < lasts;
        let recent = known.filter(|known| known.discovered_at.is_some_and(is_recent));
        match recent.map(|known| known.discovery().clone()) {
            Some(contact @ Contact::Discovered(_)) => contact,
            _ => self.contacts.discover(&self.hooks, informer, now).await,
        }
    }
}

/// Informers behind hooks, by name. One whose name no rule has looked at is not asked.
pub(super) fn by_name(informers: &[Arc<UpdateInformer>]) -> BTreeMap<InformerName, Arc<UpdateInformer>> {
    let named = informers.iter().filter_map(|informer| {
        let name = InformerName::parse(&informer.name_any()).ok()?;
        Some((name, Arc::clone(informer)))
    });
    named.collect()
}

/// Does an answer ask to be asked again soon?
pub(super) fn is_wait(attempt: &Attempt) -> bool {
    matches!(attempt, Attempt::Answered(Answer::Wait { .. }))
}

fn handler(hook: Hook) -> Handler {
    match hook {
        Hook::UpdatePlanInsights => Handler::Plan,
        Hook::Discovery | Hook::UpdateInsights => Handler::Status,
    }
}
