//! The writes of decisions about UpgradeJobs. Each has the version of its object that was seen as a precondition.

use drydock_api::insights::UpdatePlan;
use drydock_api::names::{AGENT_MANAGER, HOOK_UPGRADE_JOB_LABEL};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::UpgradeJobHook;
use drydock_schedule::job::{JobWrite, ObservedVersion, Request, WrittenKind};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{ApiResource, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::Value;

use super::written::Written;
use crate::reconcile::error::ReconcileError;
use crate::refusal;

/// Why a write was not done.
pub(super) enum Refusal {
    /// The Job of a hook cannot be created as it is.
    Invalid {
        /// The name of the Job.
        name: String,
        /// Why not.
        why: String,
    },
    /// It has to be decided anew, or tried again.
    Failed(ReconcileError),
}

impl From<Refusal> for ReconcileError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid { name, why } => Self::Write {
                what: format!("Job {name}"),
                why,
            },
            Refusal::Failed(error) => error,
        }
    }
}

/// Does a write.
///
/// # Errors
/// If it is not done.
pub(super) async fn perform(
    client: &Client,
    written: &Written,
    write: &JobWrite,
    now: Timestamp,
) -> Result<(), Refusal> {
    match (write.kind(), write.request()) {
        (_, Request::Create(job)) => create(client, written, job, now).await,
        (WrittenKind::ClusterVersion, Request::Patch { object, body }) => {
            let api: Api<ClusterVersion> = Api::all(client.clone());
            written
                .upstream
                .note(patch(&api, object, body, Part::Object).await?);
            Ok(())
        }
        (WrittenKind::MachineConfigPool, Request::Patch { object, body }) => {
            let api: Api<MachineConfigPool> = Api::all(client.clone());
            written.pools.note(patch(&api, object, body, Part::Object).await?);
            Ok(())
        }
        (_, Request::Apply { name, body }) => apply(client, &name, body).await,
        (WrittenKind::Job, Request::Patch { object, body }) => {
            let api: Api<Job> = Api::namespaced(client.clone(), namespace(object));
            written
                .hook_jobs
                .note(without_spec(patch(&api, object, body, Part::Object).await?));
            Ok(())
        }
        (WrittenKind::UpgradeJobHookStatus | WrittenKind::UpdatePlan, Request::Patch { object, body }) => {
            let api: Api<UpgradeJobHook> = Api::namespaced(client.clone(), namespace(object));
            written.hooks.note(patch(&api, object, body, Part::Status).await?);
            Ok(())
        }
    }
}

/// Applies an UpdatePlan, the one kind that this program wants something of without having seen it.
async fn apply(client: &Client, name: &str, body: Value) -> Result<(), Refusal> {
    let api: Api<UpdatePlan> = Api::all(client.clone());
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    let applied = api.patch(name, &parameters, &Patch::Apply(body)).await;
    applied
        .map(drop)
        .map_err(|error| Refusal::Failed(ReconcileError::write(format!("UpdatePlan {name}"), &error)))
}

/// What of an object is patched.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Status,
}

fn namespace(object: &ObservedVersion) -> &str {
    object.namespace.as_deref().unwrap_or_default()
}

/// As the watch has it.
fn without_spec(mut job: Job) -> Job {
    job.spec = None;
    job
}

async fn patch<K>(api: &Api<K>, object: &ObservedVersion, body: Value, part: Part) -> Result<K, Refusal>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let parameters = PatchParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let body = Patch::Merge(body);
    let written = match part {
        Part::Object => api.patch(&object.name, &parameters, &body).await,
        Part::Status => api.patch_status(&object.name, &parameters, &body).await,
    };
    let what = format!("{} {}", K::kind(&()), object.name);
    written.map_err(|error| {
        Refusal::Failed(match error {
            kube::Error::Api(refusal) if refusal.is_not_found() => ReconcileError::Outdated { what },
            error => ReconcileError::write(what, &error),
        })
    })
}

/// Creates the Job of a hook. That it is there already is as good, if it is of the same UpgradeJob.
async fn create(
    client: &Client,
    written: &Written,
    job: &DynamicObject,
    now: Timestamp,
) -> Result<(), Refusal> {
    let name = job.name_any();
    let namespace = job.namespace().unwrap_or_default();
    let kind = ApiResource::erase::<Job>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    let parameters = PostParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let failed = |error: &kube::Error| Refusal::Failed(ReconcileError::write(format!("Job {name}"), error));
    let found = match api.create(&parameters, job).await {
        Ok(created) => created,
        Err(kube::Error::Api(refusal)) if refusal.is_already_exists() => {
            let found = api.get(&name).await.map_err(|error| failed(&error))?;
            owned(found, job)?
        }
        Err(kube::Error::Api(refusal)) if matches!(refusal.code, 400 | 413 | 422) => {
            let why = refusal::words(&kube::Error::Api(refusal));
            return Err(Refusal::Invalid { name, why });
        }
        Err(error) => return Err(failed(&error)),
    };
    if let Ok(created) = found.try_parse::<Job>() {
        written.created_hook_jobs.note(without_spec(created), now);
    }
    Ok(())
}

/// The Job that was found, if it is that of the UpgradeJob that is to have it. One that a namesake has left goes soon.
fn owned(found: DynamicObject, wanted: &DynamicObject) -> Result<DynamicObject, Refusal> {
    let owner = wanted.owner_references().first().map(|owner| &owner.uid);
    if found.owner_references().first().map(|owner| &owner.uid) == owner {
        return Ok(found);
    }
    if found.labels().contains_key(HOOK_UPGRADE_JOB_LABEL) {
        let what = format!("Job {}", found.name_any());
        let is_orphan = found.owner_references().is_empty() && found.metadata.deletion_timestamp.is_none();
        return Err(Refusal::Failed(if is_orphan {
            ReconcileError::Write {
                what,
                why: "there is one that a deleted UpgradeJob has left, and that nobody owns: delete it"
                    .to_owned(),
            }
        } else {
            ReconcileError::Outdated { what }
        }));
    }
    Err(Refusal::Invalid {
        name: found.name_any(),
        why: "there is a Job of this name that is not of a hook: rename or delete it".to_owned(),
    })
}
