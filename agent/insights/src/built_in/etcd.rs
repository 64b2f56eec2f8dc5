//! What etcd's operator says of its members: the update of a control plane that has lost one takes the second (insights.md, section 5).

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::openshift::Etcd;
use jiff::Timestamp;

use super::draft::{Draft, object};
use crate::finding::Finding;

/// The condition that says whether all members are there.
const MEMBERS: &str = "EtcdMembersAvailable";

pub(super) fn findings(etcd: &Etcd, now: Timestamp) -> Vec<Finding> {
    let conditions = etcd.status.as_ref();
    let conditions = conditions
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let unknown = find(conditions, MEMBERS).is_none().then(|| {
        let said = "The operator of etcd does not say whether its members are available".to_owned();
        draft(
            "etcd-members-unknown",
            MEMBERS,
            Level::Unknown,
            ImpactType::DataLoss,
            said,
        )
    });
    let drafts = conditions.iter().filter_map(|condition| {
        let type_ = condition.type_();
        let said = format!("{}: {}", condition.reason(), condition.message());
        // Members that are missing are what data is lost by; all else slows it down.
        let (uid, level, impact_type) = if type_ == MEMBERS && condition.is_false() {
            ("etcd-members-missing", Level::Critical, ImpactType::DataLoss)
        } else if type_ == MEMBERS && !condition.is_true() {
            ("etcd-members-unknown", Level::Unknown, ImpactType::DataLoss)
        } else if type_.ends_with("Degraded") && condition.is_true() {
            ("etcd-degraded", Level::Error, ImpactType::ApiAvailability)
        } else if type_.ends_with("Degraded") && !condition.is_false() {
            ("etcd-unknown", Level::Unknown, ImpactType::ApiAvailability)
        } else {
            return None;
        };
        // Who has accepted that one member is missing has not accepted that the next one is.
        let about = if level == Level::Critical {
            said.clone()
        } else {
            type_.to_owned()
        };
        Some(Draft {
            resources: resources(&about),
            ..draft(uid, type_, level, impact_type, said)
        })
    });
    unknown
        .into_iter()
        .chain(drafts)
        .map(|draft| draft.finding(now))
        .collect()
}

fn draft(
    uid: &'static str,
    type_: &str,
    level: Level,
    impact_type: ImpactType,
    description: String,
) -> Draft {
    Draft {
        uid,
        level,
        impact_type,
        summary: format!("etcd is not healthy: {type_}"),
        description,
        action: "Restore the member that is named before the control plane is updated".to_owned(),
        verify: "kubectl get etcd cluster -o jsonpath='{.status.conditions}'".to_owned(),
        reference: None,
        resources: resources(type_),
    }
}

/// Each condition is a finding of its own.
fn resources(about: &str) -> Vec<ResourceReference> {
    vec![
        object("operator.openshift.io", "Etcd", "cluster"),
        object("operator.openshift.io", "EtcdCondition", about),
    ]
}
