//! What clusters are asked before they start, and what they answer.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use drydock_names::ClusterName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Owner, Uid, UpgradeKey};
use crate::goal::short_hash;
use crate::{ClusterFacts, Selector};

/// How bad a finding is that has to be accepted. Ordered from what matters least; what could not be judged is worse than a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingLevel {
    /// Minor or transient.
    #[default]
    Warning,
    /// It could not be judged.
    Unknown,
    /// An administrator is needed.
    Error,
    /// Data or the cluster may be lost.
    Critical,
}

impl FindingLevel {
    /// All levels, from what matters least.
    pub const ALL: [Self; 4] = [Self::Warning, Self::Unknown, Self::Error, Self::Critical];

    /// The level's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "Warning",
            Self::Unknown => "Unknown",
            Self::Error => "Error",
            Self::Critical => "Critical",
        }
    }

    /// The level of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// Whether the acceptance of this level covers a finding of another one. What could not be judged may be anything, so that only
    /// who has accepted the worst, or that it cannot be judged, has accepted it: as the agent has it.
    pub fn covers(self, found: Self) -> bool {
        match (self, found) {
            (Self::Unknown, found) => found == Self::Unknown,
            (accepted, Self::Unknown) => accepted == Self::Critical,
            (accepted, found) => found <= accepted,
        }
    }
}

impl fmt::Display for FindingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that would be a problem with the upgrade of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is on every cluster: a digest of the informer, the scope and the uid. Absent where an informer has not answered.
    pub uuid: Option<Arc<str>>,
    /// Who reports it.
    pub informer: Arc<str>,
    /// What it is to its informer, if that is known.
    pub uid: Option<Arc<str>>,
    /// How bad it is.
    pub level: FindingLevel,
    /// The headline.
    pub summary: Arc<str>,
    /// What it means, such as "Update Stalled"; empty if that is not known.
    pub impact: Arc<str>,
    /// What to do about it; empty if that is not known.
    pub remedy: Arc<str>,
    /// What its acceptance comes to.
    pub acceptance: FindingAcceptance,
    /// Who has accepted it, as far as the hub knows.
    pub accepted_by: Option<AcceptedBy>,
}

/// Who has accepted a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedBy {
    /// The user.
    pub user: Arc<str>,
    /// Why.
    pub reason: Arc<str>,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// What the acceptance of a finding comes to (insights.md, section 1.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FindingAcceptance {
    /// Nobody has accepted it.
    #[default]
    None,
    /// It counts.
    Accepted,
    /// Somebody has accepted it on the hub, and the cluster's agent, which decides, has not been asked since.
    Unconfirmed,
    /// The finding has become worse since.
    LevelRaised,
    /// It was accepted for a time that is over.
    Expired,
}

impl FindingAcceptance {
    /// What an agent says, if it is known.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "Accepted" => Some(Self::Accepted),
            "LevelRaised" => Some(Self::LevelRaised),
            "Expired" => Some(Self::Expired),
            _ => None,
        }
    }

    /// Its name; `None` if nobody has accepted the finding.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Accepted => Some("Accepted"),
            Self::Unconfirmed => Some("Unconfirmed"),
            Self::LevelRaised => Some("LevelRaised"),
            Self::Expired => Some("Expired"),
        }
    }

    /// Whether the finding keeps nothing from starting.
    pub fn is_accepted(self) -> bool {
        self == Self::Accepted
    }

    /// Why an acceptance counts no more, in words; `None` if it counts, or if there is none.
    pub fn why_ended(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Accepted | Self::Unconfirmed => None,
            Self::LevelRaised => Some("beyond what was accepted, now or before"),
            Self::Expired => Some("accepted for a time that is over"),
        }
    }
}

/// Who has answered for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerSource {
    /// Its agent, with an UpdatePlan.
    Agent {
        /// When everything was asked.
        collected_at: Timestamp,
        /// The verdict is Stop.
        stops: bool,
        /// How many findings nobody has accepted; more than are listed, perhaps.
        unaccepted: usize,
    },
    /// Nobody: what its ClusterVersion says, as of when it was asked or later.
    ClusterVersion,
    /// The cluster has the target already, or is on its way to it: there is nothing to ask.
    AtTarget,
}

/// What a cluster has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckAnswer {
    /// Who has.
    pub source: AnswerSource,
    /// The worst findings, the worst first.
    pub findings: Arc<[Finding]>,
}

impl PreCheckAnswer {
    /// Whether it may hold a cluster. What is accepted of what ClusterVersion says is not known here.
    pub fn may_hold(&self) -> bool {
        match self.source {
            AnswerSource::Agent { stops, .. } => stops,
            AnswerSource::ClusterVersion => !self.findings.is_empty(),
            AnswerSource::AtTarget => false,
        }
    }
}

/// What is known of a cluster's answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KnownAnswer {
    /// Nothing.
    #[default]
    None,
    /// What it said before it was asked anew about the same target: it may hold the cluster until there is an answer, and lets nothing
    /// start.
    Earlier(PreCheckAnswer),
    /// What the agent has found for another upgrade that asks about the same release at present: it may hold the cluster, too.
    OfAnother(PreCheckAnswer),
    /// The answer.
    Current(PreCheckAnswer),
}

impl KnownAnswer {
    /// The answer to what is asked now.
    pub fn current(&self) -> Option<&PreCheckAnswer> {
        match self {
            Self::Current(answer) => Some(answer),
            Self::None | Self::Earlier(_) | Self::OfAnother(_) => None,
        }
    }

    /// What it is once the same is asked anew: it holds what it held, and lets nothing start.
    pub fn before(&self) -> Self {
        match self {
            Self::Current(answer) | Self::Earlier(answer) => Self::Earlier(answer.clone()),
            Self::None | Self::OfAnother(_) => self.clone(),
        }
    }

    /// The last answer, of whatever time, to whatever upgrade.
    pub fn any(&self) -> Option<&PreCheckAnswer> {
        match self {
            Self::Current(answer) | Self::Earlier(answer) | Self::OfAnother(answer) => Some(answer),
            Self::None => None,
        }
    }
}

/// What a cluster is asked. It stands on the work that asks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreCheckQuestion {
    /// The release, in words: a version, or an image.
    pub target: Arc<str>,
    /// Whether the agent is asked, or only ClusterVersion is read.
    pub asks_agent: bool,
    /// A digest of the risks that are accepted; empty if none are.
    #[serde(default)]
    pub accepted: Arc<str>,
    /// For whom: the upgrade, and what it accepts. A cluster has one plan of a release, which several upgrades may ask for.
    #[serde(default)]
    pub asked_for: Arc<str>,
    /// The image that is asked for, if one is: another one under the same version is another release.
    #[serde(default)]
    pub image: Arc<str>,
    /// In which form it is asked: one of an earlier release of Drydock is asked anew.
    #[serde(default)]
    pub form: u32,
    /// Another upgrade has the agent asked since: this one only reads what it says. Both would write the same plan else, time and again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yields: bool,
    /// When it was asked, in whole seconds.
    pub asked_at: Timestamp,
}

impl PreCheckQuestion {
    /// The form in which clusters are asked.
    pub const FORM: u32 = 6;

    /// The same while another upgrade has the agent asked.
    pub fn yielding(&self) -> Self {
        Self {
            yields: true,
            ..self.clone()
        }
    }

    /// Whether another question is the same, whenever it was asked.
    pub fn is_same(&self, other: &Self) -> bool {
        self.target == other.target
            && self.asks_agent == other.asks_agent
            && self.accepted == other.accepted
            && self.asked_for == other.asked_for
            && self.image == other.image
            && self.form == other.form
    }

    /// Whether another question is about the same release, and asked of the same: what it has found before may still be so.
    pub fn is_about_same(&self, other: &Self) -> bool {
        self.target == other.target && self.asks_agent == other.asks_agent && self.image == other.image
    }
}

/// A work that asks a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckWork {
    /// Its uid.
    pub uid: Uid,
    /// Who made it.
    pub owner: Owner,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What it asks, if that can be read.
    pub question: Option<Arc<PreCheckQuestion>>,
    /// The answer to that.
    pub answer: KnownAnswer,
    /// Why there is none, if that is said.
    pub trouble: Option<Arc<str>>,
    /// The agent has been asked for another upgrade since: what it says is not for this one.
    pub is_taken: bool,
    /// That upgrade has asked after this one: what this one asks is not to be written over it.
    pub is_asked_later: bool,
    /// The ids of accepted risks that have ended there, by what its agent says.
    pub ended: Arc<[Arc<str>]>,
    /// What its ClusterVersion has against a request of the release by its version alone. An agent does not say so: it requests by image.
    pub without_image: Option<Finding>,
}

impl PreCheckWork {
    /// Whether there is nothing to ask: the cluster is at the target, or on its way to it.
    pub fn has_nothing_to_answer(&self) -> bool {
        let answer = self.answer.current();
        answer.is_some_and(|answer| answer.source == AnswerSource::AtTarget)
    }

    /// Whether it has yielded to another upgrade that does not have the agent asked any more.
    pub fn has_yielded_to_nobody(&self) -> bool {
        let has_yielded = self.question.as_ref().is_some_and(|asked| asked.yields);
        has_yielded && !self.is_taken
    }
}

/// What another upgrade asks a cluster's agent, without an answer yet: a cluster has one plan of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherQuestion {
    /// About which target.
    pub target: Arc<str>,
    /// Since when.
    pub asked_at: Timestamp,
}

/// A write of such a work that has not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckWrite {
    /// When it is tried again.
    pub until: Timestamp,
    /// Why it was refused, if it was, in the server's words.
    pub refused: Option<Arc<str>>,
    /// Whether what was asked before is still asked after it.
    pub keeps_question: bool,
}

/// The name of the work by which an upgrade asks a cluster. It is the same after a restore from a backup, which gives another uid.
pub fn pre_checks_work_name(cluster: &ClusterName, upgrade: &UpgradeKey) -> String {
    format!("{cluster}-pre-checks-{}", short_hash(&upgrade.to_string()))
}

/// Which finding is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedFinding {
    /// That of this uuid.
    Uuid(Arc<str>),
    /// Those that an informer gives this uid.
    Named {
        /// The informer.
        informer: Arc<str>,
        /// The uid.
        uid: Arc<str>,
    },
}

/// As people name it: the uuid, or informer and uid.
impl fmt::Display for AcceptedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => f.write_str(uuid),
            Self::Named { informer, uid } => write!(f, "{informer}/{uid}"),
        }
    }
}

/// A risk that somebody has accepted, for some clusters of an upgrade and one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RiskAcceptance {
    /// The target, as [`PreCheckQuestion::target`] has it: it counts for no other.
    pub target: Arc<str>,
    /// Its short name ([`RiskAcceptance::named`]): any other entry has another, also the same one for another target, or accepted anew. It
    /// says nothing of where it counts.
    pub id: Arc<str>,
    /// Where it has ended, because what it covered became worse.
    pub ended: EndedOn,
    /// What is accepted.
    pub finding: AcceptedFinding,
    /// On which clusters; on all if not given.
    pub clusters: Option<BTreeSet<ClusterName>>,
    /// On clusters with which labels; with any if not given.
    pub selector: Option<Selector>,
    /// Up to which level.
    pub level: FindingLevel,
    /// Who accepts it.
    pub accepted_by: Arc<str>,
    /// Why.
    pub reason: Arc<str>,
    /// When, if that is known: one that ended counts again when it is accepted anew.
    pub accepted_at: Option<Timestamp>,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// The clusters on which an accepted risk has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndedOn {
    /// These.
    Clusters(BTreeSet<ClusterName>),
    /// All, also those that join later.
    Everywhere,
}

impl Default for EndedOn {
    fn default() -> Self {
        Self::Clusters(BTreeSet::new())
    }
}

impl EndedOn {
    /// Whether it has ended on a cluster.
    pub fn has(&self, cluster: &ClusterName) -> bool {
        match self {
            Self::Clusters(names) => names.contains(cluster),
            Self::Everywhere => true,
        }
    }

    /// Whether it has ended nowhere.
    pub fn is_nowhere(&self) -> bool {
        matches!(self, Self::Clusters(names) if names.is_empty())
    }

    /// Where either of them has ended.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Clusters(mut names), Self::Clusters(others)) => {
                names.extend(others.iter().cloned());
                Self::Clusters(names)
            }
            _ => Self::Everywhere,
        }
    }

    /// The same, and on this cluster; everywhere if there are more than `most`.
    #[must_use]
    pub fn and(self, cluster: &ClusterName, most: usize) -> Self {
        match self {
            Self::Clusters(mut names) => {
                names.insert(cluster.clone());
                if names.len() > most {
                    Self::Everywhere
                } else {
                    Self::Clusters(names)
                }
            }
            Self::Everywhere => Self::Everywhere,
        }
    }
}

impl RiskAcceptance {
    /// The same, with its name by what it says, and for which upgrade: who says the same for another one has accepted it for that one.
    #[must_use]
    pub fn named(self, upgrade: &UpgradeKey) -> Self {
        let Self {
            target,
            id: _,
            ended: _,
            finding,
            clusters: _,
            selector: _,
            level,
            accepted_by,
            reason,
            accepted_at,
            until: _,
        } = &self;
        let finding = match finding {
            AcceptedFinding::Uuid(uuid) => format!("uuid {uuid:?}"),
            AcceptedFinding::Named { informer, uid } => format!("named {informer:?} {uid:?}"),
        };
        let accepted_at = accepted_at.map(|time| time.to_string()).unwrap_or_default();
        let text =
            format!("{upgrade} {target:?} {finding} {level} {accepted_by:?} {reason:?} at {accepted_at}");
        Self {
            id: short_hash(&text).into(),
            ..self
        }
    }

    /// Whether it counts longer than another: forever, where it does not say until when.
    pub fn outlasts(&self, other: &Self) -> bool {
        match (self.until, other.until) {
            (Some(until), Some(other)) => until > other,
            (None, other) => other.is_some(),
            (Some(_), None) => false,
        }
    }

    /// Whether it is about a cluster.
    pub fn is_about(&self, name: &ClusterName, facts: Option<&ClusterFacts>) -> bool {
        let is_named = self.clusters.as_ref().is_none_or(|names| names.contains(name));
        let has_labels = self
            .selector
            .as_ref()
            .is_none_or(|selector| facts.is_some_and(|facts| selector.matches(&facts.labels)));
        is_named && has_labels
    }

    /// Whether it covers a finding: it is about it, and of its level. Whether its time is over is not asked here.
    pub fn covers(&self, finding: &Finding) -> bool {
        self.is_about_finding(finding) && self.level.covers(finding.level)
    }

    /// Whether it is about a finding, however bad that has become.
    pub fn is_about_finding(&self, finding: &Finding) -> bool {
        match &self.finding {
            AcceptedFinding::Uuid(uuid) => finding.uuid.as_ref() == Some(uuid),
            AcceptedFinding::Named { informer, uid } => {
                finding.informer == *informer && finding.uid.as_ref() == Some(uid)
            }
        }
    }
}

/// A digest of the risks that are accepted on a cluster, and of which of them last, empty if there are none: the same for the same, whoever
/// computes it.
pub fn digest_of_accepted(
    accepted: &[&RiskAcceptance],
    cluster: &ClusterName,
    lasts: &dyn Fn(&RiskAcceptance) -> bool,
) -> Arc<str> {
    if accepted.is_empty() {
        return Arc::default();
    }
    let text: Vec<String> = accepted
        .iter()
        .map(|risk| {
            let (ended, lasts) = (risk.ended.has(cluster), lasts(risk));
            format!("{} {:?} {ended} {lasts}", risk.id, risk.until)
        })
        .collect();
    short_hash(&text.join("\n")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acceptance_covers_what_is_no_worse_and_the_unknown_only_if_it_says_so() {
        use FindingLevel::{Critical, Error, Unknown, Warning};
        for (accepted, covered) in [
            (Warning, vec![Warning]),
            (Unknown, vec![Unknown]),
            (Error, vec![Warning, Error]),
            (Critical, vec![Warning, Unknown, Error, Critical]),
        ] {
            let covers: Vec<_> = FindingLevel::ALL
                .into_iter()
                .filter(|found| accepted.covers(*found))
                .collect();
            assert_eq!(covers, covered, "{accepted}");
        }
    }
}
