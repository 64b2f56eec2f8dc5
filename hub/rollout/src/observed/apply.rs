//! What an action does to what is observed: the one place that says so. Properties, forecasts and the hub's own cache use it.

use std::sync::Arc;

use drydock_names::names::WorkKind;
use jiff::Timestamp;

use super::{
    ActionJob, ActionJobState, Applied, AttemptOutcome, EntryPlace, Observed, OwnPlacement, RecordPage,
    RecordPageHeader, RecordedEntry, Uid, Upgrade, UpgradeMethod, VersionFeedback, Work, WorkFeedback, Works,
};
use crate::{Action, Finish, KnownAnswer, NewWork, PreCheckAsk, PreCheckWork, RecordPageWrite};

/// A work as an action leaves it; `None` if it is gone.
pub type WorkAfter = (WorkKind, Option<Arc<Work>>);

impl Action {
    /// The work that this action changes, as it is afterwards; nothing for an action that changes none. `uid` is that of a new work.
    pub fn work_after(
        &self,
        works: &Works,
        upgrade: &Upgrade,
        uid: &Uid,
        now: Timestamp,
    ) -> Option<WorkAfter> {
        let changed = |kind: WorkKind, change: &dyn Fn(&mut Work)| {
            let mut work = (**works.get(kind)?).clone();
            change(&mut work);
            Some((kind, Some(Arc::new(work))))
        };
        match self {
            Self::CreateWork(new) => Some((new.kind, Some(Arc::new(new_work(new, upgrade, uid, now))))),
            Self::FinishWork(finish) => changed(finish.kind, &|work| {
                work.outcome = Some(Arc::new(outcome(finish)));
            }),
            Self::ReopenWork { revision, .. } => changed(WorkKind::Cluster, &|work| {
                work.revision = Some(Arc::new((**revision).clone()));
                work.outcome = None;
            }),
            Self::EnforceWork { revision, .. } | Self::SetChannel { revision, .. } => {
                changed(WorkKind::Cluster, &|work| {
                    work.revision = Some(Arc::new((**revision).clone()));
                    work.applied = Applied::Unknown;
                })
            }
            Self::LabelWork { kind, .. } => changed(*kind, &|work| {
                work.labelled = true;
                work.owner = upgrade.as_owner();
            }),
            Self::DeleteWork { kind, .. } => changed(*kind, &|work| work.deleting = true),
            Self::AddFinalizer
            | Self::RemoveFinalizer
            | Self::ApplyPlacement(_)
            | Self::DeletePlacement(_)
            | Self::ConfirmWork { .. }
            | Self::AskPreChecks(_)
            | Self::DeletePreChecks { .. }
            | Self::WritePage(_)
            | Self::MarkPage { .. } => None,
        }
    }
}

fn new_work(new: &NewWork, upgrade: &Upgrade, uid: &Uid, now: Timestamp) -> Work {
    let runs = || {
        vec![ActionJob {
            name: "Job".into(),
            state: ActionJobState::Running,
        }]
    };
    Work {
        uid: uid.clone(),
        owner: upgrade.as_owner(),
        created: now,
        deleting: false,
        labelled: true,
        revision: Some(Arc::new(new.revision.clone())),
        outcome: None,
        applied: Applied::Unknown,
        available: false,
        degraded: None,
        feedback: match (new.kind, new.revision.method) {
            (WorkKind::Pre | WorkKind::Post | WorkKind::Operators, _) => WorkFeedback::ActionJobs(runs()),
            (WorkKind::Cluster, UpgradeMethod::Agent) => WorkFeedback::Agent(Box::default()),
            (WorkKind::Cluster, UpgradeMethod::ClusterVersion) => {
                WorkFeedback::ClusterVersion(VersionFeedback::default())
            }
        },
    }
}

fn outcome(finish: &Finish) -> AttemptOutcome {
    AttemptOutcome {
        state: finish.outcome,
        reason: finish.reason.into(),
        message: Arc::clone(&finish.message),
        at: Some(finish.at),
        retry: finish.retry.clone(),
    }
}

impl Observed {
    /// Carries an action out, as the API server would and as the work agent follows on a deletion at once.
    pub fn apply(&mut self, action: &Action, now: Timestamp) {
        match action {
            Action::AddFinalizer => self.rollout.upgrade.finalizer = true,
            Action::RemoveFinalizer => self.rollout.upgrade.finalizer = false,
            Action::ApplyPlacement(_) => self.rollout.selection.own = OwnPlacement::Current,
            Action::DeletePlacement(key) => {
                self.rollout.selection.superseded.remove(key);
            }
            Action::WritePage(write) => self.write_page(write),
            Action::MarkPage { name, closed } => self.mark_page(name, *closed),
            Action::ConfirmWork { cluster, kind } => {
                if let Some(row) = self.rows.get_mut(cluster) {
                    row.unconfirmed.remove(kind);
                }
            }
            Action::AskPreChecks(ask) => self.ask(ask),
            Action::DeletePreChecks { cluster, .. } => {
                if let Some(row) = self.rows.get_mut(cluster) {
                    row.pre_checks = None;
                }
            }
            Action::CreateWork(_)
            | Action::FinishWork(_)
            | Action::ReopenWork { .. }
            | Action::EnforceWork { .. }
            | Action::SetChannel { .. }
            | Action::LabelWork { .. }
            | Action::DeleteWork { .. } => self.change_work(action, now),
        }
    }

    fn ask(&mut self, ask: &PreCheckAsk) {
        let row = self.rows.entry(ask.cluster.clone()).or_default();
        if ask.question.yields {
            if let Some(work) = &mut row.pre_checks {
                Arc::make_mut(work).question = Some(Arc::new(ask.question.clone()));
            }
            return;
        }
        let asks_same = |work: &&Arc<PreCheckWork>| {
            let asked = work.question.as_ref();
            asked.is_some_and(|asked| asked.is_about_same(&ask.question))
        };
        let before = row.pre_checks.as_ref().filter(asks_same);
        let answer = before.map_or(KnownAnswer::None, |work| work.answer.before());
        let without_image = before.and_then(|work| work.without_image.clone());
        row.pre_checks = Some(Arc::new(PreCheckWork {
            uid: Uid::new(format!("{}-pre-checks", ask.cluster)),
            owner: self.rollout.upgrade.as_owner(),
            deleting: false,
            question: Some(Arc::new(ask.question.clone())),
            answer,
            trouble: None,
            is_taken: false,
            is_asked_later: false,
            ended: Arc::default(),
            without_image,
        }));
    }

    fn change_work(&mut self, action: &Action, now: Timestamp) {
        let Some(cluster) = action.cluster() else {
            return;
        };
        let row = self.rows.entry(cluster.clone()).or_default();
        let uid = match action {
            Action::CreateWork(new) => Uid::new(format!("{cluster}-{:?}-{now}", new.kind)),
            _ => Uid::default(),
        };
        match action.work_after(&row.works, &self.rollout.upgrade, &uid, now) {
            Some((kind, Some(work))) if !work.deleting => {
                row.works.insert(kind, work);
            }
            Some((kind, _)) => {
                row.works.remove(kind);
            }
            None => {}
        }
    }

    fn write_page(&mut self, write: &RecordPageWrite) {
        let pages = &mut self.rollout.pages;
        let mut before = 0;
        match pages.iter_mut().find(|page| page.name == write.name) {
            Some(page) => {
                before = page.entries;
                page.entries += write.entries.len();
                page.resource_version = format!("{}+", page.resource_version).into();
            }
            None => pages.push(RecordPage {
                name: Arc::clone(&write.name),
                header: Arc::clone(&write.header),
                number: write.number,
                entries: write.entries.len(),
                resource_version: "1".into(),
            }),
        }
        let appended = (before..).zip(&write.entries);
        let replaced = write.replaced.iter().map(|(index, entry)| (*index, entry));
        for (index, entry) in appended.chain(replaced) {
            let row = self.rows.entry(entry.cluster.clone()).or_default();
            let recorded = Arc::new(RecordedEntry {
                page: Arc::clone(&write.header),
                place: EntryPlace {
                    page: Arc::clone(&write.name),
                    index,
                },
                entry: entry.clone(),
            });
            let mut entries: Vec<_> = row.entries.to_vec();
            entries.retain(|other| other.place != recorded.place);
            entries.push(recorded);
            entries.sort_by_key(|recorded| recorded.entry.completed);
            row.entries = entries.into();
        }
    }

    fn mark_page(&mut self, name: &str, closed: bool) {
        let Some(page) = self.rollout.pages.iter_mut().find(|page| *page.name == *name) else {
            return;
        };
        let before = Arc::clone(&page.header);
        let after = Arc::new(RecordPageHeader {
            owner: self.rollout.upgrade.as_owner(),
            closed,
            ..(*before).clone()
        });
        page.header = Arc::clone(&after);
        for row in self.rows.values_mut() {
            let marked = row.entries.iter().map(|recorded| {
                if *recorded.page == *before {
                    Arc::new(RecordedEntry {
                        page: Arc::clone(&after),
                        place: recorded.place.clone(),
                        entry: recorded.entry.clone(),
                    })
                } else {
                    Arc::clone(recorded)
                }
            });
            row.entries = marked.collect();
        }
    }
}
