use drydock_api::insights::Verdict;
use drydock_insights::built_in::BuiltInFacts;
use drydock_insights::objects::built_in_facts;
use serde_json::json;

use super::*;

const NOW: &str = "2026-01-05T08:00:00Z";
/// Only ClusterVersion and ClusterOperators are there.
const BLIND: &str = "Without objects to look at: drydock.alerts, drydock.etcd, drydock.installed-operators, \
                     drydock.machine-config-pools, drydock.node-capacity, drydock.nodes, drydock.pod-disruption-budgets, \
                     drydock.api-removals";

/// A cluster of 4.14.3, whose update fails or not.
fn facts(failing: &str) -> BuiltInFacts {
    let cluster = json!({"kind": "ClusterVersion", "metadata": {"name": "version"}, "status": {
        "desired": {"version": "4.14.3"},
        "conditions": [{"type": "Failing", "status": failing, "reason": "R", "message": "one\n\ntwo"},
            {"type": "Available", "status": "True"}, {"type": "Progressing", "status": "False"}],
        "history": [{"state": "Completed", "version": "4.14.3"}],
        "availableUpdates": [{"version": "4.14.4", "image": "4"}, {"version": "4.14.10", "image": "10"}],
        "conditionalUpdates": [{"release": {"version": "4.14.11", "image": "11"}, "risks": [{"name": "A"}], "conditions": [
            {"type": "Recommended", "status": "False"},
        ]}],
    }});
    let nothing = json!({"kind": "ClusterOperatorList", "items": []});
    built_in_facts(vec![cluster, nothing]).unwrap()
}

pub(super) fn checks(failing: &str) -> PreChecks {
    pre_checks::of_objects(&facts(failing), "4.14.4", NOW.parse().unwrap())
}

#[test]
fn the_newest_recommended_release_is_meant() {
    let newest = newest_recommended(facts("False").cluster.as_ref().unwrap());
    assert_eq!(newest, Some(Version::new(4, 14, 10)));
}

#[test]
fn a_finding_is_shown_with_what_can_be_done() {
    let checks = checks("True");
    let uuid = &checks.findings[0].insight.uuid;
    let expected = format!(
        "\
Update from 4.14.3 to 4.14.4: Stop (1 finding is not accepted)
{BLIND}

= Not accepted =

Warning (Update Stalled): The cluster's update is failing
  Details:        R: one
                  two
  About:          ClusterVersion version
  Reported by:    drydock.cluster-version
  Remedy:         Correct what the condition Failing of ClusterVersion names
  Verify with:    kubectl get clusterversion version -o jsonpath='{{.status.conditions}}'
  UUID:           {uuid}

Correct what holds the update. Where drydock-agent runs with its insights, it can be accepted.
"
    );
    assert_eq!(text(&checks), expected);
    let of_plan = PreChecks {
        computed: false,
        ..checks
    };
    assert!(
        text(&of_plan).contains("Reported by:    drydock.cluster-version, first seen 2026-01-05T08:00:00Z\n")
    );
    assert!(
        text(&of_plan).ends_with(
            "(UUID=Error for one that is worse than a Warning), with --until if it is for a time.\n"
        )
    );
}

#[test]
fn a_cluster_without_findings_may_go_if_everything_was_looked_at() {
    let mut checks = checks("False");
    assert_eq!(
        text(&checks),
        format!("Update from 4.14.3 to 4.14.4: Caution (not everything was looked at)\n{BLIND}\n")
    );
    checks.informers.clear();
    checks.verdict = Verdict::Go;
    assert_eq!(
        text(&checks),
        "Update from 4.14.3 to 4.14.4: Go (nothing speaks against it)\n"
    );
}
