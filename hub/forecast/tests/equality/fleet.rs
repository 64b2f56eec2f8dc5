//! Fleets and specs as users write them, and what they edit while a rollout is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_rollout::{
    ActionSpec, AgentOptions, Applied, ClusterFacts, ClusterName, ClusterRow, ExpectedDuration, Freeze, Goal,
    IntOrPercent, Labels, LiveUpgrades, Observed, Operators, OwnPlacement, Owner, PlacementKey,
    PreChecksPolicy, Previous, RequestedMethod, Requirements, Retries, Rollout, Selected, Selection,
    SelectionSource, Selector, Spec, StartTimes, StartWindow, Strategy as RolloutStrategy, Taint, Target,
    Uid, Upgrade, UpgradeKey, VersionFeedback, Window, Work, WorkFeedback, WorkKind, Works,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use semver::Version;

/// Why a cluster does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    Unavailable,
    Tainted,
    OtherProduct,
    NotAccepted,
    NoLabel,
    Taken,
}

#[derive(Clone, Debug)]
pub struct Fleet {
    pub clusters: usize,
    pub canaries: usize,
    pub limit: IntOrPercent,
    pub max_failures: Option<IntOrPercent>,
    pub soak_minutes: i64,
    pub timeout_minutes: i64,
    pub times: WantedTimes,
    pub pre: bool,
    pub post: bool,
    pub operators: bool,
    pub platform: bool,
    pub method: RequestedMethod,
    pub agents: BTreeSet<usize>,
    pub unclaimed: BTreeSet<usize>,
    pub at_target: BTreeSet<usize>,
    pub obstacles: BTreeMap<usize, Obstacle>,
    pub groups: u32,
    pub paused: bool,
    pub begin: i64,
    pub seed: u64,
}

/// When clusters may be started. A region is one of three.
#[derive(Clone, Debug, Default)]
pub struct WantedTimes {
    /// Cron, minutes, zone, region.
    pub windows: Vec<(&'static str, i64, &'static str, Option<usize>)>,
    /// In how many minutes they begin, how many they last, region.
    pub freezes: Vec<(i64, i64, Option<usize>)>,
    /// Clusters start only if they fit.
    pub only_if_it_fits: bool,
}

impl WantedTimes {
    pub fn windows(windows: &[(&'static str, i64, &'static str)]) -> Self {
        let windows = windows
            .iter()
            .map(|(cron, minutes, zone)| (*cron, *minutes, *zone, None));
        Self {
            windows: windows.collect(),
            ..Self::default()
        }
    }

    pub fn at(&self, now: Timestamp) -> StartTimes {
        let selector =
            |region: &usize| Selector::labels(&BTreeMap::from([("region".to_owned(), region.to_string())]));
        let windows = self
            .windows
            .iter()
            .map(|(cron, minutes, zone, region)| StartWindow {
                window: Window::parse(cron, SignedDuration::from_mins(*minutes), Some(zone)).unwrap(),
                selector: region.as_ref().map(selector),
            });
        let freezes = self.freezes.iter().map(|(begins, minutes, region)| Freeze {
            from: now + SignedDuration::from_mins(*begins),
            to: now + SignedDuration::from_mins(begins + minutes),
            reason: "frozen".into(),
            selector: region.as_ref().map(selector),
        });
        StartTimes::new(windows.collect(), freezes.collect())
    }
}

/// An edit by a user, or something that happens to a cluster.
#[derive(Clone, Debug)]
pub enum Edit {
    Paused(bool),
    Limit(IntOrPercent),
    Version(u64),
    Soak(i64),
    MaxFailures(Option<IntOrPercent>),
    StartTimes(WantedTimes),
    Pre(bool),
    Post(bool),
    Operators(bool),
    Timeout(i64),
    Canaries(bool),
    Method(RequestedMethod),
    Retry(Option<usize>),
    Selected(usize, bool),
    Canary(usize, bool),
    Available(usize, bool),
}

pub fn name(number: usize) -> ClusterName {
    ClusterName::from(format!("c{number}"))
}

pub fn target(patch: u64) -> Target {
    Target {
        channel: Some("stable-4.14".to_owned()),
        version: Some(Version::new(4, 14, patch)),
        ..Target::default()
    }
}

pub fn action(wanted: bool) -> Option<ActionSpec> {
    wanted.then(|| ActionSpec {
        timeout: SignedDuration::from_hours(1),
        work: Arc::new(serde_json::json!({})),
    })
}

pub fn operators(wanted: bool) -> Option<Operators> {
    wanted.then(|| Operators {
        include: None,
        exclude: Vec::new(),
    })
}

pub fn canary_selector() -> Selector {
    Selector::labels(&BTreeMap::from([("canary".to_owned(), "yes".to_owned())]))
}

/// The upgrade that has the clusters that are taken.
fn another() -> (Uid, UpgradeKey) {
    (Uid::new("theirs"), UpgradeKey::new("team", "theirs"))
}

impl Fleet {
    pub fn now(&self) -> Timestamp {
        Timestamp::from_second(self.begin).unwrap()
    }

    fn spec(&self) -> Spec {
        Spec {
            placements: vec![PlacementKey::new("default", "all")],
            own_placement: None,
            goal: Arc::new(Goal {
                target: self.platform.then(|| target(12)),
                operators: operators(self.operators || !self.platform),
            }),
            strategy: RolloutStrategy {
                canaries: (self.canaries > 0).then(canary_selector),
                soak: SignedDuration::from_mins(self.soak_minutes),
                max_concurrency: self.limit,
                operators_timeout: SignedDuration::from_mins(100),
                max_failures: self.max_failures,
                start_times: self.times.at(self.now()),
                cluster_timeout: SignedDuration::from_mins(self.timeout_minutes),
                start_only_if_it_fits: self.times.only_if_it_fits,
                method: self.method,
                agent: AgentOptions {
                    steps: "OSD",
                    pdb_force_drain_minutes: 60,
                    capacity_reservation: None,
                    namespace: "agent".to_owned(),
                },
            },
            pre_action: action(self.pre),
            post_action: action(self.post),
            pre_checks: PreChecksPolicy::default(),
            paused: self.paused,
        }
    }

    /// How long clusters are expected to take: some of them longer than any window, of some it is not known.
    fn expected(&self, number: usize) -> Option<ExpectedDuration> {
        let drawn = (self.seed >> (number % 14 * 4)) % 5;
        let minutes = [None, Some(5), Some(55), Some(140), Some(700)][drawn as usize]?;
        Some(ExpectedDuration::new(
            SignedDuration::from_mins(minutes),
            drawn == 1,
        ))
    }

    fn row(&self, number: usize) -> ClusterRow {
        let obstacle = self.obstacles.get(&number).copied();
        let labels = [
            ("in", obstacle != Some(Obstacle::NoLabel)),
            ("canary", number < self.canaries),
        ];
        let labels = labels.into_iter().filter(|(_, yes)| *yes);
        let labels: BTreeMap<_, _> = labels
            .map(|(key, _)| (key.to_owned(), "yes".to_owned()))
            .chain([("region".to_owned(), (number % 3).to_string())])
            .collect();
        let patch = if self.at_target.contains(&number) {
            12 + number as u64 % 2
        } else {
            9
        };
        let facts = ClusterFacts {
            labels: Labels::from(&labels),
            accepted: obstacle != Some(Obstacle::NotAccepted),
            joined: true,
            available: obstacle != Some(Obstacle::Unavailable),
            available_since: number
                .is_multiple_of(3)
                .then(|| self.now() - SignedDuration::from_mins(7 * number as i64)),
            taints: (obstacle == Some(Obstacle::Tainted))
                .then(|| Taint {
                    key: "no".to_owned(),
                    value: String::new(),
                    effect: "NoSelect".to_owned(),
                })
                .into_iter()
                .collect(),
            product: (obstacle == Some(Obstacle::OtherProduct)).then(|| "EKS".to_owned()),
            version: (!self.unclaimed.contains(&number)).then(|| Version::new(4, 14, patch)),
            ..ClusterFacts::default()
        };
        ClusterRow {
            facts: Some(Arc::new(facts)),
            selection: Some(Selected {
                order: (0, (number as u32 * 7) % self.groups),
                sources: 1,
            }),
            works: if obstacle == Some(Obstacle::Taken) {
                self.works_of_another()
            } else {
                Works::default()
            },
            agent: self.agents.contains(&number),
            expected: self.expected(number),
            ..ClusterRow::default()
        }
    }

    /// Those of an upgrade that is at work.
    fn works_of_another(&self) -> Works {
        let (uid, key) = another();
        let work = Work {
            uid: Uid::new("work"),
            owner: Owner {
                uid,
                upgrade: Some(key),
            },
            created: self.now(),
            deleting: false,
            labelled: true,
            revision: None,
            outcome: None,
            applied: Applied::Yes,
            available: true,
            degraded: None,
            feedback: WorkFeedback::ClusterVersion(VersionFeedback::default()),
        };
        let mut works = Works::default();
        works.insert(WorkKind::Cluster, Arc::new(work));
        works
    }

    pub fn observed(&self) -> Observed {
        let key = UpgradeKey::new("default", "upgrade");
        let uid = Uid::new("ours");
        let (other_uid, other_key) = another();
        Observed {
            rollout: Rollout {
                upgrade: Upgrade {
                    key: key.clone(),
                    uid: uid.clone(),
                    generation: 1,
                    deleting: false,
                    namespace_deleting: false,
                    finalizer: false,
                    retries: Retries::default(),
                    started_by: "somebody".into(),
                    live: Arc::new(LiveUpgrades {
                        uids: [uid, other_uid].into(),
                        keys: [key, other_key].into(),
                        gone_namespaces: BTreeSet::new(),
                    }),
                },
                spec: Ok(Arc::new(self.spec())),
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
            },
            rows: (0..self.clusters)
                .map(|number| (name(number), Box::new(self.row(number))))
                .collect(),
        }
    }
}

fn limits() -> impl Strategy<Value = IntOrPercent> {
    prop_oneof![
        (1_u32..8).prop_map(IntOrPercent::Count),
        (1_u8..=100).prop_map(IntOrPercent::Percent)
    ]
}

fn failures() -> impl Strategy<Value = Option<IntOrPercent>> {
    let failures = prop_oneof![
        (0_u32..6).prop_map(IntOrPercent::Count),
        (0_u8..=60).prop_map(IntOrPercent::Percent)
    ];
    proptest::option::of(failures)
}

fn methods() -> impl Strategy<Value = RequestedMethod> {
    prop_oneof![
        Just(RequestedMethod::Auto),
        Just(RequestedMethod::Agent),
        Just(RequestedMethod::ClusterVersion)
    ]
}

fn times() -> impl Strategy<Value = WantedTimes> {
    let region = || proptest::option::of(0_usize..3);
    let window = (
        prop_oneof![
            Just("0 22 * * *"),
            Just("30 2 * * *"),
            Just("0 1 * * 0"),
            Just("*/30 * * * *"),
            Just("0 8 * * 1-5")
        ],
        prop_oneof![Just(10_i64), 1_i64..600],
        prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("America/New_York")],
        region(),
    );
    let freeze = (-900_i64..3000, 1_i64..2000, region());
    let windows = prop_oneof![3 => Just(Vec::new()), 2 => proptest::collection::vec(window, 1..4)];
    let freezes = prop_oneof![3 => Just(Vec::new()), 1 => proptest::collection::vec(freeze, 1..3)];
    (windows, freezes, any::<bool>()).prop_map(|(windows, freezes, only_if_it_fits)| WantedTimes {
        windows,
        freezes,
        only_if_it_fits,
    })
}

/// Moments before the clocks change, in spring and autumn, in Europe and America, and one far from it.
fn begins() -> impl Strategy<Value = i64> {
    let days = prop_oneof![
        Just(1_772_870_400_i64),
        Just(1_774_656_000),
        Just(1_792_800_000),
        Just(1_793_404_800),
        Just(1_767_600_000)
    ];
    (days, 0_i64..86_400).prop_map(|(day, second)| day + second / 60 * 60)
}

fn obstacles() -> impl Strategy<Value = BTreeMap<usize, Obstacle>> {
    let obstacle = prop_oneof![
        Just(Obstacle::Unavailable),
        Just(Obstacle::Tainted),
        Just(Obstacle::OtherProduct),
        Just(Obstacle::NotAccepted),
        Just(Obstacle::NoLabel),
        Just(Obstacle::Taken)
    ];
    prop_oneof![
        2 => Just(BTreeMap::new()),
        1 => proptest::collection::btree_map(0_usize..14, obstacle, 0..3)
    ]
}

pub fn fleets() -> impl Strategy<Value = Fleet> {
    let some = || proptest::collection::btree_set(0_usize..14, 0..6);
    let strategy = (
        limits(),
        failures(),
        prop_oneof![1 => Just(0_i64), 2 => 1_i64..300],
        20_i64..260,
        times(),
        methods(),
    );
    let goal = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop_oneof![4 => Just(true), 1 => Just(false)],
    );
    let sets = (
        some(),
        some(),
        prop_oneof![2 => Just(BTreeSet::new()), 1 => some()],
        obstacles(),
    );
    let rest = (
        1_u32..4,
        prop_oneof![9 => Just(false), 1 => Just(true)],
        begins(),
        any::<u64>(),
    );
    (
        1_usize..14,
        prop_oneof![1 => Just(0_usize), 2 => 1_usize..4],
        strategy,
        goal,
        sets,
        rest,
    )
        .prop_map(
            |(
                clusters,
                canaries,
                (limit, max_failures, soak_minutes, timeout_minutes, times, method),
                (pre, post, operators, platform),
                (agents, unclaimed, at_target, obstacles),
                (groups, paused, begin, seed),
            )| Fleet {
                clusters,
                canaries: canaries.min(clusters),
                limit,
                max_failures,
                soak_minutes,
                timeout_minutes,
                times,
                pre,
                post,
                operators,
                platform,
                method,
                agents,
                unclaimed,
                at_target,
                obstacles,
                groups,
                paused,
                begin,
                seed,
            },
        )
}

pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let cluster = || 0_usize..14;
    let edit = prop_oneof![
        1 => any::<bool>().prop_map(Edit::Paused),
        3 => (1_u32..3).prop_map(|limit| Edit::Limit(IntOrPercent::Count(limit))),
        1 => limits().prop_map(Edit::Limit),
        3 => (11_u64..15).prop_map(Edit::Version),
        1 => (0_i64..200).prop_map(Edit::Soak),
        1 => failures().prop_map(Edit::MaxFailures),
        1 => times().prop_map(Edit::StartTimes),
        1 => any::<bool>().prop_map(Edit::Pre),
        1 => any::<bool>().prop_map(Edit::Post),
        1 => any::<bool>().prop_map(Edit::Operators),
        1 => (20_i64..260).prop_map(Edit::Timeout),
        1 => any::<bool>().prop_map(Edit::Canaries),
        1 => methods().prop_map(Edit::Method),
        1 => proptest::option::of(cluster()).prop_map(Edit::Retry),
        3 => (0_usize..5, any::<bool>()).prop_map(|(number, yes)| Edit::Selected(number, yes)),
        2 => (cluster(), any::<bool>()).prop_map(|(number, yes)| Edit::Canary(number, yes)),
        3 => (0_usize..5, any::<bool>()).prop_map(|(number, yes)| Edit::Available(number, yes)),
    ];
    prop_oneof![1 => Just(Vec::new()), 2 => proptest::collection::vec(edit, 1..8)]
}
