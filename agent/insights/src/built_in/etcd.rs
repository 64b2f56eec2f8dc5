//! What etcd's operator says of its members: the update of a control plane that has lost one takes the second (insights.md, section 5).

use drydock_api::conditions::AnyCondition;
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::Etcd;
use jiff::Timestamp;

use super::draft::{Draft, object};
use crate::finding::Finding;

pub(super) fn findings(etcd: &Etcd, now: Timestamp) -> Vec<Finding> {
    let conditions = etcd.status.iter().flat_map(|status| &status.conditions);
    let drafts = conditions.filter_map(|condition| {
        let type_ = condition.type_();
        let said = format!("{}: {}", condition.reason(), condition.message());
        // Members that are missing are what data is lost by; all else slows it down.
        let (uid, level, impact_type) = if type_ == "EtcdMembersAvailable" && condition.is_false() {
            ("etcd-members-missing", Level::Critical, ImpactType::DataLoss)
        } else if type_.ends_with("Degraded") && condition.is_true() {
            ("etcd-degraded", Level::Error, ImpactType::ApiAvailability)
        } else {
            return None;
        };
        Some(draft(uid, type_, level, impact_type, said))
    });
    drafts.map(|draft| draft.finding(now)).collect()
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
        resources: vec![
            object("operator.openshift.io", "Etcd", "cluster"),
            // Each condition is a finding of its own.
            object("operator.openshift.io", "EtcdCondition", type_),
        ],
    }
}
