//! What a run does not know by itself: how long a stage takes on a cluster, and how it ends.

use drydock_rollout::Stage;

/// How a stage ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageEnd {
    /// It is done.
    Succeeds,
    /// It fails.
    Fails,
    /// It comes to no end, and fails by its timeout.
    Hangs,
}

/// How long a stage takes on a cluster, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSample {
    /// From the beginning of the stage, in seconds: at least one, and more than it has lasted already.
    pub seconds: i64,
    /// How it ends then.
    pub end: StageEnd,
}

/// The draws of one run.
pub trait StageSampler {
    /// That of a stage of a cluster, which is given by its index in the forecast's input. The stage has lasted for `elapsed` seconds already.
    fn stage(&self, cluster: usize, stage: Stage, elapsed: i64) -> StageSample;
}
