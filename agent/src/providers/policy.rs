//! What a policy of OCM means: the UpgradeConfig that it asks for, and the states that it can be in.

use drydock_api::upgradeconfig::{Desired, UpgradeConfigSpec, UpgradeType};
use jiff::Timestamp;
use semver::Version;

use super::ProviderError;
use super::ocm::{Policy, RegisteredCluster};
use drydock_engine::configuration::UpgraderType;
use drydock_engine::notification::UpgradeEvent;

/// States in which a policy does not count.
const OVER: [&str; 3] = ["pending", "completed", "cancelled"];

/// The state of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State(pub String);

impl State {
    /// Whether a policy in it is to be followed.
    pub fn counts(&self) -> bool {
        !OVER.iter().any(|over| self.0.eq_ignore_ascii_case(over))
    }

    /// Whether this state may follow: never backwards, and never out of an end.
    pub fn may_become(&self, next: &str) -> bool {
        let rank = |state: &str| match state.to_ascii_lowercase().as_str() {
            "scheduled" => Some(0),
            "started" => Some(1),
            "delayed" => Some(2),
            "completed" | "failed" => Some(3),
            _ => None,
        };
        match (rank(&self.0), rank(next)) {
            // A delay can be sent again, with another description.
            (Some(2), Some(2)) => true,
            (Some(now), Some(next)) => now < next && now < 3,
            _ => false,
        }
    }
}

/// OCM's word for a state that is notified.
pub(super) fn state_of(event: UpgradeEvent) -> Option<&'static str> {
    Some(match event {
        UpgradeEvent::Started => "started",
        UpgradeEvent::Delayed | UpgradeEvent::Skipped | UpgradeEvent::ScaleSkipped => "delayed",
        UpgradeEvent::Completed => "completed",
        UpgradeEvent::Failed => "failed",
        _ => return None,
    })
}

/// Whether two texts are the same moment.
pub(super) fn same_time(one: &str, other: &str) -> bool {
    match (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// The UpgradeConfig that a policy asks for.
///
/// # Errors
/// If its version or its time is none.
pub(super) fn spec(
    policy: &Policy,
    cluster: &RegisteredCluster,
    upgrader: UpgraderType,
) -> Result<UpgradeConfigSpec, ProviderError> {
    let wrong = |reason: String| ProviderError::Policy {
        id: policy.id.clone(),
        reason,
    };
    let version = Version::parse(&policy.version)
        .map_err(|error| wrong(format!("version {:?}: {error}", policy.version)))?;
    let at: Timestamp = policy
        .next_run
        .parse()
        .map_err(|error| wrong(format!("next_run {:?}: {error}", policy.next_run)))?;
    let grace = cluster.node_drain_grace_period.as_ref();
    let minutes = grace.map_or(0.0, super::ocm::Grace::minutes);
    Ok(UpgradeConfigSpec {
        upgrade_type: match upgrader {
            UpgraderType::Osd => UpgradeType::Osd,
            UpgraderType::Aro => UpgradeType::Aro,
        },
        upgrade_at: at.to_string(),
        pdb_force_drain_timeout: minutes.clamp(0.0, f64::from(i32::MAX)) as i32,
        capacity_reservation: Some(true),
        desired: Desired {
            channel: Some(channel(cluster, &version)),
            version: Some(policy.version.clone()),
            image: None,
        },
    })
}

/// The channel of the cluster's group for a version; extended support has even minor versions only.
fn channel(cluster: &RegisteredCluster, version: &Version) -> String {
    let group = cluster
        .version
        .as_ref()
        .map(|version| version.channel_group.as_str());
    let group = group.filter(|group| !group.is_empty()).unwrap_or("stable");
    let minor = if group == "eus" {
        version.minor + version.minor % 2
    } else {
        version.minor
    };
    format!("{group}-{}.{minor}", version.major)
}
