//! One of Drydock's works, as far as decisions need it.

use std::sync::Arc;

use drydock_names::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;
use serde::{Deserialize, Serialize};

use super::{Entry, Owner, RecordedOutcome, Uid, WorkFeedback};
use crate::Goal;
use crate::goal::short_hash;

/// How an upgrade reaches one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UpgradeMethod {
    /// An UpgradeConfig for the agent.
    Agent,
    /// ClusterVersion itself.
    ClusterVersion,
}

/// What a work does with the object that upgrades the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforcement {
    /// It is applied.
    #[default]
    Enforced,
    /// It is only read: the version that the cluster runs is not known yet.
    Observed,
    /// Its channel alone is applied: the cluster is at the target already.
    ChannelOnly,
}

/// What a work was made for. It is written on the work, so that what has started keeps its goal through edits of the spec
/// and restarts of the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The upgrade's generation.
    pub generation: i64,
    /// When this rollout began: of two upgrades, the one whose rollout began later supersedes the other.
    pub rollout_since: Timestamp,
    /// What the cluster shall come to.
    #[serde(flatten)]
    pub goal: Arc<Goal>,
    /// How it is reached.
    #[serde(rename = "via")]
    pub method: UpgradeMethod,
    /// Seconds that this stage may take.
    pub timeout_seconds: i64,
    /// When this cluster's first work was made.
    pub started_at: Timestamp,
    /// The version that the cluster ran then, if it was known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<Version>,
    /// Who had last written the spec then; nothing if it is not known.
    #[serde(skip_serializing_if = "str::is_empty", default)]
    pub started_by: Arc<str>,
    /// What the work does with the object that upgrades the cluster.
    #[serde(skip_serializing_if = "is_enforced", default)]
    pub enforcement: Enforcement,
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_enforced(enforcement: &Enforcement) -> bool {
    *enforcement == Enforcement::Enforced
}

impl Revision {
    /// How long this stage may take.
    pub fn timeout(&self) -> SignedDuration {
        SignedDuration::from_secs(self.timeout_seconds)
    }

    /// What tells the Jobs of this attempt from those of another one.
    pub fn attempt(&self, upgrade: &Uid) -> String {
        short_hash(&format!("{upgrade} {} {}", self.rollout_since, self.started_at))
    }
}

/// How a cluster has ended, as committed on its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptOutcome {
    /// Complete or failed.
    pub state: EndState,
    /// Why, in CamelCase.
    pub reason: Arc<str>,
    /// Why, in a sentence.
    pub message: Arc<str>,
    /// When, if that can be read.
    pub at: Option<Timestamp>,
    /// The retry that was asked for when it ended.
    pub retry: RetryToken,
}

/// Which retry a cluster was last started under: any new value of either starts it over, once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryToken {
    /// Asked for all clusters that have failed.
    pub all: Option<Arc<str>>,
    /// Asked for this cluster.
    pub cluster: Option<Arc<str>>,
}

impl RetryToken {
    /// Whether this asks for something that `before` had not asked for. A token that was taken away asks for nothing.
    pub fn is_new_since(&self, before: &Self) -> bool {
        let is_new = |ours: &Option<Arc<str>>, theirs: &Option<Arc<str>>| ours.is_some() && ours != theirs;
        is_new(&self.all, &before.all) || is_new(&self.cluster, &before.cluster)
    }

    /// When it was asked for last, as far as it says: the plugin and the page write the moment.
    pub fn asked_at(&self) -> Option<Timestamp> {
        let tokens = self.all.iter().chain(&self.cluster);
        tokens.filter_map(|token| token.parse().ok()).max()
    }

    /// As it stands on works and records; empty if nothing was asked for.
    pub fn to_text(&self) -> String {
        let all = self.all.as_deref().unwrap_or_default();
        match &self.cluster {
            Some(cluster) => format!("{all} {cluster}"),
            None => all.to_owned(),
        }
    }

    /// Reads what [`RetryToken::to_text`] wrote.
    pub fn parse(text: &str) -> Self {
        let given = |text: &str| Some(text.into()).filter(|text: &Arc<str>| !text.is_empty());
        match text.split_once(' ') {
            Some((all, cluster)) => Self {
                all: given(all),
                cluster: given(cluster),
            },
            None => Self {
                all: given(text),
                cluster: None,
            },
        }
    }
}

/// Whether the work agent has applied a work, at its current generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Applied {
    /// It has not said yet.
    #[default]
    Unknown,
    /// It has.
    Yes,
    /// It could not; in the words of the object that could not be applied.
    No(Arc<str>),
}

/// One of Drydock's works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its uid.
    pub uid: Uid,
    /// Who made it.
    pub owner: Owner,
    /// When it was created, by the server's clock: timeouts count from here.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether all labels are on it by which the hub finds it.
    pub labelled: bool,
    /// What it was made for; `None` if that cannot be read.
    pub revision: Option<Arc<Revision>>,
    /// How its cluster has ended, if that is committed.
    pub outcome: Option<Arc<AttemptOutcome>>,
    /// Whether the work agent has applied it.
    pub applied: Applied,
    /// Whether its objects exist on the cluster.
    pub available: bool,
    /// One of the user's own rules says that it is degraded: the message.
    pub degraded: Option<Arc<str>>,
    /// What it feeds back, at its current generation.
    pub feedback: WorkFeedback,
}

impl Work {
    /// Whether it was made for this goal. A work whose goal cannot be read counts.
    pub fn is_for(&self, goal: &Goal) -> bool {
        self.revision
            .as_ref()
            .is_none_or(|revision| revision.goal.is_same(goal))
    }

    /// Whether the server is known to have it: one that is still being written has no uid, and may yet be refused.
    pub fn is_known_to_exist(&self) -> bool {
        self.uid != Uid::default()
    }

    /// Whether a record is about the attempt that it is part of. The annotation that says when that began may have been taken off.
    pub fn is_recorded_by(&self, entry: &Entry) -> bool {
        let ended = self.outcome.as_ref().and_then(|outcome| outcome.at);
        let is_end = self.revision.is_none() && ended == Some(entry.completed);
        entry.outcome != RecordedOutcome::Drifted && (is_end || entry.started == Some(self.attempt_since()))
    }

    /// When the attempt began that it is part of.
    pub fn attempt_since(&self) -> Timestamp {
        self.revision
            .as_ref()
            .map_or(self.created, |revision| revision.started_at)
    }

    /// When it was begun in the attempt that it is part of: one that is taken up again was there before.
    pub fn begun(&self) -> Timestamp {
        self.created.max(self.attempt_since())
    }
}

/// Something for each kind of work of one cluster, of which there is at most one: their names are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerKind<T>([Option<T>; 4]);

/// The works of one cluster, whoever made them.
pub type Works = PerKind<Arc<Work>>;

impl<T> Default for PerKind<T> {
    fn default() -> Self {
        Self([const { None }; 4])
    }
}

impl<T> PerKind<T> {
    /// That of a kind.
    pub fn get(&self, kind: WorkKind) -> Option<&T> {
        self.0[kind as usize].as_ref()
    }

    /// Puts one in its place; gives back what was there.
    pub fn insert(&mut self, kind: WorkKind, value: T) -> Option<T> {
        self.0[kind as usize].replace(value)
    }

    /// Takes one away.
    pub fn remove(&mut self, kind: WorkKind) -> Option<T> {
        self.0[kind as usize].take()
    }

    /// To change that of a kind.
    pub fn get_mut(&mut self, kind: WorkKind) -> Option<&mut T> {
        self.0[kind as usize].as_mut()
    }

    /// All with their kinds, in the order of the stages.
    pub fn iter(&self) -> impl Iterator<Item = (WorkKind, &T)> {
        let values = self.0.iter().zip(WorkKind::ALL);
        values.filter_map(|(value, kind)| Some((kind, value.as_ref()?)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_counts_once_and_one_that_is_taken_away_counts_as_nothing() {
        let token = |text: &str| RetryToken::parse(text);
        for (now, before, is_new) in [
            ("", "", false),
            ("a", "", true),
            ("a", "a", false),
            ("b", "a", true),
            ("", "a", false),
            (" c", "", true),
            ("a c", "a", true),
            ("a c", "a c", false),
            ("a", "a c", false),
        ] {
            assert_eq!(
                token(now).is_new_since(&token(before)),
                is_new,
                "{now:?} after {before:?}"
            );
            assert_eq!(token(now).to_text(), now);
        }
    }
}
