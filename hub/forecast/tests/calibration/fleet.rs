//! Inputs of forecasts: of a rollout that begins, and of the same when half of its time is over.

use std::sync::Arc;

use drydock_forecast::{ClusterTimes, PastUpgrade};
use drydock_rollout::{
    AfterEnd, AgentOptions, ClusterProgress, ForecastInput, Goal, IntOrPercent, Labels, PlacementKey,
    Position, PreChecksPolicy, RequestedMethod, Selector, SlotInputs, Spec, Stage, StageSet, StartTimes,
    Strategy, Target, Window,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::truth::{TrueRollout, Truth, name, past};

/// What hangs fails by it; hardly anything else takes so long.
const TIMEOUT: SignedDuration = SignedDuration::from_hours(6);
/// Canaries, where there are some.
const CANARIES: usize = 2;

/// What the user asks for beside a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// Two canaries, which must stay healthy for an hour.
    Canaries,
    /// Clusters start at night only.
    Nights,
}

fn spec(limit: u32, asked: Asked) -> Spec {
    let night = || {
        Window::parse(
            "0 20 * * *",
            SignedDuration::from_hours(10),
            Some("Europe/Zurich"),
        )
        .unwrap()
    };
    Spec {
        placements: vec![PlacementKey::new("default", "all")],
        own_placement: None,
        goal: Arc::new(Goal::platform(Target {
            version: Some(Version::new(4, 14, 12)),
            ..Target::default()
        })),
        strategy: Strategy {
            canaries: (asked == Asked::Canaries).then(Selector::default),
            soak: SignedDuration::from_hours(i64::from(asked == Asked::Canaries)),
            max_concurrency: IntOrPercent::Count(limit),
            cluster_timeout: TIMEOUT,
            operators_timeout: TIMEOUT,
            max_failures: None,
            start_times: StartTimes::of_all((asked == Asked::Nights).then(night).into_iter().collect()),
            start_only_if_it_fits: false,
            method: RequestedMethod::Auto,
            agent: AgentOptions {
                steps: "OSD",
                pdb_force_drain_minutes: 60,
                capacity_reservation: None,
                namespace: "agent".to_owned(),
            },
        },
        pre_action: None,
        post_action: None,
        pre_checks: PreChecksPolicy::default(),
        paused: false,
    }
}

fn stages() -> StageSet {
    StageSet::default().with(Stage::Platform)
}

/// A rollout that begins now.
pub fn forecast_input(truth: &Truth, asked: Asked) -> ForecastInput {
    let count = truth.count();
    let canaries = if asked == Asked::Canaries { CANARIES } else { 0 };
    let spec = spec(truth.limit, asked);
    let cluster = |number| ClusterProgress {
        name: name(number),
        canary: number < canaries,
        selected: true,
        labels: Labels::default(),
        from: Some(Version::new(4, 14, 9)),
        unhealthy: false,
        timetable: spec.strategy.start_times.timetable(&Labels::default()),
        position: Position::Waits {
            stages: stages(),
            clearing: 0,
        },
        from_start: stages(),
        after: AfterEnd::Rests,
    };
    ForecastInput {
        now: Timestamp::from_second(1_767_600_000).unwrap(),
        spec: Arc::new(spec.clone()),
        since: None,
        inputs: SlotInputs {
            total: count,
            selected: count,
            pending: count,
            startable: count,
            awaited_canaries: canaries,
            ..SlotInputs::default()
        },
        clusters: (0..count).map(cluster).collect(),
        queue: (0..count).collect(),
    }
}

/// The same rollout when half of its time is over, and what is on record of it by then.
pub fn half_done(
    start: &ForecastInput,
    times: &[ClusterTimes],
    rollout: &TrueRollout,
) -> (ForecastInput, Vec<PastUpgrade>) {
    let end = times.iter().filter_map(|times| times.ended).max().unwrap();
    let now = start.now + SignedDuration::from_secs(end.duration_since(start.now).as_secs() / 2);
    let mut half = ForecastInput {
        now,
        since: Some(start.now),
        queue: Vec::new(),
        ..start.clone()
    };
    let inputs = &mut half.inputs;
    (inputs.pending, inputs.startable) = (0, 0);
    let mut shown = Vec::new();
    for (index, (cluster, times)) in half.clusters.iter_mut().zip(times).enumerate() {
        let by_now = |moment: Option<Timestamp>| moment.filter(|moment| *moment <= now);
        cluster.position = match (by_now(times.started), by_now(times.ended)) {
            (started, Some(finished)) => {
                if cluster.canary {
                    inputs.complete_canaries += 1;
                    inputs.canaries_finished = inputs.canaries_finished.max(Some(finished));
                    inputs.canaries_available = inputs.canaries_finished;
                } else {
                    inputs.failures += usize::from(times.failed);
                    inputs.others_started = inputs.others_started.max(started);
                }
                shown.push(past(index, rollout.0[index], start.now));
                Position::Ended {
                    failed: times.failed,
                    started,
                    finished: Some(finished),
                }
            }
            (Some(since), None) => {
                inputs.in_flight += 1;
                inputs.upgrading += 1;
                if !cluster.canary {
                    inputs.others_started = inputs.others_started.max(Some(since));
                }
                Position::UnderWay {
                    stage: Stage::Platform,
                    since,
                    deadline: since + TIMEOUT,
                    then: StageSet::default(),
                    started: Some(since),
                }
            }
            (None, None) => {
                inputs.pending += 1;
                inputs.startable += 1;
                half.queue.push(index);
                Position::Waits {
                    stages: stages(),
                    clearing: 0,
                }
            }
        };
    }
    (half, shown)
}
