//! The creating subresources of pods: eviction, which honours disruption budgets, and binding.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::State;
use super::{Call, Cause, DeleteOptions, Details, LabelSelector, Outcome, Status, WriteOptions};
use crate::store::{CollectionId, Key, Object, Scope};

impl State {
    /// Evicts a pod, unless a PodDisruptionBudget does not allow it.
    pub(super) fn evict(
        &mut self,
        call: &Call,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        let pod = Arc::clone(self.live(call)?);
        let ended = matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed" | "Pending")
        );
        if !ended && !pod.is_deleting() {
            self.disrupt(&pod, options.dry_run)?;
        }
        let asked = &body["deleteOptions"];
        let delete = DeleteOptions {
            grace_period: asked["gracePeriodSeconds"].as_i64(),
            uid: asked["preconditions"]["uid"].as_str().map(str::to_owned),
            resource_version: asked["preconditions"]["resourceVersion"]
                .as_str()
                .map(str::to_owned),
            dry_run: options.dry_run,
            propagation: None,
        };
        let main = Call {
            subresource: None,
            ..call.clone()
        };
        self.delete(&main, &delete)?;
        let answer =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Outcome {
            object: Arc::new(Object::new(answer, self.store.revision())),
            created: true,
            warnings: Vec::new(),
        })
    }

    /// Takes one disruption from the pod's budget.
    fn disrupt(&mut self, pod: &Object, dry_run: bool) -> Result<(), Status> {
        let collection = CollectionId::new("policy", "poddisruptionbudgets");
        let scope = Scope::Namespace(pod.namespace().unwrap_or_default().to_owned());
        let mut budgets = Vec::new();
        for budget in self.store.objects(&collection, &scope) {
            let selector = LabelSelector::from_value(budget["spec"].get("selector"))?;
            if selector.is_some_and(|selector| selector.matches(pod["metadata"].get("labels"))) {
                budgets.push(budget);
            }
        }
        let budget = match budgets.as_slice() {
            [] => return Ok(()),
            [budget] => budget,
            _ => {
                return Err(Status::internal(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
        };
        let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        if allowed <= 0 {
            return Err(over_budget(budget));
        }
        if !dry_run {
            let mut value = budget.value().clone();
            value["status"]["disruptionsAllowed"] = (allowed - 1).into();
            let now = self.now();
            value["status"]["disruptedPods"][pod.name()] = now.into();
            self.store.put(&collection, &budget.key(), value);
        }
        Ok(())
    }

    /// Places a pod on a node.
    pub(super) fn bind(
        &mut self,
        call: &Call,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        let pod = Arc::clone(self.live(call)?);
        let node = body["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            let cause = Cause::required("target.name", "");
            return Err(Status::invalid_of("", "Binding", &call.name, vec![cause]));
        }
        let bound = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if !bound.is_empty() {
            let why = format!("pod {} is already assigned to node \"{bound}\"", call.name);
            return Err(Status::conflict(&call.kind, &call.name, &why));
        }
        let mut value = pod.value().clone();
        value["spec"]["nodeName"] = node.into();
        let now = self.now();
        let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
        match value["status"]["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(condition),
            None => value["status"]["conditions"] = json!([condition]),
        }
        let key: Key = call.key();
        self.write(&call.kind, &key, value, options.dry_run);
        let answer =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Outcome {
            object: Arc::new(Object::new(answer, self.store.revision())),
            created: true,
            warnings: Vec::new(),
        })
    }
}

fn over_budget(budget: &Object) -> Status {
    let needed = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
    let healthy = budget["status"]["currentHealthy"].as_i64().unwrap_or(0);
    let mut status = Status::too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        0,
    );
    status.details = Some(Box::new(Details {
        causes: vec![Cause {
            reason: "DisruptionBudget".to_owned(),
            message: format!(
                "The disruption budget {} needs {needed} healthy pods and has {healthy} currently",
                budget.name()
            ),
            field: String::new(),
        }],
        ..Details::default()
    }));
    status
}
