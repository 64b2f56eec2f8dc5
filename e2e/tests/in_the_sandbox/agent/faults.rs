//! The failure modes F1 to F16 of a cluster, and what the agent shows of each: the step that waits and why, what it
//! measures, whom it notifies, and how the upgrade ends.

use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::UpgradePhase::{self, Pending, Upgraded, Upgrading};
use drydock_e2e::spoke::{NAME, Spoke};
use kube::api::{Patch, PatchParams};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

use super::{HOUR, MINUTE, faulty};

/// What is expected of an upgrade.
struct Expected {
    phase: UpgradePhase,
    /// The condition that is not true, and a part of what it says.
    waits: Option<(&'static str, &'static str)>,
    /// The metrics of problems that are not zero, without their prefix.
    measured: &'static [&'static str],
    /// The notifications, beside those of every upgrade.
    notified: &'static [&'static str],
}

const DONE: Expected = Expected {
    phase: Upgraded,
    waits: None,
    measured: &[],
    notified: &[],
};

const fn waits(step: &'static str, why: &'static str, measured: &'static [&'static str]) -> Expected {
    Expected {
        phase: Upgrading,
        waits: Some((step, why)),
        measured,
        notified: &[],
    }
}

/// The notifications of every upgrade.
const USUAL: [&str; 5] = [
    "StateStarted",
    "StateControlPlaneStartedSL",
    "StateControlPlaneFinishedSL",
    "StateWorkerPlaneFinishedSL",
    "StateCompleted",
];

async fn observe(spoke: &Spoke) -> (UpgradePhase, Vec<(String, String)>, Vec<String>, Vec<String>) {
    let entry = spoke.entry().await.unwrap();
    let conditions = entry.conditions.into_iter().flatten();
    let waiting = conditions
        .filter(|condition| condition.status != "True")
        .map(|condition| (condition.type_, condition.message.unwrap_or_default()));
    let notified = spoke
        .notifications()
        .await
        .unwrap()
        .into_iter()
        .map(|(event, _)| event);
    let notified = notified.filter(|event| !USUAL.contains(&event.as_str()));
    let metrics = spoke.fleet.metrics(NAME).unwrap();
    let measured = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("upgradeoperator_")?.strip_suffix(" 1"))
        .filter(|series| !series.starts_with("upgrade_notification{"))
        .map(|series| series.split('{').next().unwrap().to_owned());
    (
        entry.phase,
        waiting.collect(),
        measured.collect(),
        notified.collect(),
    )
}

async fn expect(spoke: &Spoke, name: &str, expected: &Expected) {
    let (phase, waiting, measured, notified) = observe(spoke).await;
    assert_eq!(phase, expected.phase, "{name}: {waiting:?}");
    match (&waiting[..], expected.waits) {
        ([], None) => {}
        ([(step, says)], Some((type_, part))) if step == type_ && says.contains(part) => {}
        _ => panic!("{name}: {waiting:?} and not {:?}", expected.waits),
    }
    assert_eq!(measured, expected.measured, "{name}");
    assert_eq!(notified, expected.notified, "{name}");
}

/// Asks a cluster with these modes for an upgrade, and looks at it at these hours.
async fn shows(faults: &[Fault], fields: Value, sights: &[(u32, Expected)]) -> Spoke {
    let name = faults.first().map_or("F12".to_owned(), Fault::to_string);
    let spoke = faulty(faults).await;
    tokio::time::sleep(MINUTE).await;
    spoke.ask(fields).await.unwrap();
    let mut now = 0;
    for (hours, expected) in sights {
        tokio::time::sleep((hours - now) * HOUR).await;
        now = *hours;
        expect(&spoke, &format!("{name} after {hours} h"), expected).await;
    }
    spoke
}

async fn shown(fault: Fault, sights: &[(u32, Expected)]) {
    let spoke = shows(&[fault], json!({}), sights).await;
    spoke.fleet.shut_down().await.unwrap();
}

const LATE: &[&str] = &["controlplane_timeout"];
const CONTROL_PLANE: &str = "ControlPlaneUpgraded";
const WORKERS: &str = "WorkerNodesUpgraded";

#[tokio::test(start_paused = true)]
async fn f1_an_operator_that_is_degraded_for_a_while_delays_the_upgrade() {
    let slow = waits(CONTROL_PLANE, "ControlPlaneUpgraded still in progress", LATE);
    shown(Fault::OperatorDegraded, &[(2, slow), (5, DONE)]).await;
}

#[tokio::test(start_paused = true)]
async fn f2_an_operator_that_is_not_available_is_named() {
    let why = "the cluster does not make progress: ClusterOperatorNotAvailable: Cluster operator monitoring is not available";
    shown(
        Fault::OperatorUnavailable,
        &[
            (1, waits(CONTROL_PLANE, why, &[])),
            (2, waits(CONTROL_PLANE, why, LATE)),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn f3_an_operator_that_takes_longer_than_it_should_is_named() {
    let why = "the cluster does not make progress: SlowClusterOperator: ";
    shown(Fault::OperatorSlow, &[(2, waits(CONTROL_PLANE, why, LATE))]).await;
}

#[tokio::test(start_paused = true)]
async fn f4_a_drain_that_a_budget_blocks_is_reported_and_freed() {
    let why = "node ip-10-0-28-58.us-east-2.compute.internal is being drained since 2026-01-05T08:50:15Z";
    let notified = Expected {
        notified: &["StateDelayed"],
        ..waits(WORKERS, why, &[])
    };
    let done = Expected {
        notified: &["StateDelayed"],
        ..DONE
    };
    shown(Fault::DrainStuck, &[(2, notified), (4, done)]).await;
}

#[tokio::test(start_paused = true)]
async fn f5_a_release_that_cannot_be_verified_is_refused_and_can_be_edited() {
    let why =
        "the cluster does not make progress: RetrievePayload: Retrieving payload failed version=\"4.14.12\"";
    let refused = waits(CONTROL_PLANE, why, LATE);
    let spoke = shows(&[Fault::SignatureNotVerified], json!({}), &[(3, refused)]).await;
    let patch = Patch::Merge(json!({"spec": {"desired": {"version": "4.14.13"}}}));
    let as_user = PatchParams::default();
    spoke
        .upgrades()
        .patch(UPGRADE_CONFIG, &as_user, &patch)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(spoke.entry().await.unwrap().version.as_deref(), Some("4.14.13"));
    let asked = spoke.version().await.unwrap().spec.desired_update.unwrap();
    assert_eq!(asked.version.as_deref(), Some("4.14.13"));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f6_an_update_that_is_not_offered_never_starts() {
    let pending = Expected {
        phase: Pending,
        ..waits(
            "UpgradeConfigValidated",
            "the cluster is offered none",
            &["upgradeconfig_validation_failed"],
        )
    };
    shown(Fault::UnknownUpdate, &[(3, pending)]).await;
}

/// Which risks the newest entry of ClusterVersion's history says to be accepted.
async fn accepted_risks(spoke: &Spoke) -> String {
    let history = spoke.version().await.unwrap().status.unwrap().history;
    let newest = serde_json::to_value(history.iter().next().unwrap()).unwrap();
    newest["acceptedRisks"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn f7_an_update_with_a_known_risk_that_is_asked_for_by_its_version_is_done_with_the_risk_on_record() {
    let spoke = shows(&[Fault::NotRecommended], json!({}), &[(3, DONE)]).await;
    assert_ne!(accepted_risks(&spoke).await, "");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f8_an_update_whose_risk_cannot_be_evaluated_is_as_one_with_a_risk() {
    let spoke = shows(&[Fault::RiskUnknown], json!({}), &[(3, DONE)]).await;
    assert_ne!(accepted_risks(&spoke).await, "");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f9_a_worker_that_cannot_be_configured_is_named_and_is_no_drain() {
    let why =
        "the workers do not make progress: Node ip-10-0-28-58.us-east-2.compute.internal is reporting: ";
    shown(
        Fault::NodeConfigDegraded,
        &[
            (3, waits(WORKERS, why, &[])),
            (8, waits(WORKERS, why, &["worker_timeout"])),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn f10_a_pool_that_is_paused_is_named() {
    let why = "the MachineConfigPool worker is paused";
    shown(
        Fault::PausedPool,
        &[
            (2, waits(WORKERS, why, &[])),
            (8, waits(WORKERS, why, &["worker_timeout"])),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn f11_an_update_service_that_is_away_blocks_no_update_that_is_offered_already() {
    shown(Fault::GraphBroken, &[(3, DONE)]).await;
}

#[tokio::test(start_paused = true)]
async fn f12_a_target_that_somebody_changes_below_the_agent_is_not_fought_over() {
    let spoke = shows(&[], json!({}), &[]).await;
    spoke.until_done("UpgradeCommenced").await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let theirs = json!({"spec": {"desiredUpdate": {"version": "4.14.13"}}});
    spoke
        .change::<drydock_api::openshift::ClusterVersion>("version", &theirs)
        .await
        .unwrap();
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Failed);
    let failed = spoke.condition("FailedUpgrade").await.unwrap();
    assert_eq!(failed.reason.as_deref(), Some("Superseded"));
    assert_eq!(
        failed.message.as_deref(),
        Some(
            "somebody has set ClusterVersion to 4.14.13 since the upgrade to 4.14.12 commenced, and the cluster runs it by now"
        )
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_whose_desired_update_is_cleared_continues_with_its_workers() {
    let spoke = shows(&[], json!({}), &[]).await;
    spoke.until_done("UpgradeCommenced").await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let cleared = json!({"spec": {"desiredUpdate": null}});
    spoke
        .change::<drydock_api::openshift::ClusterVersion>("version", &cleared)
        .await
        .unwrap();
    tokio::time::sleep(8 * HOUR).await;
    let entry = spoke.entry().await.unwrap();
    assert_eq!(entry.phase, UpgradePhase::Upgraded);
    assert!(entry.worker_complete_time.is_some());
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f13_what_blocks_minor_updates_is_named_reported_and_ends_with_the_window() {
    let minor = json!({"desired": {"version": "4.15.15", "channel": "fast-4.15"}});
    let blocked = Expected {
        notified: &["StateDelayed"],
        ..waits(
            "IsClusterUpgradable",
            "the cluster is not upgradeable to 4.15.15: AdminAckRequired: ",
            &[],
        )
    };
    let failed = Expected {
        phase: UpgradePhase::Failed,
        measured: &["upgrade_window_breached"],
        notified: &["StateDelayed", "StateFailed"],
        waits: Some(("IsClusterUpgradable", "AdminAckRequired")),
    };
    let sights = [(1, blocked), (3, failed)];
    let spoke = shows(&[Fault::MinorBlocked], minor, &sights).await;
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn f14_a_version_operator_that_starts_over_delays_the_upgrade() {
    shown(Fault::VersionOperatorRestart, &[(3, DONE)]).await;
}

#[tokio::test(start_paused = true)]
async fn f15_a_control_plane_that_is_away_for_a_while_delays_the_upgrade() {
    shown(Fault::ControlPlaneUnreachable, &[(4, DONE)]).await;
}

#[tokio::test(start_paused = true)]
async fn f16_a_worker_that_does_not_come_back_is_waited_for_and_measured() {
    let why = "node ip-10-0-28-58.us-east-2.compute.internal is not ready since 2026-01-05T";
    shown(
        Fault::NodeNotReady,
        &[
            (3, waits(WORKERS, why, &[])),
            (8, waits(WORKERS, why, &["worker_timeout"])),
        ],
    )
    .await;
}
