//! Retries: an annotation of the upgrade, whose value only has to be a new one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_objects::ClusterDetails;
use drydock_objects::upgrade::parse_retry_clusters;
use drydock_rollout::{Afterwards, ClusterState};
use jiff::Timestamp;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::start::write_as_read;
use crate::{EditError, hex};

/// The names of those that have failed.
pub fn failed(clusters: &[ClusterDetails]) -> Vec<&str> {
    let failed = clusters
        .iter()
        .filter(|details| details.state == ClusterState::Failed);
    failed.map(|details| details.name.as_str()).collect()
}

/// Which clusters have failed, in short: who has been asked about these retries no others.
pub fn failed_set(clusters: &[ClusterDetails]) -> String {
    let names: BTreeSet<&str> = failed(clusters).into_iter().collect();
    let mut digest = Sha256::new();
    for name in names {
        digest.update(name);
        digest.update("\n");
    }
    hex(&digest.finalize(), 8)
}

/// When what is retried starts over, if that is not at once when it is its turn: words to be put behind it. All clusters that have failed are retried,
/// or one.
pub fn when_it_starts_over(
    upgrade: &ManagedClustersUpgrade,
    clusters: &[ClusterDetails],
    one: Option<&ClusterName>,
) -> String {
    let is_retried = |details: &&ClusterDetails| match one {
        Some(one) => details.name == one.as_str(),
        None => details.state == ClusterState::Failed,
    };
    let has_another = |details: &ClusterDetails| match &details.afterwards {
        Some(Afterwards::LeftTo {
            upgrade,
            is_at_work: true,
        }) => Some(Arc::clone(upgrade)),
        _ => None,
    };
    let others: Vec<Arc<str>> = clusters
        .iter()
        .filter(is_retried)
        .filter_map(has_another)
        .collect();
    let mut when = String::new();
    if upgrade.spec.paused == Some(true) {
        when.push_str(" once the upgrade is resumed: it is paused");
    }
    match (one, &*others) {
        (_, []) => {}
        (Some(_), [other, ..]) => {
            let _ = write!(
                when,
                "; upgrade {other} has it now: not before that one has ended there"
            );
        }
        (None, others) => {
            let _ = write!(
                when,
                "; later upgrades have {} of them now: not before these have ended there",
                others.len()
            );
        }
    }
    when
}

/// Lets clusters start over that have `failed`: all of them if none is named. They start to what was read: where somebody has edited the
/// upgrade since, nothing is retried.
///
/// # Errors
/// If nothing has failed, a named cluster has not, the upgrade is edited meanwhile, or the API server refuses.
pub async fn retry(
    client: &Client,
    upgrade: ManagedClustersUpgrade,
    failed: &[&str],
    clusters: &[ClusterName],
    now: Timestamp,
) -> Result<(), EditError> {
    if failed.is_empty() {
        return Err(EditError::NothingFailed(upgrade.name_any()));
    }
    if let Some(other) = clusters.iter().find(|name| !failed.contains(&name.as_str())) {
        return Err(EditError::NotFailed {
            cluster: other.clone(),
            failed: failed.iter().map(|name| (*name).to_owned()).collect(),
        });
    }
    let value = now.to_string();
    let change = |upgrade: &ManagedClustersUpgrade| Ok(Some(asking(upgrade, clusters, &value)));
    write_as_read(client, upgrade, change).await.map(|_| ())
}

/// The change that asks for a retry of all clusters, or of some beside those that were asked for.
fn asking(upgrade: &ManagedClustersUpgrade, clusters: &[ClusterName], value: &str) -> Value {
    if clusters.is_empty() {
        return json!({"metadata": {"annotations": {RETRY_ANNOTATION: value}}});
    }
    let asked = upgrade.annotations().get(RETRY_CLUSTERS_ANNOTATION);
    let mut asked = parse_retry_clusters(asked.map(String::as_str).unwrap_or_default());
    asked.extend(clusters.iter().map(|cluster| (cluster.clone(), value.into())));
    let pairs: Vec<String> = asked
        .iter()
        .map(|(cluster, value)| format!("{cluster}={value}"))
        .collect();
    json!({"metadata": {"annotations": {RETRY_CLUSTERS_ANNOTATION: pairs.join(",")}}})
}
