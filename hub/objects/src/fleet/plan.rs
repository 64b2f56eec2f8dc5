//! From what is seen to what is to be done about one upgrade, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::ocm::placement::PlacementSpec;
use drydock_rollout::{
    Action, ClusterName, DecisionPage, Decisions, OwnPlacement, Page, PlacementKey, Plan, Refusal,
    RefusalCause, RefusedWrite, Report, Rollout, Row, SelectionProblem, Selector, Snapshot, Source,
    Transition, Uid, UpgradeKey, Violation, WorkKind, check, expired_pages, read_snapshot, rollout_since,
    transition,
};
use jiff::{SignedDuration, Timestamp};

use super::followed::{Followed, Sources, next_refusal, no_source};
use super::pending::Pending;
use super::{Change, Fleet};
use crate::details::ClusterDetails;
use crate::placement::{self, PlacementDigest};

/// What is to be done about an upgrade.
#[derive(Debug)]
pub struct Planned {
    /// The object as it was read.
    pub object: Arc<ManagedClustersUpgrade>,
    /// What is observed of it beside its clusters.
    pub rollout: Rollout,
    /// What is to be done.
    pub plan: Plan,
    /// What users are told of each action when it was carried out, in the order of the actions.
    pub transitions: Vec<Vec<Transition>>,
    /// Rules that the plan would break: then nothing must be done.
    pub violations: Vec<Violation>,
    /// Writes that could not be made, and are wanted still.
    pub refusals: usize,
}

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
    /// What is to be done about an upgrade; `None` if it is not known. Of two upgrades that could start a cluster now, the one starts
    /// it whose rollout began first. What the plan writes counts as written from now on, until its outcome is told by
    /// [`Fleet::written`], [`Fleet::refused`], [`Fleet::unknown`] or [`Fleet::abandoned`].
    pub fn plan(&mut self, key: &UpgradeKey, now: Timestamp) -> Option<Planned> {
        self.forget_old_refusals(now);
        // This brings them all up to date.
        let taken = self.taken_before(key, now);
        let followed = self.upgrades.get_mut(key)?;
        let mut plan = followed.decider.plan(now, &|name| taken.contains(name));
        let rollout = followed.decider.rollout().clone();
        let rows = followed.decider.rows();
        let violations = check(&rollout, rows, &plan);
        let transitions = plan
            .actions
            .iter()
            .map(|action| {
                let row = action.cluster().and_then(|name| rows.get(name));
                transition::of_action(row, &rollout, action)
            })
            .collect();
        let object = Arc::clone(&followed.object);
        let (refusals, forgotten) = self.refusals_of(&rollout.upgrade.uid);
        plan.wake = plan.wake.into_iter().chain(forgotten).min();
        if violations.is_empty() {
            self.begin(&rollout, &plan.actions, now);
        }
        Some(Planned {
            object,
            rollout,
            plan,
            transitions,
            violations,
            refusals,
        })
    }

    /// Where every cluster of an upgrade is, with the report: for who looks at a fleet without acting on it.
    pub fn look(&mut self, key: &UpgradeKey, now: Timestamp) -> Option<(Report, Vec<ClusterDetails>)> {
        self.forget_old_refusals(now);
        self.bring_up_to_date(key, now);
        let followed = self.upgrades.get_mut(key)?;
        let plan = followed.decider.plan(now, &|_| false);
        let status = followed.object.status.as_ref();
        let named: BTreeMap<&str, _> = status
            .into_iter()
            .flat_map(|status| status.clusters.iter().flatten())
            .map(|entry| (entry.name.as_str(), entry))
            .collect();
        let clusters = followed.decider.clusters(&plan.report, now);
        let details = clusters.iter().map(|(name, status)| {
            let mut details = ClusterDetails::of(name, status);
            if let Some(entry) = named.get(name.as_str()) {
                details.take_refusal(entry);
            }
            details
        });
        Some((plan.report, details.collect()))
    }

    /// The clusters that upgrades start now which come before this one.
    fn taken_before(&mut self, key: &UpgradeKey, now: Timestamp) -> BTreeSet<ClusterName> {
        for key in self.upgrades() {
            self.bring_up_to_date(&key, now);
        }
        let mut order: Vec<_> = self
            .upgrades
            .values()
            .map(|followed| (began(followed), followed.digest.created, followed.key().clone()))
            .collect();
        order.sort();
        let before: Vec<UpgradeKey> = order
            .into_iter()
            .map(|(.., other)| other)
            .take_while(|other| other != key)
            .collect();
        let mut taken = BTreeSet::new();
        for other in before {
            if let Some(followed) = self.upgrades.get_mut(&other) {
                let starts = followed.decider.starts(now, &|name| taken.contains(name));
                taken.extend(starts);
            }
        }
        taken
    }

    /// Tells the decider of an upgrade what has changed.
    fn bring_up_to_date(&mut self, key: &UpgradeKey, now: Timestamp) {
        let Some(mut followed) = self.upgrades.remove(key) else {
            return;
        };
        if !std::mem::replace(&mut followed.has_taken_refusals, true) {
            for (name, kind, refusal) in followed.refusals_in_status(now) {
                let refusals = &mut self.known(&name).refusals;
                refusals
                    .entry((kind, refusal.write))
                    .or_insert_with(|| Arc::new(refusal));
                self.refused.insert(name.clone());
                followed.changed.insert(name);
            }
        }
        if followed.is_stale {
            let sources = self.sources(&followed);
            let pages = self.pages(&followed);
            let before = followed.decider.rollout().upgrade.live != self.live;
            followed.take_over(&self.live, sources, pages);
            if before {
                let names = self
                    .clusters
                    .iter()
                    .filter(|(_, known)| known.concerns(&followed.decider.rollout().upgrade));
                followed.changed.extend(names.map(|(name, _)| name.clone()));
            }
        }
        let mut left = Vec::new();
        for name in std::mem::take(&mut followed.changed) {
            let selection = followed.selected.get(&name).copied();
            let known = self.clusters.get(&name);
            let concerns = known.is_some_and(|known| known.concerns(&followed.decider.rollout().upgrade));
            let row = match known {
                Some(known) if selection.is_some() || concerns => Some(known.row(selection)),
                None if selection.is_some() => Some(Row {
                    selection,
                    ..Row::default()
                }),
                _ => None,
            };
            if row.is_none() {
                left.push(name.clone());
            }
            followed.decider.set_row(name, row);
        }
        self.upgrades.insert(key.clone(), followed);
        for name in left {
            self.forget_unwanted(&name);
        }
    }

    /// The Placements of an upgrade, in the order of the spec, the hub's own last.
    fn sources(&mut self, followed: &Followed) -> Sources {
        let namespace = &followed.key().namespace;
        let uid = followed.digest.upgrade.uid.as_str();
        let (named, own) = match &followed.digest.spec {
            Ok(spec) => (spec.placements.clone(), spec.own_placement.clone()),
            Err(_) => (Vec::new(), None),
        };
        let is_kept = |digest: &PlacementDigest| digest.kept_for.as_deref() == Some(uid);
        let superseded = self
            .placements
            .iter()
            .filter(|(key, digest)| {
                key.namespace == *namespace && is_kept(digest) && own.as_ref() != Some(*key)
            })
            .map(|(key, _)| key.clone())
            .collect();
        let selector = followed.object.spec.cluster_selector.as_ref();
        let found = own.as_ref().and_then(|own| self.placements.get(own));
        let own_placement = match (found.filter(|found| is_kept(found)), selector) {
            (Some(found), Some(selector)) if placement::asks_for(&found.spec, selector) => {
                OwnPlacement::Current
            }
            (Some(_), _) => OwnPlacement::Stale,
            (None, _) => OwnPlacement::Absent,
        };
        let mut sources = Vec::new();
        for key in named {
            let source = if self.same_namespace_placements && key.namespace != *namespace {
                no_source(&key, SelectionProblem::Forbidden)
            } else {
                self.source(&key, SelectionProblem::NotFound)
            };
            sources.push(source);
        }
        if let Some(key) = &own {
            // The hub's own is about to be made, or to be changed.
            sources.push(match own_placement {
                OwnPlacement::Current => self.source(key, SelectionProblem::Pending),
                OwnPlacement::Absent | OwnPlacement::Stale => no_source(key, SelectionProblem::Pending),
            });
        }
        Sources {
            placements: sources,
            own: own_placement,
            superseded,
        }
    }

    fn source(&mut self, key: &PlacementKey, missing: SelectionProblem) -> (Source, Option<Arc<Snapshot>>) {
        let Some(found) = self.placements.get(key) else {
            return no_source(key, missing);
        };
        let snapshot = match read_snapshot(&found.status, &self.decision_pages(key, &found.uid)) {
            Decisions::Whole(snapshot) => {
                let snapshot = Arc::new(snapshot);
                let entry = (found.uid.clone(), Arc::clone(&snapshot));
                self.snapshots.insert(key.clone(), entry);
                Some(snapshot)
            }
            // The last one stands until the new one is whole, unless it was another Placement's.
            Decisions::Inconsistent => self
                .snapshots
                .get(key)
                .filter(|(uid, _)| *uid == found.uid)
                .map(|(_, snapshot)| Arc::clone(snapshot)),
        };
        let problem = match (&snapshot, &found.unsatisfied) {
            (Some(snapshot), Some(why)) if snapshot.is_empty() => {
                Some(SelectionProblem::Unsatisfied(why.clone()))
            }
            (Some(_), _) => None,
            (None, Some(why)) => Some(SelectionProblem::Unsatisfied(why.clone())),
            (None, None) => Some(SelectionProblem::Pending),
        };
        let source = Source {
            placement: key.clone(),
            tolerations: placement::tolerations(&found.spec),
            requirements: placement::requirements(found, |spec| self.set_members(&key.namespace, spec)),
            problem,
        };
        (source, snapshot)
    }

    fn decision_pages(&self, key: &PlacementKey, owner: &Uid) -> BTreeMap<String, DecisionPage> {
        let pages = self.decisions.iter();
        pages
            .filter(|(_, digest)| digest.placement == *key && digest.owner == *owner)
            .map(|(id, digest)| (id.1.clone(), digest.page.clone()))
            .collect()
    }

    /// The members of the sets from which a Placement selects: those that it names, or all, as far as they are bound to its namespace.
    fn set_members(&self, namespace: &str, spec: &PlacementSpec) -> Vec<Selector> {
        let bound = self.bindings.iter().filter(|(bound_to, set)| {
            bound_to == namespace && (spec.cluster_sets.is_empty() || spec.cluster_sets.contains(set))
        });
        bound
            .filter_map(|(_, set)| match self.sets.get(set)? {
                Some(members) => Some((**members).clone()),
                // Members that cannot be told may be any.
                None => Some(Selector::default()),
            })
            .collect()
    }

    /// The pages of an upgrade's records, in the order of their numbers; and those of upgrades that do not exist any more, which stand
    /// in their own namespaces if these are known: whoever makes room for its cluster puts their outcomes there.
    fn pages(&self, followed: &Followed) -> Vec<Page> {
        let upgrade = drydock_rollout::Upgrade {
            live: Arc::clone(&self.live),
            ..followed.digest.upgrade.clone()
        };
        let namespace = &followed.key().namespace;
        let own = self.records.iter().filter(|(id, digest)| {
            let owner = &digest.page.header.owner;
            let is_here = id.0 == **namespace;
            is_here && upgrade.owns(owner) || !self.live.has(owner) && (is_here || owner.upgrade.is_some())
        });
        let mut pages: Vec<Page> = own.map(|(_, digest)| digest.page.clone()).collect();
        pages.sort_by_key(|page| (page.number, page.name.clone()));
        pages
    }

    /// Pages of records that are old enough to go, as namespace and name.
    pub fn expired_records(
        &self,
        keep_rollouts: usize,
        keep_for: SignedDuration,
        now: Timestamp,
    ) -> Vec<(String, String)> {
        let all: Vec<_> = self.records.iter().collect();
        let expired = expired_pages(
            all.iter().map(|(_, digest)| (&digest.page, digest.newest())),
            keep_rollouts,
            keep_for,
            now,
        );
        let expired: BTreeSet<*const Page> = expired.into_iter().map(std::ptr::from_ref).collect();
        all.into_iter()
            .filter(|(_, digest)| expired.contains(&std::ptr::from_ref(&digest.page)))
            .map(|(id, _)| (**id).clone())
            .collect()
    }

    /// The writes of a plan are under way.
    fn begin(&mut self, rollout: &Rollout, actions: &[Action], now: Timestamp) {
        for action in actions {
            let Some(name) = action.cluster() else { continue };
            let known = self.known(name);
            let works = known.row(None).works;
            let Some((kind, work)) = action.work_after(&works, &rollout.upgrade, &Uid::default(), now) else {
                continue;
            };
            let seen = known.versions.get(&kind).copied().unwrap_or(0);
            let earlier = known.pending.remove(&kind);
            let before = works.get(kind).cloned();
            known
                .pending
                .insert(kind, Pending::under_way(work, seen, before, earlier));
            // It is decided about anew anyway when it has come back.
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
        known.refusals.remove(&(kind, write));
        if matches!(action, Action::FinishWork(_)) {
            known.forget_refused_starts(now);
        }
        if version.is_none() {
            known.is_gone(kind, action.work_uid().cloned());
            known.forget_refused_changes(kind);
        }
        if let Some(pending) = known.pending.get_mut(&kind) {
            pending.written(version, uid, now);
            let seen = known.versions.get(&kind).copied().unwrap_or(0);
            let is_back = match (version, known.works.get(kind)) {
                (Some(version), Some(_)) => seen >= version,
                (None, None) => true,
                _ => false,
            };
            if is_back {
                known.pending.remove(&kind);
            }
        }
        self.touch(name)
    }

    /// Whether an action was carried out is not known: its work is read by name.
    pub fn unknown(&mut self, action: &Action, now: Timestamp) -> Change {
        let Some((name, kind, _)) = about(action) else {
            return Change::Nothing;
        };
        if let Some(pending) = self.known(name).pending.get_mut(&kind) {
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

    /// An action was refused; says whether that is news.
    pub fn refused(&mut self, refused: &RefusedAction<'_>, now: Timestamp) -> (Change, bool) {
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
            let was_told = followed
                .page_refusal_told
                .is_some_and(|told| now.duration_since(told) < TELL_AGAIN);
            let is_new = is_news(before.as_deref(), &refusal) && !was_told;
            if is_new {
                followed.page_refusal_told = Some(now);
            }
            followed.page_refusal = Some(Arc::new(refusal));
            followed.is_stale = true;
            return (Change::Upgrades([refused.upgrade.clone()].into()), is_new);
        };
        let known = self.known(name);
        known.undo(kind);
        let before = known.refusals.get(&(kind, write)).map(|before| &**before);
        let before = before.cloned();
        let refusal = next_refusal(before.as_ref(), refusal, now);
        let is_new = is_news(before.as_ref(), &refusal);
        known.refusals.insert((kind, write), Arc::new(refusal));
        self.refused.insert(name.clone());
        (self.touch(name), is_new)
    }

    /// The object of an upgrade as it was last read or written.
    pub fn object(&self, key: &UpgradeKey) -> Option<Arc<ManagedClustersUpgrade>> {
        self.upgrades
            .get(key)
            .map(|followed| Arc::clone(&followed.object))
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

fn is_about_pages(action: &Action) -> bool {
    matches!(action, Action::WritePage(_) | Action::MarkPage { .. })
}

/// How long after users were told that records are refused they are told again.
const TELL_AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// How long a server must be unavailable before that is news.
const UNAVAILABLE: SignedDuration = SignedDuration::from_secs(30);

/// Whether users are told of a refusal: when its words are new, or when a server has been unavailable for a while.
fn is_news(before: Option<&Refusal>, refusal: &Refusal) -> bool {
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
        | Action::AddFinalizer
        | Action::RemoveFinalizer
        | Action::ApplyPlacement(_)
        | Action::DeletePlacement(_)
        | Action::WritePage(_)
        | Action::MarkPage { .. } => return None,
    })
}

/// When the rollout of an upgrade began; one that has not is later than all that have.
fn began(followed: &Followed) -> Timestamp {
    rollout_since(followed.decider.rollout()).unwrap_or(Timestamp::MAX)
}
