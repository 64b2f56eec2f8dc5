//! The server of the world: it takes writes whose precondition holds.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::world::World;
use crate::job::JobWrite;
use crate::job::write::{Request, WrittenKind};
use drydock_api::insights::UpdatePlanState;

impl World {
    /// Takes a write as a server does. Says whether it was taken.
    pub fn apply(&mut self, write: &JobWrite) -> bool {
        if self.refused.contains(&write.kind()) {
            return false;
        }
        self.version += 1;
        let version = self.version.to_string();
        let is_taken = match (write.kind(), write.request()) {
            (_, Request::Create(job)) => self.create(&json!(job)),
            (WrittenKind::ClusterVersion, Request::Patch { body, .. }) => {
                patch(Some(&mut self.cluster), &body, &version)
            }
            (WrittenKind::MachineConfigPool, Request::Patch { object, body }) => {
                patch(self.pools.get_mut(&object.name), &body, &version)
            }
            (WrittenKind::Job, Request::Patch { object, body }) => {
                patch(self.hook_jobs.get_mut(&object.name), &body, &version)
            }
            (WrittenKind::UpgradeJobHookStatus, Request::Patch { object, body }) => {
                patch(self.hooks.get_mut(&object.name), &body, &version)
            }
            (WrittenKind::UpdatePlan, Request::Apply { name, body }) => {
                assert_eq!(body["metadata"]["name"], name);
                self.update_plan = UpdatePlanState::Collecting;
                true
            }
            (kind, request) => panic!("{kind:?} is not written so: {request:?}"),
        };
        if is_taken {
            self.written.push(write.clone());
        }
        self.collect();
        is_taken
    }

    fn create(&mut self, body: &Value) -> bool {
        let mut job: Job = serde_json::from_value(body.clone()).unwrap();
        let name = job.name_any();
        assert!(name.len() <= 63, "{name}");
        if self.hook_jobs.contains_key(&name) {
            return false;
        }
        job.metadata.uid = Some(format!("uid-{name}-{}", self.version));
        job.metadata.resource_version = Some(self.version.to_string());
        job.metadata.creation_timestamp = Some(Time(self.now));
        self.created
            .push((job.owner_references()[0].uid.clone(), name.clone()));
        self.hook_jobs.insert(name, job);
        true
    }

    /// Deleted objects go when they have no finalizers.
    pub fn collect(&mut self) {
        self.hook_jobs
            .retain(|_, job| job.metadata.deletion_timestamp.is_none() || !job.finalizers().is_empty());
    }
}

/// Takes a merge patch if it is for this version of the object.
fn patch<T: Serialize + DeserializeOwned>(object: Option<&mut T>, body: &Value, version: &str) -> bool {
    let Some(object) = object else {
        return false;
    };
    let mut whole = json!(object);
    let is_seen = |field: &str| body["metadata"][field] == whole["metadata"][field];
    if !is_seen("resourceVersion") || !is_seen("uid") {
        return false;
    }
    json_patch::merge(&mut whole, body);
    whole["metadata"]["resourceVersion"] = json!(version);
    *object = serde_json::from_value(whole).unwrap();
    true
}
