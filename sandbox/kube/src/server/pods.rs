//! The creating subresources of pods: eviction, which honours disruption budgets, and binding.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::State;
use super::{Call, Cause, DeleteOptions, Details, LabelSelector, Status, WriteOptions, Written};
use crate::store::{CollectionId, Key, Object, Scope};

impl State {
    /// Evicts a pod, unless a PodDisruptionBudget does not allow it.
    pub(super) fn evict(
        &mut self,
        call: &Call,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        check_eviction(call, body)?;
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
        Ok(Written {
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
                let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, "", why));
            }
        };
        let observed = budget["status"]["observedGeneration"].as_i64().unwrap_or(0);
        if observed < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
            let why = format!(
                "The disruption budget {} is still being processed by the server.",
                budget.name()
            );
            return Err(refused_by_budget(why, 10));
        }
        let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        if allowed <= 0 {
            return Err(over_budget(budget));
        }
        if !dry_run {
            let mut value = budget.value().clone();
            value["status"]["disruptionsAllowed"] = (allowed - 1).into();
            if allowed == 1 {
                value["status"]["conditions"] = json!([{
                    "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
                    "observedGeneration": observed, "lastTransitionTime": self.now(),
                }]);
            }
            let now = self.now();
            value["status"]["disruptedPods"][pod.name()] = now.into();
            self.store.amend(&collection, &budget.key(), value);
        }
        Ok(())
    }

    /// Places a pod on a node.
    pub(super) fn bind(
        &mut self,
        call: &Call,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let pod = Arc::clone(self.live(call)?);
        let node = body["target"]["name"].as_str().unwrap_or_default();
        if node.is_empty() {
            let cause = Cause::required("target.name", "");
            return Err(Status::invalid_of("", "Binding", &call.name, vec![cause]));
        }
        let bound = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if !bound.is_empty() {
            let why = format!("pod {} is already assigned to node \"{bound}\"", call.name);
            let mut status = Status::conflict(&call.kind, &call.name, &why);
            status.message = status.message.replacen(" on pods ", " on pods/binding ", 1);
            if let Some(details) = &mut status.details {
                "pods/binding".clone_into(&mut details.kind);
            }
            return Err(status);
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
        let managed = pod.managed_fields().clone();
        self.write(&call.kind, &key, value, managed, options.dry_run)?;
        let answer =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Written {
            object: Arc::new(Object::new(answer, self.store.revision())),
            created: true,
            warnings: Vec::new(),
        })
    }
}

fn check_eviction(call: &Call, body: &Value) -> Result<(), Status> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, version) = (text(&body["kind"]), text(&body["apiVersion"]));
    if !matches!(kind.as_str(), "" | "Eviction") {
        let short = version.rsplit('/').next().unwrap_or_default();
        return Err(Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a Eviction: converting ({short}.{kind}) to (policy.Eviction): unknown conversion"
        )));
    }
    let name = text(&body["metadata"]["name"]);
    if !name.is_empty() && name != call.name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Status::bad_request(why));
    }
    Ok(())
}

fn over_budget(budget: &Object) -> Status {
    let needed = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
    let healthy = budget["status"]["currentHealthy"].as_i64().unwrap_or(0);
    let why = format!(
        "The disruption budget {} needs {needed} healthy pods and has {healthy} currently",
        budget.name()
    );
    refused_by_budget(why, 0)
}

fn refused_by_budget(why: String, retry_after_seconds: u32) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(message, retry_after_seconds);
    status.details = Some(Box::new(Details {
        causes: vec![Cause {
            reason: "DisruptionBudget".to_owned(),
            message: why,
            field: String::new(),
        }],
        retry_after_seconds,
        ..Details::default()
    }));
    status
}
