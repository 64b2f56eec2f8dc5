//! The fleet as it is before anything happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_rollout::{
    ActionSpec, AgentOptions, ClusterFacts, ClusterRow, Decider, ExpectedDuration, Goal, IntOrPercent,
    Labels, Observed, Operators, OwnPlacement, PlacementKey, PreChecksPolicy, Previous, RequestedMethod,
    Requirements, Retries, Rollout, Selected, Selection, SelectionSource, Selector, Spec, StartTimes,
    Strategy, Uid, Upgrade, UpgradeKey,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::super::event::Fleet;
use super::others::live;
use super::{UID, World, name, target};

impl World {
    pub fn new(fleet: &Fleet) -> Self {
        let selected = Some(Selected {
            order: (0, 0),
            sources: 1,
        });
        let row = |number: usize| ClusterRow {
            facts: Some(Arc::new(facts(fleet, number))),
            selection: selected,
            agent: fleet.agents.contains(&number),
            expected: [None, Some(5), Some(15), Some(25)][number % 4]
                .map(|minutes| ExpectedDuration::new(SignedDuration::from_mins(minutes), false)),
            ..ClusterRow::default()
        };
        let rollout = Rollout {
            upgrade: Upgrade {
                key: UpgradeKey::new("default", "upgrade"),
                uid: Uid::new(UID),
                generation: 1,
                deleting: false,
                namespace_deleting: false,
                finalizer: false,
                retries: Retries::default(),
                started_by: "somebody".into(),
                live: Arc::new(live(UID, true)),
            },
            spec: Ok(Arc::new(spec(fleet))),
            previous: Previous::default(),
            selection: Selection {
                sources: vec![SelectionSource {
                    placement: PlacementKey::new("default", "all"),
                    tolerations: Vec::new(),
                    requirements: Requirements {
                        predicates: vec![Selector::labels(&BTreeMap::from([(
                            "in".to_owned(),
                            "yes".to_owned(),
                        )]))],
                        sets: None,
                    },
                    problem: None,
                }],
                own: OwnPlacement::Absent,
                superseded: BTreeSet::new(),
            },
            acceptances: Arc::default(),
            pages: Vec::new(),
            page_refusal: None,
        };
        let observed = Observed {
            rollout,
            rows: (0..fleet.clusters)
                .map(|number| (name(number), Box::new(row(number))))
                .collect(),
        };
        Self {
            decider: Decider::of(observed.clone()),
            observed,
            now: Timestamp::from_second(1_767_600_000).unwrap(),
            made: 0,
        }
    }
}

pub(super) fn spec(fleet: &Fleet) -> Spec {
    let hour = SignedDuration::from_hours(1);
    let action = |wanted: bool| {
        wanted.then(|| ActionSpec {
            timeout: hour,
            work: Arc::new(serde_json::json!({})),
        })
    };
    Spec {
        placements: vec![PlacementKey::new("default", "all")],
        own_placement: None,
        goal: Arc::new(Goal {
            target: Some(target(Version::new(4, 14, 12))),
            operators: fleet.operators.then_some(Operators {
                include: None,
                exclude: Vec::new(),
            }),
        }),
        strategy: Strategy {
            canaries: (fleet.canaries > 0).then(canary_selector),
            soak: SignedDuration::from_mins(fleet.soak_minutes),
            max_concurrency: fleet.limit,
            operators_timeout: SignedDuration::from_mins(10),
            max_failures: fleet.max_failures.map(IntOrPercent::Count),
            start_times: StartTimes::default(),
            cluster_timeout: SignedDuration::from_hours(3),
            start_only_if_it_fits: false,
            method: RequestedMethod::Auto,
            agent: AgentOptions {
                steps: "OSD",
                pdb_force_drain_minutes: 60,
                capacity_reservation: None,
                namespace: "agent".to_owned(),
            },
        },
        pre_action: action(fleet.pre),
        post_action: action(fleet.post),
        pre_checks: PreChecksPolicy::default(),
        paused: false,
    }
}

pub(super) fn canary_selector() -> Selector {
    Selector::labels(&BTreeMap::from([("canary".to_owned(), "yes".to_owned())]))
}

pub(super) fn facts(fleet: &Fleet, number: usize) -> ClusterFacts {
    let mut labels = BTreeMap::from([("in".to_owned(), "yes".to_owned())]);
    if number < fleet.canaries {
        labels.insert("canary".to_owned(), "yes".to_owned());
    }
    ClusterFacts {
        labels: Labels::from(&labels),
        accepted: true,
        joined: true,
        available: true,
        version: (!fleet.unclaimed.contains(&number)).then(|| Version::new(4, 14, 9)),
        ..ClusterFacts::default()
    }
}
