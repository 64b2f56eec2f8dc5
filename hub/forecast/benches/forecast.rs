//! How long forecasts take: of 1,000 clusters with 200 runs, and of 10,000 with one and with 1,000, on one core and on all; and the
//! memory of the process at its peak. `make bench-forecast` prints it.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench prints, and measures time that passes"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drydock_forecast::{FailureRate, Forecast, GroupBy, Model, PastUpgrade, SimulationSettings, Stream};
use drydock_rollout::{
    ActionSpec, AgentOptions, ClusterFacts, ClusterName, ClusterRow, Decider, ForecastInput, Goal,
    IntOrPercent, Labels, LiveUpgrades, Observed, OwnPlacement, PlacementKey, PreChecksPolicy, Previous,
    RequestedMethod, Requirements, Retries, Rollout, Selected, Selection, SelectionSource, Selector, Spec,
    StageSeconds, StartTimes, Strategy, Target, Uid, Upgrade, UpgradeKey, Window,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

fn name(number: u32) -> ClusterName {
    ClusterName::from(format!("cluster{number}"))
}

fn spec(limit: u32, with_actions: bool) -> Spec {
    let action = || {
        with_actions.then(|| ActionSpec {
            timeout: SignedDuration::from_hours(1),
            work: Arc::new(serde_json::json!({})),
        })
    };
    let window = |cron| Window::parse(cron, SignedDuration::from_hours(8), Some("Europe/Berlin")).ok();
    Spec {
        placements: vec![PlacementKey::new("default", "all")],
        own_placement: None,
        goal: Arc::new(Goal::platform(Target {
            channel: Some("stable-4.14".to_owned()),
            version: Some(Version::new(4, 14, 12)),
            ..Target::default()
        })),
        strategy: Strategy {
            canaries: Some(Selector::labels(&BTreeMap::from([(
                "canary".to_owned(),
                "yes".to_owned(),
            )]))),
            soak: SignedDuration::from_hours(2),
            max_concurrency: IntOrPercent::Count(limit),
            cluster_timeout: SignedDuration::from_hours(3),
            operators_timeout: SignedDuration::from_mins(10),
            max_failures: Some(IntOrPercent::Percent(20)),
            start_times: StartTimes::of_all(
                window("0 22 * * *")
                    .filter(|_| with_actions)
                    .into_iter()
                    .collect(),
            ),
            start_only_if_it_fits: false,
            method: RequestedMethod::Auto,
            agent: AgentOptions {
                steps: "OSD",
                pdb_force_drain_minutes: 60,
                capacity_reservation: None,
                namespace: "agent".to_owned(),
            },
        },
        pre_action: action(),
        post_action: action(),
        pre_checks: PreChecksPolicy::default(),
        paused: false,
    }
}

fn row(number: u32) -> ClusterRow {
    let canary = (number < 5).then(|| ("canary".to_owned(), "yes".to_owned()));
    let labels = canary
        .into_iter()
        .chain([("cloud".to_owned(), format!("cloud{}", number % 3))]);
    ClusterRow {
        facts: Some(Arc::new(ClusterFacts {
            labels: Labels::from(&labels.collect::<BTreeMap<_, _>>()),
            accepted: true,
            joined: true,
            available: true,
            version: Some(Version::new(4, 14, 9)),
            ..ClusterFacts::default()
        })),
        selection: Some(Selected {
            order: (0, 0),
            sources: 1,
        }),
        ..ClusterRow::default()
    }
}

fn forecast_input(clusters: u32, limit: u32, with_actions: bool) -> Option<ForecastInput> {
    let key = UpgradeKey::new("default", "spring");
    let rollout = Rollout {
        upgrade: Upgrade {
            key: key.clone(),
            uid: Uid::new("spring"),
            generation: 1,
            deleting: false,
            namespace_deleting: false,
            finalizer: true,
            retries: Retries::default(),
            started_by: "somebody".into(),
            live: Arc::new(LiveUpgrades {
                uids: [Uid::new("spring")].into(),
                keys: [key].into(),
                gone_namespaces: BTreeSet::new(),
            }),
        },
        spec: Ok(Arc::new(spec(limit, with_actions))),
        previous: Previous::default(),
        selection: Selection {
            sources: vec![SelectionSource {
                placement: PlacementKey::new("default", "all"),
                tolerations: Vec::new(),
                requirements: Requirements::default(),
                problem: None,
            }],
            own: OwnPlacement::Absent,
            superseded: BTreeSet::new(),
        },
        acceptances: Arc::default(),
        pages: Vec::new(),
        page_refusal: None,
    };
    let rows = (0..clusters)
        .map(|number| (name(number), Box::new(row(number))))
        .collect();
    let now = Timestamp::from_second(1_767_600_000).ok()?;
    Decider::of(Observed { rollout, rows }).forecast_input(now).ok()
}

/// Each cluster was upgraded once before, in from one to two hours.
fn past(clusters: u32) -> Vec<PastUpgrade> {
    let upgrade = |number: u32| PastUpgrade {
        cluster: name(number),
        group: Some(format!("cloud{}", number % 3).into()),
        stream: Some(Stream::Z),
        rollout: (Uid::new("autumn"), Timestamp::UNIX_EPOCH),
        stages: StageSeconds {
            upgrade: Some(3600 + i64::from(number * 7919 % 3600)),
            ..StageSeconds::default()
        },
        failure: None,
    };
    (0..clusters).map(upgrade).collect()
}

fn took(forecast_input: &ForecastInput, model: &Model, count: u32, threads: usize) -> Option<Duration> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .ok()?;
    let runs = SimulationSettings {
        count,
        seed: 1,
        with_clusters: true,
        ignores_blocked: false,
    };
    let began = Instant::now();
    let forecast = pool.install(|| Forecast::of(forecast_input, model, runs));
    let took = began.elapsed();
    assert_eq!(forecast.runs, count as usize);
    Some(took)
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.trim_start_matches("VmHWM:").trim().to_owned())
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("| clusters | runs | in flight | | cores | took |\n|---|---|---|---|---|---|");
    for (clusters, count, limit, with_actions) in [
        (1_000, 200, 50, false),
        (1_000, 200, 50, true),
        (10_000, 1, 100, false),
        (10_000, 1, 10_000, false),
        (10_000, 1_000, 100, false),
        (10_000, 1_000, 10_000, false),
        (10_000, 1_000, 100, true),
    ] {
        let began = Instant::now();
        let Some(forecast_input) = forecast_input(clusters, limit, with_actions) else {
            continue;
        };
        let decided = began.elapsed();
        let began = Instant::now();
        let model = Model::new(
            &forecast_input,
            &past(clusters),
            &GroupBy::ProviderAndSize,
            FailureRate::Recorded,
        );
        let modelled = began.elapsed();
        let what = if with_actions { "actions, windows" } else { "plain" };
        for threads in [1, cores] {
            if let Some(took) = took(&forecast_input, &model, count, threads) {
                println!(
                    "| {clusters} | {count} | {limit} | {what} | {threads} | {} ms (beside it: forecast_input {} ms, model {} ms) |",
                    took.as_millis(),
                    decided.as_millis(),
                    modelled.as_millis()
                );
            }
        }
    }
    println!("peak memory: {}", peak_memory().unwrap_or_default());
}
