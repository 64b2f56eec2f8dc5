//! What changes during a run: where each cluster is, and what the rules depend on, counted up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use drydock_rollout::{AfterEnd, ClusterProgress, Position, SlotInputs, Stage, StageSet};
use jiff::Timestamp;

use super::outcome::ClusterTimes;

/// A cluster in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub times: ClusterTimes,
    /// The stages that are ahead of it.
    pub then: StageSet,
    /// The stage that is under way.
    pub stage: Stage,
    /// Its upgrade has begun.
    pub upgrading: bool,
    pub canary: bool,
    pub selected: bool,
    pub unhealthy: bool,
    /// It waits for its turn.
    pub waits: bool,
    /// How many decisions it takes to make room for its first work.
    pub clearing: u8,
    pub after: After,
    /// The number of its timetable, once it has started: only what starts must fit.
    pub once_started: usize,
}

/// What follows when it has ended, as [`AfterEnd`]; why something keeps it then matters to no run.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    Rests,
    Repeats { stages: StageSet, clearing: u8 },
    Blocked,
    Leaves,
}

impl After {
    fn of(after: &AfterEnd) -> Self {
        match *after {
            AfterEnd::Rests => Self::Rests,
            AfterEnd::Repeats { stages, clearing } => Self::Repeats { stages, clearing },
            AfterEnd::Blocked(_) => Self::Blocked,
            AfterEnd::Leaves => Self::Leaves,
        }
    }
}

/// What changes during a run. It keeps its memory for the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub now: Timestamp,
    pub inputs: SlotInputs,
    pub clusters: Vec<Cluster>,
    /// When the stage of a cluster is over, and whether it failed.
    pub events: BinaryHeap<Reverse<(Timestamp, u32, bool)>>,
    /// Places in the queue of those that start now.
    pub starting: Vec<usize>,
    /// Clusters whose upgrade follows on their action: canaries first, then in the order in which they started.
    pub continuing: Vec<(bool, Option<Timestamp>, u32)>,
    /// Clusters whose next stage follows at once.
    pub advancing: Vec<u32>,
    /// Clusters whose end is committed next, and whether they failed.
    pub ending: Vec<(u32, bool)>,
    /// Clusters whose end is put on record next, after which they wait for their turn again.
    pub recording: Vec<u32>,
    /// What of the two is being carried out.
    pub entering: Vec<u32>,
    pub committing: Vec<(u32, bool)>,
    pub last_end: Timestamp,
    pub failed: usize,
    pub most_in_flight: usize,
    pub waited: [i64; 4],
}

impl State {
    /// Puts a cluster where the forecast's input has it.
    pub fn place(&mut self, index: u32, seen: &ClusterProgress, once_started: usize) -> Cluster {
        let mut cluster = Cluster {
            times: ClusterTimes::default(),
            then: StageSet::default(),
            stage: Stage::Platform,
            upgrading: false,
            canary: seen.canary,
            selected: seen.selected,
            unhealthy: seen.unhealthy,
            waits: false,
            clearing: 0,
            after: After::of(&seen.after),
            once_started,
        };
        match &seen.position {
            Position::Waits { stages, clearing } => {
                cluster.then = *stages;
                cluster.clearing = *clearing;
                cluster.waits = true;
                cluster.after = After::Rests;
            }
            Position::Blocked(_) => {}
            Position::UnderWay {
                stage, then, started, ..
            } => {
                cluster.times.started = *started;
                cluster.then = *then;
                cluster.stage = *stage;
                cluster.upgrading = *stage != Stage::PreAction;
            }
            Position::Advances {
                stages,
                started,
                upgrading,
            } => {
                cluster.times.started = *started;
                cluster.then = *stages;
                cluster.upgrading = *upgrading;
                if *upgrading {
                    self.advancing.push(index);
                } else {
                    self.continuing.push((!seen.canary, *started, index));
                }
            }
            Position::Ends {
                failed,
                started,
                upgrading,
            } => {
                cluster.times.started = *started;
                cluster.upgrading = *upgrading;
                self.ending.push((index, *failed));
            }
            Position::Ended {
                failed,
                started,
                finished,
            } => {
                cluster.times = ClusterTimes {
                    started: *started,
                    ended: *finished,
                    failed: *failed,
                };
                self.failed += usize::from(*failed);
            }
        }
        cluster
    }

    pub fn is_settled(&self) -> bool {
        self.ending.is_empty() && self.advancing.is_empty() && self.recording.is_empty()
    }

    /// A cluster starts.
    pub fn start(&mut self, index: usize) {
        let cluster = &mut self.clusters[index];
        cluster.waits = false;
        cluster.times = ClusterTimes {
            started: Some(self.now),
            ..ClusterTimes::default()
        };
        let inputs = &mut self.inputs;
        inputs.startable -= 1;
        inputs.pending -= 1;
        inputs.in_flight += 1;
        if !cluster.canary {
            inputs.others_started = inputs.others_started.max(Some(self.now));
        }
    }

    /// A stage has come to its end.
    pub fn stage_is_over(&mut self, index: u32, failed: bool) {
        let cluster = &self.clusters[index as usize];
        if failed {
            self.inputs.failures += usize::from(!cluster.canary);
            self.ending.push((index, true));
        } else if cluster.then.first().is_none() {
            self.ending.push((index, false));
        } else if cluster.stage == Stage::PreAction {
            self.continuing
                .push((!cluster.canary, cluster.times.started, index));
        } else {
            self.advancing.push(index);
        }
    }

    /// The outcome of a cluster is on record, and it waits for its turn again.
    pub fn wait_again(&mut self, index: u32) {
        self.clusters[index as usize].waits = true;
        self.inputs.startable += 1;
    }

    /// The outcome of a cluster is committed.
    pub fn commit(&mut self, index: u32, failed: bool) {
        let now = self.now;
        let cluster = &mut self.clusters[index as usize];
        cluster.times.ended = Some(now);
        cluster.times.failed = failed;
        self.last_end = self.last_end.max(now);
        self.failed += usize::from(failed);
        let inputs = &mut self.inputs;
        inputs.in_flight -= 1;
        inputs.upgrading -= usize::from(std::mem::take(&mut cluster.upgrading));
        let canary = usize::from(cluster.canary);
        match (cluster.after, failed) {
            (After::Leaves, _) => {
                inputs.total -= 1;
                inputs.failures -= usize::from(failed) * (1 - canary);
                inputs.awaited_canaries -= canary;
                return;
            }
            (After::Blocked, false) => {
                inputs.pending += 1;
                return;
            }
            (After::Repeats { stages, clearing }, false) => {
                cluster.after = After::Rests;
                cluster.clearing = clearing;
                cluster.then = stages;
                inputs.pending += 1;
                self.recording.push(index);
                return;
            }
            (After::Rests, _) | (_, true) => {}
        }
        if !cluster.canary {
            return;
        }
        match (failed, cluster.selected) {
            (true, true) => inputs.failed_canaries += 1,
            (true, false) => inputs.awaited_canaries -= 1,
            (false, _) => {
                inputs.complete_canaries += 1;
                inputs.canaries_finished = inputs.canaries_finished.max(Some(now));
                inputs.canaries_available = inputs.canaries_available.max(Some(now));
                // What troubled it was its upgrade.
                inputs.unhealthy_canaries -= usize::from(std::mem::take(&mut cluster.unhealthy));
            }
        }
    }
}
