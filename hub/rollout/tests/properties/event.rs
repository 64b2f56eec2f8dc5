//! What may happen to a fleet: all that the API lets users, clusters and other upgrades do.

use std::collections::BTreeSet;

use drydock_rollout::{IntOrPercent, PreChecksMode, RefusalCause, RequestedMethod};
use proptest::prelude::*;

use super::world::Theirs;

/// An edit of one field of the spec.
#[derive(Clone, Debug)]
pub enum SpecEdit {
    Paused(bool),
    Limit(u32),
    Version(u64),
    Image,
    Channel(&'static str),
    Operators(bool),
    Pre(bool),
    Post(bool),
    Canaries(bool),
    Soak(i64),
    MaxFailures(Option<u32>),
    Windows(bool),
    /// Those of canaries alone.
    CanaryWindows(bool),
    OnlyIfItFits(bool),
    Method(RequestedMethod),
    PreChecks(PreChecksMode),
}

/// Something that happens to a fleet.
#[derive(Clone, Debug)]
pub enum Event {
    /// The newest work of a cluster continues.
    Progress(usize),
    /// It fails.
    Failure(usize),
    /// The agent of a cluster has begun, and waits for findings that nobody has accepted.
    AtGate(usize),
    /// Another upgrade takes the lock of a cluster, or gives it back.
    Locked(usize, bool),
    /// Somebody else updates a cluster, which fails or does not.
    UpdatedByOthers(usize, bool),
    /// Time passes.
    Minutes(i64),
    Available(usize, bool),
    /// A cluster claims to be of another product, or no longer.
    Product(usize, bool),
    /// A ManagedCluster is deleted.
    Leaves(usize),
    /// One is deleted and created again under its name: another cluster.
    Rejoins(usize),
    /// The labels of a cluster match the placement, or no longer; its decision is as it was.
    Matches(usize, bool),
    Canary(usize, bool),
    /// A cluster claims this patch version.
    Claims(usize, u64),
    Agent(usize, bool),
    Selected(usize, bool),
    /// The placement has a whole decision, or not.
    Decided(bool),
    /// Several fields are edited in one write.
    Edit(Vec<SpecEdit>),
    /// A retry of all clusters, or of one.
    Retry(Option<usize>),
    /// Somebody deletes all works of a cluster.
    Lost(usize),
    /// Somebody takes the labels off a work.
    Unlabelled(usize),
    /// A work goes without having been deleted, as far as the watch shows.
    Vanished(usize),
    /// Writes about a cluster are refused, or accepted again.
    Refused(usize, RefusalCause),
    Accepted(usize),
    /// Pages of records can be written, or not.
    Records(bool),
    /// Another upgrade has had the cluster; its rollout began later, or earlier.
    Theirs(usize, Theirs, bool),
    /// A cluster answers what it is asked: with nothing, or with a finding; through its agent, or by its ClusterVersion.
    Answers(usize, bool, bool),
    /// A cluster takes the release by its image alone, or by its version, too.
    RequiresImage(usize, bool),
    /// Somebody accepts the finding, or takes that back.
    AcceptsRisk(bool),
    /// Another upgrade asks the agent of a cluster the same, and has no answer yet.
    OtherAsks(usize),
    /// What is accepted has ended on a cluster.
    RiskEnds(usize),
    /// All objects are restored, and the upgrade has another uid.
    Restored,
}

#[derive(Clone, Debug)]
pub struct Fleet {
    pub clusters: usize,
    pub canaries: usize,
    pub limit: IntOrPercent,
    pub pre: bool,
    pub post: bool,
    pub operators: bool,
    pub soak_minutes: i64,
    pub max_failures: Option<u32>,
    pub agents: BTreeSet<usize>,
    /// Clusters that claim no version.
    pub unclaimed: BTreeSet<usize>,
}

impl Fleet {
    /// Clusters without anything special.
    pub fn plain(clusters: usize, limit: u32) -> Self {
        Self {
            clusters,
            canaries: 0,
            limit: IntOrPercent::Count(limit),
            pre: false,
            post: false,
            operators: false,
            soak_minutes: 0,
            max_failures: None,
            agents: BTreeSet::new(),
            unclaimed: BTreeSet::new(),
        }
    }
}

pub fn fleets() -> impl Strategy<Value = Fleet> {
    let limit = prop_oneof![
        (1_u32..6).prop_map(IntOrPercent::Count),
        (1_u8..=100).prop_map(IntOrPercent::Percent)
    ];
    let strategy = (
        limit,
        prop_oneof![Just(0_i64), 1_i64..120],
        proptest::option::of(0_u32..4),
    );
    let works = (any::<bool>(), any::<bool>(), any::<bool>());
    let some = || proptest::collection::btree_set(0_usize..10, 0..5);
    (1_usize..10, 0_usize..3, strategy, works, some(), some()).prop_map(
        |(
            clusters,
            canaries,
            (limit, soak_minutes, max_failures),
            (pre, post, operators),
            agents,
            unclaimed,
        )| Fleet {
            clusters,
            canaries: canaries.min(clusters),
            limit,
            pre,
            post,
            operators,
            soak_minutes,
            max_failures,
            agents,
            unclaimed,
        },
    )
}

fn edits() -> impl Strategy<Value = SpecEdit> {
    prop_oneof![
        any::<bool>().prop_map(SpecEdit::Paused),
        (1_u32..5).prop_map(SpecEdit::Limit),
        (10_u64..15).prop_map(SpecEdit::Version),
        Just(SpecEdit::Image),
        prop_oneof![Just("stable-4.14"), Just("fast-4.14")].prop_map(SpecEdit::Channel),
        any::<bool>().prop_map(SpecEdit::Operators),
        any::<bool>().prop_map(SpecEdit::Pre),
        any::<bool>().prop_map(SpecEdit::Post),
        any::<bool>().prop_map(SpecEdit::Canaries),
        (0_i64..60).prop_map(SpecEdit::Soak),
        proptest::option::of(0_u32..4).prop_map(SpecEdit::MaxFailures),
        any::<bool>().prop_map(SpecEdit::Windows),
        any::<bool>().prop_map(SpecEdit::CanaryWindows),
        any::<bool>().prop_map(SpecEdit::OnlyIfItFits),
        prop_oneof![
            Just(RequestedMethod::Auto),
            Just(RequestedMethod::Agent),
            Just(RequestedMethod::ClusterVersion)
        ]
        .prop_map(SpecEdit::Method),
        prop_oneof![
            Just(PreChecksMode::Off),
            Just(PreChecksMode::Report),
            Just(PreChecksMode::Require)
        ]
        .prop_map(SpecEdit::PreChecks),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let cluster = || 0_usize..10;
    let switch = |make: fn(usize, bool) -> Event| {
        (0_usize..10, any::<bool>()).prop_map(move |(number, yes)| make(number, yes))
    };
    let cause = prop_oneof![
        Just(RefusalCause::NamespaceMissing),
        Just(RefusalCause::NameTaken),
        Just(RefusalCause::Other)
    ];
    let theirs = prop_oneof![
        Just(Theirs::InFlight),
        Just(Theirs::Recorded),
        Just(Theirs::Unrecorded),
        Just(Theirs::Orphaned),
        Just(Theirs::Gone)
    ];
    prop_oneof![
        30 => cluster().prop_map(Event::Progress),
        4 => cluster().prop_map(Event::Failure),
        3 => cluster().prop_map(Event::AtGate),
        8 => (1_i64..90).prop_map(Event::Minutes),
        4 => switch(Event::Locked),
        3 => switch(Event::UpdatedByOthers),
        3 => switch(Event::Available),
        1 => switch(Event::Product),
        1 => cluster().prop_map(Event::Leaves),
        2 => cluster().prop_map(Event::Rejoins),
        2 => switch(Event::Matches),
        2 => switch(Event::Canary),
        2 => (0_usize..10, 8_u64..16).prop_map(|(number, patch)| Event::Claims(number, patch)),
        2 => switch(Event::Agent),
        4 => switch(Event::Selected),
        2 => any::<bool>().prop_map(Event::Decided),
        6 => proptest::collection::vec(edits(), 1..4).prop_map(Event::Edit),
        3 => proptest::option::of(cluster()).prop_map(Event::Retry),
        3 => cluster().prop_map(Event::Lost),
        2 => cluster().prop_map(Event::Unlabelled),
        2 => cluster().prop_map(Event::Vanished),
        3 => (cluster(), cause).prop_map(|(number, cause)| Event::Refused(number, cause)),
        3 => cluster().prop_map(Event::Accepted),
        2 => any::<bool>().prop_map(Event::Records),
        4 => (cluster(), theirs, any::<bool>()).prop_map(|(number, theirs, later)| Event::Theirs(number, theirs, later)),
        6 => (cluster(), any::<bool>(), any::<bool>())
            .prop_map(|(number, finds, agent)| Event::Answers(number, finds, agent)),
        1 => (cluster(), any::<bool>()).prop_map(|(number, requires)| Event::RequiresImage(number, requires)),
        2 => any::<bool>().prop_map(Event::AcceptsRisk),
        2 => cluster().prop_map(Event::RiskEnds),
        2 => cluster().prop_map(Event::OtherAsks),
        1 => Just(Event::Restored),
    ]
}

pub fn events() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(event(), 0..60)
}
