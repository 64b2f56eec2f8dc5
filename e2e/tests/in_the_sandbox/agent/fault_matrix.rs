//! Every kind of request that the agent makes, failing in every way, at every stage of an upgrade, for a while or forever, with
//! a restart in between. The upgrade shows why it waits, nothing that is unwanted is left once the fault is over, nothing is sent
//! twice, and nothing is commenced that the status does not announce.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use drydock_api::names::AGENT_MANAGER;
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::UpgradePhase;
use kube::Api;
use kube_sandbox::server::Verb;

use super::bench::{Bench, Fault, Kind};

const MINUTE: Duration = Duration::from_mins(1);
/// How long a fault lasts that passes.
const FOR_A_WHILE: Duration = Duration::from_mins(10);
/// After how long an upgrade that waits is beyond every deadline.
const FOR_EVER: Duration = Duration::from_hours(30);
/// Every this many of all cases are tried, unless `MATRIX_STEP` says how many; a debug build tries fewer.
const STEP: usize = if cfg!(debug_assertions) { 97 } else { 7 };

const KINDS: [Kind; 28] = [
    Kind::Api(Verb::List, "clusterversions"),
    Kind::Api(Verb::Watch, "clusterversions"),
    Kind::Api(Verb::Patch, "clusterversions"),
    Kind::Api(Verb::List, "machineconfigpools"),
    Kind::Api(Verb::Watch, "machineconfigpools"),
    Kind::Api(Verb::List, "configmaps"),
    Kind::Api(Verb::Watch, "configmaps"),
    Kind::Api(Verb::Get, "configmaps"),
    Kind::Api(Verb::Patch, "configmaps"),
    Kind::Api(Verb::Watch, "upgradeconfigs"),
    Kind::Api(Verb::Patch, "upgradeconfigs"),
    Kind::Api(Verb::Patch, "upgradeconfigs/status"),
    Kind::Api(Verb::List, "clusteroperators"),
    Kind::Api(Verb::List, "nodes"),
    Kind::Api(Verb::Get, "nodes"),
    Kind::Api(Verb::List, "pods"),
    Kind::Api(Verb::List, "poddisruptionbudgets"),
    Kind::Api(Verb::List, "machinesets"),
    Kind::Api(Verb::Create, "machinesets"),
    Kind::Api(Verb::Delete, "machinesets"),
    Kind::Api(Verb::List, "machines"),
    Kind::Api(Verb::Get, "services"),
    Kind::Api(Verb::Create, "events"),
    Kind::Outside("POST", "prometheus-k8s"),
    Kind::Outside("GET", "alertmanager-main"),
    Kind::Outside("POST", "alertmanager-main"),
    Kind::Outside("DELETE", "alertmanager-main"),
    Kind::Outside("POST", "hooks.example"),
];

const FAULTS: [Fault; 9] = [
    Fault::Code(403),
    Fault::Code(404),
    Fault::Code(409),
    Fault::Code(429),
    Fault::Code(500),
    Fault::Unreachable,
    Fault::Slow,
    Fault::Garbage,
    Fault::Empty,
];

/// When the fault begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Before,
    Commencing,
    ControlPlane,
    Workers,
    After,
}

impl Stage {
    const ALL: [Self; 5] = [
        Self::Before,
        Self::Commencing,
        Self::ControlPlane,
        Self::Workers,
        Self::After,
    ];

    /// The condition that is true when it begins.
    fn begins_with(self) -> Option<&'static str> {
        match self {
            Self::Before => None,
            // Extra workers are on their way for some minutes then.
            Self::Commencing => Some("ClusterHealthyBeforeUpgrade"),
            Self::ControlPlane => Some("UpgradeCommenced"),
            Self::Workers => Some("ControlPlaneUpgraded"),
            Self::After => Some("WorkerNodesUpgraded"),
        }
    }
}

/// One case.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    fault: Fault,
    stage: Stage,
    passes: bool,
}

/// All of them.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        for fault in FAULTS {
            for stage in Stage::ALL {
                for passes in [true, false] {
                    cases.push(Case {
                        kind,
                        fault,
                        stage,
                        passes,
                    });
                }
            }
        }
    }
    cases
}

/// A fault that passes: the upgrade comes to its end, and nothing is left of it.
async fn passes(bench: &mut Bench, case: Case) {
    tokio::time::sleep(FOR_A_WHILE / 2).await;
    bench.restart().await;
    tokio::time::sleep(FOR_A_WHILE / 2).await;
    *bench.line.failing.lock().unwrap() = None;
    for _ in 0..24 * 6 {
        if Bench::is_over(&bench.entry().await) {
            break;
        }
        tokio::time::sleep(10 * MINUTE).await;
    }
    let entry = bench.entry().await;
    assert_eq!(entry.phase, UpgradePhase::Upgraded, "{case:?}: {entry:#?}");
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(bench.left().await, [""; 0], "{case:?}");
    tokio::time::sleep(40 * MINUTE).await;
    let received = bench.line.received.lock().unwrap().clone();
    // What an agent sent before it was killed, and could not record, may be sent once more, with the same id.
    let forgotten = [
        Kind::Outside("POST", "hooks.example"),
        Kind::Api(Verb::Patch, "upgradeconfigs/status"),
    ];
    let most = if forgotten.contains(&case.kind) { 2 } else { 1 };
    assert!(
        received.values().all(|times| *times <= most),
        "{case:?} received {received:?}"
    );
    for state in ["StateStarted", "StateCompleted"] {
        assert!(received.contains_key(state), "{case:?} received {received:?}");
    }
}

/// A fault that never passes: the upgrade is over, or shows why it waits, in a condition and by a metric.
async fn never_passes(bench: &mut Bench, case: Case) {
    tokio::time::sleep(FOR_EVER / 2).await;
    bench.restart().await;
    tokio::time::sleep(FOR_EVER / 2).await;
    let entry = bench.entry().await;
    let is_unseen = case.kind == Kind::Api(Verb::Watch, "upgradeconfigs");
    let is_unwritten = case.kind == Kind::Api(Verb::Patch, "upgradeconfigs/status");
    if is_unwritten && [Stage::Before, Stage::Commencing].contains(&case.stage) {
        let versions: Api<ClusterVersion> = Api::all(bench.client.clone());
        let version = versions.get("version").await.unwrap();
        assert_eq!(
            version.spec.desired_update, None,
            "{case:?}: nothing announces it"
        );
        // Extra workers that are on their way stay for the upgrade that waits.
        if case.stage == Stage::Before {
            assert_eq!(bench.left().await, [""; 0], "{case:?}");
        }
    }
    if is_unseen {
        return;
    }
    if Bench::is_over(&entry) {
        if !hinders_removal(case.kind) {
            assert_eq!(bench.left().await, [""; 0], "{case:?}: {entry:#?}");
        }
        return;
    }
    // What the status cannot say, the failed passes do.
    if is_unwritten {
        assert!(bench.failed_passes() > 10.0, "{case:?}");
        return;
    }
    assert_ne!(bench.problems(), [""; 0], "{case:?}: {entry:#?}");
    let waiting = entry.conditions.iter().flatten();
    let mut waiting = waiting.filter(|condition| condition.status == "False");
    let is_notified = waiting.any(|condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        !message.ends_with("has started") && !message.ends_with("still in progress")
    });
    assert!(is_notified, "{case:?}: {entry:#?}");
    // A write that is refused is reported in the words of the server that refuses it.
    if let (Kind::Api(Verb::Delete, "machinesets"), Fault::Code(code @ (403 | 500))) = (case.kind, case.fault)
    {
        let words = format!("refused with {code}");
        let mut messages = entry
            .conditions
            .iter()
            .flatten()
            .filter_map(|known| known.message.as_ref());
        assert!(
            messages.any(|message| message.contains(&words)),
            "{case:?}: {entry:#?}"
        );
    }
}

/// Whether what an upgrade has made cannot be taken away while requests of this kind fail.
fn hinders_removal(kind: Kind) -> bool {
    match kind {
        Kind::Api(_, of) => ["machinesets", "machines", "nodes", "services", "configmaps"].contains(&of),
        Kind::Outside(_, host) => host == "alertmanager-main",
    }
}

async fn meets(case: Case) {
    let mut bench = Bench::start().await;
    let begin = |bench: &Bench| {
        *bench.line.failing.lock().unwrap() = Some((case.kind, case.fault));
    };
    match case.stage.begins_with() {
        None => {
            begin(&bench);
            bench.ask().await;
        }
        Some(condition) => {
            bench.ask().await;
            bench.until_done(condition).await;
            begin(&bench);
        }
    }
    // What is watched is watched again, so that watches fail, too.
    bench.server.cut_watches(|who, _| who == AGENT_MANAGER);
    if case.passes {
        passes(&mut bench, case).await;
    } else {
        never_passes(&mut bench, case).await;
    }
    let texts = bench.texts().await;
    assert!(!texts.contains("secret-path"), "{case:?}: {texts}");
    // A pod under a budget is left alone for 38 minutes of its node's drain.
    let forced = *bench.line.forced.lock().unwrap();
    let began = bench.entry().await.worker_start_time;
    if let (Some(forced), Some(began)) = (forced, began) {
        // Where the pool cannot be watched, its beginning is seen late.
        let waited = forced.duration_since(began.0).as_mins();
        assert!(
            !(0..38).contains(&waited),
            "{case:?}: a pod is deleted after {waited} minutes"
        );
    }
    bench.end().await;
}

/// Meets a case in a time of its own; returns whether the rules were kept.
fn meets_rules(number: usize, case: Case) -> bool {
    println!("MATRIX_CASE={number}: {case:?}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let met = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(meets(case))));
    if met.is_err() {
        println!("again: MATRIX_CASE={number}");
    }
    met.is_ok()
}

#[test]
fn whatever_fails_the_upgrade_shows_it_and_leaves_nothing_behind() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<usize>().ok())
    };
    let all = cases();
    let tried: Vec<usize> = match number("MATRIX_CASE") {
        Some(case) => vec![case],
        None => (0..all.len())
            .step_by(number("MATRIX_STEP").unwrap_or(STEP))
            .collect(),
    };
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let try_them = || {
        while !failed.load(Ordering::Relaxed) {
            let Some(number) = tried.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            failed.fetch_or(!meets_rules(*number, all[*number]), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(try_them);
        }
    });
    assert!(!failed.into_inner(), "a case failed, as is said above");
}
