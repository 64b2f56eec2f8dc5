//! Asking the informers about a plan, and writing what each answers as soon as it has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use drydock_api::conditions::FALSE;
use drydock_api::fact::Fact;
use drydock_api::insights::hooks::{Hook, InsightsRequestSpec};
use drydock_api::insights::{UpdateInformer, UpdatePlan, condition};
use drydock_insights::InformerName;
use drydock_insights::built_in::{BuiltIn, Question};
use drydock_insights::merge::Attempt;
use drydock_insights::plan::{Asked, ReleaseFacts, answered};
use drydock_insights::update_status::MAX_INFORMERS;
use futures::{StreamExt, stream};
use kube::ResourceExt;
use tokio::time::{Instant, timeout};

use super::super::{AT_ONCE, MOST_SLOW, built_in};
use super::{UpdatePlans, is_awaited, left_out};
use crate::reconcile::error::ReconcileError;

/// How long the informers of a plan are waited for, all together (insights.md, section 1.3).
const ROUND: Duration = Duration::from_mins(2);
/// Why one has not answered that was waited for no longer.
const LATE: &str = "it has not answered in its share of the two minutes that all informers have together";

impl UpdatePlans {
    /// Whom to ask now, and whom in the next pass: those last that did not answer the last time, and not all of them at once, since each
    /// takes its whole time.
    pub(super) fn turn(
        &self,
        plan: &UpdatePlan,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        ask: Vec<InformerName>,
    ) -> (Vec<InformerName>, Vec<InformerName>) {
        let parts = self.parts(plan);
        let last_attempt = |name: &InformerName| {
            let status = parts.get(name.as_str())?.status.as_ref()?;
            status.last_attempt.as_ref().map(|at| at.0)
        };
        let (mut slow, mut now): (Vec<_>, Vec<_>) = ask
            .into_iter()
            .partition(|name| informers.get(name).is_some_and(|informer| is_offline(informer)));
        // Who has waited longest comes first.
        slow.sort_by_key(last_attempt);
        let later = slow.split_off(slow.len().min(MOST_SLOW));
        now.extend(slow);
        (now, later)
    }

    /// Resolves when what a plan's informers are being asked for is of no use any more: the agent stops, the plan has changed, or, if nobody
    /// waits for it, somebody waits for another one by now.
    async fn is_overtaken(&self, plan: &UpdatePlan) {
        let known = awaited(&self.seen.plans.objects());
        loop {
            let changed = self.plans_changed.notified();
            let plans = self.seen.plans.objects();
            let seen = plans.iter().find(|seen| seen.uid() == plan.uid());
            let is_changed = seen.is_none_or(|seen| {
                seen.metadata.generation > plan.metadata.generation
                    || seen.metadata.deletion_timestamp.is_some()
            });
            let is_another_awaited = || !awaited(&plans).is_subset(&known);
            if is_changed || (!is_awaited(plan) && is_another_awaited()) {
                return;
            }
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = changed => {}
            }
        }
    }

    /// Asks informers, and writes the part of each as soon as it has answered: so no more than a few answers are in memory at once. Breaks
    /// off when it is overtaken.
    pub(super) async fn ask(
        &self,
        plan: &Arc<UpdatePlan>,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        cluster: &Fact<ReleaseFacts>,
        names: &[InformerName],
    ) -> Result<ControlFlow<()>, ReconcileError> {
        let question = question(plan, cluster);
        // A part that the server refuses keeps no other from being written.
        let mut refused = Ok(ControlFlow::Continue(()));
        for (name, asked) in self.ask_own(plan, informers, names).await {
            let noted = self.note(plan, informers, cluster, &name, &asked).await;
            refused = refused.and_then(|flow| noted.map(|()| flow));
        }
        let named: Vec<_> = names
            .iter()
            .filter_map(|name| Some((name.clone(), Arc::clone(informers.get(name)?))))
            .collect();
        let until = Instant::now() + ROUND;
        let count = named.len();
        let asked = stream::iter(named).enumerate().map(|(number, (name, informer))| {
            let question = question.clone();
            async move {
                let at = self.context.clock.now();
                let hook = Hook::UpdatePlanInsights;
                let asked = self.questioner.ask(&informer, &name, hook, question);
                let attempt = timeout(share(until, count - number), asked).await;
                let attempt = attempt.unwrap_or_else(|_| Attempt::Unavailable(LATE.to_owned()));
                (name, Asked { at, attempt })
            }
        });
        let mut asked = asked.buffer_unordered(AT_ONCE);
        let mut overtaken = pin!(self.is_overtaken(plan));
        loop {
            let next = tokio::select! {
                biased;
                () = &mut overtaken => return Ok(ControlFlow::Break(())),
                next = asked.next() => next,
            };
            let Some((name, asked)) = next else {
                return refused;
            };
            let noted = self.note(plan, informers, cluster, &name, &asked).await;
            refused = refused.and_then(|flow| noted.map(|()| flow));
        }
    }

    /// Writes what an informer has answered.
    async fn note(
        &self,
        plan: &Arc<UpdatePlan>,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        cluster: &Fact<ReleaseFacts>,
        name: &InformerName,
        asked: &Asked,
    ) -> Result<(), ReconcileError> {
        let parts = self.parts(plan);
        let observed = self.observed(plan, informers, cluster, &parts);
        if let Some((status, events)) = answered(&observed, name, asked, self.context.clock.now()) {
            self.write_part(plan, &parts, name, &status).await?;
            for event in &events {
                self.say(plan, event);
            }
        }
        Ok(())
    }

    /// Asks those of the agent's own informers that are named, and says what is with the informers that are too many.
    async fn ask_own(
        &self,
        plan: &UpdatePlan,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        names: &[InformerName],
    ) -> BTreeMap<InformerName, Asked> {
        let mut asked = BTreeMap::new();
        if let Some(name) = left_out(informers).filter(|name| names.contains(name)) {
            let why = format!(
                "there are {} UpdateInformers, of which {MAX_INFORMERS} are asked: the others could say anything",
                informers.len()
            );
            let (at, attempt) = (self.context.clock.now(), Attempt::Unavailable(why));
            asked.insert(name, Asked { at, attempt });
        }
        let own: Vec<_> = names.iter().filter_map(BuiltIn::of).collect();
        if !own.is_empty() {
            let (at, question) = (self.context.clock.now(), Question::of_plan(&plan.spec));
            let facts = built_in::facts(
                &self.context.client,
                &self.context.monitoring,
                &self.seen,
                &self.kept,
                question,
                at,
            )
            .await;
            asked.extend(own.into_iter().map(|informer| {
                let attempt = informer.attempt(&facts, question, at);
                (informer.name(), Asked { at, attempt })
            }));
        }
        asked
    }
}

/// How long an informer is waited for, with which so many are left to be asked until then: those that hang take no other's time.
fn share(until: Instant, left: usize) -> Duration {
    let time = until.saturating_duration_since(Instant::now());
    let turns = left.div_ceil(AT_ONCE).max(1);
    time / u32::try_from(turns).unwrap_or(u32::MAX)
}

/// Which plans somebody waits for, each as it is asked for.
fn awaited(plans: &[Arc<UpdatePlan>]) -> BTreeSet<(Option<String>, Option<i64>)> {
    let awaited = plans.iter().filter(|plan| is_awaited(plan));
    awaited
        .map(|plan| (plan.uid(), plan.metadata.generation))
        .collect()
}

/// What informers are asked about a plan.
fn question(plan: &UpdatePlan, cluster: &Fact<ReleaseFacts>) -> InsightsRequestSpec {
    let cluster = cluster.as_ref().ok();
    InsightsRequestSpec {
        cluster_id: cluster.map(|cluster| cluster.id.clone()).unwrap_or_default(),
        control_plane_version: cluster.map(|cluster| cluster.version.clone()).unwrap_or_default(),
        target_control_plane_version: plan.spec.target_release.clone(),
        informer_update: false,
    }
}

/// Has an informer not answered the last time that somebody asked it?
fn is_offline(informer: &UpdateInformer) -> bool {
    let conditions = informer.status.as_ref().map(|status| &status.conditions);
    let mut online = conditions
        .into_iter()
        .flatten()
        .filter(|found| found.type_ == condition::ONLINE);
    online.any(|online| online.status == FALSE)
}
