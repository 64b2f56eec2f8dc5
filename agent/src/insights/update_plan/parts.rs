//! Writing the informers' parts of a plan, and the plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::insights::{UpdatePlan, UpdatePlanInsight, UpdatePlanInsightStatus};
use drydock_insights::InformerName;
use drydock_insights::plan::{Plan, PlanEvent, part_name};
use kube::ResourceExt;

use super::super::write;
use super::{UpdatePlans, is_of_earlier_plan};
use crate::reconcile::error::ReconcileError;

impl UpdatePlans {
    /// Writes the parts, then the plan.
    pub(super) async fn write(
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

    pub(super) async fn write_part(
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
}
