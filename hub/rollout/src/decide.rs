//! The decision: what is to be done about an upgrade, from all that is observed.

mod report;

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;
use drydock_names::names::WorkKind;
use jiff::{SignedDuration, Timestamp};

use crate::assess::{Assessment, ClusterView, Context, NextWrite, PreCheckStep, StartKind, Step, assess};
use crate::slots::{self, Filled, fill_slots, halt};
use crate::totals::Totals;
use crate::{
    Action, ClusterRow, Enforcement, Finish, Halt, Observed, OwnPlacement, Plan, PreChecksMode, Rollout,
    deletion, pages,
};

/// How many clusters one plan asks: what else is to be done waits as long.
const ASKED_AT_ONCE: usize = 128;

/// Decides what is to be done about an upgrade.
///
/// The same observation and moment always give the same plan, and a plan that has been carried out is not given again. This looks at
/// every cluster; [`crate::Decider`] gives the same plans and looks only at those that have changed.
pub fn decide(observed: &Observed, now: Timestamp) -> Plan {
    let Observed { rollout, rows } = observed;
    let context = Context::of(rollout);
    let assessments: BTreeMap<ClusterName, Box<Assessment>> = rows
        .iter()
        .map(|(name, row)| (name.clone(), Box::new(assess(&context, name, row, now))))
        .collect();
    let mut totals = Totals::default();
    for (name, assessment) in &assessments {
        totals.add(name, assessment);
    }
    let fleet = AssessedFleet {
        rollout,
        context: &context,
        rows,
        assessments: &assessments,
        totals: &totals,
    };
    fleet.plan(now, &|_| false)
}

/// All that a plan is made of.
pub(crate) struct AssessedFleet<'a> {
    pub rollout: &'a Rollout,
    pub context: &'a Context,
    pub rows: &'a BTreeMap<ClusterName, Box<ClusterRow>>,
    /// Boxed: a tree of them by value is half empty.
    pub assessments: &'a BTreeMap<ClusterName, Box<Assessment>>,
    pub totals: &'a Totals,
}

impl AssessedFleet<'_> {
    /// The plan for this moment. Clusters that are taken are not started.
    pub fn plan(&self, now: Timestamp, is_taken: &dyn Fn(&ClusterName) -> bool) -> Plan {
        if self.rollout.upgrade.deleting {
            return deletion::decide(self.rollout, self.rows, now);
        }
        let frozen = is_frozen(self.rollout);
        let halt = halt(self.rollout, self.totals, now);
        let filled = self.fill(halt.as_ref(), now, is_taken);
        let (asks, more_to_ask) = self.asks(&filled, frozen, now);
        let mut actions = self.actions(&filled, asks, frozen, now);
        if !self.rollout.upgrade.finalizer {
            actions = vec![Action::AddFinalizer];
        }
        let starts = actions.iter().filter_map(Action::starts);
        let starting = starts.filter(|name| !self.is_in_flight(name)).count();
        let wake = slots::wake(self.rollout, self.totals, halt.as_ref(), now);
        let deadline = self.totals.deadlines.first().map(|(moment, _)| *moment);
        let mut report = self.report(&filled, starting, frozen, now);
        report.halt = halt;
        report.attention = self.attention(&report, &filled, now);
        report.first_wait = self.first_wait(&report, now);
        Plan {
            actions,
            wake: wake
                .into_iter()
                .chain(deadline)
                .chain(self.records_due(now))
                .chain(self.begins_with_records().then(|| at_once(now)))
                .chain(more_to_ask.then(|| at_once(now)))
                .min(),
            report,
        }
    }

    fn is_in_flight(&self, name: &ClusterName) -> bool {
        let status = self.assessments.get(name).and_then(|found| found.status.as_ref());
        status.is_some_and(|status| status.state.in_flight())
    }

    fn cluster<'a>(&'a self, name: &'a ClusterName, now: Timestamp) -> Option<ClusterView<'a>> {
        Some(ClusterView::new(self.context, name, self.rows.get(name)?, now))
    }

    /// What is to be done, in this order: questions may take long, and nothing waits for them.
    fn actions(&self, filled: &Filled, asks: Vec<Action>, frozen: bool, now: Timestamp) -> Vec<Action> {
        let mut actions = own_placement(self.rollout);
        let acting = self.totals.acting.iter().chain(&filled.continues);
        for name in acting {
            if let (Some(cluster), Some(Step::Continue(next))) = (self.cluster(name, now), self.step(name)) {
                actions.extend(next.iter().filter_map(|next| cluster.action(next)));
            }
        }
        let since = self.context.since.unwrap_or_else(|| rollout_begins(now));
        for name in filled.starts.iter().filter(|_| !frozen) {
            if let Some(cluster) = self.cluster(name, now) {
                actions.extend(self.start(&cluster, since));
            }
        }
        actions.extend(self.records(since, now));
        actions.extend(self.asked_and_done());
        actions.extend(asks);
        let all = &self.totals.all;
        let settled = self.rollout.spec.is_ok()
            && !has_selection_problem(self.rollout)
            && all.total > 0
            && all.complete + all.failed == all.total;
        actions.extend(self.taken_back());
        if frozen || settled {
            actions.extend(self.disposals());
        }
        actions
    }

    /// Works of questions that have served.
    fn asked_and_done(&self) -> impl Iterator<Item = Action> {
        self.totals.asked_and_done.iter().filter_map(|name| {
            let Some(PreCheckStep::Delete(uid)) = &self.assessments.get(name)?.pre_checks else {
                return None;
            };
            Some(Action::DeletePreChecks {
                cluster: name.clone(),
                uid: uid.clone(),
            })
        })
    }

    /// Which clusters get slots. Where answers are required none starts before all have been asked once, whether they could be or not.
    pub(crate) fn fill(
        &self,
        halt: Option<&Halt>,
        now: Timestamp,
        is_taken: &dyn Fn(&ClusterName) -> bool,
    ) -> Filled {
        let mut filled = fill_slots(self.rollout, self.totals, halt, now, is_taken);
        if self.awaits_questions() {
            filled.starts.clear();
        }
        filled
    }

    /// Whether answers are required, and clusters are still to be asked for the first time.
    fn awaits_questions(&self) -> bool {
        let spec = self.rollout.spec.as_ref();
        spec.is_ok_and(|spec| spec.pre_checks.mode == PreChecksMode::Require)
            && self.never_asked().next().is_some()
    }

    /// Clusters that are to be asked, and that nobody has tried to ask yet.
    fn never_asked(&self) -> impl Iterator<Item = &ClusterName> {
        self.totals.to_ask.iter().filter(|name| !self.was_asked(name))
    }

    fn was_asked(&self, name: &ClusterName) -> bool {
        let row = self.rows.get(name);
        row.is_some_and(|row| row.pre_checks.is_some() || row.pre_check_write.is_some())
    }

    /// Questions to clusters, first to those that were never asked, and whether there are more of them than one plan asks. A cluster that
    /// starts with this plan is not asked: its answer would come too late, and nobody waits for it.
    fn asks(&self, filled: &Filled, frozen: bool, now: Timestamp) -> (Vec<Action>, bool) {
        if frozen || has_selection_problem(self.rollout) {
            return (Vec::new(), false);
        }
        let starts: BTreeSet<&ClusterName> = filled.starts.iter().collect();
        let again = self.totals.to_ask.iter().filter(|name| self.was_asked(name));
        let asked = self
            .never_asked()
            .chain(again)
            .filter(|name| !starts.contains(name));
        let mut asks = asked.filter_map(|name| {
            let step = self.assessments.get(name)?.pre_checks.as_ref()?;
            self.cluster(name, now)?.pre_check_ask(step)
        });
        let first = asks.by_ref().take(ASKED_AT_ONCE);
        let first = first.map(|ask| Action::AskPreChecks(Box::new(ask))).collect();
        (first, asks.next().is_some())
    }

    fn step(&self, name: &ClusterName) -> Option<&Step> {
        self.assessments.get(name).map(|assessment| &assessment.step)
    }

    fn start(&self, cluster: &ClusterView<'_>, since: Timestamp) -> Vec<Action> {
        let Some(Step::Start(start)) = self.step(cluster.name) else {
            return Vec::new();
        };
        if !start.deletes.is_empty() {
            let deletes = start.deletes.iter();
            return deletes
                .filter_map(|kind| cluster.action(&NextWrite::Delete(*kind)))
                .collect();
        }
        let first = match start.kind {
            StartKind::ByReopening => cluster
                .reopened()
                .zip(cluster.main())
                .map(|(revision, (_, work))| Action::ReopenWork {
                    cluster: cluster.name.clone(),
                    uid: work.uid.clone(),
                    revision: Box::new(revision),
                }),
            kind => {
                let generation = self.rollout.upgrade.generation;
                let work = cluster.first_work(kind, generation, since);
                work.map(|work| Action::CreateWork(Box::new(work)))
            }
        };
        first.into_iter().collect()
    }

    /// When a refused write of records is tried again.
    fn records_due(&self, now: Timestamp) -> Option<Timestamp> {
        let refused = self.rollout.page_refusal.as_ref()?;
        let is_awaited = !self.totals.unrecorded.is_empty()
            || self.at_target().is_some()
            || self.adopted().next().is_some();
        (is_awaited && refused.next > now).then_some(refused.next)
    }

    /// Pages that the upgrade has under an earlier uid.
    fn adopted(&self) -> impl Iterator<Item = &crate::RecordPage> {
        let upgrade = &self.rollout.upgrade;
        self.rollout.pages.iter().filter(|page| {
            let header = &page.header;
            header.owner.uid != upgrade.uid && !header.closed && upgrade.owns(&header.owner)
        })
    }

    /// Clusters that need nothing, and are on no page yet: their end is committed there, once the rollout has begun, there is nothing
    /// else to do in it, or canaries soak from then on.
    fn at_target(&self) -> Option<&BTreeSet<ClusterName>> {
        let rollout = self.rollout;
        let acts = !is_frozen(rollout)
            && rollout.spec.as_ref().is_ok_and(|spec| !spec.paused)
            && !has_selection_problem(rollout);
        let has_begun = self.context.since.is_some() || is_all_complete(self.totals) || self.begins_to_soak();
        let at_target = &self.totals.at_target;
        (acts && has_begun && !at_target.is_empty()).then_some(at_target)
    }

    /// All canaries are complete, and some of them were so before.
    fn begins_to_soak(&self) -> bool {
        let spec = self.rollout.spec.as_ref();
        let soaks = spec.is_ok_and(|spec| !spec.strategy.soak.is_zero());
        let (awaited, complete) = self.totals.awaited_canaries;
        soaks && complete >= awaited && self.totals.unrecorded_canaries > 0
    }

    /// A rollout in which no cluster needs anything, or no canary does, begins with this plan; its records follow at once.
    fn begins_with_records(&self) -> bool {
        self.context.since.is_none() && self.at_target().is_some()
    }

    /// Outcomes that are on no page yet, while pages can be written.
    fn records(&self, since: Timestamp, now: Timestamp) -> Vec<Action> {
        let refused = self.rollout.page_refusal.as_ref();
        if refused.is_some_and(|refusal| refusal.next > now) {
            return Vec::new();
        }
        let at_target = self.at_target().filter(|_| self.context.since.is_some());
        let names = self
            .totals
            .unrecorded
            .iter()
            .chain(at_target.into_iter().flatten());
        let entries = names.filter_map(|name| {
            let unrecorded = self.assessments.get(name)?.unrecorded.as_ref()?;
            self.cluster(name, now)?.entry(unrecorded, since)
        });
        let mut actions = pages::write(self.rollout, entries.collect());
        let written: BTreeSet<_> = actions
            .iter()
            .filter_map(|action| match action {
                Action::WritePage(write) => Some(write.name.clone()),
                _ => None,
            })
            .collect();
        actions.extend(
            self.adopted()
                .filter(|page| !written.contains(&page.name))
                .map(|page| Action::MarkPage {
                    name: page.name.clone(),
                    closed: false,
                }),
        );
        actions
    }

    /// Works by which an upgrade that has failed could still begin.
    fn taken_back(&self) -> impl Iterator<Item = Action> {
        let kind = WorkKind::Cluster;
        self.totals.taken_back.iter().filter_map(move |name| {
            Some(Action::DeleteWork {
                cluster: name.clone(),
                kind,
                uid: self.rows.get(name)?.works.get(kind)?.uid.clone(),
            })
        })
    }

    /// Works of actions that have served.
    fn disposals(&self) -> impl Iterator<Item = Action> {
        self.totals.disposable.iter().flat_map(|name| {
            let assessment = self.assessments.get(name);
            let works = self.rows.get(name).map(|row| &row.works);
            let kinds = assessment.map_or(&[][..], |assessment| &assessment.disposable);
            kinds.iter().filter_map(move |kind| {
                Some(Action::DeleteWork {
                    cluster: name.clone(),
                    kind: *kind,
                    uid: works?.get(*kind)?.uid.clone(),
                })
            })
        })
    }
}

impl ClusterView<'_> {
    /// The write that a step asks for.
    fn action(&self, next: &NextWrite) -> Option<Action> {
        let cluster = self.name.clone();
        let uid = |kind| Some(self.row.works.get(kind)?.uid.clone());
        let main = WorkKind::Cluster;
        Some(match next {
            NextWrite::Create(stage) => Action::CreateWork(Box::new(self.next_work(*stage)?)),
            NextWrite::Finish(kind, ending) => Action::FinishWork(Box::new(Finish {
                cluster,
                kind: *kind,
                uid: uid(*kind)?,
                method: self
                    .row
                    .works
                    .get(*kind)
                    .and_then(|work| Some(work.revision.as_ref()?.method)),
                outcome: ending.outcome,
                reason: ending.reason,
                message: ending.message.clone(),
                started_at: self
                    .lead()
                    .map_or(self.present.now(), |(_, lead)| lead.attempt_since()),
                at: self.present.now(),
                retry: self.retry(),
                unverified: ending.unverified,
            })),
            NextWrite::Enforce => Action::EnforceWork {
                cluster,
                uid: uid(main)?,
                revision: Box::new(self.revised(Enforcement::Enforced)?),
            },
            NextWrite::SetChannel(channel) => {
                let enforcement = match channel {
                    Some(_) => Enforcement::ChannelOnly,
                    None => Enforcement::Enforced,
                };
                Action::SetChannel {
                    cluster,
                    uid: uid(main)?,
                    revision: Box::new(self.revised(enforcement)?),
                    channel: channel.clone(),
                }
            }
            NextWrite::Delete(kind) => Action::DeleteWork {
                cluster,
                kind: *kind,
                uid: uid(*kind)?,
            },
            NextWrite::Label(kind) => Action::LabelWork {
                cluster,
                kind: *kind,
                uid: uid(*kind)?,
                has_ended: self
                    .row
                    .works
                    .get(*kind)
                    .is_some_and(|work| work.outcome.is_some()),
            },
            NextWrite::Confirm(kind) => Action::ConfirmWork { cluster, kind: *kind },
        })
    }
}

/// A complete upgrade no longer follows the fleet, until its spec changes.
pub(crate) fn is_frozen(rollout: &Rollout) -> bool {
    let previous = &rollout.previous;
    previous.complete
        && rollout.spec.is_ok()
        && previous.observed_generation == Some(rollout.upgrade.generation)
}

/// The next moment after this one.
fn at_once(now: Timestamp) -> Timestamp {
    now.saturating_add(SignedDuration::from_millis(1))
        .unwrap_or(Timestamp::MAX)
}

fn has_selection_problem(rollout: &Rollout) -> bool {
    let mut sources = rollout.selection.sources.iter();
    sources.any(|source| source.problem.is_some())
}

fn is_all_complete(totals: &Totals) -> bool {
    totals.all.complete == totals.all.total && totals.channels_pending == 0
}

fn own_placement(rollout: &Rollout) -> Vec<Action> {
    let Ok(spec) = &rollout.spec else {
        return Vec::new();
    };
    let selection = &rollout.selection;
    let mut actions = Vec::new();
    if let (Some(own), OwnPlacement::Absent | OwnPlacement::Stale) = (&spec.own_placement, selection.own) {
        actions.push(Action::ApplyPlacement(own.clone()));
    }
    // An earlier one goes when the new one's decisions are whole.
    if selection.sources.iter().all(|source| source.problem.is_none()) {
        let earlier = selection.superseded.iter().cloned();
        actions.extend(earlier.map(Action::DeletePlacement));
    }
    actions
}

/// The moment of a rollout that begins now, in whole seconds: the status cannot say it finer, and rollouts are ordered by it.
fn rollout_begins(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
