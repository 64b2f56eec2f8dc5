//! One run: what becomes of a rollout when each stage of each cluster takes as long as it is drawn.
//!
//! It is a discrete-event simulation. At each moment at which something happens the rules of [`drydock_rollout`] are asked as the
//! decision asks them, again and again until nothing follows; what they depend on is counted up instead of assessed. A test holds each
//! run to the decision itself.

mod outcome;
mod queues;
mod state;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use drydock_rollout::{
    ClusterProgress, ForecastInput, FreeSlots, FreezeCalendar, HaltKind, Opening, Position, Reason,
    SlotDecision, SlotInputs, Stage, Timetable, next_moment, upgrades_allowed,
};
use jiff::{SignedDuration, Timestamp};

use crate::stage_sample::{StageEnd, StageSampler};
use crate::start_times::RememberedTimes;
use queues::Queues;
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
    /// The start times of clusters with the same timetable, by the number that clusters have of it: before they start, and after that.
    start_times: Vec<RememberedTimes<'a>>,
    queues: Queues,
    state: State,
}

impl<'a> Simulation<'a> {
    /// Runs of what this input shows.
    pub fn new(forecast_input: &'a ForecastInput) -> Self {
        let spec = &forecast_input.spec;
        let timetables = timetables(forecast_input);
        let of_cluster = |index: &usize| number(&timetables, forecast_input.clusters[*index].timetable);
        Self {
            queues: Queues::new(timetables.len(), forecast_input.queue.iter().map(of_cluster)),
            forecast_input,
            limit: spec.strategy.slots(forecast_input.inputs.selected),
            timeouts: Stage::ALL.map(|stage| stage.timeout(spec).unwrap_or(SignedDuration::MAX)),
            start_times: timetables
                .iter()
                .map(|timetable| {
                    let times = &spec.strategy.start_times;
                    RememberedTimes::new(times, *timetable, timetables.len(), forecast_input.now)
                })
                .collect(),
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
        for times in &mut self.start_times {
            times.rewind();
        }
        let forecast_input = self.forecast_input;
        let timetables = timetables(forecast_input);
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
        self.queues.restart();
        state.last_end = forecast_input.now;
        state.failed = 0;
        state.most_in_flight = forecast_input.inputs.in_flight;
        state.waited = [0; 4];
        for (index, seen) in (0..).zip(&forecast_input.clusters) {
            let once_started = number(&timetables, seen.timetable.once_started());
            let cluster = self.state.place(index, seen, once_started);
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
            for times in &mut self.start_times {
                times.look(now);
            }
            let queue = &self.forecast_input.queue;
            let (queues, start_times, clusters) = (&mut self.queues, &self.start_times, &state.clusters);
            let awaits_canaries = state.inputs.complete_canaries < state.inputs.awaited_canaries;
            let halt = HaltKind::of(spec, &state.inputs, now, || {
                queues.rewind(|_| true, |place| clusters[queue[place]].waits);
                // Canaries come first: behind another cluster there is none.
                let next = queues.heads();
                let next = next.filter(|(_, place)| !awaits_canaries || clusters[queue[*place]].canary);
                Opening::combined(next.map(|(timetable, _)| start_times[timetable].opening()))
            });
            let continues = self.continues();
            if halt.is_none() {
                self.fill_slots();
            }
            if self.state.starting.is_empty() && continues == 0 && self.state.is_settled() {
                return halt;
            }
            self.carry_out(continues, draws);
        }
    }

    /// How many clusters continue now whose upgrade follows on their action: they are put first.
    fn continues(&mut self) -> usize {
        let state = &mut self.state;
        let is_closed = |index: u32| {
            let timetable = state.clusters[index as usize].once_started;
            !self.start_times[timetable].opening().is_open()
        };
        let mut continuing = std::mem::take(&mut state.continuing);
        continuing.sort_unstable_by_key(|(is_other, started, index)| {
            (is_closed(*index), *is_other, *started, *index)
        });
        let open = continuing.partition_point(|(_, _, index)| !is_closed(*index));
        state.inputs.closed = continuing.len() - open;
        state.continuing = continuing;
        open.min(upgrades_allowed(self.limit, &state.inputs))
    }

    /// Finds the clusters whose turn it is.
    fn fill_slots(&mut self) {
        let state = &mut self.state;
        let queue = &self.forecast_input.queue;
        let mut free_slots = FreeSlots::new(self.limit, &state.inputs);
        let is_open = |timetable: usize| self.start_times[timetable].opening().is_open();
        self.queues
            .rewind(is_open, |place| state.clusters[queue[place]].waits);
        while let Some(place) = self.queues.head() {
            match free_slots.of(true, !state.clusters[queue[place]].canary) {
                SlotDecision::Starts => free_slots.take(true),
                // Canaries come first, so that all behind it wait as well.
                SlotDecision::Waits | SlotDecision::NoSlotLeft => break,
            }
            state.starting.push(place);
            self.queues.advance(|place| state.clusters[queue[place]].waits);
        }
    }

    /// What one decision brings about.
    fn carry_out(&mut self, continues: usize, draws: &impl StageSampler) {
        let state = &mut self.state;
        std::mem::swap(&mut state.ending, &mut state.committing);
        std::mem::swap(&mut state.advancing, &mut state.entering);
        while let Some(cluster) = state.recording.pop() {
            state.wait_again(cluster);
            self.queues.restart();
        }
        while let Some((cluster, failed)) = state.committing.pop() {
            state.commit(cluster, failed);
        }
        if continues > 0 {
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
        let opening = |timetable: usize| self.start_times[timetable].opening();
        // That start times close changes nothing by itself.
        let opens = |timetable: usize| {
            let opening = opening(timetable);
            opening.changes().filter(|_| !opening.is_open())
        };
        let queue = &self.forecast_input.queue;
        let waits = |place: usize| state.clusters[queue[place]].waits;
        let awaits_canaries = state.inputs.complete_canaries < state.inputs.awaited_canaries;
        let mut of_waiting = None;
        if halt.is_none() && state.inputs.startable > 0 {
            self.queues
                .rewind(|timetable| !opening(timetable).is_open(), waits);
            let heads = self.queues.heads();
            // Canaries come first: behind another cluster there is none.
            let may_start =
                heads.filter(|(_, place)| !awaits_canaries || state.clusters[queue[*place]].canary);
            of_waiting = may_start.filter_map(|(timetable, _)| opens(timetable)).min();
        }
        let of_continuing = || {
            let continuing = state.continuing.iter();
            let timetables = continuing.map(|(_, _, index)| state.clusters[*index as usize].once_started);
            timetables.filter_map(opens).min()
        };
        let halt = halt.filter(|_| state.inputs.startable > 0);
        let by_rule = next_moment(halt, || of_waiting, of_continuing);
        event.into_iter().chain(by_rule).min()
    }

    fn wait_until(&mut self, next: Timestamp, halt: Option<&HaltKind>) {
        let state = &mut self.state;
        let seconds = next.duration_since(state.now).as_secs();
        state.now = next;
        let queue = &self.forecast_input.queue;
        let waits = |place: usize| state.clusters[queue[place]].waits;
        let is_open = |timetable: usize| self.start_times[timetable].opening().is_open();
        self.queues.rewind(is_open, waits);
        let next_open = self.queues.head();
        self.queues.rewind(|_| true, waits);
        if self.queues.head().is_none() {
            return;
        }
        let wait = match (halt, next_open) {
            (Some(HaltKind::CanarySoaking { .. }), _) => Wait::Soak,
            (Some(HaltKind::AwaitingStartWindow { .. } | HaltKind::Frozen { .. }), _) | (None, None) => {
                Wait::Window
            }
            (Some(_), _) => return,
            (None, Some(place))
                if !state.clusters[queue[place]].canary
                    && state.inputs.complete_canaries < state.inputs.awaited_canaries =>
            {
                Wait::Canaries
            }
            (None, Some(_)) => Wait::Slots,
        };
        state.waited[wait as usize] += seconds;
    }

    /// Why no cluster may start any more, by the start times.
    fn closed(&self) -> StopCause {
        let times = &self.forecast_input.spec.strategy.start_times;
        match times.calendar() {
            Some(FreezeCalendar::Unreadable(_)) => StopCause::FreezeCalendarUnreadable,
            Some(FreezeCalendar::Read(_)) | None => StopCause::NoWindowOpens,
        }
    }

    /// Why it stops at clusters that cannot start: other upgrades that have all of them, or have left them half done, end there some time, and
    /// then they start.
    fn blocked(&self, cause: StopCause, counts: impl Fn(&ClusterProgress) -> bool) -> StopCause {
        let clusters = self.forecast_input.clusters.iter();
        let counted = clusters.filter(|cluster| counts(cluster));
        let mut blocked = counted.filter_map(ClusterProgress::blocked_by);
        let is_taken = |reason: &Reason| {
            matches!(
                reason,
                Reason::OwnedByAnotherUpgrade(_) | Reason::ReplacingOldWork
            )
        };
        let all_are_taken = blocked.next().is_some_and(is_taken) && blocked.all(is_taken);
        if all_are_taken {
            StopCause::OwnedByAnotherUpgrade
        } else {
            cause
        }
    }

    fn outcome(&self, halt: Option<&HaltKind>, is_too_long: bool) -> RunOutcome {
        let state = &self.state;
        let left = state.inputs.startable;
        let is_done = left == 0 && state.continuing.is_empty() && state.events.is_empty();
        let cause = match halt {
            _ if is_done && state.inputs.pending == 0 => None,
            _ if is_too_long && !is_done => Some(StopCause::TooLong),
            // Whatever comes of those that cannot start now, none of them starts.
            Some(HaltKind::CanaryFailed) => Some(StopCause::CanaryFailed),
            Some(HaltKind::NoCanaryMatched) => Some(StopCause::NoCanaryMatched),
            Some(HaltKind::FailureBudgetSpent { .. }) => Some(StopCause::FailureBudgetSpent),
            _ if is_done => Some(self.blocked(StopCause::ClustersBlocked, |_| true)),
            Some(HaltKind::Paused) => Some(StopCause::Paused),
            Some(HaltKind::CanarySoaking { .. }) => Some(StopCause::CanaryUnhealthy),
            Some(HaltKind::AwaitingStartWindow { .. } | HaltKind::Frozen { .. }) => Some(self.closed()),
            None if left == 0 => Some(self.closed()),
            None if state.inputs.complete_canaries < state.inputs.awaited_canaries => {
                Some(self.blocked(StopCause::CanaryBlocked, |cluster| cluster.canary))
            }
            None => Some(self.closed()),
        };
        let strategy = &self.forecast_input.spec.strategy;
        let budget = strategy.failure_budget(state.inputs.selected);
        let spends_budget = budget.is_some_and(|budget| state.inputs.failures >= budget);
        let ended = state
            .clusters
            .iter()
            .filter(|cluster| cluster.times.started.is_some() && cluster.times.ended.is_some());
        let (ended, failed) = ended.fold((0, 0), |(ended, failed), cluster| {
            (ended + 1, failed + usize::from(cluster.times.failed))
        });
        RunOutcome {
            end: state.last_end,
            stop: cause,
            is_over: is_done && state.last_end > self.forecast_input.now,
            fails: spends_budget || (ended > 0 && failed == ended),
            failed: state.failed,
            left,
            most_in_flight: state.most_in_flight,
            waited: state.waited,
        }
    }
}

/// The timetables that clusters of the rollout have, in their order.
fn timetables(forecast_input: &ForecastInput) -> Vec<Timetable> {
    let all = forecast_input.clusters.iter().map(|cluster| cluster.timetable);
    let all = all.flat_map(|timetable| [timetable, timetable.once_started()]);
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The number of a timetable among all of the rollout.
fn number(timetables: &[Timetable], timetable: Timetable) -> usize {
    timetables.binary_search(&timetable).unwrap_or_default()
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
