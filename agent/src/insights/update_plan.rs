//! The controller of UpdatePlans (insights.md, sections 1.6 and 1.7). The informers' parts are written before the plan, which says what they
//! come to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use drydock_api::conditions::FALSE;
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::hooks::{Hook, InsightsRequestSpec};
use drydock_api::insights::{
    FailurePolicy, UpdateInformer, UpdatePlan, UpdatePlanInsight, UpdatePlanInsightStatus, condition,
};
use drydock_insights::InformerName;
use drydock_insights::built_in::{BuiltIn, Question};
use drydock_insights::cluster;
use drydock_insights::merge::Attempt;
use drydock_insights::plan::acceptance::accepted;
use drydock_insights::plan::prune::{PlanToKeep, PruneReason, prune};
use drydock_insights::plan::{
    Asked, Observed, Plan, PlanEvent, PlanInformerFacts, ReleaseFacts, answered, decide, part_name,
};
use drydock_insights::pre_checks::{Population, population};
use drydock_insights::update_status::MAX_INFORMERS;
use drydock_runtime::events::{NewEvent, Severity};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::cluster_objects::KeptPods;
use super::question::{Questioner, by_name};
use super::watches::Seen;
use super::{AT_ONCE, Context, MOST_SLOW, built_in, write};
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::{Changed, Created};

/// What the controller has.
pub(super) struct UpdatePlans {
    pub context: Context,
    pub seen: Seen,
    pub questioner: Questioner,
    /// Pods that budgets keep.
    pub kept: KeptPods,
    /// Whether the agent's own informers are asked.
    pub has_built_in: bool,
    pub changed: Changed<UpdatePlan>,
    pub parts: Changed<UpdatePlanInsight>,
    pub created: Created<UpdatePlanInsight>,
    /// Some plan has changed.
    pub plans_changed: Arc<Notify>,
    pub shutdown: CancellationToken,
}

impl Reconcile for UpdatePlans {
    type Object = UpdatePlan;

    fn objects(&self) -> Vec<Arc<UpdatePlan>> {
        let Seen {
            informers,
            parts,
            cluster,
            ..
        } = &self.seen;
        let is_looked_for = informers.is_looked_for() && parts.is_looked_for() && cluster.is_looked_for();
        let mut plans = if is_looked_for {
            self.seen.plans.objects()
        } else {
            Vec::new()
        };
        // Who waits for a plan does not wait for what is only asked again.
        plans.sort_by_key(|plan| !is_awaited(plan));
        plans
    }

    async fn reconcile(
        &self,
        seen: &Arc<UpdatePlan>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let plan = self.changed.newest(seen);
        if plan.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        self.seen
            .informers
            .known(now)
            .map_err(ReconcileError::not_read("UpdateInformers"))?;
        self.seen
            .parts
            .known(now)
            .map_err(ReconcileError::not_read("UpdatePlanInsights"))?;
        let cluster = self.cluster(now);
        if let Ok(cluster) = &cluster
            && let Some(reason) = self.prune(&plan, cluster, now)
        {
            write::delete(&self.context.client, plan.as_ref()).await?;
            self.publish(
                &plan,
                Severity::Normal,
                "UpdatePlanPruned",
                reason.as_str().to_owned(),
            );
            return Ok(None);
        }
        let informers = by_name(&self.seen.informers.objects());
        let decision = decide(
            &self.observed(&plan, &informers, &cluster, &self.parts(&plan)),
            &BTreeMap::new(),
            now,
        );
        // Whoever waits for the plan sees that it is being worked on.
        let plan = self.write(&plan, &decision).await?;
        if decision.ask.is_empty() {
            return Ok(decision.wake);
        }
        let (ask, others) = self.turn(&plan, &informers, decision.ask);
        if self.ask(&plan, &informers, &cluster, &ask).await?.is_break() {
            return Ok(Some(self.context.clock.now()));
        }
        let now = self.context.clock.now();
        let decision = decide(
            &self.observed(&plan, &informers, &cluster, &self.parts(&plan)),
            &BTreeMap::new(),
            now,
        );
        self.write(&plan, &decision).await?;
        // Other plans come between.
        Ok(if others.is_empty() {
            decision.wake
        } else {
            Some(now)
        })
    }
}

/// Was a part written for a plan of this name that is deleted? One that is restored from a backup has no status, and names its owner.
fn is_of_earlier_plan(part: &UpdatePlanInsight, plan: &UpdatePlan) -> bool {
    let status = part.status.as_ref();
    if let Some(uid) = status.and_then(|status| status.plan_uid.as_ref()) {
        return Some(uid) != plan.uid().as_ref();
    }
    let owners = part.owner_references();
    !owners.is_empty() && owners.iter().all(|owner| Some(&owner.uid) != plan.uid().as_ref())
}

/// Does somebody wait for what a plan says?
fn is_awaited(plan: &UpdatePlan) -> bool {
    matches!(population(plan), Population::Unseen | Population::Awaits(_))
}

/// Which plans somebody waits for, each as it is asked for.
fn awaited(plans: &[Arc<UpdatePlan>]) -> BTreeSet<(Option<String>, Option<i64>)> {
    let awaited = plans.iter().filter(|plan| is_awaited(plan));
    awaited
        .map(|plan| (plan.uid(), plan.metadata.generation))
        .collect()
}

impl UpdatePlans {
    /// Whom to ask now, and whom in the next pass: those last that did not answer the last time, and not all of them at once, since each
    /// takes its whole time.
    fn turn(
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

    fn cluster(&self, now: Timestamp) -> Fact<ReleaseFacts> {
        let cluster = self.seen.cluster.fact(now)?;
        let missing = || Unread::Failed("the cluster has none: is it OpenShift?".to_owned());
        cluster::facts(&*cluster.ok_or_else(missing)?)
    }

    /// The parts of a plan, as they are seen or as they have just been written.
    fn parts(&self, plan: &UpdatePlan) -> BTreeMap<String, Arc<UpdatePlanInsight>> {
        // Whoever does not see what has just been written would ask everybody again.
        let parts = self
            .created
            .with(self.seen.parts.objects(), self.context.clock.now());
        let of_plan = parts.iter().filter(|part| {
            part.spec.target_release == plan.spec.target_release && !is_of_earlier_plan(part, plan)
        });
        of_plan
            .map(|part| (part.spec.update_informer.clone(), self.parts.newest(part)))
            .collect()
    }

    fn observed<'a>(
        &self,
        plan: &'a UpdatePlan,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        cluster: &Fact<ReleaseFacts>,
        parts: &'a BTreeMap<String, Arc<UpdatePlanInsight>>,
    ) -> Observed<'a> {
        let own = self.own().iter().map(|informer| informer.name());
        let named = parts
            .iter()
            .map(|(name, part)| (InformerName::recorded(name), part.as_ref()));
        Observed {
            plan,
            parts: named.collect(),
            informers: informers
                .iter()
                .take(MAX_INFORMERS)
                .map(|(name, informer)| PlanInformerFacts {
                    name: name.clone(),
                    is_enabled: informer.spec.enabled,
                    failure_policy: informer.spec.failure_policy,
                })
                .chain(own.chain(left_out(informers)).map(|name| PlanInformerFacts {
                    name,
                    is_enabled: true,
                    failure_policy: FailurePolicy::Fail,
                }))
                .collect(),
            cluster: cluster.clone(),
        }
    }

    /// Asks informers, and writes the part of each as soon as it has answered: so no more than a few answers are in memory at once. Breaks
    /// off when it is overtaken.
    async fn ask(
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
        let asked = stream::iter(named).map(|(name, informer)| {
            let question = question.clone();
            async move {
                let at = self.context.clock.now();
                let attempt = self
                    .questioner
                    .ask(&informer, &name, Hook::UpdatePlanInsights, question)
                    .await;
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
            let (at, question) = (
                self.context.clock.now(),
                Question::Plan(&plan.spec.target_release),
            );
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

    /// The agent's own informers.
    fn own(&self) -> &'static [BuiltIn] {
        if self.has_built_in { &BuiltIn::ALL } else { &[] }
    }

    /// Writes the parts, then the plan.
    async fn write(
        &self,
        plan: &Arc<UpdatePlan>,
        decision: &Plan,
    ) -> Result<Arc<UpdatePlan>, ReconcileError> {
        let known = self.parts(plan);
        let mut refused = Ok(());
        for (name, status) in &decision.parts {
            let written = self.write_part(plan, &known, name, status).await;
            refused = refused.and(written);
        }
        // What has ended is in the parts: whoever fails to write the plan below does not see it again.
        let (of_parts, of_plan): (Vec<_>, Vec<_>) = decision
            .events
            .iter()
            .partition(|event| matches!(event, PlanEvent::AcceptanceEnded { .. }));
        for event in of_parts {
            self.say(plan, event);
        }
        if plan.status.as_ref() == Some(&decision.status) {
            return refused.map(|()| Arc::clone(plan));
        }
        let written = write::status(&self.context.client, plan.as_ref(), &decision.status).await?;
        for event in of_plan {
            self.say(plan, event);
        }
        self.changed.note(written.clone());
        refused.map(|()| Arc::new(written))
    }

    async fn write_part(
        &self,
        plan: &UpdatePlan,
        known: &BTreeMap<String, Arc<UpdatePlanInsight>>,
        name: &InformerName,
        status: &UpdatePlanInsightStatus,
    ) -> Result<(), ReconcileError> {
        let client = &self.context.client;
        let is_owned = |part: &&Arc<UpdatePlanInsight>| {
            let owners = part.owner_references();
            owners.iter().any(|owner| Some(&owner.uid) == plan.uid().as_ref())
        };
        let part = if let Some(part) = known.get(name.as_str()).filter(is_owned) {
            (**part).clone()
        } else {
            // What was accepted of a plan that is deleted is dropped with it, also where somebody has kept its parts.
            let left = self.seen.parts.objects();
            let left = left.iter().find(|part| {
                part.name_any() == part_name(&plan.spec.target_release, name)
                    && is_of_earlier_plan(part, plan)
            });
            if let Some(left) = left {
                write::delete(client, left.as_ref()).await?;
            }
            let part = write::own_part(client, plan, name).await?;
            self.created.note(part.clone(), self.context.clock.now());
            part
        };
        if part.status.as_ref() != Some(status) {
            self.parts.note(write::status(client, &part, status).await?);
        }
        Ok(())
    }

    fn prune(&self, plan: &UpdatePlan, cluster: &ReleaseFacts, now: Timestamp) -> Option<PruneReason> {
        let plans = self.seen.plans.objects();
        let kept: Vec<_> = plans
            .iter()
            .map(|plan| PlanToKeep {
                plan,
                is_accepted: !plan.spec.accepted_risks.is_empty()
                    || self
                        .parts(plan)
                        .values()
                        .any(|part| !accepted(plan, part).is_empty()),
            })
            .collect();
        prune(&kept, cluster, now).remove(&plan.name_any())
    }

    fn say(&self, plan: &UpdatePlan, event: &PlanEvent) {
        let severity = if event.is_warning() {
            Severity::Warning
        } else {
            Severity::Normal
        };
        self.publish(plan, severity, event.reason(), event.note());
    }

    fn publish(&self, plan: &UpdatePlan, severity: Severity, reason: &'static str, message: String) {
        self.context.publisher.publish(&NewEvent {
            object: plan.object_ref(&()),
            related: None,
            severity,
            reason,
            action: "PlanningUpdate",
            message,
        });
    }
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

/// Stands for the informers that are too many to be asked: what they would say is not known, and holds an update as that of any other.
fn left_out(informers: &BTreeMap<InformerName, Arc<UpdateInformer>>) -> Option<InformerName> {
    (informers.len() > MAX_INFORMERS).then(|| InformerName::built_in("informers-left-out"))
}
