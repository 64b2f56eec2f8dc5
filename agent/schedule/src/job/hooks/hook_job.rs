//! The Job of a hook (Maintenance schedules, section 3.6).

use std::collections::BTreeMap;

use drydock_api::Fields;
use drydock_api::names::{
    HOOK_EVENT_LABEL, HOOK_JOB_FINALIZER, HOOK_LABEL, HOOK_TRACKING_KEY_LABEL, HOOK_UPGRADE_JOB_LABEL,
};
use drydock_api::schedule::{HookEvent, JobTemplateMetadata, UpgradeJob, UpgradeJobHook};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{DynamicObject, TypeMeta};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::{Occasion, environment, names};

/// Why a hook's template cannot be made a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("spec.template is nested too deep to be read: make it flatter")]
    TooDeep,
    #[error("spec.template.spec is missing: give the spec of a Job")]
    NoJob,
    #[error("spec.template.spec.template.spec.containers is missing: give a container")]
    NoContainers,
}

impl TemplateError {
    /// Can the hook's template be made a Job?
    pub(super) fn check(hook: &UpgradeJobHook) -> Result<&Fields, Self> {
        let template = hook.spec.template.as_ref();
        if template.is_some_and(|template| template.is_too_deep) {
            return Err(Self::TooDeep);
        }
        let spec = template.and_then(|template| template.spec.as_ref());
        let spec = spec.ok_or(Self::NoJob)?;
        let pod = spec.get("template").and_then(|template| template.get("spec"));
        let containers = pod
            .and_then(|pod| pod.get("containers"))
            .and_then(Value::as_array);
        match containers {
            Some(containers) if !containers.is_empty() => Ok(spec),
            _ => Err(Self::NoContainers),
        }
    }
}

/// One run of a hook, of which the Job is built when the status of the UpgradeJob is complete.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::job) struct HookRun {
    hook: String,
    metadata: JobTemplateMetadata,
    spec: Fields,
    event: HookEvent,
    key: String,
    /// What the containers are given to read, but for the UpgradeJob.
    event_info: Value,
    meta: Value,
}

impl HookRun {
    /// A run of a hook for an event.
    pub(super) fn new(
        hook: &UpgradeJobHook,
        occasion: &Occasion<'_>,
        is_disruptive: bool,
    ) -> Result<Self, TemplateError> {
        let spec = TemplateError::check(hook)?.clone();
        let template = hook.spec.template.as_ref();
        let pool = occasion.pool.unwrap_or_default();
        Ok(Self {
            hook: hook.name_any(),
            metadata: template
                .and_then(|template| template.metadata.clone())
                .unwrap_or_default(),
            spec,
            event: occasion.event,
            key: pool.to_owned(),
            event_info: json!({
                "name": occasion.event.as_str(),
                "reason": occasion.reason,
                "pool": pool,
            }),
            meta: json!({ "matchesDisruptiveHooks": is_disruptive }),
        })
    }
}

impl HookRun {
    /// The name of the Job.
    pub(super) fn job_name(&self, job: &UpgradeJob) -> String {
        names::job_name(&job.name_any(), self.event, &self.hook, &self.key)
    }
}

/// The Job of a run for an UpgradeJob, whose status is the one that is written before.
pub(in crate::job) fn build(job: &UpgradeJob, run: &HookRun) -> DynamicObject {
    let variables = variables(job, run);
    let mut spec = json!(run.spec);
    for containers in ["containers", "initContainers"] {
        let containers = spec.pointer_mut(&format!("/template/spec/{containers}"));
        for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
            give(container, &variables);
        }
    }
    DynamicObject {
        types: Some(TypeMeta::resource::<Job>()),
        metadata: metadata(job, run),
        data: json!({ "spec": spec }),
    }
}

fn variables(job: &UpgradeJob, run: &HookRun) -> BTreeMap<String, String> {
    let mut job = job.clone();
    // Who wrote which field is long, and says nothing to hooks.
    job.metadata.managed_fields = None;
    let job = json!(job);
    environment::encode(&[("EVENT", &run.event_info), ("JOB", &job), ("META", &run.meta)])
}

/// Appends to the environment of a container.
fn give(container: &mut Value, variables: &BTreeMap<String, String>) {
    let Some(container) = container.as_object_mut() else {
        return;
    };
    let environment = container.entry("env").or_insert_with(|| json!([]));
    if environment.is_null() {
        *environment = json!([]);
    }
    if let Some(environment) = environment.as_array_mut() {
        let variables = variables.iter();
        environment.extend(variables.map(|(name, value)| json!({ "name": name, "value": value })));
    }
}

fn metadata(job: &UpgradeJob, run: &HookRun) -> ObjectMeta {
    let mut labels = run.metadata.labels.clone().unwrap_or_default();
    let mut annotations = run.metadata.annotations.clone().unwrap_or_default();
    let job_name = job.name_any();
    for (name, text) in [
        (HOOK_LABEL, run.hook.as_str()),
        (HOOK_UPGRADE_JOB_LABEL, job_name.as_str()),
        (HOOK_EVENT_LABEL, run.event.as_str()),
        (HOOK_TRACKING_KEY_LABEL, run.key.as_str()),
    ] {
        let label = names::label(text);
        if label != text {
            annotations.insert(name.to_owned(), text.to_owned());
        }
        labels.insert(name.to_owned(), label);
    }
    ObjectMeta {
        name: Some(run.job_name(job)),
        namespace: job.namespace(),
        labels: Some(labels),
        annotations: (!annotations.is_empty()).then_some(annotations),
        finalizers: Some(vec![HOOK_JOB_FINALIZER.to_owned()]),
        owner_references: job.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}
