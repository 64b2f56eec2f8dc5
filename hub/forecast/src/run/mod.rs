//! One run: what becomes of a rollout when each stage of each cluster takes as long as it is drawn.
//!
//! It is a discrete-event simulation. At each moment at which something happens the rules of [`drydock_rollout`] are asked as the
//! decision asks them, again and again until nothing follows; what they depend on is counted up instead of assessed. A test holds each
//! run to the decision itself.

mod outcome;
mod state;

use std::cmp::Reverse;

use drydock_rollout::{
    ForecastInput, FreeSlots, HaltKind, Opening, Position, SlotDecision, SlotInputs, Stage, next_moment,
    upgrades_allowed,
};
use jiff::{SignedDuration, Timestamp};

use crate::stage_sample::{StageEnd, StageSampler};
use crate::windows::Windows;
use state::State;

pub use outcome::{ClusterTimes, RunOutcome, StopCause, Wait};

/// No run looks further ahead.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366 * 2);

/// Runs rollouts from one input, one after the other.
#[derive(Clone, Debug)]
pub struct Simulation<'a> {
    forecast_input: &'a ForecastInput,
    limit: usize,
    timeouts: [SignedDuration; 4],
    windows: Windows<'a>,
    state: State,
}

impl<'a> Simulation<'a> {
    /// Runs of what this input shows.
    pub fn new(forecast_input: &'a ForecastInput) -> Self {
        let spec = &forecast_input.spec;
        Self {
            forecast_input,
            limit: spec.strategy.slots(forecast_input.inputs.selected),
            timeouts: Stage::ALL.map(|stage| stage.timeout(spec).unwrap_or(SignedDuration::MAX)),
            windows: Windows::new(&spec.strategy.windows, forecast_input.now),
            state: State::default(),
        }
    }

    /// When each cluster started and ended in the last run, in the order of the forecast's input.
    pub fn times(&self) -> impl Iterator<Item = ClusterTimes> {
        self.state.clusters.iter().map(|cluster| cluster.times)
    }

    /// Runs the rollout once.
    pub fn run(&mut self, draws: &impl StageSampler) -> RunOutcome {
        self.begin(draws);
        loop {
            let halt = self.settle(draws);
            let Some(next) = self.next_moment(halt.as_ref()) else {
                return self.outcome(halt.as_ref(), false);
            };
            if next.duration_since(self.forecast_input.now) > LONGEST {
                return self.outcome(halt.as_ref(), true);
            }
            self.wait_until(next, halt.as_ref());
            while let Some(Reverse((moment, cluster, failed))) = self.state.events.peek().copied() {
                if moment > next {
                    break;
                }
                self.state.events.pop();
                self.state.stage_is_over(cluster, failed);
            }
        }
    }

    /// Puts every cluster where the forecast's input has it.
    fn begin(&mut self, draws: &impl StageSampler) {
        self.windows.rewind();
        let forecast_input = self.forecast_input;
        let state = &mut self.state;
        state.now = forecast_input.now;
        state.inputs = SlotInputs {
            continuing: 0,
            ..forecast_input.inputs
        };
        state.clusters.clear();
        state.events.clear();
        state.continuing.clear();
        state.advancing.clear();
        state.ending.clear();
        state.recording.clear();
        state.first = 0;
        state.last_end = forecast_input.now;
        state.failed = 0;
        state.most_in_flight = forecast_input.inputs.in_flight;
        state.waited = [0; 4];
        for (index, seen) in (0..).zip(&forecast_input.clusters) {
            let cluster = self.state.place(index, seen);
            self.state.clusters.push(cluster);
            if let Position::UnderWay {
                stage,
                since,
                deadline,
                ..
            } = seen.position
            {
                let elapsed = forecast_input.now.duration_since(since).as_secs().max(0);
                let event = stage_end(draws, index, stage, since, deadline, elapsed);
                self.state.events.push(Reverse(event));
            }
        }
    }

    /// Follows the rules until nothing more follows at this moment. Gives back why no further cluster starts, if so.
    fn settle(&mut self, draws: &impl StageSampler) -> Option<HaltKind> {
        loop {
            let spec = &self.forecast_input.spec;
            let state = &mut self.state;
            state.inputs.continuing = state.continuing.len();
            let now = state.now;
            let opening = self.windows.opening(now);
            let halt = HaltKind::of(spec, &state.inputs, now, || opening);
            let continues =
                upgrades_allowed(self.limit, &state.inputs, || opening).min(state.continuing.len());
            if halt.is_none() {
                self.fill_slots();
            }
            if self.state.starting.is_empty() && continues == 0 && self.state.is_settled() {
                return halt;
            }
            self.carry_out(continues, draws);
        }
    }

    /// Finds the clusters whose turn it is.
    fn fill_slots(&mut self) {
        let state = &mut self.state;
        let queue = &self.forecast_input.queue;
        while queue
            .get(state.first)
            .is_some_and(|index| !state.clusters[*index].waits)
        {
            state.first += 1;
        }
        let mut free_slots = FreeSlots::new(self.limit, &state.inputs);
        for (place, index) in queue.iter().enumerate().skip(state.first) {
            if !state.clusters[*index].waits {
                continue;
            }
            match free_slots.of(true, !state.clusters[*index].canary) {
                SlotDecision::Starts => free_slots.take(true),
                // Canaries come first, so that all behind it wait as well.
                SlotDecision::Waits | SlotDecision::NoSlotLeft => break,
            }
            state.starting.push(place);
        }
    }

    /// What one decision brings about.
    fn carry_out(&mut self, continues: usize, draws: &impl StageSampler) {
        let state = &mut self.state;
        std::mem::swap(&mut state.ending, &mut state.committing);
        std::mem::swap(&mut state.advancing, &mut state.entering);
        while let Some(cluster) = state.recording.pop() {
            state.wait_again(cluster);
        }
        while let Some((cluster, failed)) = state.committing.pop() {
            state.commit(cluster, failed);
        }
        if continues > 0 {
            state.continuing.sort_unstable();
            let first = state.continuing.drain(..continues);
            state.entering.extend(first.map(|(_, _, cluster)| cluster));
        }
        while let Some(cluster) = self.state.entering.pop() {
            self.enter_next_stage(cluster, draws);
        }
        while let Some(place) = self.state.starting.pop() {
            let index = self.forecast_input.queue[place];
            let cluster = &mut self.state.clusters[index];
            if cluster.clearing > 0 {
                cluster.clearing -= 1;
                continue;
            }
            self.state.start(index);
            // The index of a cluster fits: a fleet has fewer than four milliards of them.
            self.enter_next_stage(index as u32, draws);
        }
        self.state.most_in_flight = self.state.most_in_flight.max(self.state.inputs.in_flight);
    }

    fn enter_next_stage(&mut self, index: u32, draws: &impl StageSampler) {
        let state = &mut self.state;
        let cluster = &mut state.clusters[index as usize];
        let Some(stage) = cluster.then.first() else {
            state.ending.push((index, false));
            return;
        };
        cluster.then = cluster.then.rest();
        cluster.stage = stage;
        if stage != Stage::PreAction && !cluster.upgrading {
            cluster.upgrading = true;
            state.inputs.upgrading += 1;
        }
        let timeout = self.timeouts[stage as usize];
        let deadline = state.now.saturating_add(timeout).unwrap_or(Timestamp::MAX);
        let event = stage_end(draws, index, stage, state.now, deadline, 0);
        state.events.push(Reverse(event));
    }

    /// When something happens next; nothing if nothing does any more.
    fn next_moment(&mut self, halt: Option<&HaltKind>) -> Option<Timestamp> {
        let state = &self.state;
        let event = state.events.peek().map(|Reverse((moment, ..))| *moment);
        let waits = state.inputs.startable > 0;
        if event.is_none() && (halt.is_none() || !waits) && state.continuing.is_empty() {
            return None;
        }
        let opening = self.windows.opening(state.now);
        // That a window closes changes nothing by itself.
        let opens = || match opening {
            Opening::OpenUntil(_) => Opening::Always,
            other => other,
        };
        let by_rule = next_moment(halt.filter(|_| waits), state.continuing.len(), opens);
        event.into_iter().chain(by_rule).min()
    }

    fn wait_until(&mut self, next: Timestamp, halt: Option<&HaltKind>) {
        let state = &mut self.state;
        let seconds = next.duration_since(state.now).as_secs();
        state.now = next;
        let mut waiting = self.forecast_input.queue[state.first..].iter();
        let Some(index) = waiting.find(|index| state.clusters[**index].waits) else {
            return;
        };
        let wait = match halt {
            Some(HaltKind::CanarySoaking { .. }) => Wait::Soak,
            Some(HaltKind::AwaitingStartWindow { .. }) => Wait::Window,
            Some(_) => return,
            None if !state.clusters[*index].canary
                && state.inputs.complete_canaries < state.inputs.awaited_canaries =>
            {
                Wait::Canaries
            }
            None => Wait::Slots,
        };
        state.waited[wait as usize] += seconds;
    }

    fn outcome(&self, halt: Option<&HaltKind>, is_too_long: bool) -> RunOutcome {
        let state = &self.state;
        let left = state.inputs.startable;
        let is_open = left == 0 && state.continuing.is_empty() && state.events.is_empty();
        let cause = match halt {
            // Nothing was under way, and nothing began.
            _ if is_open && state.inputs.pending > 0 && state.last_end == self.forecast_input.now => {
                Some(StopCause::ClustersBlocked)
            }
            _ if is_open => None,
            _ if is_too_long => Some(StopCause::TooLong),
            Some(HaltKind::Paused) => Some(StopCause::Paused),
            Some(HaltKind::CanaryFailed) => Some(StopCause::CanaryFailed),
            Some(HaltKind::NoCanaryMatched) => Some(StopCause::NoCanaryMatched),
            Some(HaltKind::FailureBudgetSpent { .. }) => Some(StopCause::FailureBudgetSpent),
            Some(HaltKind::CanarySoaking { .. }) => Some(StopCause::CanaryUnhealthy),
            Some(HaltKind::AwaitingStartWindow { .. }) => Some(StopCause::NoWindowOpens),
            None if left == 0 => Some(StopCause::NoWindowOpens),
            None => Some(StopCause::CanaryBlocked),
        };
        RunOutcome {
            end: state.last_end,
            stop: cause,
            failed: state.failed,
            left,
            most_in_flight: state.most_in_flight,
            waited: state.waited,
        }
    }
}

/// When a stage ends that began at `since`, and whether it has failed then.
fn stage_end(
    draws: &impl StageSampler,
    index: u32,
    stage: Stage,
    since: Timestamp,
    deadline: Timestamp,
    elapsed: i64,
) -> (Timestamp, u32, bool) {
    let draw = draws.stage(index as usize, stage, elapsed);
    let ends = since
        .saturating_add(SignedDuration::from_secs(draw.seconds))
        .unwrap_or(Timestamp::MAX);
    match draw.end {
        StageEnd::Succeeds if ends <= deadline => (ends, index, false),
        StageEnd::Fails => (ends.min(deadline), index, true),
        StageEnd::Succeeds | StageEnd::Hangs => (deadline, index, true),
    }
}
