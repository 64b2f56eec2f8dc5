//! Accepted risks that end where what they cover becomes worse.

use drydock_api::mcu::{ENDED_CLUSTERS_LIMIT, UpgradeRiskAcceptance};
use drydock_rollout::{KnownAnswer, PreCheckWork, pre_checks_work_name};

use super::asked::work;
use super::*;
use crate::acceptance::digest;

const FINDING: &str = "0123456789abcdef0123456789abcdef";

fn acceptance(accepted_at: &str, status: &Value) -> Value {
    json!({
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"upgrade": "spring", "target": "4.14.12", "acceptedRisks": [
            {"finding": FINDING, "reason": "known", "acceptedBy": "ann", "acceptedAt": accepted_at},
            {"informer": "mco", "uid": "paused", "reason": "known", "acceptedBy": "ann"},
        ]},
        "status": status,
    })
}

const THEN: &str = "2026-01-05T08:00:00Z";

/// The ids of both entries.
fn ids() -> Vec<String> {
    let mut object: UpgradeRiskAcceptance = serde_json::from_value(acceptance(THEN, &json!({}))).unwrap();
    object.metadata.namespace = Some("default".to_owned());
    digest(&object)
        .risks
        .iter()
        .map(|risk| risk.id.to_string())
        .collect()
}

impl TestFleet {
    /// The agent of a cluster says that these have ended.
    fn ends(&mut self, cluster: &str, ids: &[&str]) {
        let cluster = ClusterName::from(cluster);
        let work = PreCheckWork {
            ended: ids.iter().map(|id| Arc::from(*id)).collect(),
            ..work("a", "4.14.12", KnownAnswer::None)
        };
        self.version += 1;
        let name = pre_checks_work_name(&cluster, &key());
        let _change = self
            .fleet
            .set_pre_checks(&cluster, &name, Some(Arc::new(work)), Some(self.version));
    }

    /// The statuses that are to be written.
    fn endings(&mut self) -> Value {
        self.fleet.bring_all_up_to_date(self.now);
        let endings = self.fleet.endings(&key());
        endings.into_iter().map(|ending| json!(ending.status)).collect()
    }
}

#[test]
fn where_an_acceptance_has_ended_is_kept_in_its_status_until_it_is_changed() {
    let ids = ids();
    let mut fleet = TestFleet::new(&["c01", "c02"]);
    fleet.see::<UpgradeRiskAcceptance>("default", "known", Some(acceptance(THEN, &json!({}))));
    assert_eq!(fleet.endings(), json!([]), "nothing has ended");
    fleet.ends("c02", &["0000000000", &ids[0]]);
    let status = json!({"ended": [{"id": ids[0], "finding": FINDING, "clusters": ["c02"]}]});
    assert_eq!(
        fleet.endings(),
        json!([status]),
        "what nobody has accepted has not ended"
    );
    fleet.see::<UpgradeRiskAcceptance>("default", "known", Some(acceptance(THEN, &status)));
    assert_eq!(fleet.endings(), json!([]), "it is written once");
    // The plan of the cluster is gone, or says it no more: the status stays.
    fleet.ends("c02", &[]);
    fleet.ends("c01", &[&ids[1]]);
    let both = json!({"ended": [
        {"id": ids[0], "finding": FINDING, "clusters": ["c02"]},
        {"id": ids[1], "finding": "mco/paused", "clusters": ["c01"]},
    ]});
    assert_eq!(fleet.endings(), json!([both]));
    // Accepted anew, the first is another entry.
    fleet.see::<UpgradeRiskAcceptance>(
        "default",
        "known",
        Some(acceptance("2026-01-06T08:00:00Z", &both)),
    );
    assert_eq!(fleet.endings(), json!([]));
    let risks = fleet.fleet.acceptances_of(&key());
    let ended = |cluster: &str| -> Vec<bool> {
        let cluster = ClusterName::from(cluster);
        risks.iter().map(|risk| risk.ended.has(&cluster)).collect()
    };
    assert_eq!(
        (ended("c01"), ended("c02")),
        (vec![false, true], vec![false, false])
    );
}

/// Whoever copies an entry into another object accepts nothing anew.
#[test]
fn a_copy_of_what_has_ended_has_ended() {
    let status = json!({"ended": [{"id": ids()[0], "finding": FINDING, "clusters": ["c01"]}]});
    let mut fleet = TestFleet::new(&["c01", "c02"]);
    for (name, status) in [("copy", json!({})), ("known", status)] {
        fleet.see::<UpgradeRiskAcceptance>("default", name, Some(acceptance(THEN, &status)));
    }
    let risks = fleet.fleet.acceptances_of(&key());
    for (cluster, has_ended) in [("c01", true), ("c02", false)] {
        let cluster = ClusterName::from(cluster);
        let of_finding = risks.iter().filter(|risk| *risk.id == *ids()[0]);
        let ended: Vec<bool> = of_finding.map(|risk| risk.ended.has(&cluster)).collect();
        assert_eq!(ended, [has_ended; 2], "{cluster}");
    }
}

#[test]
fn beyond_some_clusters_an_acceptance_has_ended_on_all() {
    let ids = ids();
    let names: Vec<String> = (0..=ENDED_CLUSTERS_LIMIT)
        .map(|number| format!("c{number:03}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fleet = TestFleet::new(&names);
    fleet.see::<UpgradeRiskAcceptance>("default", "known", Some(acceptance(THEN, &json!({}))));
    let (last, first) = names.split_last().unwrap();
    for name in first {
        fleet.ends(name, &[&ids[0]]);
    }
    assert_eq!(fleet.endings()[0]["ended"][0]["clusters"], json!(first));
    fleet.ends(last, &[&ids[0]]);
    let everywhere = json!({"ended": [{"id": ids[0], "finding": FINDING}]});
    assert_eq!(fleet.endings(), json!([everywhere]));
    fleet.see::<UpgradeRiskAcceptance>("default", "known", Some(acceptance(THEN, &everywhere)));
    assert_eq!(fleet.endings(), json!([]));
    let risks = fleet.fleet.acceptances_of(&key());
    assert!(risks[0].ended.has(&ClusterName::from("joins-later")));
}
