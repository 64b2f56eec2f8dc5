//! The controller of the managed ClusterVersion: it determines the spec of OpenShift's, but for the desired update (Maintenance
//! schedules, section 3.7). What others change in that is set back; once the managed one is gone, OpenShift's stays as it is.

use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::schedule::ManagedClusterVersion;
use drydock_runtime::events::{NewEvent, Severity};
use drydock_schedule::overlays::{self, Application, OverlayPlan};
use jiff::{SignedDuration, Timestamp};
use kube::Resource;
use serde_json::{Value, json};

use super::Context;
use super::watches::Seen;
use super::write;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Changed;
use crate::refusal;

/// The shortest time between two changes of OpenShift's ClusterVersion to the same spec: another program that insists on its own must not make us
/// write all the time.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// What the controller has.
pub(super) struct ClusterVersions {
    pub context: Context,
    pub seen: Seen,
    pub changed: Changed<ManagedClusterVersion>,
    pub written: Arc<Written>,
    /// When OpenShift's ClusterVersion was changed last, and to which spec.
    pub last_change: Mutex<Option<(Timestamp, Value)>>,
}

/// What has come of an attempt to apply a spec.
struct Attempt {
    application: Application,
    /// When it is to be tried again.
    again: Option<Timestamp>,
    failed: Option<ReconcileError>,
}

impl Attempt {
    fn concluded(application: Application) -> Self {
        Self {
            application,
            again: None,
            failed: None,
        }
    }
}

impl Reconcile for ClusterVersions {
    type Object = ManagedClusterVersion;

    fn objects(&self) -> Vec<Arc<ManagedClusterVersion>> {
        if self.seen.upstream.is_looked_for() {
            self.seen.managed.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<ManagedClusterVersion>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let managed = self.changed.newest(seen);
        if managed.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let mut plan = overlays::decide(&managed.spec, managed.status.as_ref(), now);
        let attempt = self.apply(&managed, &plan, now).await;
        let generation = managed.metadata.generation;
        overlays::conclude(&mut plan.status, generation, &attempt.application, now);
        if managed.status.as_ref() != Some(&plan.status) {
            let written = write::status(&self.context.client, managed.as_ref(), &plan.status).await?;
            self.changed.note(written);
        }
        match attempt.failed {
            Some(error) => Err(error),
            None => Ok([plan.wake, attempt.again].into_iter().flatten().min()),
        }
    }
}

impl ClusterVersions {
    /// Lets OpenShift's ClusterVersion have the spec in force.
    async fn apply(&self, managed: &ManagedClusterVersion, plan: &OverlayPlan, now: Timestamp) -> Attempt {
        if !overlays::names_cluster(&plan.spec) {
            return Attempt::concluded(Application::NoClusterId);
        }
        let upstream = match self.seen.upstream.fact(now) {
            Ok(Some(upstream)) => self.written.upstream.newest(&upstream),
            Ok(None) => {
                let why = "the cluster has none: is it OpenShift?";
                return Attempt::concluded(Application::Failed(why.to_owned()));
            }
            Err(why) => {
                return Attempt {
                    application: Application::Failed(why.to_string()),
                    again: None,
                    failed: Some(ReconcileError::not_read("OpenShift's ClusterVersion")(why)),
                };
            }
        };
        let Some(change) = overlays::change(&plan.spec, &upstream.spec) else {
            return Attempt::concluded(Application::Applied);
        };
        let wanted = json!(plan.spec);
        let last = self
            .last_change
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let pause = last
            .filter(|(_, spec)| *spec == wanted)
            .map(|(last, _)| last.saturating_add(PAUSE).unwrap_or(Timestamp::MAX))
            .filter(|end| *end > now);
        if let Some(end) = pause {
            return Attempt {
                application: Application::Failed(format!("another program changes it, too: {change}")),
                again: Some(end),
                failed: None,
            };
        }
        match write::cluster_version(&self.context.client, &upstream, &change).await {
            Ok(written) => {
                self.written.upstream.note(written);
                *self.last_change.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, wanted));
                self.say(managed, &change);
                Attempt::concluded(Application::Applied)
            }
            Err(error) => Attempt {
                application: Application::Failed(refusal::words(&error)),
                again: None,
                failed: Some(ReconcileError::write("OpenShift's ClusterVersion", &error)),
            },
        }
    }

    fn say(&self, managed: &ManagedClusterVersion, change: &serde_json::Value) {
        self.context.publisher.publish(&NewEvent {
            object: managed.object_ref(&()),
            related: None,
            severity: Severity::Normal,
            reason: "ClusterVersionChanged",
            action: "ApplyingSpec",
            message: format!("the spec of OpenShift's ClusterVersion is changed: {change}"),
        });
    }
}
