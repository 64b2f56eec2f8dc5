//! Asking all informers one question: those behind hooks, several at once, and the agent's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::insights::hooks::{Hook, InsightsRequestSpec};
use drydock_api::insights::{Handler, UpdateInformer};
use drydock_insights::InformerName;
use drydock_insights::hooks::Answer;
use drydock_insights::merge::Attempt;
use drydock_insights::online::{Reported, self_report};
use kube::ResourceExt;

use super::Context;
use super::contacts::{Contacts, implements};
use super::hook_client::HookClient;

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
        if implements(informer, handler(hook)) == Some(false) {
            return Attempt::NotImplemented;
        }
        let reported = self_report(informer.status.as_ref());
        if let Some(Reported::Updating(why)) = reported {
            // It says itself when it is back.
            let message = format!("it is updating itself: {why}");
            return Attempt::Answered(Answer::Wait { message });
        }
        let now = self.context.clock.now();
        match self.hooks.insights(informer, name, hook, question, now).await {
            Ok(answer) => {
                self.contacts.answered(informer, handler(hook), None, now);
                match reported {
                    Some(Reported::Degraded(why)) if !matches!(answer, Answer::Wait { .. }) => {
                        Attempt::Degraded { why, answer }
                    }
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
