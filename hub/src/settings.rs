//! How the hub is started.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use drydock_runtime::leader::Election;
use jiff::SignedDuration;

/// What the hub can be told at its start.
#[derive(Clone, Default)]
pub struct Settings {
    /// Where probes and metrics are served; nowhere if not given.
    pub admin_address: Option<SocketAddr>,
    /// Where metrics are kept; those of the client should be there, too.
    pub registry: prometheus::Registry,
    /// Refuse Placements of other namespaces than the upgrade's own: for hubs without the admission policy.
    pub same_namespace_placements: bool,
    /// The image of this project's agent, of which clusters run `approve-installplans` to upgrade operators.
    pub agent_image: Option<String>,
    /// How one of several replicas is chosen; without it this is the only one.
    pub election: Option<Arc<Election>>,
    /// Make the work agent cluster admin on the clusters, as the design of ManagedClustersUpgrade has it.
    pub grant_cluster_admin: bool,
    /// How long records are kept after their newest entry; those of the newest ten rollouts of each upgrade's name are kept for ever.
    pub record_ttl: RecordTtl,
    /// How often an upgrade is looked at while its clusters change.
    pub pace: Pace,
}

/// How long records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTtl(pub SignedDuration);

impl RecordTtl {
    /// So many days.
    pub fn of_days(days: u32) -> Self {
        Self(SignedDuration::from_hours(24 * i64::from(days)))
    }
}

impl Default for RecordTtl {
    fn default() -> Self {
        Self::of_days(90)
    }
}

/// How long changes are gathered before an upgrade is looked at: what many of its clusters do in that time costs one look and one
/// write of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace(pub Duration);

impl Default for Pace {
    /// People and alerts see a rollout a second late.
    fn default() -> Self {
        Self(Duration::from_secs(1))
    }
}

impl Pace {
    /// The pace of a fleet that nobody waits for, as in a rehearsal: a hundred clusters a second, at 10,000 a look every 100 seconds,
    /// because a look costs what the fleet is large. That is how much later than on duty one cluster may follow another.
    pub fn of_rehearsal(clusters: usize) -> Self {
        let seconds = u32::try_from(clusters / 100).unwrap_or(u32::MAX).max(1);
        Self(Duration::from_secs(1).saturating_mul(seconds))
    }
}
