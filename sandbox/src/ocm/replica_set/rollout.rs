//! Which clusters get their work now: the rules of Open Cluster Management's rollout library, with what was measured to be
//! odd in them (fleet reference 2).

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::groups::Groups;
use super::standing::{Standing, State};
use super::strategy::{Pace, Size, Strategy};

/// The next step of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout {
    /// The clusters whose turn it is; of these the ones to apply get their work.
    pub under_way: Vec<Standing>,
    /// The clusters that are past their deadline.
    pub timed_out: Vec<String>,
    /// The clusters that have a work and are selected no more.
    pub removed: Vec<String>,
    /// Whether it stopped because too many failed.
    pub breached: bool,
    /// When to look again although nothing changes: the end of a soak, or a deadline.
    pub recheck: Option<Timestamp>,
}

impl Rollout {
    /// Decides, from the groups of a Placement and the clusters that have a work.
    pub fn next(strategy: &Strategy, groups: &Groups, standings: Vec<Standing>, now: Timestamp) -> Self {
        let selected = groups.clusters();
        let (standings, removed): (Vec<Standing>, Vec<Standing>) = standings
            .into_iter()
            .partition(|standing| selected.contains(standing.cluster.as_str()));
        let mut rollout = match strategy {
            Strategy::All(pace) => {
                let all = selected.len();
                Walk::new(pace, now).through_clusters(groups, all, all, standings)
            }
            Strategy::Progressive {
                pace,
                concurrency,
                failures,
            } => {
                let failures = failures.of(selected.len(), 0);
                let (mandatory, others) = groups.split(&pace.mandatory);
                first(pace, &mandatory, &standings, now).unwrap_or_else(|| {
                    let all = others.clusters().len();
                    let at_once = concurrency.of(all, all);
                    Walk::new(pace, now).through_clusters(&others, at_once, failures, standings)
                })
            }
            Strategy::PerGroup { pace, failures } => {
                let (mandatory, others) = groups.split(&pace.mandatory);
                first(pace, &mandatory, &standings, now)
                    .unwrap_or_else(|| Walk::new(pace, now).through_groups(&others, *failures, standings))
            }
        };
        rollout.removed = removed.into_iter().map(|standing| standing.cluster).collect();
        rollout
    }
}

/// The step within the mandatory groups; none once they are through.
fn first(pace: &Pace, mandatory: &Groups, standings: &[Standing], now: Timestamp) -> Option<Rollout> {
    let rollout = Walk::new(pace, now).through_groups(mandatory, Size::Count(0), standings.to_vec());
    let is_through = rollout.under_way.is_empty() && rollout.timed_out.is_empty();
    (!mandatory.0.is_empty() && !is_through).then_some(rollout)
}

/// A way through the clusters, as far as it has come.
struct Walk<'p> {
    pace: &'p Pace,
    now: Timestamp,
    rollout: Rollout,
}

impl<'p> Walk<'p> {
    fn new(pace: &'p Pace, now: Timestamp) -> Self {
        Self {
            pace,
            now,
            rollout: Rollout::default(),
        }
    }

    /// By name, so many at a time. A failure counts only if the clusters before it in the alphabet left a place, and one that
    /// has no deadline keeps its place for ever.
    fn through_clusters(
        mut self,
        groups: &Groups,
        at_once: usize,
        failures_allowed: usize,
        mut standings: Vec<Standing>,
    ) -> Rollout {
        standings.sort_by(|one, other| one.cluster.cmp(&other.cluster));
        let known: BTreeSet<String> = standings
            .iter()
            .map(|standing| standing.cluster.clone())
            .collect();
        let mut failures = 0;
        for standing in standings {
            let mut state = standing.state;
            if !self.rollout.breached || state != State::ToApply {
                state = self.take(standing);
            }
            if is_failure(state) {
                failures += 1;
                self.rollout.breached = failures > failures_allowed;
            }
            if self.rollout.under_way.len() >= at_once {
                return self.rollout;
            }
        }
        if self.rollout.breached {
            return self.rollout;
        }
        for cluster in groups.clusters() {
            if known.contains(cluster) {
                continue;
            }
            self.rollout.under_way.push(Standing::to_apply(cluster));
            if self.rollout.under_way.len() >= at_once {
                break;
            }
        }
        self.rollout
    }

    /// One group after the other. A cluster that is past its deadline is no longer under way, yet is taken off once more: the
    /// next group begins while the others of this one are still on their way.
    fn through_groups(
        mut self,
        groups: &Groups,
        failures_allowed: Size,
        standings: Vec<Standing>,
    ) -> Rollout {
        let mut known = BTreeMap::new();
        for standing in standings {
            if standing.state != State::ToApply {
                let cluster = standing.cluster.clone();
                known.insert(cluster, self.take(standing));
            }
        }
        let mut failures = 0;
        for group in &groups.0 {
            let allowed = failures_allowed.of(group.clusters.len(), 0);
            let mut failed = 0;
            for cluster in &group.clusters {
                match known.get(cluster) {
                    Some(state) if is_failure(*state) => {
                        failed += 1;
                        self.rollout.breached = failed > allowed;
                    }
                    Some(_) => {}
                    None => self.rollout.under_way.push(Standing::to_apply(cluster)),
                }
            }
            failures += failed;
            if self.rollout.under_way.len() > failures || self.rollout.breached {
                break;
            }
        }
        self.rollout
    }

    /// Takes a cluster that has a work into account, and says how it stands by now.
    fn take(&mut self, standing: Standing) -> State {
        let state = standing.state;
        let until = match state {
            State::TimedOut => return State::TimedOut,
            State::ToApply => None,
            State::Succeeded => {
                let soaks_until = self.after(standing.since, self.pace.soak);
                if soaks_until <= self.now {
                    return State::Succeeded;
                }
                Some(soaks_until)
            }
            State::Progressing | State::Failed => {
                let deadline = self.pace.deadline;
                let until = deadline.map(|deadline| self.after(standing.since, deadline));
                if until.is_some_and(|until| until <= self.now) {
                    self.rollout.timed_out.push(standing.cluster);
                    return State::TimedOut;
                }
                until
            }
        };
        self.rollout.recheck = [self.rollout.recheck, until].into_iter().flatten().min();
        self.rollout.under_way.push(standing);
        state
    }

    /// Where it is not known since when, the time begins anew at each look.
    fn after(&self, since: Option<Timestamp>, duration: SignedDuration) -> Timestamp {
        since
            .unwrap_or(self.now)
            .checked_add(duration)
            .unwrap_or(Timestamp::MAX)
    }
}

fn is_failure(state: State) -> bool {
    matches!(state, State::Failed | State::TimedOut)
}
