//! The agent's metrics (agent 8). What they say follows from the status and from what a reconcile has seen, so that a restart
//! forgets nothing.

mod conditions;

use std::collections::BTreeSet;

use drydock_api::conditions::TRUE;
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use prometheus::{GaugeVec, IntCounter, Opts, Registry};
use semver::Version;

use crate::engine::condition;
use crate::facts::Facts;
use crate::health::{self, reason};
use crate::nodekeeper;
use crate::notify::{Event, event};
use crate::phase;
use crate::silences;
use conditions::Conditions;

/// The metrics. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    validation_failed: GaugeVec,
    scaling_failed: GaugeVec,
    window_breached: GaugeVec,
    control_plane_timeout: GaugeVec,
    worker_timeout: GaugeVec,
    health_check_failed: GaugeVec,
    drain_timeout: GaugeVec,
    notification: GaugeVec,
    notification_failed: GaugeVec,
    result: GaugeVec,
    synced: GaugeVec,
    times: Vec<(Moment, GaugeVec)>,
    conditions: Conditions,
    errors: IntCounter,
}

/// A moment of an upgrade that has a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Started,
    Completed,
    ControlPlaneStarted,
    ControlPlaneCompleted,
    WorkersStarted,
    WorkersCompleted,
}

impl Moment {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Started, "upgrade_started"),
        (Self::Completed, "upgrade_completed"),
        (Self::ControlPlaneStarted, "controlplane_upgrade_started"),
        (Self::ControlPlaneCompleted, "controlplane_upgrade_completed"),
        (Self::WorkersStarted, "workernode_upgrade_started"),
        (Self::WorkersCompleted, "workernode_upgrade_completed"),
    ];

    fn of(self, entry: &UpgradeHistory) -> Option<Timestamp> {
        let done = |type_: &str| {
            let conditions = entry.conditions.as_deref().unwrap_or_default();
            condition::find(conditions, type_)?.complete_time.as_ref()
        };
        let time: Option<&Time> = match self {
            Self::Started => entry.start_time.as_ref(),
            Self::Completed => entry.complete_time.as_ref(),
            Self::ControlPlaneStarted => done("UpgradeCommenced"),
            Self::ControlPlaneCompleted => done("ControlPlaneUpgraded"),
            Self::WorkersStarted => entry
                .worker_start_time
                .as_ref()
                .or_else(|| done("ControlPlaneUpgraded")),
            Self::WorkersCompleted => entry
                .worker_complete_time
                .as_ref()
                .or_else(|| done("WorkerNodesUpgraded")),
        };
        time.map(|time| time.0)
    }
}

/// Registers a gauge.
fn gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<GaugeVec, prometheus::Error> {
    let metric = GaugeVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

/// The moments of an upgrade.
fn times(registry: &Registry) -> Result<Vec<(Moment, GaugeVec)>, prometheus::Error> {
    let help = "When this part of the upgrade was reached, in seconds since 1970.";
    let labels = &["_id", "upgradeconfig_name", "version"];
    let time = |(moment, name): (Moment, &str)| {
        let name = format!("upgradeoperator_{name}_timestamp");
        Ok((moment, gauge(registry, &name, help, labels)?))
    };
    Moment::ALL.into_iter().map(time).collect()
}

fn errors(registry: &Registry) -> Result<IntCounter, prometheus::Error> {
    let errors = IntCounter::new(
        "drydock_agent_reconcile_errors_total",
        "Reconciles that ended with an error.",
    )?;
    registry.register(Box::new(errors.clone()))?;
    Ok(errors)
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

impl Metrics {
    /// Registers all of them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        const NAME: &str = "upgradeconfig_name";
        let ours = |name: &str, help: &str, labels: &[&str]| {
            gauge(registry, &format!("upgradeoperator_{name}"), help, labels)
        };
        Ok(Self {
            validation_failed: ours(
                "upgradeconfig_validation_failed",
                "Whether what the UpgradeConfig asks for cannot be.",
                &[NAME],
            )?,
            scaling_failed: ours(
                "scaling_failed",
                "Whether extra workers did not come in time.",
                &[NAME],
            )?,
            window_breached: ours(
                "upgrade_window_breached",
                "Whether the upgrade did not commence in its window.",
                &[NAME],
            )?,
            control_plane_timeout: ours(
                "controlplane_timeout",
                "Whether the control plane takes longer than it should.",
                &[NAME, "version"],
            )?,
            worker_timeout: ours(
                "worker_timeout",
                "Whether workers are updated and no silence is active any more.",
                &[NAME, "version"],
            )?,
            health_check_failed: ours(
                "healthcheck_failed",
                "Whether a health check of the upgrade finds this.",
                &[NAME, "state", "version", "reason"],
            )?,
            drain_timeout: ours(
                "node_drain_timeout",
                "Whether a node does not drain, whatever is done.",
                &["node_name"],
            )?,
            notification: ours(
                "upgrade_notification",
                "That everybody has been told of this state.",
                &[NAME, "event", "version"],
            )?,
            notification_failed: ours(
                "upgrade_notification_failed",
                "Whether somebody could not be told of this state.",
                &[NAME, "event"],
            )?,
            result: ours(
                "upgrade_result",
                "1 if no critical alert fired during the upgrade, else 0 and their names.",
                &[NAME, "preceding_version", "stream", "version", "alerts"],
            )?,
            synced: ours(
                "upgradeconfig_sync_timestamp",
                "When the provider's policy was last brought to the cluster, in seconds since 1970.",
                &[NAME],
            )?,
            times: times(registry)?,
            conditions: Conditions::register(registry)?,
            errors: errors(registry)?,
        })
    }

    /// A reconcile ended with an error.
    pub fn failed(&self) {
        self.errors.inc();
    }

    /// A policy has been brought to the cluster.
    pub fn synced(&self, now: Timestamp) {
        self.synced
            .with_label_values(&[UPGRADE_CONFIG])
            .set(now.as_second() as f64);
    }

    /// A state has been sent, or could not be.
    pub fn notified(&self, event: Event, version: &str, sent: bool) {
        let failed = self
            .notification_failed
            .with_label_values(&[UPGRADE_CONFIG, event.name()]);
        failed.set(number(!sent));
        if sent {
            let told = self
                .notification
                .with_label_values(&[UPGRADE_CONFIG, event.name(), version]);
            told.set(1.0);
        }
    }

    /// Something that a health check needs could not be read.
    pub fn unread(&self, facts: &Facts, phase: UpgradePhase, reason: &str) {
        let version = facts.current().unwrap_or("unknown");
        self.health_check_failed
            .with_label_values(&[UPGRADE_CONFIG, phase.as_str(), version, reason])
            .set(1.0);
    }

    /// The UpgradeConfig is gone: only results stay.
    pub fn forget(&self) {
        let vectors = [
            &self.validation_failed,
            &self.scaling_failed,
            &self.window_breached,
            &self.control_plane_timeout,
            &self.worker_timeout,
            &self.health_check_failed,
            &self.drain_timeout,
            &self.notification,
            &self.notification_failed,
        ];
        let times = self.times.iter().map(|(_, vector)| vector);
        vectors.into_iter().chain(times).for_each(GaugeVec::reset);
        self.conditions.forget();
    }

    /// Which alerts fired during an upgrade that is over.
    pub fn ended(&self, entry: &UpgradeHistory, alerts: &BTreeSet<String>) {
        let version = entry.version.as_deref().unwrap_or_default();
        let before = entry.preceding_version.as_deref().unwrap_or_default();
        let names = alerts.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        self.result.reset();
        self.result
            .with_label_values(&[UPGRADE_CONFIG, before, stream(before, version), version, &names])
            .set(number(alerts.is_empty()));
    }

    /// Shows what the status says, and what was seen.
    pub fn show(&self, facts: &Facts, status: &UpgradeConfigStatus) {
        let Some(entry) = status.history.iter().flatten().next() else {
            return;
        };
        let version = entry.version.as_deref().unwrap_or_default();
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        let is = |type_: &str, status: &str| {
            condition::find(conditions, type_).is_some_and(|known| known.status == status)
        };
        let is_upgrading = entry.phase == UpgradePhase::Upgrading;
        let name = &[UPGRADE_CONFIG];
        let by_version = &[UPGRADE_CONFIG, version];
        let validated = condition::find(conditions, phase::VALIDATED);
        let is_invalid = validated.is_some_and(|known| known.reason.as_deref() == Some(phase::INVALID));
        self.validation_failed
            .with_label_values(name)
            .set(number(is_invalid));
        self.window_breached
            .with_label_values(name)
            .set(number(entry.phase == UpgradePhase::Failed));
        let skipped = is_upgrading && event::was_raised(entry, Event::Skipped);
        self.scaling_failed.with_label_values(name).set(number(skipped));
        let control_plane_done = is("ControlPlaneUpgraded", TRUE);
        let is_late = is_upgrading && !control_plane_done && control_plane_is_late(facts, version);
        self.control_plane_timeout
            .with_label_values(by_version)
            .set(number(is_late));
        let workers_left = facts
            .workers
            .as_ref()
            .is_some_and(|workers| !workers.are_updated());
        if !(is_upgrading && control_plane_done && workers_left) {
            self.worker_timeout.with_label_values(by_version).set(0.0);
        } else if let Some(Ok(silences)) = &facts.seen.silences {
            let is_silent = silences::any_active(silences, facts.now);
            self.worker_timeout
                .with_label_values(by_version)
                .set(number(!is_silent));
        }
        self.show_health(facts, entry.phase);
        self.show_drains(facts, is_upgrading);
        for (moment, metric) in &self.times {
            if let Some(time) = moment.of(entry) {
                let labels = &[facts.cluster.id.as_str(), UPGRADE_CONFIG, version];
                metric.with_label_values(labels).set(time.as_second() as f64);
            }
        }
        for told in entry
            .notifications
            .iter()
            .flatten()
            .filter(|told| told.sent_time.is_some())
        {
            let labels = &[UPGRADE_CONFIG, told.event.as_str(), version];
            self.notification.with_label_values(labels).set(1.0);
        }
        self.conditions.show(facts, entry);
    }

    fn show_health(&self, facts: &Facts, phase: UpgradePhase) {
        let version = facts.current().unwrap_or("unknown");
        let Ok(findings) = health::before(facts).or_else(|_| health::after(facts)) else {
            return;
        };
        for reason in reason::ALL {
            let found = findings.iter().any(|finding| finding.reason == reason);
            let labels = &[UPGRADE_CONFIG, phase.as_str(), version, reason];
            self.health_check_failed
                .with_label_values(labels)
                .set(number(found));
        }
    }

    fn show_drains(&self, facts: &Facts, is_upgrading: bool) {
        if !is_upgrading {
            self.drain_timeout.reset();
            return;
        }
        let (Some(nodes), Ok(keeping)) = (&facts.seen.nodes, nodekeeper::look(facts)) else {
            return;
        };
        self.drain_timeout.reset();
        for node in nodes.iter().filter(|node| node.cordon.is_some()) {
            let is_stuck = keeping.stuck.contains(&node.name);
            self.drain_timeout
                .with_label_values(&[node.name.as_str()])
                .set(number(is_stuck));
        }
    }
}

/// Whether the control plane is on its way to `version` for longer than it should be.
fn control_plane_is_late(facts: &Facts, version: &str) -> bool {
    let mut history = facts.cluster.history.iter();
    let started = history
        .find(|past| past.version == version)
        .and_then(|past| past.started);
    let limit = SignedDuration::from_mins(facts.configuration.maintenance.control_plane_time);
    started.is_some_and(|started| facts.now > started + limit)
}

/// Whether an upgrade changes the minor version (`y`) or not (`z`).
fn stream(before: &str, version: &str) -> &'static str {
    match (Version::parse(before), Version::parse(version)) {
        (Ok(before), Ok(version)) if before.minor == version.minor => "z",
        (Ok(_), Ok(_)) => "y",
        _ => "unknown",
    }
}
