//! Attempts at clusters, as their works show them: from the first work to the outcome.

use std::collections::BTreeMap;

use drydock_api::names::{
    ATTEMPT_ANNOTATION, KIND_LABEL, REVISION_ANNOTATION, STATE_LABEL, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL,
};
use drydock_rollout::Revision;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::Object;

use super::RuleState;

/// Within how long works are made at once, by whichever upgrades.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(5);

/// One attempt of an upgrade at a cluster.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// `namespace/name` of the upgrade.
    pub key: String,
    /// Its uid.
    pub uid: String,
    pub revision: Revision,
    /// When it began, as its works say: what distinguishes attempts at a cluster.
    pub started: Timestamp,
    /// When it was seen to begin.
    pub begun: Timestamp,
    /// Its works that are there and not being deleted, by kind, with their uids.
    pub works: BTreeMap<String, String>,
    /// By which the Job of its pre-upgrade action is known.
    pub job: Option<String>,
    /// `Complete` or `Failed`, once committed, and when that was seen.
    pub outcome: Option<(String, Timestamp)>,
    /// When the newest of its works was made.
    pub newest: Timestamp,
    /// Since when none of its works is there.
    pub left: Option<Timestamp>,
    /// Users have meddled with it.
    pub exempt: bool,
}

impl Attempt {
    pub fn has_ended(&self, state: &str) -> bool {
        self.outcome.as_ref().is_some_and(|(ended, _)| ended == state)
    }
}

/// A work that is there.
#[derive(Clone, Debug)]
pub(super) struct ObservedWork {
    cluster: String,
    kind: String,
    /// Which attempt at the cluster.
    attempt: usize,
    started: Timestamp,
    deleting: bool,
}

/// The attempt of which a work is part, as its labels and annotations say.
struct WorkAttempt {
    cluster: String,
    kind: String,
    key: String,
    uid: String,
    revision: Revision,
    job: Option<String>,
}

fn attempt_of(work: &Object) -> Option<WorkAttempt> {
    Some(WorkAttempt {
        cluster: work.namespace()?.to_owned(),
        kind: work.label(KIND_LABEL)?.to_owned(),
        key: work.annotation(UPGRADE_ANNOTATION)?.to_owned(),
        uid: work.label(UPGRADE_UID_LABEL)?.to_owned(),
        revision: serde_json::from_str(work.annotation(REVISION_ANNOTATION)?).ok()?,
        job: work
            .pointer("/spec/workload/manifests/0/metadata/annotations")
            .and_then(|annotations| annotations[ATTEMPT_ANNOTATION].as_str())
            .map(str::to_owned),
    })
}

impl RuleState {
    /// A work is there, or has changed.
    pub(super) fn work(&mut self, work: &Object, now: Timestamp) {
        let named = attempt_of(work);
        let is_known = self.works.contains_key(work.uid());
        let reopened = named.as_ref().is_some_and(|named| {
            let known = self.works.get(work.uid());
            known.is_some_and(|known| known.started != named.revision.started_at)
        });
        match named {
            Some(named) if !is_known || reopened => self.new_work(work, &named, now),
            None if !is_known => return,
            _ => {}
        }
        let Some(known) = self.works.get(work.uid()).cloned() else {
            return;
        };
        let state = work.label(STATE_LABEL).map(str::to_owned);
        if let (Some(state), Some(attempt)) = (state, self.attempt_mut(&known))
            && attempt.outcome.is_none()
        {
            attempt.outcome = Some((state.clone(), now));
            self.note(format!(
                "{now} {}: {} work says {state}",
                known.cluster, known.kind
            ));
        }
        let is_deleting = !work["metadata"]["deletionTimestamp"].is_null();
        if is_deleting && !known.deleting {
            if let Some(seen) = self.works.get_mut(work.uid()) {
                seen.deleting = true;
            }
            self.leaves(work, &known, now);
        }
    }

    /// Looks whether canaries were waited for, of starts that were made a moment ago.
    pub(super) fn settle_starts(&mut self, now: Timestamp) {
        let (settled, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.unsettled)
            .into_iter()
            .partition(|(_, _, at)| now.duration_since(*at) > AT_ONCE);
        self.unsettled = rest;
        for (cluster, index, at) in settled {
            let broken = self.breaks_by_canaries(&cluster, index, at);
            self.breaks(broken);
        }
    }

    fn new_work(&mut self, work: &Object, named: &WorkAttempt, now: Timestamp) {
        self.settle_starts(now);
        let started = named.revision.started_at;
        let attempts = self.attempts.entry(named.cluster.clone()).or_default();
        let known = attempts
            .iter()
            .rposition(|attempt| attempt.key == named.key && attempt.started == started);
        let is_first = known.is_none();
        let index = known.unwrap_or(attempts.len());
        if is_first {
            attempts.push(Attempt {
                key: named.key.clone(),
                uid: named.uid.clone(),
                revision: named.revision.clone(),
                started,
                begun: now,
                works: BTreeMap::new(),
                job: None,
                outcome: None,
                newest: now,
                left: None,
                exempt: self.restoring,
            });
        }
        let attempt = &mut attempts[index];
        attempt.uid.clone_from(&named.uid);
        attempt.works.insert(named.kind.clone(), work.uid().to_owned());
        attempt.newest = now;
        attempt.left = None;
        if named.kind == "pre" {
            attempt.job.clone_from(&named.job);
        }
        let seen = ObservedWork {
            cluster: named.cluster.clone(),
            kind: named.kind.clone(),
            attempt: index,
            started,
            deleting: false,
        };
        self.works.insert(work.uid().to_owned(), seen);
        self.deletions
            .remove(&(named.cluster.clone(), work.name().to_owned()));
        let running = self.in_flight(&named.key);
        self.note(format!(
            "{now} {}: {} work made for {} (generation {}, started {started}), {running} in flight",
            named.cluster, named.kind, named.key, named.revision.generation
        ));
        if self.restoring {
            return;
        }
        let broken = if is_first {
            self.starts += 1;
            self.breaks_by_start(&named.cluster, index, now)
        } else {
            None
        };
        self.breaks(broken);
        if is_first {
            self.unsettled.push((named.cluster.clone(), index, now));
        }
        if matches!(named.kind.as_str(), "cluster" | "operators") {
            let broken = self.breaks_by_upgrade(&named.cluster, index, &named.revision, now);
            self.breaks(broken);
        }
    }

    /// A work is gone.
    pub(super) fn work_gone(&mut self, work: &Object, now: Timestamp) {
        if let Some(known) = self.works.remove(work.uid())
            && !known.deleting
        {
            self.leaves(work, &known, now);
        }
    }

    /// A work goes: if the hub has asked for that, what became of the attempt is on record.
    fn leaves(&mut self, work: &Object, known: &ObservedWork, now: Timestamp) {
        let id = (known.cluster.clone(), work.name().to_owned());
        let by_hub = self.deletions.contains(&id);
        self.note(format!(
            "{now} {}: {} work goes{}",
            known.cluster,
            known.kind,
            if by_hub { " by the hub" } else { "" }
        ));
        let Some(attempt) = self.attempt_mut(known) else {
            return;
        };
        attempt.works.remove(&known.kind);
        if attempt.works.is_empty() {
            attempt.left = Some(now);
        }
        let attempt = attempt.clone();
        let is_lost = by_hub
            && !attempt.exempt
            && !self.restoring
            && !self.is_recorded(&known.cluster, &attempt)
            && !self.is_namespace_leaving(&attempt);
        let broken = is_lost.then(|| {
            format!(
                "{}: the hub deletes the {} work of {} and what became of the attempt is on no record",
                known.cluster, known.kind, attempt.key
            )
        });
        self.breaks(broken);
    }

    /// Whether nothing can be recorded any more in the namespace of the upgrade.
    fn is_namespace_leaving(&self, attempt: &Attempt) -> bool {
        let namespace = attempt.key.split('/').next().unwrap_or_default();
        self.leaving.contains(namespace)
    }

    fn attempt_mut(&mut self, known: &ObservedWork) -> Option<&mut Attempt> {
        self.attempts.get_mut(&known.cluster)?.get_mut(known.attempt)
    }

    /// How many clusters an upgrade has in flight.
    pub(super) fn in_flight(&self, key: &str) -> usize {
        self.clusters_in_flight(key).count()
    }

    /// The clusters that an upgrade has in flight, with their attempts.
    pub(super) fn clusters_in_flight(&self, key: &str) -> impl Iterator<Item = (&str, &Attempt)> {
        self.attempts.iter().filter_map(move |(cluster, attempts)| {
            let mut own = attempts.iter().filter(|attempt| attempt.key == key);
            let attempt = own.find(|attempt| self.is_in_flight(cluster, attempt))?;
            Some((cluster.as_str(), attempt))
        })
    }

    pub(super) fn is_in_flight(&self, cluster: &str, attempt: &Attempt) -> bool {
        !attempt.works.is_empty() && attempt.outcome.is_none() && !self.is_recorded(cluster, attempt)
    }
}
