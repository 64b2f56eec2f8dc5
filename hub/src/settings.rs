//! How the hub is started.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use drydock_objects::works;
use drydock_runtime::leader::Election;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use thiserror::Error;

/// What can be configured when the hub starts.
#[derive(Clone)]
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
    /// How long records are kept after their newest entry; those of the newest ten rollouts of each upgrade's name are kept forever.
    pub record_ttl: RecordTtl,
    /// How often an upgrade is looked at while its clusters change.
    pub pace: Pace,
    /// How many runs a forecast is made of; 0 makes none.
    pub forecast_runs: u32,
}

impl Settings {
    /// The agent's image that is to run: without another one that of this release.
    pub fn agent_image(&self) -> String {
        let given = self.agent_image.clone();
        given.unwrap_or_else(|| works::default_agent_image().to_owned())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            admin_address: None,
            registry: prometheus::Registry::default(),
            same_namespace_placements: false,
            agent_image: None,
            election: None,
            grant_cluster_admin: false,
            record_ttl: RecordTtl::default(),
            pace: Pace::default(),
            forecast_runs: FORECAST_RUNS,
        }
    }
}

/// Runs of a forecast: its percentiles do not change much with more.
pub const FORECAST_RUNS: u32 = 200;

/// How long records are kept; always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTtl(SignedDuration);

impl RecordTtl {
    /// As a duration.
    pub const fn duration(self) -> SignedDuration {
        self.0
    }
}

impl Default for RecordTtl {
    /// 90 days.
    fn default() -> Self {
        Self(SignedDuration::from_hours(90 * 24))
    }
}

/// Why a text does not say how long records are kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidRecordTtl {
    /// It is no duration, or one in months or years, whose length is not always the same.
    #[error("{0:?} is not a duration: write a number of weeks, days or hours, for example 2w, 90d or 12h")]
    NotADuration(String),
    /// It is zero or negative.
    #[error("{0:?} is not positive: records would be deleted as soon as they are written")]
    NotPositive(String),
}

impl FromStr for RecordTtl {
    type Err = InvalidRecordTtl;

    /// Days have 24 hours, weeks have seven days.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let duration = text
            .parse::<Span>()
            .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
            .map_err(|_| InvalidRecordTtl::NotADuration(text.to_owned()))?;
        if duration.is_positive() {
            Ok(Self(duration))
        } else {
            Err(InvalidRecordTtl::NotPositive(text.to_owned()))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_ttl_is_a_positive_duration() {
        let hours = |text: &str| {
            let ttl: Result<RecordTtl, _> = text.parse();
            ttl.map(|ttl| ttl.duration().as_hours())
        };
        for (text, expected) in [
            ("90d", 90 * 24),
            ("12h", 12),
            ("2w", 2 * 7 * 24),
            ("1w 2d 3h", 9 * 24 + 3),
            ("30 days", 30 * 24),
        ] {
            assert_eq!(hours(text), Ok(expected), "{text}");
        }
        assert_eq!("90d".parse(), Ok(RecordTtl::default()));
        for text in ["0d", "0s", "-1d", "1d ago"] {
            assert_eq!(hours(text), Err(InvalidRecordTtl::NotPositive(text.to_owned())));
        }
        for text in ["", "90", "d", "3mo", "1y", "soon"] {
            assert_eq!(hours(text), Err(InvalidRecordTtl::NotADuration(text.to_owned())));
        }
        assert_eq!(
            hours("90").unwrap_err().to_string(),
            "\"90\" is not a duration: write a number of weeks, days or hours, for example 2w, 90d or 12h"
        );
        assert_eq!(
            hours("0d").unwrap_err().to_string(),
            "\"0d\" is not positive: records would be deleted as soon as they are written"
        );
    }
}
