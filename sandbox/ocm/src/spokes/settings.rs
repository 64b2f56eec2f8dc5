//! How the clusters do.

use std::time::Duration;

use jiff::SignedDuration;

use kube_sandbox::fingerprint::fingerprint;

/// How the clusters do. Chances are in a hundred.
#[derive(Clone, Debug)]
pub struct StubWorkAgentSettings {
    /// By what is drawn.
    pub seed: u64,
    /// What each cluster's upgrade takes is drawn from these.
    pub durations: Vec<SignedDuration>,
    /// How long it takes until a work is applied.
    pub applies: Duration,
    /// How long the cluster version operator takes to see what is asked of it.
    pub sees: Duration,
    /// The version that a cluster runs of which nothing else is said.
    pub version: String,
    /// Stages that fail: the target is refused, a Job fails, or hangs.
    pub failures: u64,
    /// Works that are applied minutes or hours late, or are refused for a while by the cluster.
    pub late: u64,
    /// Answers that are nonsense at first.
    pub nonsense: u64,
    /// Plans for which the agent finds something at a moment.
    pub findings: u64,
    /// The versions that the update service offers.
    pub offers: Vec<String>,
    /// Whether works hold the work agent's finalizer, so that their deletion takes its time.
    pub finalizers: bool,
}

/// How long the Jobs of actions and of operators take.
pub(super) const JOBS: Duration = Duration::from_mins(2);

impl Default for StubWorkAgentSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            durations: vec![SignedDuration::from_mins(60)],
            applies: Duration::from_secs(5),
            sees: Duration::from_secs(20),
            version: "4.14.9".to_owned(),
            failures: 0,
            late: 0,
            nonsense: 0,
            findings: 0,
            offers: Vec::new(),
            finalizers: false,
        }
    }
}

/// How a stage of a cluster ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOutcome {
    /// As it should.
    Succeeds,
    /// The target is refused, the agent gives up, a Job fails.
    Fails,
    /// It never ends.
    Hangs,
    /// The update service is away at first.
    Waits,
}

/// How a stage of a cluster goes, whatever the seed says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagePlan {
    /// When it ends, from the moment at which its work is first applied.
    pub takes: Duration,
    /// How it ends then.
    pub outcome: StageOutcome,
}

/// A stage of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The cluster version operator's.
    Update,
    /// The agent's.
    Agent,
    /// A Job's or a Pod's.
    Job,
}

impl StubWorkAgentSettings {
    /// A number for a purpose, the same in each run with this seed.
    pub(super) fn draw(&self, cluster: &str, purpose: &str, number: u64) -> u64 {
        let parts = [cluster, purpose];
        let text = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
        let seeded = self.seed.to_le_bytes().into_iter().chain(number.to_le_bytes());
        // The high bits are the better mixed ones.
        fingerprint(seeded.chain(text)) >> 16
    }

    pub(super) fn takes(&self, draw: u64) -> Duration {
        let count = u64::try_from(self.durations.len().max(1)).unwrap_or(1);
        let index = usize::try_from(draw % count).unwrap_or_default();
        self.durations
            .get(index)
            .map_or(JOBS, |duration| duration.unsigned_abs())
    }

    pub(super) fn outcome(&self, draw: u64) -> StageOutcome {
        match draw % 100 {
            number if number >= self.failures => StageOutcome::Succeeds,
            number if number % 3 == 0 => StageOutcome::Hangs,
            _ => StageOutcome::Fails,
        }
    }
}
