//! Why something is not changed.

use drydock_api::ClusterName;
use drydock_api::mcu::{ACCEPTED_RISKS_LIMIT, ManagedClustersUpgrade};
use drydock_rollout::InvalidSpec;
use kube::ResourceExt;

/// Why something is not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Nothing is to be retried.
    #[error("no cluster of {0} has failed, or those that had start over already: there is nothing to retry")]
    NothingFailed(String),
    /// This cluster is not to be retried.
    #[error("cluster {cluster} has not failed; these have: {}", failed.join(", "))]
    NotFailed {
        /// The cluster.
        cluster: ClusterName,
        /// Those that have failed.
        failed: Vec<String>,
    },
    /// Nobody knows for which target findings are accepted.
    #[error("the spec of the upgrade is invalid")]
    InvalidSpec(#[from] InvalidSpec),
    /// Clusters are only asked about a release.
    #[error("the upgrade has no release as its target: nothing is asked")]
    NoTarget,
    /// The level up to which it is accepted is not known.
    #[error(
        "no cluster {of_which}reports {finding} now: see kubectl drydock pre-checks {upgrade}, or say --level; one whose agent is being asked, for this upgrade or \
         another one, reports nothing meanwhile"
    )]
    UnknownFinding {
        /// The finding.
        finding: String,
        /// The upgrade, as commands name it.
        upgrade: String,
        /// Which clusters were looked at, with a space behind it; empty if all were.
        of_which: &'static str,
    },
    /// Another object has the name.
    #[error(
        "the UpgradeRiskAcceptance {name} is about {upgrade} to {target}, and nothing is added to it: delete or rename it"
    )]
    OfAnotherUpgrade {
        /// Its namespace and name.
        name: String,
        /// The upgrade that it is about.
        upgrade: String,
        /// The target that it is about.
        target: String,
    },
    /// The object would be too large.
    #[error(
        "an UpgradeRiskAcceptance holds {ACCEPTED_RISKS_LIMIT} risks: remove those that are over, or write another object"
    )]
    TooManyRisks,
    /// A text is no upgrade that could be applied.
    #[error("the text cannot be applied: {0}")]
    InvalidManifest(String),
    /// What was edited is not what there is.
    #[error(
        "somebody has changed or deleted {0} since you opened it: keep a copy of your change, discard the text, and make it in the spec as it is now"
    )]
    ChangedSince(String),
    /// What somebody was asked about is not what there is.
    #[error("somebody has created, changed or deleted {0} since you were asked: nothing is done")]
    ChangedSinceAsked(String),
    /// What was written would go with it.
    #[error("{0} is being deleted, and a change would go with it: nothing is written")]
    BeingDeleted(String),
    /// The text is what there is.
    #[error("nothing of {0} is changed")]
    NothingChanged(String),
    /// What is not listed may be anything.
    #[error(
        "{more} of the fields of {upgrade} that become different are not shown, and nothing is applied that nobody can have seen: use kubectl apply \
         --server-side, or a smaller text"
    )]
    NotAllShown {
        /// Namespace and name.
        upgrade: String,
        /// How many are not listed.
        more: usize,
    },
    /// Others manage what would be written.
    #[error(
        "fields of {upgrade} that the text sets otherwise are managed by others, or were edited (paused, too) with the page or the plugin: {fields}"
    )]
    FieldsOfOthers {
        /// Namespace and name.
        upgrade: String,
        /// Who manages which, in the words of the API server.
        fields: String,
    },
    /// Somebody else was faster, each time.
    #[error("{0}: somebody else changes it all the time")]
    Contended(String),
    /// The API server refuses, or does not answer.
    #[error("{doing}")]
    Server {
        /// What was being done.
        doing: String,
        /// Why not.
        source: kube::Error,
    },
}

impl EditError {
    /// What the API server says about a change of an upgrade.
    pub(crate) fn changing(upgrade: &ManagedClustersUpgrade, source: kube::Error) -> Self {
        let namespace = upgrade.namespace().unwrap_or_default();
        Self::Server {
            doing: format!(
                "changing the ManagedClustersUpgrade {namespace}/{}",
                upgrade.name_any()
            ),
            source,
        }
    }
}
