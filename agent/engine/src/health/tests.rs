use std::collections::BTreeSet;

use super::*;
use crate::capacity::Capacity;
use crate::drains::{Budget, Cordon, ObservedNode};
use crate::facts::Unread;
use crate::phase::fixture::facts;

fn reasons(findings: &[Finding]) -> Vec<(&'static str, bool)> {
    findings
        .iter()
        .map(|finding| (finding.reason, finding.blocks))
        .collect()
}

#[test]
fn the_query_passes_over_what_is_ignored_and_cannot_be_broken_out_of() {
    let mut configuration = crate::configuration::Configuration::default();
    assert_eq!(
        query(&configuration),
        r#"ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$"}"#
    );
    configuration.health_check.ignored_namespaces = vec!["openshift-logging".to_owned()];
    configuration.health_check.ignored_criticals = vec![r#"A"} or vector(1"#.to_owned()];
    assert!(
        query(&configuration).ends_with(r#",namespace!="openshift-logging",alertname!="A\"} or vector(1"}"#)
    );
}

#[test]
fn critical_alerts_hold_an_upgrade_up_and_so_does_not_knowing_of_them() {
    let mut facts = facts();
    facts.seen.unhealthy = Ok(Vec::new());
    assert_eq!(after(&facts), Err(Need::Alerts));
    for (alerts, expected) in [
        (Ok(vec![]), vec![]),
        (Ok(vec!["KubeAPIDown"]), vec![(reason::ALERTS, true)]),
        (Ok(vec!["UpgradeClusterCheckFailedSRE"]), vec![]),
        (Err("no answer"), vec![(reason::QUERY_FAILED, true)]),
    ] {
        facts.seen.alerts = alerts
            .map(|names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
            .map_err(|why: &str| Unread::Failed(why.to_owned()));
        assert_eq!(reasons(&after(&facts).unwrap()), expected);
    }
}

#[test]
fn with_the_gate_more_is_looked_at_and_reported_and_nothing_more_blocks() {
    let mut facts = facts();
    facts.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    facts.spec.capacity_reservation = Some(true);
    facts.seen.unhealthy = Ok(Vec::new());
    facts.seen.alerts = Ok(BTreeSet::new());
    assert_eq!(before(&facts), Err(Need::Capacity));
    facts.seen.capacity = Ok(Capacity::default());
    assert_eq!(before(&facts), Err(Need::Nodes));
    let worker = ObservedNode {
        name: "w".to_owned(),
        is_worker: true,
        cordon: Some(Cordon { since: None }),
        ..ObservedNode::default()
    };
    let updated = ObservedNode {
        mco_works: true,
        ..worker.clone()
    };
    let pressed = ObservedNode {
        pressure: vec!["memory"],
        ..ObservedNode::default()
    };
    facts.seen.nodes = Ok(vec![updated.clone()]);
    assert_eq!(before(&facts), Err(Need::Budgets));
    let budget = |namespace: &str, forbids: Option<&str>| Budget {
        namespace: namespace.to_owned(),
        name: "b".to_owned(),
        selector: None,
        forbids: forbids.map(str::to_owned),
    };
    facts.seen.budgets = Ok(vec![
        budget("openshift-etcd", Some("never")),
        budget("shop", None),
    ]);
    assert_eq!(reasons(&before(&facts).unwrap()), [(reason::NO_POOL, false)]);
    facts.seen.nodes = Ok(vec![updated, worker, pressed]);
    facts.seen.budgets = Ok(vec![budget("openshift-logging", Some("never"))]);
    facts.spec.capacity_reservation = None;
    assert_eq!(
        reasons(&before(&facts).unwrap()),
        [
            (reason::CORDONED, false),
            (reason::PRESSURE, false),
            (reason::BUDGET_CONFIGURATION, false)
        ]
    );
}
