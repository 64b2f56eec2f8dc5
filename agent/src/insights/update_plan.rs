//! The controller of UpdatePlans (insights.md, sections 1.6 and 1.7). The informers' parts are written before the plan, which says what they
//! come to.

mod ask;
mod parts;

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{FailurePolicy, UpdateInformer, UpdatePlan, UpdatePlanInsight};
use drydock_insights::InformerName;
use drydock_insights::built_in::BuiltIn;
use drydock_insights::cluster;
use drydock_insights::plan::acceptance::accepted;
use drydock_insights::plan::prune::{PlanToKeep, PruneReason, prune};
use drydock_insights::plan::{Observed, PlanEvent, PlanInformerFacts, ReleaseFacts, decide};
use drydock_insights::pre_checks::{Population, population};
use drydock_insights::update_status::MAX_INFORMERS;
use drydock_runtime::events::{NewEvent, Severity};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::cluster_objects::KeptPods;
use super::question::{Questioner, by_name};
use super::watches::Seen;
use super::{Context, write};
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

/// Which informer it is, as it is now.
fn edition(informer: &UpdateInformer) -> String {
    let generation = informer.metadata.generation.unwrap_or_default();
    format!("{}/{generation}", informer.uid().unwrap_or_default())
}

/// Does somebody wait for what a plan says?
fn is_awaited(plan: &UpdatePlan) -> bool {
    matches!(population(plan), Population::Unseen | Population::Awaits(_))
}

impl UpdatePlans {
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
                    edition: Some(edition(informer)),
                })
                .chain(own.chain(left_out(informers)).map(|name| PlanInformerFacts {
                    name,
                    is_enabled: true,
                    failure_policy: FailurePolicy::Fail,
                    edition: None,
                }))
                .collect(),
            cluster: cluster.clone(),
        }
    }

    /// The agent's own informers.
    fn own(&self) -> &'static [BuiltIn] {
        if self.has_built_in { &BuiltIn::ALL } else { &[] }
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

/// Stands for the informers that are too many to be asked: what they would say is not known, and holds an update as that of any other.
fn left_out(informers: &BTreeMap<InformerName, Arc<UpdateInformer>>) -> Option<InformerName> {
    (informers.len() > MAX_INFORMERS).then(|| InformerName::built_in("informers-left-out"))
}
