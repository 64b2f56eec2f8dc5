//! A finding as an informer reports it, checked.

use drydock_api::insights::{Impact, Insight, PoolReference, Remediation, Scope, ScopeType};
use drydock_api::openshift::MachineConfigPool;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource;

use crate::identity;
use crate::informer_name::InformerName;
use crate::status::MASTER;

/// Something that an informer reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Who it is, to its informer.
    pub uid: String,
    /// When the informer looked.
    pub acquired: Timestamp,
    /// Which part of the cluster it is about; pools and objects in order.
    pub scope: Scope,
    /// What it means.
    pub impact: Impact,
    /// What can be done.
    pub remediation: Option<Remediation>,
}

impl Finding {
    /// Who it is, everywhere.
    pub fn uuid(&self, informer: &InformerName) -> String {
        identity::uuid(informer, &self.scope, &self.uid)
    }

    /// The finding as one of the nodes of a pool. Those of the masters are the control plane.
    #[must_use]
    pub(crate) fn in_pool(mut self, name: &str) -> Self {
        if name != MASTER {
            self.scope.scope_type = ScopeType::WorkerPool;
            self.scope.worker_pool = vec![PoolReference {
                kind: MachineConfigPool::kind(&()).into_owned(),
                namespace: None,
                name: name.to_owned(),
            }];
        }
        self
    }

    /// The finding as it is kept, first seen at this moment.
    pub fn insight(&self, informer: &InformerName, first_seen: Timestamp) -> Insight {
        Insight {
            uuid: self.uuid(informer),
            uid: self.uid.clone(),
            acquisition_time: Time(self.acquired),
            first_seen: Time(first_seen),
            missing_since: None,
            scope: self.scope.clone(),
            impact: self.impact.clone(),
            remediation: self.remediation.clone(),
            carried_over: None,
            caused_by: None,
        }
    }
}

/// The worst first, then what is there for the longest time. The order of a payload does not matter.
pub(crate) fn worst_first(insights: &mut [Insight]) {
    insights.sort_by(|one, other| {
        let level = other.impact.level.cmp(&one.impact.level);
        level
            .then_with(|| one.first_seen.cmp(&other.first_seen))
            .then_with(|| one.uuid.cmp(&other.uuid))
    });
}
