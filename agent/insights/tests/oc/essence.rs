//! Cases whose output is not recorded: what matters of it.

use drydock_api::insights::{ImpactType, Level};
use drydock_insights::estimate::Method;
use drydock_insights::render::{self, Details, RecommendationView};
use drydock_insights::status::{ControlPlaneAssessment, UpdateStatus};

use crate::fixtures::{printed_lines, status};
use crate::recommend::{of_version, recommendation};

fn update(case: &str, method: Method) -> Option<UpdateStatus> {
    let report = status(&format!("openshift/{case}"), method)?;
    Some(report.update.expect("it updates"))
}

fn count(update: &UpdateStatus, level: Level) -> usize {
    update
        .insights
        .iter()
        .filter(|insight| insight.level == level)
        .count()
}

#[test]
fn a_degraded_cluster_is_stalled() {
    let Some(update) = update("4.14.1-degraded", Method::Oc) else {
        return;
    };
    assert_eq!(update.control_plane.assessment, ControlPlaneAssessment::Stalled);
    assert_eq!(
        (count(&update, Level::Error), count(&update, Level::Warning)),
        (5, 1)
    );
    let lines = printed_lines("openshift/4.14.1-degraded", Details::None);
    for line in [
        "Completion:      97% (32 operators updated, 1 updating, 0 waiting)",
        "Duration:        1h59m (Est. Time Remaining: N/A; estimate duration was 1h24m)",
        "Operator Health: 28 Healthy, 1 Unavailable, 4 Available but degraded",
        "now       Warning   Update Stalled     Cluster Version version is failing to proceed with the update (ClusterOperatorsDegraded)",
    ] {
        assert!(lines.iter().any(|printed| printed == line), "{line}\n{lines:#?}");
    }
}

#[test]
fn only_annotated_operators_count() {
    let Some(update) = update("4.15.0-ec2-b02-cos-not-annotated", Method::Oc) else {
        return;
    };
    assert_eq!(
        (
            update.control_plane.operators.updated,
            update.control_plane.operators.total
        ),
        (3, 7)
    );
    let lines = printed_lines("openshift/4.15.0-ec2-b02-cos-not-annotated", Details::None);
    for line in [
        "Completion:      43% (3 operators updated, 0 updating, 4 waiting)",
        "Duration:        53m (Est. Time Remaining: 1h39m)",
        "zbeast        Empty                     0 Total",
    ] {
        assert!(lines.iter().any(|printed| printed == line), "{line}\n{lines:#?}");
    }
}

#[test]
fn an_operator_that_is_down_for_twenty_minutes_is_an_error_beside_alerts() {
    let Some(update) = update("4.15.0-ec2-unavailable-mco-20m", Method::Oc) else {
        return;
    };
    assert_eq!(update.control_plane.assessment, ControlPlaneAssessment::Slow);
    assert_eq!(count(&update, Level::Error), 1);
    let alerts = update
        .insights
        .iter()
        .filter(|insight| insight.impact == ImpactType::Unknown);
    assert_eq!(alerts.count(), 4);
    let lines = printed_lines("openshift/4.15.0-ec2-unavailable-mco-20m", Details::None);
    for line in [
        "Duration:        59m (Est. Time Remaining: <10m)",
        "20m24s     Error     API Availability   Cluster Operator machine-config is unavailable (MachineConfigControllerFailed)",
        "24h8m54s   Warning   Unknown            Alert is firing: PodDisruptionBudgetAtLimit for pods <>",
    ] {
        assert!(lines.iter().any(|printed| printed == line), "{line}\n{lines:#?}");
    }
}

#[test]
fn by_its_history_a_cluster_says_how_long_its_workers_take() {
    let Some(report) = status(
        "oc/status/4.14.1-workers-started-updating-multiple-pools",
        Method::History,
    ) else {
        return;
    };
    let text = render::status(&report, Details::None);
    assert!(
        text.contains("= Worker Upgrade =\nEst. Time Remaining: 40m (worker 40m, infra 40m)\n\nWORKER POOL"),
        "{text}"
    );
}

#[test]
fn a_cluster_with_a_critical_alert_is_refused() {
    let Some(rendered) = recommendation(
        "openshift/4.16.27-degraded-monitoring",
        &of_version("4.16.32", &[]),
    ) else {
        return;
    };
    assert!(rendered.text.ends_with(
        "\n\nerror: issues that apply to this cluster but which were not included in --accept: ClusterOperatorDown,Failing,PodDisruptionBudgetAtLimit\n"
    ));
    assert!(rendered.is_refused);
    let accepted = ["ClusterOperatorDown", "Failing", "PodDisruptionBudgetAtLimit"];
    let rendered = recommendation(
        "openshift/4.16.27-degraded-monitoring",
        &of_version("4.16.32", &accepted),
    )
    .unwrap();
    assert!(!rendered.is_refused);
}

#[test]
fn a_cluster_that_must_be_acknowledged_first_has_a_risk_of_the_next_minor_version() {
    let Some(rendered) = recommendation("openshift/4.12.16-updates", &RecommendationView::default()) else {
        return;
    };
    assert!(rendered.text.contains("Updates to 4.13:\n\n  Version: 4.13.50\n"));
    assert!(rendered.text.contains("\n  Reason: AdminAckRequired\n"));
    assert!(
        rendered
            .text
            .contains("\nAnd 45 older 4.13 updates you can see with")
    );
    assert!(
        rendered
            .text
            .contains("  4.12.64     no known issues relevant to this cluster\n")
    );
    assert!(
        rendered
            .text
            .contains("\nAnd 43 older 4.12 updates you can see with")
    );
}

/// MachineConfigs are left out of many dumps: pools say what nodes should run, once their operator has come to the release.
#[test]
fn without_machine_configs_nodes_are_compared_with_their_pools() {
    for (case, expected) in [
        ("not-upgrading", "The cluster is not updating."),
        ("4.15.0-ec2-early", "worker        Pending      0% (0/3)"),
    ] {
        let Some(report) = status(&format!("openshift/{case}"), Method::Oc) else {
            return;
        };
        assert!(report.notes[0].starts_with("the machine configs could not be read"));
        let lines = printed_lines(&format!("openshift/{case}"), Details::None);
        assert!(
            lines.iter().any(|line| line.starts_with(expected)),
            "{case}: {lines:#?}"
        );
    }
}
