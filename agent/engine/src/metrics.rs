//! The metrics of an upgrade: which series there should be, computed again in each pass from the status and from what
//! was seen, so that a restart forgets nothing and nothing outlives what it is about.

mod families;

use std::collections::BTreeMap;

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use semver::Version;

use crate::condition::{self, ConditionType};
use crate::facts::{Facts, Observation};
use crate::health::{self, reason};
use crate::notification::{self, UpgradeEvent};
use crate::phase;
use crate::silences;
use crate::steps::{self, Deadline, STEPS, Step};

pub use families::{CONDITION, FAMILIES, Family, MetricKind};

/// A series: its family, and its labels' values in the family's order.
pub type Series = (MetricKind, Vec<String>);

/// All series that there should be, with their values.
pub type WantedSeries = BTreeMap<Series, f64>;

/// What is measured of an upgrade, collected series by series.
struct Collector<'a> {
    wanted: WantedSeries,
    seen: &'a Observation,
    entry: &'a UpgradeHistory,
    version: &'a str,
}

fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// The series that there should be.
pub fn wanted(seen: &Observation, status: &UpgradeConfigStatus) -> WantedSeries {
    let Some(entry) = status.history.iter().flatten().next() else {
        return WantedSeries::new();
    };
    let mut collector = Collector {
        wanted: WantedSeries::new(),
        seen,
        entry,
        version: entry.version.as_deref().unwrap_or_default(),
    };
    let facts = seen.facts().ok();
    collector.states();
    collector.timeouts(facts.as_ref());
    collector.health(facts.as_ref());
    collector.times();
    collector.conditions();
    collector.result();
    for drain in status.drains.iter().flatten() {
        let name = [drain.node.as_str()];
        collector.set(MetricKind::NodeDrainTimeout, &name, number(drain.stuck));
    }
    collector.extra_machines(facts.as_ref());
    collector.wanted
}

impl Collector<'_> {
    fn set(&mut self, kind: MetricKind, labels: &[&str], value: f64) {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.wanted.insert((kind, labels), value);
    }

    fn is(&self, type_: ConditionType, status: &str) -> bool {
        condition::is(
            self.entry.conditions.as_deref().unwrap_or_default(),
            type_,
            status,
        )
    }

    fn is_upgrading(&self) -> bool {
        self.entry.phase == UpgradePhase::Upgrading
    }

    fn states(&mut self) {
        let conditions = self.entry.conditions.as_deref().unwrap_or_default();
        let validated = condition::find(conditions, ConditionType::UpgradeConfigValidated);
        let is_invalid = validated.is_some_and(|known| {
            known.status == FALSE && known.reason.as_deref() != Some(phase::NOT_AN_UPGRADE)
        });
        let is_pending = !matches!(self.entry.phase, UpgradePhase::Upgraded | UpgradePhase::Failed);
        let failed = conditions
            .iter()
            .find(|known| known.type_ == ConditionType::FailedUpgrade.name());
        let is_breached = self.entry.phase == UpgradePhase::Failed
            && failed.is_some_and(|known| known.reason.as_deref() == Some("UpgradeWindowBreached"));
        let is_skipped = self.is_upgrading() && notification::was_raised(self.entry, UpgradeEvent::Skipped);
        let name = [UPGRADE_CONFIG];
        self.set(
            MetricKind::ValidationFailed,
            &name,
            number(is_invalid && is_pending),
        );
        self.set(MetricKind::WindowBreached, &name, number(is_breached));
        self.set(MetricKind::ScalingFailed, &name, number(is_skipped));
        let version = self.version.to_owned();
        for notification in self.entry.notifications.iter().flatten() {
            if notification.sent_time.is_some() {
                let labels = [UPGRADE_CONFIG, notification.event.as_str(), version.as_str()];
                self.set(MetricKind::Notification, &labels, 1.0);
            }
        }
    }

    fn timeouts(&mut self, facts: Option<&Facts>) {
        let version = self.version.to_owned();
        let labels = [UPGRADE_CONFIG, version.as_str()];
        let control_plane_done = self.is(ConditionType::ControlPlaneUpgraded, TRUE);
        let limit =
            SignedDuration::from_mins(self.seen.in_force.configuration.maintenance.control_plane_time);
        let is_late = self.is_upgrading()
            && !control_plane_done
            && self
                .commenced(facts)
                .is_some_and(|began| self.seen.now.duration_since(began) > limit);
        self.set(MetricKind::ControlPlaneTimeout, &labels, number(is_late));
        let is_silent = self.is_upgrading() && control_plane_done && self.are_workers_late(facts);
        self.set(MetricKind::WorkerTimeout, &labels, number(is_silent));
        if let Some(step) = self.overdue(facts) {
            let labels = [UPGRADE_CONFIG, version.as_str(), step];
            self.set(MetricKind::StepOverdue, &labels, 1.0);
        }
    }

    /// When the upgrade commenced: by ClusterVersion's history, or, where the cluster does not begin, by our own word.
    fn commenced(&self, facts: Option<&Facts>) -> Option<Timestamp> {
        let history = facts.iter().flat_map(|facts| &facts.cluster.history);
        let mut started = history.filter(|past| past.version == self.version);
        let conditions = self.entry.conditions.as_deref().unwrap_or_default();
        let commenced = condition::find(conditions, ConditionType::UpgradeCommenced);
        started
            .find_map(|past| past.started)
            .or_else(|| Some(commenced?.complete_time.as_ref()?.0))
    }

    /// Workers are left, and no silence is active; where that cannot be read, they are late when all of them could have been done.
    fn are_workers_late(&self, facts: Option<&Facts>) -> bool {
        let workers = match &self.seen.workers {
            Ok(Some(workers)) if workers.are_updated() => return false,
            Ok(None) => return false,
            Ok(Some(workers)) => Some(workers),
            Err(_) => None,
        };
        if let Ok(silences) = &self.seen.seen.silences {
            return !silences::any_active(silences, self.seen.now);
        }
        let each = self.each_worker();
        let machines = workers.map_or(1, |workers| workers.machines.max(1));
        let began = self.entry.worker_start_time.as_ref().map(|time| time.0);
        let began = began.or_else(|| self.commenced(facts));
        let limit = SignedDuration::from_mins(each.saturating_mul(machines).min(30 * 24 * 60));
        began.is_some_and(|began| self.seen.now.duration_since(began) > limit)
    }

    /// The minutes that one worker may take.
    fn each_worker(&self) -> i64 {
        let drain = &self.seen.in_force.configuration.node_drain;
        let budget = i64::from(self.seen.spec.pdb_force_drain_timeout);
        drain.time_out.max(budget) + drain.expected_node_drain_time
    }

    /// The step, or the condition before all steps, that waits for longer than it should.
    fn overdue(&self, facts: Option<&Facts>) -> Option<&'static str> {
        let now = self.seen.now;
        let window = match self.seen.in_force.configuration.upgrade_window.time_out {
            0 => 120,
            minutes => minutes,
        };
        let window = SignedDuration::from_mins(window);
        if self.entry.phase == UpgradePhase::Pending {
            let at: Timestamp = self.seen.spec.upgrade_at.parse().ok()?;
            let waits = [
                ConditionType::PolicyRefreshed,
                ConditionType::ConfigurationAccepted,
            ];
            let waiting = waits.into_iter().find(|type_| self.is(*type_, FALSE))?;
            return (now.duration_since(at) > window).then_some(waiting.name());
        }
        if !self.is_upgrading() {
            return None;
        }
        let step = STEPS.iter().find(|step| self.is(step.condition, FALSE))?;
        let conditions = self.entry.conditions.as_deref().unwrap_or_default();
        let began = steps::began(conditions, step.condition)?;
        let (since, limit) = self.deadline(step, began, window, facts)?;
        (now.duration_since(since) > limit).then_some(step.condition.name())
    }

    fn deadline(
        &self,
        step: &Step,
        began: Timestamp,
        window: SignedDuration,
        facts: Option<&Facts>,
    ) -> Option<(Timestamp, SignedDuration)> {
        let configuration = &self.seen.in_force.configuration;
        let started = self.entry.start_time.as_ref().map_or(began, |time| time.0);
        Some(match step.deadline {
            Deadline::Commencement => (started, window),
            Deadline::ControlPlane => (
                self.commenced(facts).unwrap_or(began),
                SignedDuration::from_mins(configuration.maintenance.control_plane_time),
            ),
            Deadline::Workers => {
                if !self.are_workers_late(facts) {
                    return None;
                }
                (began, SignedDuration::ZERO)
            }
            Deadline::Capacity => (
                began,
                SignedDuration::from_mins(configuration.scale.time_out + self.each_worker()),
            ),
            Deadline::HalfAnHour => (began, SignedDuration::from_mins(30)),
        })
    }

    /// What a check finds, under the phase in which it is made: the check hours ahead belongs to `New`.
    fn health(&mut self, facts: Option<&Facts>) {
        let Some(facts) = facts else { return };
        let phase = match self.entry.phase {
            UpgradePhase::New | UpgradePhase::Pending => UpgradePhase::New,
            _ => UpgradePhase::Upgrading,
        };
        let found: Vec<&str> = if phase == UpgradePhase::New {
            let conditions = self.entry.conditions.as_deref().unwrap_or_default();
            let ahead = condition::find(conditions, ConditionType::ClusterHealthyAhead);
            let failed = ahead.filter(|ahead| ahead.status == FALSE);
            let Some(reason) = failed.and_then(|ahead| ahead.reason.as_deref()) else {
                return;
            };
            reason::ALL.into_iter().filter(|known| *known == reason).collect()
        } else {
            // What was not looked at in this pass is not found.
            let findings = health::at_start(facts)
                .or_else(|_| health::before(facts))
                .or_else(|_| health::after(facts));
            let findings = findings.unwrap_or_default();
            let is_checked = self.is_upgrading();
            let found = findings.iter().filter(|_| is_checked);
            found.map(|finding| finding.reason).collect()
        };
        let version = facts.current().unwrap_or("unknown");
        for reason in reason::ALL {
            let labels = [UPGRADE_CONFIG, phase.as_str(), version, reason];
            self.set(
                MetricKind::HealthCheckFailed,
                &labels,
                number(found.contains(&reason)),
            );
        }
    }

    fn times(&mut self) {
        let cluster = self.seen.cluster.as_ref().ok();
        let id = cluster
            .map_or("unknown", |cluster| cluster.id.as_str())
            .to_owned();
        let version = self.version.to_owned();
        let conditions = self.entry.conditions.as_deref().unwrap_or_default();
        let done = |type_| condition::find(conditions, type_)?.complete_time.as_ref();
        let entry = self.entry;
        let control_plane = done(ConditionType::ControlPlaneUpgraded);
        let moments: [(MetricKind, Option<&Time>); 6] = [
            (MetricKind::UpgradeStarted, entry.start_time.as_ref()),
            (MetricKind::UpgradeCompleted, entry.complete_time.as_ref()),
            (
                MetricKind::ControlPlaneStarted,
                done(ConditionType::UpgradeCommenced),
            ),
            (MetricKind::ControlPlaneCompleted, control_plane),
            (
                MetricKind::WorkersStarted,
                entry.worker_start_time.as_ref().or(control_plane),
            ),
            (
                MetricKind::WorkersCompleted,
                entry
                    .worker_complete_time
                    .as_ref()
                    .or_else(|| done(ConditionType::WorkerNodesUpgraded)),
            ),
        ];
        for (kind, time) in moments {
            if let Some(time) = time {
                let labels = [id.as_str(), UPGRADE_CONFIG, version.as_str()];
                self.set(kind, &labels, time.0.as_second() as f64);
            }
        }
    }

    /// The metrics that repeat the UpgradeConfig, as managed-upgrade-operator's collector names them.
    fn conditions(&mut self) {
        let entry = self.entry;
        let desired = self.version.to_owned();
        let facts = self.seen.facts().ok();
        let current = facts.as_ref().and_then(Facts::current);
        let current = current.filter(|current| *current != desired);
        let version = current
            .or(entry.preceding_version.as_deref())
            .unwrap_or_default()
            .to_owned();
        let phased = [version.as_str(), desired.as_str(), entry.phase.as_str()];
        if let Ok(at) = self.seen.spec.upgrade_at.parse::<Timestamp>() {
            self.set(MetricKind::Scheduled, &phased, at.as_second() as f64);
        }
        for (kind, time) in [
            (MetricKind::StartTime, &entry.start_time),
            (MetricKind::CompleteTime, &entry.complete_time),
        ] {
            if let Some(time) = time {
                self.set(kind, &phased, time.0.as_second() as f64);
            }
        }
        let minutes = f64::from(self.seen.spec.pdb_force_drain_timeout);
        self.set(MetricKind::BudgetMinutes, &phased[..2], minutes);
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        for (index, step) in STEPS.iter().enumerate() {
            let Some(condition) = condition::find(conditions, step.condition) else {
                continue;
            };
            let time = if condition.status == TRUE {
                condition.complete_time.as_ref()
            } else {
                condition.start_time.as_ref()
            };
            if let Some(time) = time {
                let labels = [UPGRADE_CONFIG, &version, &desired, &condition.status];
                self.set(MetricKind::Condition(index), &labels, time.0.as_second() as f64);
            }
        }
    }

    fn result(&mut self) {
        let (UpgradePhase::Upgraded, Ok(fired)) = (self.entry.phase, &self.seen.seen.fired) else {
            return;
        };
        let version = self.version.to_owned();
        let before = self.entry.preceding_version.clone().unwrap_or_default();
        let names = fired.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let labels = [
            UPGRADE_CONFIG,
            &before,
            stream(&before, &version),
            &version,
            &names,
        ];
        self.set(MetricKind::Result, &labels, number(fired.is_empty()));
    }

    /// An extra machine that never goes is a node that does not drain, whether it still has a node or not.
    fn extra_machines(&mut self, facts: Option<&Facts>) {
        let conditions = self.entry.conditions.as_deref().unwrap_or_default();
        let type_ = ConditionType::ComputeCapacityRemoved;
        let Some(began) = steps::began(conditions, type_).filter(|_| self.is(type_, FALSE)) else {
            return;
        };
        let limit = SignedDuration::from_mins(self.each_worker());
        if !self.is_upgrading() || self.seen.now.duration_since(began) <= limit {
            return;
        }
        let capacity = facts.and_then(|facts| facts.seen.capacity.as_ref().ok());
        let machines = capacity.iter().flat_map(|capacity| &capacity.machines);
        let names: Vec<String> = machines
            .map(|machine| machine.node.clone().unwrap_or_else(|| machine.name.clone()))
            .collect();
        for name in names {
            self.set(MetricKind::NodeDrainTimeout, &[&name], 1.0);
        }
    }
}

/// Whether an upgrade changes the minor version (`y`) or not (`z`).
fn stream(before: &str, version: &str) -> &'static str {
    match (Version::parse(before), Version::parse(version)) {
        (Ok(before), Ok(version)) if (before.major, before.minor) == (version.major, version.minor) => "z",
        (Ok(_), Ok(_)) => "y",
        _ => "unknown",
    }
}
