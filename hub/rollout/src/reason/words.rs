//! Reasons as sentences, for people.

use std::fmt;

use super::{BELONGS_TO, Reason};
use crate::Stage;
use crate::expected::in_words;

impl Reason {
    /// The sentence, of a reason that says the same of every cluster.
    fn fixed(&self) -> Option<&'static str> {
        Some(match self {
            Self::ReadyToStart => "waiting for its turn",
            Self::Starting => "starting",
            Self::WaitingForCanaries => "waiting until all canaries are complete",
            Self::WaitingForQuestions => "waiting until every cluster has been asked for its pre-checks",
            Self::WaitingForWindow { opens: None } => {
                "no start window of the cluster is open, and none will open again: correct spec.upgradeStrategy.startWindows"
            }
            Self::ClusterUnknown => "there is no ManagedCluster of this name",
            Self::NotAccepted => "the hub has not accepted the cluster",
            Self::NotJoined => "the cluster has not joined the hub",
            Self::BeingDeleted => "the ManagedCluster is being deleted",
            Self::NotAvailable => "the cluster is not Available; nothing starts there before it is",
            Self::NoLongerMatches => {
                "the cluster's labels or sets do not match the selection any more; waiting until OCM updates the PlacementDecision"
            }
            Self::AgentNotAvailable => {
                "upgradeVia is Agent, and the add-on drydock-agent is not Available on the cluster"
            }
            Self::AwaitingPreChecks => "waiting until the cluster answers its pre-checks",
            Self::PreChecksUnanswered(None) => {
                "the cluster has not answered its pre-checks in time: see whether its work agent and drydock-agent run"
            }
            Self::ReplacingOldWork => {
                "waiting until the ManifestWork of an earlier upgrade is deleted; where the agent has commenced an upgrade, this lasts until that upgrade has ended"
            }
            Self::AwaitingRecord => "waiting until the outcome of the earlier upgrade is on its record",
            Self::WorkBeingDeleted => "its work is being deleted, not by the hub; waiting until it is gone",
            Self::WaitingForApply(None) => "waiting until the cluster applies the work",
            Self::ActionDone => "the action has succeeded",
            Self::SpecInvalid => "waiting until the spec is valid again",
            Self::ReadingVersion => {
                "waiting until the cluster says which version it runs: no upgrade is requested before that"
            }
            Self::WaitingForTarget(None) => "waiting until the cluster takes up the target",
            Self::Progressing(None) => "upgrading",
            Self::WaitingForClusterVersion => {
                "the agent says that the upgrade is done, ClusterVersion does not say so yet"
            }
            _ => return None,
        })
    }
}

impl Reason {
    /// What start times say of the cluster.
    fn write_start_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForWindow { opens: Some(opens) } => write!(
                f,
                "no start window of the cluster is open; the next one opens at {opens}"
            ),
            Self::DoesNotFit { expected, until } => {
                write!(
                    f,
                    "too little time is left of its start window, or before a freeze: it takes {expected}"
                )?;
                match until {
                    Some(until) => write!(f, "; it may start at {until}"),
                    None => {
                        f.write_str("; no later window is known: correct spec.upgradeStrategy.startWindows")
                    }
                }
            }
            Self::NeverFits { expected, longest } => write!(
                f,
                "it never starts: it takes {expected}, and no start window is open for longer than {}; lengthen one, or unset \
                 startOnlyIfItFits",
                in_words(*longest)
            ),
            Self::Frozen {
                until: Some(until),
                why,
            } => write!(f, "frozen: {why}; it may start at {until}"),
            Self::Frozen { until: None, why } => write!(
                f,
                "frozen: {why}; it may not start any more: correct spec.upgradeStrategy.startWindows"
            ),
            Self::FreezeCalendarUnreadable(why) => {
                write!(f, "the calendar of freezes cannot be read: {why}")
            }
            other => f.write_str(other.as_str()),
        }
    }
}

impl Reason {
    /// What the cluster itself says that keeps it from being upgraded.
    fn write_what_holds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RisksNotAccepted { count: 0, findings } => write!(f, "the verdict holds it: {findings}"),
            Self::RisksNotAccepted { count, findings } => {
                let noun = if *count == 1 { "finding is" } else { "findings are" };
                write!(f, "{count} {noun} not accepted: {findings}")
            }
            Self::PreChecksUnanswered(Some(why)) => {
                write!(f, "the cluster has not answered its pre-checks in time: {why}")
            }
            Self::PreChecksNotAsked(why) => {
                write!(f, "the cluster could not be asked for its pre-checks: {why}")
            }
            Self::UpgradeInProgress(version) => {
                write!(
                    f,
                    "waiting for the update of the cluster to {version}, which is under way"
                )
            }
            Self::LockHeld(holder) => write!(f, "waiting for {holder}, which has the lock of the cluster"),
            Self::WaitingForTarget(Some(why)) => {
                write!(f, "waiting until the cluster takes up the target: {why}")
            }
            Self::HeldByAgent(how) => write!(f, "upgrading: {how}"),
            other => f.write_str(other.as_str()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sentence) = self.fixed() {
            return f.write_str(sentence);
        }
        match self {
            Self::WaitingForSlot { in_flight, limit } => {
                write!(f, "waiting for a slot: {in_flight} of {limit} are taken")
            }
            Self::Halted {
                reason,
                until: Some(until),
            } => write!(
                f,
                "no cluster starts ({reason}) before {until:.0}: see the conditions"
            ),
            Self::Halted { reason, until: None } => {
                write!(f, "no cluster starts ({reason}): see the conditions")
            }
            Self::WaitingForWindow { .. }
            | Self::DoesNotFit { .. }
            | Self::NeverFits { .. }
            | Self::Frozen { .. }
            | Self::FreezeCalendarUnreadable(_) => self.write_start_time(f),
            Self::RisksNotAccepted { .. }
            | Self::PreChecksUnanswered(Some(_))
            | Self::PreChecksNotAsked(_)
            | Self::LockHeld(_)
            | Self::HeldByAgent(_)
            | Self::WaitingForTarget(Some(_))
            | Self::UpgradeInProgress(_) => self.write_what_holds(f),
            Self::NotOpenShift(product) => write!(
                f,
                "the cluster is {product}, which is not upgraded by a ClusterVersion: leave it out of the selection"
            ),
            Self::Tainted(taint) => write!(
                f,
                "the cluster has the taint {taint}, which its placement does not tolerate"
            ),
            Self::OwnedByAnotherUpgrade(upgrade) => {
                write!(f, "{BELONGS_TO}{upgrade} until that upgrade has finished there")
            }
            Self::NamespaceMissing(words) => {
                let how = if words.contains("being terminated") {
                    "being deleted"
                } else {
                    "missing"
                };
                write!(f, "the cluster's namespace is {how} on the hub: {words}")
            }
            Self::WriteRefused { stage, words } => {
                write!(f, "the work of the {} cannot be written: {words}", stage.label())
            }
            Self::ConfirmingWork(kind) => write!(
                f,
                "checking whether the ManifestWork of the {} exists",
                Stage::of(*kind).label()
            ),
            Self::WaitingForApply(Some(why)) => write!(f, "the cluster cannot apply the work: {why}"),
            Self::ActionRunning { succeeded, total } => {
                write!(f, "the action runs: {succeeded} of {total} have succeeded")
            }
            Self::Progressing(Some(how)) | Self::Blocked(how) => write!(f, "upgrading: {how}"),
            Self::Unreadable(why) => {
                write!(f, "the status feedback of the ManifestWork cannot be read: {why}")
            }
            Self::AlreadyAtTarget(message) | Self::Upgraded(message) | Self::Failed { message, .. } => {
                f.write_str(message)
            }
            other => f.write_str(other.as_str()),
        }
    }
}
