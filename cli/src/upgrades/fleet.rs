//! The clusters of an upgrade, read from its works.

use std::collections::BTreeMap;

use drydock_api::ClusterName;
use drydock_api::names::{CANARY_ANNOTATION, STATE_REASON_ANNOTATION};
use drydock_api::ocm::ManifestWork;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde::Serialize;

use super::arguments::StateFilter;
use crate::progress::{Fleet, Stage, WorkDigest};

/// One cluster that has started.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether it was a canary.
    pub canary: bool,
    /// Where it is.
    pub state: &'static str,
    /// When its first work was made.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed, in CamelCase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is to be said.
    pub message: String,
    #[serde(skip)]
    stage: Option<Stage>,
}

impl Row {
    /// How long it has taken so far, or took.
    pub fn took(&self, now: Timestamp) -> Option<SignedDuration> {
        Some(self.ended_at.unwrap_or(now).duration_since(self.started_at?))
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, Some(Stage::Ended(_)))
    }

    /// Whether it is one of those that are asked for.
    pub fn is(&self, filter: StateFilter) -> bool {
        match filter {
            StateFilter::Failed => self.state == "Failed",
            StateFilter::Complete => self.state == "Complete",
            StateFilter::InFlight => !self.has_ended(),
        }
    }
}

/// The clusters that have started, as people count.
pub fn rows(works: &[ManifestWork]) -> Vec<Row> {
    let mut names: BTreeMap<ClusterName, bool> = BTreeMap::new();
    let mut reasons: BTreeMap<ClusterName, String> = BTreeMap::new();
    for work in works {
        let cluster = ClusterName::from(work.namespace().unwrap_or_default().as_str());
        let is_canary = work.annotations().contains_key(CANARY_ANNOTATION);
        *names.entry(cluster.clone()).or_default() |= is_canary;
        if let Some(reason) = work.annotations().get(STATE_REASON_ANNOTATION) {
            reasons.insert(cluster, reason.clone());
        }
    }
    let mut fleet = Fleet::new(names);
    for work in works {
        let cluster = ClusterName::from(work.namespace().unwrap_or_default().as_str());
        fleet.saw_work(&cluster, &WorkDigest::of(work));
    }
    fleet
        .clusters()
        .into_iter()
        .map(|(name, progress)| Row {
            name: name.to_string(),
            canary: progress.canary,
            state: progress.stage.as_str(),
            started_at: progress.started,
            ended_at: progress.ended,
            reason: reasons.get(name).cloned(),
            message: progress.message.clone(),
            stage: Some(progress.stage),
        })
        .collect()
}
