//! The works by which clusters are asked. They hold no slots: a write that does not come back is made
//! again, for it is the same each time.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_rollout::{
    Action, AnswerSource, ClusterName, ClusterPreChecks, KnownAnswer, OtherQuestion, PreCheckWork,
    PreCheckWrite, UpgradeKey, pre_checks_work_name,
};
use jiff::{SignedDuration, Timestamp};

use super::{Change, Fleet, KnownCluster};

/// How long a write may take to come back, and how long a refused one waits, before it is made again.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// One work by which a cluster is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KnownPreChecks {
    /// As the watch has brought it.
    pub work: Option<Arc<PreCheckWork>>,
    /// In this version.
    version: u64,
    write: Option<PendingWrite>,
}

#[derive(Clone, Debug, PartialEq)]
struct PendingWrite {
    write: PreCheckWrite,
    /// The version that the server has answered; none while it is under way, or where it was refused.
    version: Option<u64>,
    /// What it asks the agent, if it does.
    asks: Option<OtherQuestion>,
    /// What is known of the write before, while this one is under way: it counts again if this one is given up.
    earlier: Option<Box<PendingWrite>>,
}

impl PendingWrite {
    /// What it asks the agent, unless it was refused.
    fn question(&self) -> Option<&OtherQuestion> {
        self.asks.as_ref().filter(|_| self.write.refused.is_none())
    }
}

impl KnownPreChecks {
    fn is_blank(&self) -> bool {
        self.work.is_none() && self.write.is_none()
    }

    /// The write that has not come back.
    pub fn write(&self) -> Option<&PreCheckWrite> {
        self.write.as_ref().map(|pending| &pending.write)
    }

    /// The watch has come to this version.
    fn see(&mut self, version: u64) {
        self.version = version;
        let is_back = |pending: &PendingWrite| pending.version.is_some_and(|written| written <= version);
        if self.write.as_ref().is_some_and(is_back) {
            self.write = None;
        }
    }
}

impl KnownCluster {
    /// The work by which an upgrade asks this cluster.
    pub(super) fn pre_checks_of(&self, name: &ClusterName, upgrade: &UpgradeKey) -> Option<&KnownPreChecks> {
        if self.pre_checks.is_empty() {
            return None;
        }
        self.pre_checks.get(pre_checks_work_name(name, upgrade).as_str())
    }

    /// What other upgrades ask the agent of this cluster, without an answer yet.
    pub(super) fn other_questions(&self, name: &ClusterName, upgrade: &UpgradeKey) -> Vec<OtherQuestion> {
        if self.pre_checks.is_empty() {
            return Vec::new();
        }
        let own = pre_checks_work_name(name, upgrade);
        let others = self.pre_checks.iter().filter(|(other, _)| ***other != *own);
        let unanswered = others.filter_map(|(_, known)| {
            if let Some(asks) = known.write.as_ref().and_then(PendingWrite::question) {
                return Some(asks.clone());
            }
            let work = known.work.as_ref()?;
            let asked = work.question.as_ref().filter(|asked| asked.asks_agent)?;
            let is_open = !work.deleting && !work.is_taken && work.answer.current().is_none();
            is_open.then(|| OtherQuestion {
                target: Arc::clone(&asked.target),
                asked_at: asked.asked_at,
            })
        });
        unanswered.collect()
    }

    /// Nobody wants these writes any more.
    pub(super) fn forget_pre_check_writes(&mut self) {
        self.pre_checks.values_mut().for_each(|known| known.write = None);
        self.forget_blank_pre_checks();
    }

    fn forget_blank_pre_checks(&mut self) {
        self.pre_checks.retain(|_, known| !known.is_blank());
    }
}

impl Fleet {
    /// The watch says that a work by which a cluster is asked is so, in this version, or is gone.
    pub fn set_pre_checks(
        &mut self,
        cluster: &ClusterName,
        name: &str,
        work: Option<Arc<PreCheckWork>>,
        version: Option<u64>,
    ) -> Change {
        let all = &mut self.known(cluster).pre_checks;
        let known = all.entry(name.into()).or_default();
        let work = work.map(|work| with_earlier(work, known.work.as_deref()));
        let is_same = known.work == work;
        let before = known.write.is_some();
        known.work = work;
        match version {
            Some(version) => known.see(version),
            // A list lacks it.
            None => known.write = None,
        }
        let is_same = is_same && before == known.write.is_some();
        self.known(cluster).forget_blank_pre_checks();
        if is_same {
            return self.touch_nothing(cluster);
        }
        self.touch(cluster)
    }

    /// The names of the works by which a cluster is asked, as the watch has brought them.
    pub fn has_pre_checks(&self, cluster: &ClusterName, name: &str) -> bool {
        let known = self.clusters.get(cluster);
        known.is_some_and(|known| known.pre_checks.contains_key(name))
    }

    /// What the clusters of an upgrade have answered before they start, after [`Fleet::look`].
    pub fn pre_checks(&self, key: &UpgradeKey, now: Timestamp) -> BTreeMap<ClusterName, ClusterPreChecks> {
        let followed = self.upgrades.get(key);
        followed
            .map(|followed| followed.decider.pre_checks(now))
            .unwrap_or_default()
    }

    /// A write of a work by which a cluster is asked is under way.
    pub(super) fn begin_pre_checks(&mut self, upgrade: &UpgradeKey, action: &Action, now: Timestamp) {
        let Some(cluster) = asks(action) else { return };
        let name = pre_checks_work_name(cluster, upgrade);
        let known = self.known(cluster).pre_checks.get_mut(name.as_str());
        let mut earlier = known.and_then(|known| known.write.take());
        // One of them is enough: this one begins when that one has ended.
        if let Some(earlier) = &mut earlier {
            earlier.earlier = None;
        }
        self.note_pre_checks(upgrade, action, None, None, now);
        let known = self.known(cluster).pre_checks.get_mut(name.as_str());
        if let Some(write) = known.and_then(|known| known.write.as_mut()) {
            write.earlier = earlier.map(Box::new);
        }
    }

    /// What became of a write of a work by which a cluster is asked; nothing for any other action. `version` is that of the work now, if
    /// it is there; `refused` are the words with which it was not made.
    pub fn pre_checks_written(
        &mut self,
        upgrade: &UpgradeKey,
        action: &Action,
        version: Option<u64>,
        refused: Option<&str>,
        now: Timestamp,
    ) -> Option<Change> {
        let cluster = asks(action)?;
        self.note_pre_checks(upgrade, action, version, refused, now);
        Some(self.touch(cluster))
    }

    fn note_pre_checks(
        &mut self,
        upgrade: &UpgradeKey,
        action: &Action,
        version: Option<u64>,
        refused: Option<&str>,
        now: Timestamp,
    ) {
        let Some(cluster) = asks(action) else { return };
        let name = pre_checks_work_name(cluster, upgrade);
        let known = self.known(cluster).pre_checks.entry(name.into()).or_default();
        known.write = Some(PendingWrite {
            write: PreCheckWrite {
                until: now.saturating_add(AGAIN).unwrap_or(Timestamp::MAX),
                refused: refused.map(|words| drydock_rollout::bounded(words, 256).into()),
                keeps_question: matches!(action, Action::AskPreChecks(ask) if ask.question.yields),
            },
            version,
            asks: question(action),
            earlier: None,
        });
        let seen = known.version;
        known.see(seen);
    }

    /// A write of a work by which a cluster is asked was not made, for a reason that has nothing to do with it; or the work is gone.
    pub fn pre_checks_undone(
        &mut self,
        upgrade: &UpgradeKey,
        action: &Action,
        is_gone: bool,
    ) -> Option<Change> {
        let cluster = asks(action)?;
        let name = pre_checks_work_name(cluster, upgrade);
        if let Some(known) = self.known(cluster).pre_checks.get_mut(name.as_str()) {
            let earlier = known.write.take().and_then(|write| write.earlier);
            if is_gone {
                known.work = None;
            } else {
                known.write = earlier.map(|earlier| *earlier);
            }
        }
        self.known(cluster).forget_blank_pre_checks();
        Some(self.touch(cluster))
    }
}

/// The work with what it answered before, where it says nothing now: an agent that asks its informers again has no verdict meanwhile. It is
/// of the same upgrade and target, and only ever holds a cluster.
fn with_earlier(work: Arc<PreCheckWork>, before: Option<&PreCheckWork>) -> Arc<PreCheckWork> {
    let target = |work: &PreCheckWork| {
        let asked = work.question.as_ref()?;
        Some((
            work.uid.clone(),
            asked.target.clone(),
            asked.image.clone(),
            asked.asks_agent,
        ))
    };
    let known = before.filter(|before| target(before).is_some() && target(before) == target(&work));
    match known.map(|before| before.answer.before()) {
        Some(earlier) if says_less(&work, &earlier) => Arc::new(PreCheckWork {
            answer: earlier,
            ..(*work).clone()
        }),
        _ => work,
    }
}

/// Whether a work says less than it did: nothing, or only what ClusterVersion says where its agent held the cluster. That a cluster knows no
/// UpdatePlan may be for the moment in which its definition is replaced.
fn says_less(work: &PreCheckWork, earlier: &KnownAnswer) -> bool {
    match (&work.answer, earlier) {
        (KnownAnswer::None, earlier) => *earlier != KnownAnswer::None,
        (KnownAnswer::OfAnother(_), earlier) => matches!(earlier, KnownAnswer::Earlier(_)),
        (KnownAnswer::Earlier(now) | KnownAnswer::Current(now), KnownAnswer::Earlier(earlier)) => {
            matches!(earlier.source, AnswerSource::Agent { stops: true, .. })
                && now.source == AnswerSource::ClusterVersion
        }
        (KnownAnswer::Earlier(_) | KnownAnswer::Current(_), _) => false,
    }
}

/// What the agent is asked, if it is.
fn question(action: &Action) -> Option<OtherQuestion> {
    let Action::AskPreChecks(ask) = action else {
        return None;
    };
    let asks = ask.question.asks_agent && !ask.question.yields;
    asks.then(|| OtherQuestion {
        target: Arc::clone(&ask.question.target),
        asked_at: ask.question.asked_at,
    })
}

/// The cluster that is asked, or is asked no more.
fn asks(action: &Action) -> Option<&ClusterName> {
    match action {
        Action::AskPreChecks(ask) => Some(&ask.cluster),
        Action::DeletePreChecks { cluster, .. } => Some(cluster),
        _ => None,
    }
}

/// The works by which one cluster is asked, by their names.
pub(super) type PreChecksByName = BTreeMap<Arc<str>, KnownPreChecks>;
