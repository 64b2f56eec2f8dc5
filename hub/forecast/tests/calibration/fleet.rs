//! Inputs of forecasts: of a rollout that begins, and of the same when half of its time is over.

use std::sync::Arc;

use drydock_forecast::{ClusterTimes, PastUpgrade};
use drydock_rollout::{
    AfterEnd, AgentOptions, ClusterProgress, ForecastInput, Goal, IntOrPercent, Labels, PlacementKey,
    Position, RequestedMethod, SlotInputs, Spec, Stage, StageSet, Strategy, Target,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::truth::{TrueRollout, Truth, name, past};

/// No truth reaches it.
const TIMEOUT: SignedDuration = SignedDuration::from_hours(24);

fn spec(limit: u32) -> Spec {
    Spec {
        placements: vec![PlacementKey::new("default", "all")],
        own_placement: None,
        goal: Arc::new(Goal::platform(Target {
            version: Some(Version::new(4, 14, 12)),
            ..Target::default()
        })),
        strategy: Strategy {
            canaries: None,
            soak: SignedDuration::ZERO,
            max_concurrency: IntOrPercent::Count(limit),
            cluster_timeout: TIMEOUT,
            operators_timeout: TIMEOUT,
            max_failures: None,
            windows: Vec::new(),
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
        paused: false,
    }
}

fn stages() -> StageSet {
    StageSet::default().with(Stage::Platform)
}

/// A rollout that begins now.
pub fn forecast_input(truth: &Truth) -> ForecastInput {
    let count = truth.count();
    let cluster = |number| ClusterProgress {
        name: name(number),
        canary: false,
        selected: true,
        labels: Labels::default(),
        from: Some(Version::new(4, 14, 9)),
        unhealthy: false,
        position: Position::Waits {
            stages: stages(),
            clearing: 0,
        },
        after: AfterEnd::Rests,
    };
    ForecastInput {
        now: Timestamp::from_second(1_767_600_000).unwrap(),
        spec: Arc::new(spec(truth.limit)),
        since: None,
        inputs: SlotInputs {
            total: count,
            selected: count,
            pending: count,
            startable: count,
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
                inputs.failures += usize::from(times.failed);
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
                inputs.others_started = inputs.others_started.max(Some(since));
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
