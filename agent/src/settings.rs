//! How the agent is started.

use std::net::SocketAddr;

use drydock_api::names::AGENT_NAMESPACE;

use crate::http::Network;
use crate::insights::InsightsSettings;
use crate::monitoring::EndpointConfig;
use crate::schedule::ScheduleSettings;

/// What can be configured when the agent starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where probes and metrics are served; nowhere if not given.
    pub admin_address: Option<SocketAddr>,
    /// Where metrics are kept; those of the client should be there, too.
    pub registry: prometheus::Registry,
    /// The agent's own namespace, where its UpgradeConfig and its ConfigMap are.
    pub namespace: String,
    /// How everything but the API server is reached.
    pub network: Network,
    /// Where Prometheus and Alertmanager are.
    pub monitoring: EndpointConfig,
    /// How maintenance schedules are acted on.
    pub schedule: ScheduleSettings,
    /// How update insights are acted on.
    pub insights: InsightsSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            admin_address: None,
            registry: prometheus::Registry::default(),
            namespace: AGENT_NAMESPACE.to_owned(),
            network: Network::default(),
            monitoring: EndpointConfig::default(),
            schedule: ScheduleSettings::default(),
            insights: InsightsSettings::default(),
        }
    }
}
