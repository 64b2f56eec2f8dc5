//! A fleet, an upgrade and how long everything takes, drawn from a seed.

use std::time::Duration;

use drydock_forecast::{StageEnd, StageSample};
use drydock_rollout::{ClusterName, Stage};
use jiff::{SignedDuration, Timestamp};
use ocm_sandbox::spokes::{ClusterTimeline, StageOutcome, StagePlan};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::{Value, json};

use super::REFUSED;
use crate::hub_fleet::{PLACE, action, spec_of, with};

/// The Jobs of the stages that have one.
const JOBS: [(Stage, &str); 3] = [
    (Stage::PreAction, "before"),
    (Stage::Operators, "installplan-approver"),
    (Stage::PostAction, "after"),
];
/// No draw is nearer to a timeout than this, in seconds: seconds would decide.
const NEAR: i64 = 120;

/// A number below a limit.
pub(super) fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    rng.next_u64() % limit
}

/// Whether something happens that does in so many of a hundred cases.
pub(super) fn chance(rng: &mut ChaCha8Rng, of_hundred: u64) -> bool {
    below(rng, 100) < of_hundred
}

fn pick<T: Clone>(rng: &mut ChaCha8Rng, of: &[T]) -> T {
    of[usize::try_from(below(rng, of.len() as u64)).unwrap_or_default()].clone()
}

/// A cluster and how its stages go.
#[derive(Clone, Debug)]
pub(super) struct ClusterPlan {
    pub name: String,
    pub labels: Value,
    pub claims: bool,
    pub version: &'static str,
    pub agent: bool,
    pub available: bool,
    /// The method is the agent.
    by_agent: bool,
    draws: [StageSample; 4],
}

impl ClusterPlan {
    pub fn draw(&self, stage: Stage) -> StageSample {
        self.draws[stage as usize]
    }

    /// Lets the stand-in of the cluster take as long.
    pub fn carry_over(&self, cluster: &mut ClusterTimeline) {
        let plan = |stage: Stage, earlier: i64| {
            let draw = self.draw(stage);
            StagePlan {
                takes: Duration::from_secs((draw.seconds - earlier).unsigned_abs()),
                outcome: match draw.end {
                    StageEnd::Succeeds => StageOutcome::Succeeds,
                    StageEnd::Fails => StageOutcome::Fails,
                    StageEnd::Hangs => StageOutcome::Hangs,
                },
            }
        };
        let fails = self.draw(Stage::Platform).end == StageEnd::Fails;
        let earlier = if fails && !self.by_agent { REFUSED } else { 0 };
        cluster.plan_update(plan(Stage::Platform, earlier));
        for (stage, job) in JOBS {
            cluster.plan_job(job, plan(stage, 0));
        }
    }
}

/// What a seed draws.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub begin: Timestamp,
    pub clusters: Vec<ClusterPlan>,
    pub spec: Value,
    pub placement: Option<Value>,
    pub paused: bool,
}

impl Scenario {
    pub fn draw(rng: &mut ChaCha8Rng) -> Self {
        // The evening before the clocks of Europe or of America change, and an ordinary day.
        let begin = pick(
            rng,
            &[
                "2026-03-28T20:00:00Z",
                "2026-10-24T19:30:00Z",
                "2026-03-08T03:00:00Z",
                "2026-06-10T08:00:00Z",
            ],
        );
        let direct = chance(rng, 40);
        let timeout = pick(rng, &[2_400, 3_600, 5_400]);
        let clusters: Vec<ClusterPlan> = (1..=4 + below(rng, 11))
            .map(|number| cluster(rng, number, direct, timeout))
            .collect();
        let mut spec = with(
            spec_of(&clusters.iter().map(|plan| &*plan.name).collect::<Vec<_>>()),
            &json!({"upgradeStrategy": strategy(rng, direct, timeout)}),
        );
        for (field, job, of_hundred) in [
            ("preUpgradeAction", "before", 35),
            ("postUpgradeAction", "after", 35),
        ] {
            if chance(rng, of_hundred) {
                spec[field] = with(action(job), &json!({"timeout": "15m"}));
            }
        }
        let begin = begin.parse().unwrap_or(crate::local_fleet::EPOCH);
        if chance(rng, 15) {
            spec["upgradeStrategy"]["freezes"] = json!([freeze(rng, begin)]);
        }
        if chance(rng, 25) {
            spec["ocpOperators"] = json!({"approveAllUpgrades": true});
        }
        let placement = chance(rng, 30).then(grouped);
        if placement.is_some() {
            spec["clusterSelector"] = Value::Null;
            spec["placement"] = json!([{"name": "grouped", "namespace": PLACE}]);
        }
        Self {
            begin,
            clusters,
            spec,
            placement,
            paused: chance(rng, 4),
        }
    }

    pub fn plan(&self, name: &ClusterName) -> Option<&ClusterPlan> {
        self.clusters.iter().find(|plan| plan.name == *name.as_ref())
    }
}

/// A freeze that may have begun, of all clusters or of one group.
fn freeze(rng: &mut ChaCha8Rng, begin: Timestamp) -> Value {
    let minutes = SignedDuration::from_mins;
    let from = begin + minutes(pick(rng, &[-60, 30, 200, 600]));
    let to = from + minutes(pick(rng, &[45, 400, 1_500]));
    let mut freeze = json!({"from": from.to_string(), "to": to.to_string(), "reason": "inventory"});
    if chance(rng, 50) {
        freeze["clusterSelector"] = json!({"matchLabels": {"group": "b"}});
    }
    freeze
}

fn grouped() -> Value {
    let group = |name: &str| json!({"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"group": name}}}});
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "grouped", "namespace": PLACE},
        "spec": {"decisionStrategy": {"groupStrategy": {"decisionGroups": [group("b"), group("a")]}}},
    })
}

fn strategy(rng: &mut ChaCha8Rng, direct: bool, timeout: i64) -> Value {
    let mut strategy = json!({
        "maxConcurrency": pick(rng, &[json!(1), json!(2), json!(3), json!(5), json!("10%"), json!("30%"), json!("100%")]),
        "upgradeVia": if direct { "ClusterVersion" } else { "Auto" },
        "clusterUpgradeTimeout": format!("{timeout}s"),
        "operatorsUpgradeTimeout": "15m",
    });
    if chance(rng, 45) {
        strategy["canaryClusters"] = json!({
            "clusterSelector": {"matchLabels": {"canary": "yes"}},
            "soakTime": pick(rng, &["0s", "20m", "1h", "3h"]),
        });
    }
    if chance(rng, 40) {
        strategy["maxFailures"] = pick(
            rng,
            &[json!(0), json!(1), json!(2), json!(3), json!("30%"), json!("30%")],
        );
    }
    if chance(rng, 35) {
        let window = |rng: &mut ChaCha8Rng| {
            json!({
                "cron": pick(rng, &["0 22 * * *", "30 2 * * *", "0 1 * * 0,6", "15 */6 * * *"]),
                "duration": pick(rng, &["90m", "6h"]),
                "timeZone": pick(rng, &["Europe/Berlin", "America/New_York", "UTC"]),
            })
        };
        let mut windows: Vec<Value> = (0..=below(rng, 2)).map(|_| window(rng)).collect();
        for window in &mut windows {
            if chance(rng, 30) {
                window["clusterSelector"] = json!({"matchLabels": {"group": "a"}});
            }
        }
        strategy["startWindows"] = windows.into();
        strategy["startOnlyIfItFits"] = chance(rng, 40).into();
    }
    strategy
}

fn cluster(rng: &mut ChaCha8Rng, number: u64, direct: bool, timeout: i64) -> ClusterPlan {
    let agent = chance(rng, 40);
    let at_target = chance(rng, 8);
    let draws = [
        stage(rng, 60, 700, 900),
        stage(rng, 900, timeout * 21 / 20, timeout),
        stage(rng, 60, 700, 900),
        stage(rng, 60, 1_000, 900),
    ];
    ClusterPlan {
        name: format!("c{number:02}"),
        labels: json!({
            "canary": if chance(rng, 20) { "yes" } else { "no" }, "group": pick(rng, &["a", "b"]),
        }),
        // One that does not say what it runs is read first.
        claims: at_target || chance(rng, 80),
        version: if at_target { "4.14.12" } else { "4.14.9" },
        agent,
        available: chance(rng, 94),
        by_agent: agent && !direct,
        draws,
    }
}

/// A stage that takes from the shortest to the longest time, in seconds.
fn stage(rng: &mut ChaCha8Rng, shortest: i64, longest: i64, timeout: i64) -> StageSample {
    let span = (longest - shortest).unsigned_abs();
    let mut seconds = shortest + i64::try_from(below(rng, span)).unwrap_or_default();
    if (seconds - timeout).abs() < NEAR {
        seconds -= 2 * NEAR;
    }
    let end = match below(rng, 100) {
        0..3 => StageEnd::Fails,
        3..5 => StageEnd::Hangs,
        _ => StageEnd::Succeeds,
    };
    StageSample { seconds, end }
}
