//! What people do to upgrades on the page: the writes of the plugin, with the rights of the server's client.

use axum::Json;
use axum::extract::State;
use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_edits::{Accepted, Accepting};
use drydock_rollout::UpgradeKey;
use http::StatusCode;
use jiff::Timestamp;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};

use crate::access::{Right, Viewer};
use crate::body::{Given, Named};
use crate::error::ApiError;
use crate::server::Dashboard;
use crate::visible::is_visible;

/// What was done, in words.
#[derive(Serialize)]
pub(crate) struct Done {
    done: String,
    /// The edition of an upgrade that was edited, for who goes on editing.
    #[serde(skip_serializing_if = "Option::is_none")]
    edition: Option<String>,
}

impl Done {
    /// What was done, and the edition that it has made of an upgrade.
    pub fn with_edition(words: String, edition: Option<String>) -> Json<Self> {
        Json(Self { done: words, edition })
    }
}

fn done(words: String) -> Json<Done> {
    Done::with_edition(words, None)
}

pub(crate) type Answer = Result<Json<Done>, ApiError>;

/// The upgrade that a path names, as the API server has it now, and who changes it.
struct Changed {
    client: Client,
    key: UpgradeKey,
    upgrade: ManagedClustersUpgrade,
}

/// Which upgrade somebody was asked about.
#[derive(Deserialize)]
pub(crate) struct Meant {
    /// Its uid; none where its name alone is given.
    uid: Option<String>,
    /// Its generation, where what follows depends on what it says: of one that was edited since, other clusters may start, to another target.
    generation: Option<i64>,
}

impl Changed {
    /// Reads it as the user, who has to have the right to do what follows.
    async fn by(
        viewer: &Viewer,
        right: Right,
        (namespace, name): (String, String),
        meant: &Meant,
    ) -> Result<Self, ApiError> {
        let key = viewer.key(&namespace, &name)?;
        let client = viewer.writer(right, &namespace).await?;
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), &key.namespace);
        let found = api.get_opt(&key.name).await;
        let found = found.map_err(|error| {
            ApiError::of_server(&format!("reading the ManagedClustersUpgrade {key}"), &error)
        })?;
        let upgrade = found.ok_or_else(|| no_upgrade(&key.namespace, &key.name))?;
        if meant.uid.is_some() && meant.uid != upgrade.metadata.uid {
            return Err(ApiError::new(
                StatusCode::CONFLICT,
                format!("{key} has been deleted and created anew since you were asked: nothing is done"),
            ));
        }
        if meant.generation.is_some() && meant.generation != upgrade.metadata.generation {
            return Err(ApiError::new(
                StatusCode::CONFLICT,
                format!("{key} has been edited since you were asked: nothing is done; look at it once more"),
            ));
        }
        Ok(Self { client, key, upgrade })
    }
}

pub(crate) fn no_upgrade(namespace: &str, name: &str) -> ApiError {
    ApiError::not_found(format!(
        "there is no ManagedClustersUpgrade {name} in namespace {namespace}"
    ))
}

async fn set_paused(viewer: &Viewer, path: (String, String), meant: &Meant, paused: bool) -> Answer {
    let Changed { client, key, upgrade } = Changed::by(viewer, Right::PATCH_UPGRADES, path, meant).await?;
    let is_changed = drydock_edits::set_paused(&client, upgrade, paused).await?;
    Ok(done(match (is_changed, paused) {
        (true, true) => format!("{key} is paused: no further cluster starts, running upgrades continue"),
        (true, false) => format!("{key} is not paused any more"),
        (false, true) => format!("{key} is paused already"),
        (false, false) => format!("{key} is not paused"),
    }))
}

/// `POST /api/upgrades/NS/NAME/pause`
pub(crate) async fn pause(
    viewer: Viewer,
    Named(path): Named<(String, String)>,
    Given(meant): Given<Meant>,
) -> Answer {
    set_paused(&viewer, path, &meant, true).await
}

/// `POST /api/upgrades/NS/NAME/resume`
pub(crate) async fn resume(
    viewer: Viewer,
    Named(path): Named<(String, String)>,
    Given(meant): Given<Meant>,
) -> Answer {
    set_paused(&viewer, path, &meant, false).await
}

/// Which clusters start over: all, or one.
#[derive(Deserialize)]
pub(crate) struct Retry {
    cluster: Option<ClusterName>,
    /// Which have failed, when somebody was asked about all: others do not start over.
    failed: Option<String>,
    #[serde(flatten)]
    meant: Meant,
}

/// `POST /api/upgrades/NS/NAME/retry`
pub(crate) async fn retry(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Named(path): Named<(String, String)>,
    Given(asked): Given<Retry>,
) -> Answer {
    // Which clusters have failed is what the watches show.
    dashboard.is_current()?;
    let Changed { client, key, upgrade } =
        Changed::by(&viewer, Right::PATCH_UPGRADES, path, &asked.meant).await?;
    let (_, clusters) = dashboard
        .live()
        .look(&key)
        .ok_or_else(|| no_upgrade(&key.namespace, &key.name))?;
    if asked
        .failed
        .is_some_and(|failed| failed != drydock_edits::failed_set(&clusters))
    {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            format!(
                "other clusters of {key} have failed than when you were asked, or somebody has retried some meanwhile: none starts over; look at them once \
                 more"
            ),
        ));
    }
    let failed = drydock_edits::failed(&clusters);
    let when = drydock_edits::when_it_starts_over(&upgrade, &clusters, asked.cluster.as_ref());
    let now = dashboard.live().clock().now();
    drydock_edits::retry(&client, upgrade, &failed, asked.cluster.as_slice(), now).await?;
    Ok(done(match asked.cluster {
        Some(cluster) => format!("{key}: {cluster} starts over{when}"),
        None if failed.len() == 1 => format!("{key}: 1 failed cluster starts over{when}"),
        None => format!("{key}: {} failed clusters start over{when}", failed.len()),
    }))
}

/// What is accepted, and why.
#[derive(Deserialize)]
pub(crate) struct Accept {
    finding: String,
    /// What the clusters were to be upgraded to, when somebody was asked: of another target nothing is accepted.
    target: String,
    /// Which clusters reported it, and at which level, when somebody was asked: for others, or what has become worse, nothing is accepted.
    reporters: String,
    reason: String,
    /// Seconds since 1970.
    until: Option<i64>,
    #[serde(flatten)]
    meant: Meant,
}

/// `POST /api/upgrades/NS/NAME/accept`
pub(crate) async fn accept(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Named(path): Named<(String, String)>,
    Given(asked): Given<Accept>,
) -> Answer {
    // What clusters have found is what the watches show.
    dashboard.is_current()?;
    let reason = asked.reason.trim();
    if !is_visible(reason) {
        return Err(ApiError::invalid(
            "say why the finding is accepted: the reason is empty",
        ));
    }
    let until = asked.until.map(Timestamp::from_second).transpose();
    let until = until.map_err(|error| ApiError::invalid(format!("until is no time: {error}")))?;
    let now = dashboard.live().clock().now();
    if let Some(until) = until.filter(|until| *until <= now) {
        return Err(ApiError::invalid(format!("until {until} is over already")));
    }
    let Changed { client, key, upgrade } =
        Changed::by(&viewer, Right::CREATE_ACCEPTANCES, path, &asked.meant).await?;
    let found = dashboard.live().read(|fleet, now| {
        let (report, _) = fleet.look(&key, now)?;
        Some((report.target.clone(), fleet.pre_checks(&key, now)))
    });
    let (target, found) = found
        .flatten()
        .ok_or_else(|| no_upgrade(&key.namespace, &key.name))?;
    // What clusters have found is about a target; the upgrade may have another one by now, or may not be seen to have it yet.
    if target != asked.target || drydock_edits::goal(&upgrade)? != asked.target {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            format!("the target of {key} has changed since you were asked: see what clusters find about it"),
        ));
    }
    if drydock_edits::reporters(&found).get(&*asked.finding) != Some(&asked.reporters) {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            format!(
                "other clusters of {key} report this finding than when you were asked, or at another level: nothing is accepted; look at it once more"
            ),
        ));
    }
    let who = &viewer.user;
    let findings = [asked.finding];
    let accepting = Accepting {
        findings: &findings,
        level: None,
        clusters: &[],
        labels: &[],
        reason,
        until,
        who,
        at: now,
    };
    let accepted = drydock_edits::accept(&client, &upgrade, &accepting, &found).await?;
    Ok(done(said(&accepted, &key, who)))
}

/// What was accepted by whom, and what it replaces.
fn said(accepted: &Accepted, key: &UpgradeKey, who: &str) -> String {
    let parts = accepted.risks.iter().map(|risk| {
        let clusters = match risk.clusters.as_deref() {
            None => "all clusters".to_owned(),
            Some([_]) => "1 cluster".to_owned(),
            Some(several) => format!("{} clusters", several.len()),
        };
        format!(
            "up to {} on {clusters}",
            risk.level.as_deref().unwrap_or_default()
        )
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    let before = accepted.before.replaced();
    let before = before.map(|before| format!("; it replaces what you had accepted before, {before}"));
    format!(
        "accepted {parts} of {key}, by {who}, in UpgradeRiskAcceptance {}{}",
        accepted.name,
        before.unwrap_or_default()
    )
}
