//! Which risks somebody has accepted, for which clusters of which upgrade.

use std::sync::Arc;

use drydock_api::mcu::{AcceptedRisk, EndedRisk, UpgradeRiskAcceptance, UpgradeRiskAcceptanceStatus};
use drydock_rollout::{
    AcceptedFinding, ClusterName, EndedOn, FindingLevel, RiskAcceptance, UpgradeKey, bounded,
};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::spec::parse_selector;

/// The longest reason that is passed on, in bytes.
const REASON: usize = 1024;
/// The longest name that is passed on, in bytes.
const NAME: usize = 253;

/// What an object accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptanceDigest {
    /// For which upgrade.
    pub upgrade: UpgradeKey,
    /// In which version it was read.
    pub version: Option<String>,
    /// What. An entry that cannot be read accepts nothing.
    pub risks: Vec<RiskAcceptance>,
}

/// An acceptance whose status lacks that it has ended on clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Where it is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The version that was read: what it accepts may be another since.
    pub version: Option<String>,
    /// The status as it should be.
    pub status: UpgradeRiskAcceptanceStatus,
}

/// The status that says where risks have ended.
pub fn status_of(risks: &[RiskAcceptance], ended: &[EndedOn]) -> UpgradeRiskAcceptanceStatus {
    let all = risks.iter().zip(ended).filter(|(_, ended)| !ended.is_nowhere());
    let ended = all.map(|(risk, ended)| EndedRisk {
        id: risk.id.to_string(),
        finding: risk.finding.to_string(),
        clusters: match ended {
            EndedOn::Clusters(names) => Some(names.iter().map(ToString::to_string).collect()),
            EndedOn::Everywhere => None,
        },
    });
    UpgradeRiskAcceptanceStatus {
        ended: ended.collect(),
    }
}

/// Reads an object. One that is being deleted accepts nothing more.
pub fn digest(object: &UpgradeRiskAcceptance) -> AcceptanceDigest {
    let is_there = object.metadata.deletion_timestamp.is_none();
    let risks = object.spec.accepted_risks.iter().filter(|_| is_there);
    AcceptanceDigest {
        upgrade: upgrade(object),
        version: object.resource_version(),
        risks: risks.filter_map(|risk| read(object, risk)).collect(),
    }
}

/// Reads an entry of an object, with where it has ended; `None` if it cannot be read, and so accepts nothing.
pub fn read(object: &UpgradeRiskAcceptance, risk: &AcceptedRisk) -> Option<RiskAcceptance> {
    let created = object.metadata.creation_timestamp.as_ref();
    let risk = parse(object, created.map(|created| created.0), risk)?;
    Some(RiskAcceptance {
        ended: ended_on(object.status.as_ref(), &risk.id),
        ..risk
    })
}

/// Where the status says that the entry of this id has ended.
fn ended_on(status: Option<&UpgradeRiskAcceptanceStatus>, id: &str) -> EndedOn {
    let mut all = status.iter().flat_map(|status| &status.ended);
    let Some(ended) = all.find(|ended| ended.id == id) else {
        return EndedOn::default();
    };
    match &ended.clusters {
        Some(names) => EndedOn::Clusters(
            names
                .iter()
                .map(|name| ClusterName::from(name.as_str()))
                .collect(),
        ),
        None => EndedOn::Everywhere,
    }
}

/// For which upgrade it accepts.
fn upgrade(object: &UpgradeRiskAcceptance) -> UpgradeKey {
    UpgradeKey::new(
        object.namespace().unwrap_or_default(),
        object.spec.upgrade.as_str(),
    )
}

fn parse(
    object: &UpgradeRiskAcceptance,
    created: Option<Timestamp>,
    risk: &AcceptedRisk,
) -> Option<RiskAcceptance> {
    let AcceptedRisk {
        finding,
        informer,
        uid,
        level,
        clusters,
        cluster_selector,
        reason,
        accepted_by,
        accepted_at,
        until,
    } = risk;
    let finding = match (finding, informer, uid) {
        (Some(uuid), None, None) => AcceptedFinding::Uuid(uuid.as_str().into()),
        (None, Some(informer), Some(uid)) => AcceptedFinding::Named {
            informer: informer.as_str().into(),
            uid: uid.as_str().into(),
        },
        _ => return None,
    };
    let selector = cluster_selector
        .as_ref()
        .map(|selector| parse_selector("clusterSelector", selector));
    let risk = RiskAcceptance {
        target: object.spec.target.as_str().into(),
        id: Arc::default(),
        ended: EndedOn::default(),
        finding,
        clusters: clusters.as_ref().map(|names| {
            let names = names.iter();
            names.map(|name| ClusterName::from(name.as_str())).collect()
        }),
        selector: selector.transpose().ok()?,
        level: match level {
            Some(level) => FindingLevel::parse(level)?,
            None => FindingLevel::default(),
        },
        accepted_by: bounded(accepted_by, NAME).into(),
        reason: bounded(reason, REASON).into(),
        accepted_at: accepted_at.as_ref().map(|accepted| accepted.0),
        until: until.as_ref().map(|until| until.0),
    };
    // Its name is by what it says: who deletes an entry and puts it back as it was has not accepted anew.
    let risk = risk.named(&upgrade(object));
    Some(RiskAcceptance {
        accepted_at: risk.accepted_at.or(created),
        ..risk
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(risk: &serde_json::Value) -> Vec<RiskAcceptance> {
        let object = json!({
            "metadata": {"name": "a", "namespace": "hub"},
            "spec": {"upgrade": "fleet", "target": "4.14.12", "acceptedRisks": [risk]},
        });
        digest(&serde_json::from_value(object).unwrap()).risks
    }

    #[test]
    fn an_entry_that_is_put_back_as_it_was_is_the_same() {
        let read = |created: &str, accepted: Option<&str>| {
            let object = json!({
                "metadata": {"name": "a", "namespace": "hub", "creationTimestamp": created},
                "spec": {"upgrade": "fleet", "target": "4.14.12", "acceptedRisks": [{
                    "informer": "mco", "uid": "x", "reason": "known", "acceptedBy": "ann", "acceptedAt": accepted,
                }]},
            });
            digest(&serde_json::from_value(object).unwrap()).risks.remove(0)
        };
        let (first, second) = ("2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z");
        let (before, after) = (read(first, None), read(second, None));
        assert_eq!(before.id, after.id);
        assert_eq!(
            after.accepted_at,
            Some(second.parse().unwrap()),
            "it counts since then"
        );
        assert_ne!(read(first, Some(first)).id, read(first, Some(second)).id);
    }

    /// By a template many are alike: that one has ended says nothing of that for another upgrade.
    #[test]
    fn who_accepts_the_same_for_another_upgrade_accepts_something_else() {
        let id = |namespace: &str, upgrade: &str| {
            let object = json!({
                "metadata": {"name": "a", "namespace": namespace},
                "spec": {"upgrade": upgrade, "target": "4.14.12", "acceptedRisks": [{
                    "informer": "mco", "uid": "x", "reason": "known", "acceptedBy": "ann",
                }]},
            });
            let risks = digest(&serde_json::from_value(object).unwrap()).risks;
            risks[0].id.to_string()
        };
        assert_ne!(id("hub", "spring"), id("hub", "autumn"));
        assert_ne!(id("hub", "spring"), id("lab", "spring"));
        assert_eq!(id("hub", "spring"), id("hub", "spring"));
    }

    #[test]
    fn what_does_not_say_one_thing_accepts_nothing() {
        let uuid = "0123456789abcdef0123456789abcdef";
        let risk = |more: serde_json::Value| {
            let mut risk = json!({"reason": "known", "acceptedBy": "ann"});
            risk.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            risk
        };
        for (more, count) in [
            (json!({"finding": uuid}), 1),
            (json!({"informer": "mco", "uid": "a"}), 1),
            (json!({}), 0),
            (json!({"informer": "mco"}), 0),
            (json!({"finding": uuid, "informer": "mco", "uid": "a"}), 0),
            (json!({"finding": uuid, "level": "Whatever"}), 0),
            (
                json!({"finding": uuid, "clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
                0,
            ),
        ] {
            assert_eq!(read(&risk(more.clone())).len(), count, "{more}");
        }
        let least = read(&risk(json!({"finding": uuid})));
        assert_eq!(
            least[0].level,
            FindingLevel::Warning,
            "who names no level accepts the least"
        );
    }
}
