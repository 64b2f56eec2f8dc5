//! Properties of the decision, over fleets to which anything happens in any order: a small world carries out what is
//! planned, and works go on, fail or hang as the test says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_api::mcu::UpgradeVia;
use drydock_api::names::{EndState, WorkKind};
use drydock_api::{ClusterName, IntOrPercent};
use drydock_rollout::{
    Action, ActionSpec, Cluster, ClusterFeedback, ClusterState, ConditionStatus, Goal, Observed, Operators,
    OwnPlacement, Owner, PlacementKey, Plan, Previous, Record, RunState, Selection, Selector, Source, Spec,
    Strategy as Walk, Target, Uid, Upgrade, UpgradeKey, Via, Work, WorkFeedback, WorkOrder, Works, check,
    decide,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use semver::Version;

const UID: &str = "ours";

/// Something that happens to a fleet.
#[derive(Clone, Debug)]
enum Event {
    /// The newest work of a cluster goes on.
    Progress(usize),
    /// It fails.
    Failure(usize),
    /// Time passes.
    Minutes(i64),
    /// A cluster becomes available, or ceases to be.
    Available(usize, bool),
    /// A cluster comes into the selection, or leaves it.
    Selected(usize, bool),
    /// The user pauses or resumes.
    Paused(bool),
    /// The user asks for a retry.
    Retry,
    /// Somebody deletes the work that says how a cluster ended.
    Lost(usize),
    /// The user edits `maxConcurrency`.
    Limit(u32),
}

#[derive(Clone, Debug)]
struct Fleet {
    clusters: usize,
    canaries: usize,
    limit: IntOrPercent,
    pre: bool,
    post: bool,
    operators: bool,
    soak_minutes: i64,
    max_failures: Option<u32>,
    agents: BTreeSet<usize>,
}

struct World {
    observed: Observed,
    now: Timestamp,
    works: u64,
}

fn name(number: usize) -> ClusterName {
    ClusterName::from(format!("c{number}").as_str())
}

fn placement() -> PlacementKey {
    PlacementKey::new("default", "all")
}

fn spec(fleet: &Fleet, canary: &BTreeMap<String, String>) -> Spec {
    let hour = SignedDuration::from_hours(1);
    let action = |wanted: bool| wanted.then_some(ActionSpec { timeout: hour });
    Spec {
        placements: vec![placement()],
        has_selector: false,
        goal: Arc::new(Goal {
            target: Some(Target {
                channel: Some("stable-4.14".to_owned()),
                version: Some(Version::new(4, 14, 12)),
                image: None,
                upstream: None,
                force: false,
            }),
            operators: fleet.operators.then_some(Operators {
                include: None,
                exclude: Vec::new(),
            }),
        }),
        strategy: Walk {
            canaries: (fleet.canaries > 0).then(|| Selector::labels(canary)),
            soak: SignedDuration::from_mins(fleet.soak_minutes),
            max_concurrency: fleet.limit,
            operators_timeout: SignedDuration::from_mins(10),
            max_failures: fleet.max_failures.map(IntOrPercent::Count),
            windows: Vec::new(),
            cluster_timeout: SignedDuration::from_hours(3),
            via: UpgradeVia::Auto,
        },
        pre_action: action(fleet.pre),
        post_action: action(fleet.post),
        paused: false,
    }
}

impl World {
    fn new(fleet: &Fleet) -> Self {
        let canary = BTreeMap::from([("canary".to_owned(), "yes".to_owned())]);
        let cluster = |number: usize| Cluster {
            labels: if number < fleet.canaries {
                canary.clone()
            } else {
                BTreeMap::new()
            },
            accepted: true,
            joined: true,
            available: true,
            version: Some(Version::new(4, 14, 9)),
            ..Cluster::default()
        };
        let spec = spec(fleet, &canary);
        let snapshot = (0..fleet.clusters).map(|number| (name(number), 0)).collect();
        let observed = Observed {
            upgrade: Upgrade {
                key: UpgradeKey::new("default", "upgrade"),
                uid: Uid::new(UID),
                generation: 1,
                deleting: false,
                finalizer: false,
                retry: Ok(None),
            },
            spec: Ok(spec),
            previous: Previous::default(),
            selection: Selection {
                sources: vec![Source {
                    placement: placement(),
                    tolerations: Vec::new(),
                    outcome: Ok(Arc::new(snapshot)),
                }],
            },
            own_placement: OwnPlacement::Absent,
            clusters: (0..fleet.clusters)
                .map(|number| (name(number), Arc::new(cluster(number))))
                .collect(),
            agents: fleet.agents.iter().copied().map(name).collect(),
            works: BTreeMap::new(),
            obstructed: BTreeSet::new(),
            caught_up: true,
        };
        Self {
            observed,
            now: Timestamp::from_second(1_767_600_000).unwrap(),
            works: 0,
        }
    }

    /// The cluster's work that has not come to its end: the last one that was made.
    fn newest(&mut self, number: usize) -> Option<(WorkKind, &mut Work)> {
        let works = self.observed.works.get_mut(&name(number))?;
        if works.values().any(|work| work.record.is_some()) {
            return None;
        }
        let (kind, work) = works.iter_mut().next_back()?;
        Some((*kind, Arc::make_mut(work)))
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Minutes(minutes) => self.now += SignedDuration::from_mins(*minutes),
            Event::Available(number, available) => {
                if let Some(cluster) = self.observed.clusters.get_mut(&name(*number)) {
                    Arc::make_mut(cluster).available = *available;
                }
            }
            Event::Selected(number, selected) => {
                let known = self.observed.clusters.contains_key(&name(*number));
                if let Ok(snapshot) = &mut self.observed.selection.sources[0].outcome {
                    let snapshot = Arc::make_mut(snapshot);
                    if *selected && known {
                        snapshot.insert(name(*number), 0);
                    } else {
                        snapshot.remove(&name(*number));
                    }
                }
            }
            Event::Paused(paused) => {
                if let Ok(spec) = &mut self.observed.spec {
                    spec.paused = *paused;
                }
            }
            Event::Lost(number) => {
                if let Some(works) = self.observed.works.get_mut(&name(*number)) {
                    works.retain(|_, work| work.record.is_none());
                }
                self.observed.works.retain(|_, works| !works.is_empty());
            }
            Event::Limit(limit) => {
                if let Ok(spec) = &mut self.observed.spec {
                    spec.strategy.max_concurrency = IntOrPercent::Count(*limit);
                }
            }
            Event::Retry => self.observed.upgrade.retry = Ok(Some(self.now)),
            Event::Progress(number) => {
                if let Some((_, work)) = self.newest(*number) {
                    progress(work);
                }
            }
            Event::Failure(number) => {
                if let Some((_, work)) = self.newest(*number) {
                    fail(work);
                }
            }
        }
    }

    fn carry_out(&mut self, plan: &Plan) {
        for action in &plan.actions {
            match action {
                Action::AddFinalizer => self.observed.upgrade.finalizer = true,
                Action::RemoveFinalizer => self.observed.upgrade.finalizer = false,
                Action::ApplyPlacement => self.observed.own_placement = OwnPlacement::Current,
                Action::DeletePlacement => self.observed.own_placement = OwnPlacement::Absent,
                Action::CreateWork(order) => self.create(order),
                Action::FinishWork {
                    cluster,
                    kind,
                    outcome,
                    reason,
                    message,
                    at,
                    ..
                } => {
                    let work = self
                        .observed
                        .works
                        .get_mut(cluster)
                        .unwrap()
                        .get_mut(kind)
                        .unwrap();
                    Arc::make_mut(work).record = Some(Record {
                        state: match outcome {
                            EndState::Complete => ClusterState::Complete,
                            EndState::Failed => ClusterState::Failed,
                        },
                        reason: reason.clone(),
                        message: message.clone(),
                        at: Some(*at),
                        retry: None,
                    });
                }
                Action::ReopenWork { cluster, .. } => {
                    let works = self.observed.works.get_mut(cluster).unwrap();
                    let work = works.get_mut(&WorkKind::Cluster).unwrap();
                    Arc::make_mut(work).record = None;
                }
                Action::DeleteWork { cluster, kind, .. } => {
                    self.observed.works.get_mut(cluster).unwrap().remove(kind);
                }
            }
        }
        self.observed.previous.completion_time = plan.report.complete().then_some(self.now);
        // As the status would say it.
        self.observed.previous.observed_generation = Some(self.observed.upgrade.generation);
        self.observed.previous.start_time = plan.report.rollout_since;
        self.observed.previous.complete = plan.report.complete();
        self.observed.works.retain(|_, works| !works.is_empty());
    }

    fn create(&mut self, order: &WorkOrder) {
        self.works += 1;
        let feedback = match (order.kind, order.revision.via) {
            (WorkKind::Pre | WorkKind::Post | WorkKind::Operators, _) => {
                WorkFeedback::Action(BTreeMap::from([("Job a/b".to_owned(), RunState::Running)]))
            }
            (WorkKind::Cluster, Via::Agent) => WorkFeedback::Agent(ClusterFeedback::default()),
            (WorkKind::Cluster, Via::ClusterVersion) => {
                WorkFeedback::ClusterVersion(ClusterFeedback::default())
            }
        };
        let work = Work {
            uid: Uid::new(format!("work-{}", self.works)),
            owner: Owner {
                uid: Uid::new(UID),
                upgrade: "default/upgrade".to_owned(),
            },
            created: self.now,
            deleting: false,
            revision: Some(order.revision.clone()),
            record: None,
            applied: ConditionStatus::Absent,
            available: ConditionStatus::Absent,
            degraded: None,
            feedback,
        };
        let works = self.observed.works.entry(order.cluster.clone()).or_default();
        assert!(
            works.insert(order.kind, Arc::new(work)).is_none(),
            "{order:?} is there already"
        );
    }

    fn is_under_way(&self, name: &ClusterName) -> bool {
        let works = self.observed.works.get(name);
        works.is_some_and(|works| works.values().all(|work| work.record.is_none()))
    }

    /// Clusters with a work of ours and no recorded end.
    fn in_flight(&self) -> usize {
        let ended = |works: &&Works| works.values().any(|work| work.record.is_some());
        self.observed.works.values().filter(|works| !ended(works)).count()
    }

    fn selected(&self) -> BTreeSet<ClusterName> {
        let outcome = self.observed.selection.sources[0].outcome.as_ref();
        outcome
            .map(|snapshot| snapshot.keys().cloned().collect())
            .unwrap_or_default()
    }

    fn is_complete(&self, name: &ClusterName) -> bool {
        let works = self.observed.works.get(name);
        let work = works.and_then(|works| works.get(&WorkKind::Cluster));
        work.and_then(|work| work.record.as_ref())
            .is_some_and(|record| record.state == ClusterState::Complete)
    }

    fn has_failed(&self, name: &ClusterName) -> bool {
        let works = self.observed.works.get(name);
        let mut records = works
            .into_iter()
            .flatten()
            .filter_map(|(_, work)| work.record.as_ref());
        let retry = *self.observed.upgrade.retry.as_ref().unwrap();
        records.any(|record| record.state == ClusterState::Failed && record.at >= retry)
    }

    /// The first cluster that is no canary starts when all canaries have been complete for long enough, those, too, that came after
    /// others.
    fn has_soaked(&self, name: &ClusterName, selected: &BTreeSet<ClusterName>) {
        let soak = self.observed.spec.as_ref().unwrap().strategy.soak;
        let canaries = selected.iter().filter(|other| self.is_canary(other));
        let completed = canaries.map(|canary| {
            let work = &self.observed.works[canary][&WorkKind::Cluster];
            work.record.as_ref().unwrap().at.unwrap()
        });
        let last = completed.max();
        let others = self
            .observed
            .works
            .iter()
            .filter(|(other, _)| !self.is_canary(other));
        let mut starts = others.flat_map(|(_, works)| works.values().map(|work| &work.revision));
        let is_over = starts.any(|revision| revision.as_ref().map(|revision| revision.started_at) > last);
        assert!(
            is_over || last.is_none_or(|last| self.now >= last + soak),
            "{name} starts before the canaries have soaked: {last:?}"
        );
    }

    fn is_canary(&self, name: &ClusterName) -> bool {
        self.observed.clusters[name].labels.contains_key("canary")
    }

    /// Decides and carries out until there is nothing to do; every plan on the way keeps the rules.
    fn settle(&mut self) {
        for _ in 0..20 {
            let plan = decide(&self.observed, self.now);
            assert_eq!(
                plan,
                decide(&self.observed.clone(), self.now),
                "the same gives the same"
            );
            assert_eq!(check(&self.observed, &plan), []);
            if plan.actions.is_empty() {
                return;
            }
            self.keeps_the_rules(&plan);
            self.carry_out(&plan);
        }
        panic!(
            "it never comes to rest: {:?}",
            decide(&self.observed, self.now).actions
        );
    }

    /// The rules again, computed in another way than the hub's own check.
    fn keeps_the_rules(&self, plan: &Plan) {
        let starts: Vec<&ClusterName> = plan
            .actions
            .iter()
            .filter_map(Action::starts)
            .filter(|cluster| !self.is_under_way(cluster))
            .collect();
        let spec = self.observed.spec.as_ref().unwrap();
        let selected = self.selected();
        let limit = spec.strategy.max_concurrency.of(selected.len()).max(1);
        self.holds_upgrades(plan, limit);
        if starts.is_empty() {
            return;
        }
        assert!(!spec.paused, "nothing starts while it is paused");
        assert!(
            self.in_flight() + starts.len() <= limit,
            "never more in flight than allowed"
        );
        let failed = |name: &&ClusterName| self.has_failed(name) && !self.is_canary(name);
        if let Some(budget) = spec.strategy.max_failures {
            let fails = plan.actions.iter().filter(|action| match action {
                Action::FinishWork { cluster, outcome, .. } => {
                    *outcome == EndState::Failed && !self.is_canary(cluster)
                }
                _ => false,
            });
            let failures = self.observed.works.keys().filter(failed).count() + fails.count();
            assert!(
                failures < budget.of(selected.len()).max(1),
                "the failure budget is spent"
            );
        }
        for name in starts {
            assert!(selected.contains(name), "{name} is not selected");
            if spec.strategy.canaries.is_some() && !self.is_canary(name) {
                let open = selected
                    .iter()
                    .find(|other| self.is_canary(other) && !self.is_complete(other));
                assert_eq!(open, None, "{name} starts before this canary is complete");
                self.has_soaked(name, &selected);
            }
        }
    }

    /// Clusters whose upgrade has begun and has not ended.
    fn upgrading(&self) -> Vec<&ClusterName> {
        let works = self.observed.works.iter();
        works
            .filter(|(name, works)| self.is_under_way(name) && works.keys().copied().any(is_main))
            .map(|(name, _)| name)
            .collect()
    }

    /// No upgrade begins while as many clusters are being upgraded as may be, however they came to be so many.
    fn holds_upgrades(&self, plan: &Plan, limit: usize) {
        let upgrading = self.upgrading();
        let begun = plan.actions.iter().filter(|action| match action {
            Action::CreateWork(order) => is_main(order.kind) && !upgrading.contains(&&order.cluster),
            _ => false,
        });
        let begun = begun.count();
        assert!(
            begun == 0 || upgrading.len() + begun <= limit,
            "never more being upgraded than allowed"
        );
    }
}

fn is_main(kind: WorkKind) -> bool {
    matches!(kind, WorkKind::Cluster | WorkKind::Operators)
}

fn progress(work: &mut Work) {
    if work.applied != ConditionStatus::True {
        work.applied = ConditionStatus::True;
        work.available = ConditionStatus::True;
        return;
    }
    match &mut work.feedback {
        WorkFeedback::Action(runs) => runs.values_mut().for_each(|run| *run = RunState::Succeeded),
        WorkFeedback::ClusterVersion(feedback) => go_on(feedback, "Partial", "Completed"),
        WorkFeedback::Agent(feedback) => go_on(feedback, "Upgrading", "Upgraded"),
        WorkFeedback::Unreadable(_) => {}
    }
}

fn go_on(feedback: &mut ClusterFeedback, running: &str, done: &str) {
    let next = if feedback.state.as_deref() == Some(running) {
        done
    } else {
        running
    };
    feedback.version = Some(Version::new(4, 14, 12));
    feedback.state = Some(next.to_owned());
}

fn fail(work: &mut Work) {
    match &mut work.feedback {
        WorkFeedback::Action(runs) => runs.values_mut().for_each(|run| *run = RunState::Failed),
        WorkFeedback::ClusterVersion(feedback) => feedback.invalid = Some("4.14.12 is unknown".to_owned()),
        WorkFeedback::Agent(feedback) => feedback.state = Some("Failed".to_owned()),
        WorkFeedback::Unreadable(_) => {}
    }
}

fn fleets() -> impl Strategy<Value = Fleet> {
    let limit = prop_oneof![
        (1_u32..6).prop_map(IntOrPercent::Count),
        (1_u8..=100).prop_map(IntOrPercent::Percent)
    ];
    (
        1_usize..10,
        0_usize..3,
        limit,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(0_i64), 1_i64..120],
        proptest::option::of(0_u32..4),
        proptest::collection::btree_set(0_usize..10, 0..5),
    )
        .prop_map(
            |(clusters, canaries, limit, pre, post, operators, soak_minutes, max_failures, agents)| Fleet {
                clusters,
                canaries: canaries.min(clusters),
                limit,
                pre,
                post,
                operators,
                soak_minutes,
                max_failures,
                agents,
            },
        )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0_usize..10).prop_map(Event::Progress),
        1 => (0_usize..10).prop_map(Event::Failure),
        2 => (1_i64..90).prop_map(Event::Minutes),
        1 => (0_usize..10, any::<bool>()).prop_map(|(number, yes)| Event::Available(number, yes)),
        1 => (0_usize..10, any::<bool>()).prop_map(|(number, yes)| Event::Selected(number, yes)),
        1 => any::<bool>().prop_map(Event::Paused),
        1 => Just(Event::Retry),
        1 => (0_usize..10).prop_map(Event::Lost),
        1 => (1_u32..5).prop_map(Event::Limit),
    ];
    proptest::collection::vec(event, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_rules_hold_and_a_plan_that_was_carried_out_is_not_given_again(
        fleet in fleets(), events in events()
    ) {
        let mut world = World::new(&fleet);
        world.settle();
        for event in &events {
            world.happen(event);
            world.settle();
            let again = decide(&world.observed, world.now);
            prop_assert_eq!(again.actions, vec![], "the same observation twice gives no action");
        }
    }

    #[test]
    fn a_fleet_to_which_nothing_bad_happens_is_upgraded(fleet in fleets()) {
        let mut world = World::new(&fleet);
        world.settle();
        for round in 0..3000 {
            world.happen(&Event::Progress(round % fleet.clusters));
            world.happen(&Event::Minutes(i64::from(round % fleet.clusters == 0)));
            world.settle();
            if decide(&world.observed, world.now).report.complete() {
                break;
            }
        }
        let report = decide(&world.observed, world.now).report;
        prop_assert!(report.complete(), "{report:?}");
        let mut expected = BTreeSet::from([WorkKind::Cluster]);
        expected.extend(fleet.operators.then_some(WorkKind::Operators));
        let kinds: BTreeSet<WorkKind> = world.observed.works.values().flat_map(BTreeMap::keys).copied().collect();
        prop_assert_eq!(kinds, expected, "the works of actions are gone, the records stay");
    }

    #[test]
    fn a_failed_canary_keeps_all_others_from_starting(mut fleet in fleets(), events in events()) {
        fleet.canaries = 1;
        fleet.pre = true;
        let mut world = World::new(&fleet);
        world.settle();
        world.happen(&Event::Failure(0));
        world.settle();
        for event in events.iter().filter(|event| !matches!(event, Event::Selected(..) | Event::Retry | Event::Lost(_))) {
            world.happen(event);
            world.settle();
        }
        let started: Vec<ClusterName> = world.observed.works.keys().cloned().collect();
        prop_assert_eq!(started, vec![name(0)]);
    }
}

/// Three clusters without canaries.
fn three(limit: u32, pre: bool, max_failures: Option<u32>) -> World {
    let mut world = World::new(&Fleet {
        clusters: 3,
        canaries: 0,
        limit: IntOrPercent::Count(limit),
        pre,
        post: false,
        operators: false,
        soak_minutes: 0,
        max_failures,
        agents: BTreeSet::new(),
    });
    world.settle();
    world
}

#[test]
fn a_cluster_whose_record_somebody_deletes_waits_until_others_are_upgraded() {
    let mut world = three(1, true, None);
    while world.upgrading() != [&name(1)] {
        world.happen(&Event::Progress(0));
        world.happen(&Event::Progress(1));
        world.settle();
    }
    world.happen(&Event::Lost(0));
    world.settle();
    assert_eq!(world.upgrading(), [&name(1)]);
    let waiting = decide(&world.observed, world.now).report.clusters[&name(0)]
        .reason
        .to_string();
    assert_eq!(waiting, "waiting for a slot: 1 of 1 are taken");
    while !world.is_complete(&name(1)) {
        world.happen(&Event::Progress(1));
        world.settle();
    }
    assert_eq!(world.upgrading(), [&name(0)]);
}

#[test]
fn a_cluster_whose_failure_is_seen_together_with_a_free_slot_counts() {
    let mut world = three(2, false, Some(1));
    assert_eq!(world.upgrading(), [&name(0), &name(1)]);
    while !world.is_complete(&name(0)) {
        world.happen(&Event::Progress(0));
        let plan = decide(&world.observed, world.now);
        world.carry_out(&plan);
    }
    world.happen(&Event::Failure(1));
    world.settle();
    assert!(world.has_failed(&name(1)));
    assert!(world.upgrading().is_empty(), "the failure budget is spent");
}
