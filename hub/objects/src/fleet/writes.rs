//! What became of the writes of a plan: under way, made, refused, or not known.

use std::sync::Arc;

use drydock_rollout::{
    Action, ClusterName, Refusal, RefusalCause, RefusedWrite, Rollout, Uid, UpgradeKey, WorkKind,
};
use jiff::{SignedDuration, Timestamp};

use super::followed::next_refusal;
use super::pending::Pending;
use super::{Change, Fleet};

/// A write that could not be made.
#[derive(Clone, Debug)]
pub struct RefusedAction<'a> {
    /// The upgrade that wanted it.
    pub upgrade: &'a UpgradeKey,
    /// The write.
    pub action: &'a Action,
    /// Why not.
    pub cause: RefusalCause,
    /// Why not, in the server's words.
    pub words: &'a str,
}

impl Fleet {
    /// The writes of a plan are under way.
    pub(super) fn begin(&mut self, rollout: &Rollout, actions: &[Action], now: Timestamp) {
        for action in actions {
            let Some(name) = action.cluster() else { continue };
            self.begin_pre_checks(&rollout.upgrade.key, action, now);
            let known = self.known(name);
            let works = known.row(name, &rollout.upgrade.key, None).works;
            let Some((kind, work)) = action.work_after(&works, &rollout.upgrade, &Uid::default(), now) else {
                if is_about_pre_checks(action) {
                    let _woken = self.touch(name);
                }
                continue;
            };
            let seen = known.version(kind);
            let earlier = known.pending.remove(kind).map(|earlier| *earlier);
            let before = works.get(kind).cloned();
            known
                .pending
                .insert(kind, Box::new(Pending::under_way(work, seen, before, earlier)));
            // It is decided about again anyway when it has come back.
            let _woken = self.touch(name);
        }
    }

    /// An action was carried out: its work is of this uid and version now, or, without a version, gone.
    pub fn written(
        &mut self,
        action: &Action,
        uid: Option<Uid>,
        version: Option<u64>,
        now: Timestamp,
    ) -> Change {
        let Some((name, kind, write)) = about(action) else {
            return Change::Nothing;
        };
        let known = self.known(name);
        // What can be written can be written by every upgrade.
        known
            .refusals
            .retain(|(_, refused, which), _| (*refused, *which) != (kind, write));
        if matches!(action, Action::FinishWork(_)) {
            known.forget_refused_starts(now);
        }
        if version.is_none() {
            known.is_gone(kind, action.work_uid().cloned());
            known.forget_refused_changes(kind);
        }
        if let Some(pending) = known.pending.get_mut(kind) {
            pending.written(version, uid, now);
            let seen = known.version(kind);
            let is_back = match (version, known.works.get(kind)) {
                (Some(version), Some(_)) => seen >= version,
                (None, None) => true,
                _ => false,
            };
            if is_back {
                known.pending.remove(kind);
            }
        }
        self.touch(name)
    }

    /// Whether an action was carried out is not known: its work is read by name.
    pub fn unknown(&mut self, action: &Action, now: Timestamp) -> Change {
        let Some((name, kind, _)) = about(action) else {
            return Change::Nothing;
        };
        if let Some(pending) = self.known(name).pending.get_mut(kind) {
            let frees = matches!(action, Action::FinishWork(_) | Action::DeleteWork { .. });
            pending.unknown(frees, now);
        }
        self.touch(name)
    }

    /// An action was not carried out, for a reason that has nothing to do with it.
    pub fn abandoned(&mut self, action: &Action) -> Change {
        let Some((name, kind, _)) = about(action) else {
            return Change::Nothing;
        };
        self.known(name).undo(kind);
        self.touch(name)
    }

    /// An action was refused; returns whether it is to be reported.
    pub fn refused(&mut self, refused: &RefusedAction<'_>, now: Timestamp) -> (Change, bool) {
        if let Some(namespace) = gone_namespace(refused) {
            let mut live = (*self.live).clone();
            let is_new = live.gone_namespaces.insert(namespace);
            self.live = Arc::new(live);
            return (self.upgrades_changed(), is_new);
        }
        let Some(followed) = self.upgrades.get_mut(refused.upgrade) else {
            return (self.abandoned(refused.action), false);
        };
        let write = about(refused.action).map_or(RefusedWrite::Create, |(.., write)| write);
        let refusal = Refusal {
            upgrade: followed.digest.upgrade.uid.clone(),
            write,
            cause: refused.cause,
            words: refused.words.into(),
            since: now,
            last: now,
            next: now,
        };
        let Some((name, kind, _)) = about(refused.action) else {
            if !is_about_pages(refused.action) {
                let before = followed.own_refusal.replace(refused.words.into());
                return (Change::Nothing, before.as_deref() != Some(refused.words));
            }
            let before = followed.page_refusal.take();
            let refusal = next_refusal(before.as_deref(), refusal, now);
            // Each page is refused in words of its own: what is refused is the records.
            let was_reported = followed
                .page_refusal_reported
                .is_some_and(|reported| now.duration_since(reported) < REPORT_AGAIN);
            let is_new = is_to_be_reported(before.as_deref(), &refusal) && !was_reported;
            if is_new {
                followed.page_refusal_reported = Some(now);
            }
            followed.page_refusal = Some(Arc::new(refusal));
            followed.is_stale = true;
            return (Change::Upgrades([refused.upgrade.clone()].into()), is_new);
        };
        let known = self.known(name);
        known.undo(kind);
        let which = (refusal.upgrade.clone(), kind, write);
        let before = known.refusals.get(&which).map(|before| &**before);
        let refusal = next_refusal(before, refusal, now);
        let is_new = is_to_be_reported(before, &refusal);
        known.refusals.insert(which, Arc::new(refusal));
        self.refused.insert(name.clone());
        (self.touch(name), is_new)
    }

    /// A write for an upgrade was made: what an earlier one of its records, or of what else is about no cluster, was refused for is
    /// over.
    pub fn forget_refusal(&mut self, key: &UpgradeKey, made: &Action) -> Change {
        let Some(followed) = self.upgrades.get_mut(key) else {
            return Change::Nothing;
        };
        if is_about_pages(made) && followed.page_refusal.take().is_some() {
            followed.is_stale = true;
            return Change::Upgrades([key.clone()].into());
        }
        if made.cluster().is_none() && !is_about_pages(made) {
            followed.own_refusal = None;
        }
        Change::Nothing
    }
}

/// The namespace that is gone with an upgrade and its records, if that is why what another upgrade has found of it cannot be recorded.
fn gone_namespace(refused: &RefusedAction<'_>) -> Option<Arc<str>> {
    let Action::WritePage(write) = refused.action else {
        return None;
    };
    let owner = write.header.owner.upgrade.as_ref()?;
    let is_gone = refused.cause == RefusalCause::NamespaceMissing;
    (is_gone && owner.namespace != refused.upgrade.namespace).then(|| Arc::clone(&owner.namespace))
}

fn is_about_pre_checks(action: &Action) -> bool {
    matches!(action, Action::AskPreChecks(_) | Action::DeletePreChecks { .. })
}

fn is_about_pages(action: &Action) -> bool {
    matches!(action, Action::WritePage(_) | Action::MarkPage { .. })
}

/// How long after a report that records are refused the next report follows.
const REPORT_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// How long a server must be unavailable before that is reported.
const UNAVAILABLE: SignedDuration = SignedDuration::from_secs(30);

/// Whether a refusal is reported to users: when its words are new, or when a server has been unavailable for a while.
fn is_to_be_reported(before: Option<&Refusal>, refusal: &Refusal) -> bool {
    let lasted = |refusal: &Refusal| refusal.last.duration_since(refusal.since) >= UNAVAILABLE;
    match refusal.cause {
        RefusalCause::Unavailable => lasted(refusal) && !before.is_some_and(lasted),
        _ => before.is_none_or(|before| before.words != refusal.words),
    }
}

/// The cluster and the work that an action is about, and what it does to it.
fn about(action: &Action) -> Option<(&ClusterName, WorkKind, RefusedWrite)> {
    Some(match action {
        Action::CreateWork(new) => (&new.cluster, new.kind, RefusedWrite::Create),
        Action::FinishWork(finish) => (&finish.cluster, finish.kind, RefusedWrite::Change),
        Action::EnforceWork { cluster, .. }
        | Action::SetChannel { cluster, .. }
        | Action::ReopenWork { cluster, .. } => (cluster, WorkKind::Cluster, RefusedWrite::Change),
        Action::LabelWork { cluster, kind, .. } => (cluster, *kind, RefusedWrite::Change),
        Action::DeleteWork { cluster, kind, .. } => (cluster, *kind, RefusedWrite::Delete),
        Action::ConfirmWork { .. }
        | Action::AskPreChecks(_)
        | Action::DeletePreChecks { .. }
        | Action::AddFinalizer
        | Action::RemoveFinalizer
        | Action::ApplyPlacement(_)
        | Action::DeletePlacement(_)
        | Action::WritePage(_)
        | Action::MarkPage { .. } => return None,
    })
}
