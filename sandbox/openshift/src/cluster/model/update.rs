//! An update: from the spec that asks for it, through its payload and the levels of its task graph, to the end,
//! and the failures that wait on the way.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use super::agenda::Event;
use super::condition::ConditionStatus;
use super::duration::Spread;
use super::operator::Unhealthy;
use super::operators::{self, MACHINE_CONFIG, OPERATORS};
use super::precondition::{self, Case, PreconditionOutcome, Recommendation};
use super::progress::{DEGRADED_AFTER, GateBlocker, Phase, Wait, slow_after};
use super::release::{Release, find_by_image};
use super::task_graph::LEVELS;
use super::version_operator::{Candidate, GraphHealth, Load, PayloadSync, Updates, VersionSpec};
use super::{Fault, Model};

/// The operator that fails in the failure modes of operators.
pub(super) const VICTIM: &str = "monitoring";
/// How long an outage of the control plane lasts.
const OUTAGE: SignedDuration = SignedDuration::from_mins(40);
/// How long an operator stays degraded.
const DEGRADED_FOR: SignedDuration = SignedDuration::from_mins(75);

impl Model {
    /// A person, or one of our programs, has changed ClusterVersion's spec.
    pub(super) fn take_spec(&mut self, spec: VersionSpec, now: Timestamp) {
        if self.version.spec == spec {
            return;
        }
        let channel_changed = self.version.spec.channel != spec.channel;
        self.version.spec = spec;
        self.version.write_now = true;
        if channel_changed {
            self.query_updates(now);
        }
        self.version.validate();
        self.consider(now);
    }

    /// Begins to retrieve what is asked for, unless that is what the cluster is about already.
    fn consider(&mut self, now: Timestamp) {
        let Some(desired) = self
            .version
            .spec
            .desired
            .clone()
            .filter(|_| self.version.invalid.is_none())
        else {
            self.version.candidate = None;
            // With nothing to check any more, ReleaseAccepted is about the release that is there.
            self.version.load = Load::accepted(&self.version.release);
            return;
        };
        let release = if desired.image.is_empty() {
            self.version.find(&desired.version)
        } else {
            find_by_image(&self.version.release, &desired.image)
        };
        let release =
            release.ok_or_else(|| format!("unable to retrieve {}: manifest unknown", desired.image));
        if release
            .as_ref()
            .is_ok_and(|release| *release == self.version.release)
        {
            self.version.candidate = None;
            self.version.load = Load::accepted(&self.version.release);
            return;
        }
        let image = release
            .as_ref()
            .map_or(desired.image.clone(), |release| release.image.clone());
        let same = self
            .version
            .candidate
            .as_ref()
            .is_some_and(|known| known.image == image && known.force == desired.force);
        if same {
            return;
        }
        self.version.counter += 1;
        let number = self.version.counter;
        self.version.load = Load::retrieving(&desired.version, &image);
        self.version.candidate = Some(Candidate {
            number,
            release,
            image,
            force: desired.force,
        });
        let wait = self.durations.sample("payload", number, Spread::minutes(1.0));
        self.agenda
            .enter(now + wait, Event::PayloadRetrieved { candidate: number });
    }

    pub(super) fn payload_retrieved(&mut self, number: u64, now: Timestamp) {
        let Some(candidate) = self
            .version
            .candidate
            .clone()
            .filter(|known| known.number == number)
        else {
            return;
        };
        self.version.write_now = true;
        let release = match candidate.release {
            Err(why) => {
                self.version.load =
                    Load::refused("RetrievePayload", format!("Retrieving payload failed: {why}"));
                return;
            }
            Ok(release) => release,
        };
        if self.has(Fault::SignatureNotVerified) && !candidate.force {
            let message = format!(
                "Retrieving payload failed version=\"{}\" image=\"{}\" failure=The update cannot be verified: unable \
                 to verify {} against keyrings: verifier-public-key-redhat",
                release.version, release.image, release.image
            );
            self.version.load = Load::refused("RetrievePayload", message);
            return;
        }
        let case = Case {
            current: &self.version.release,
            target: &release.version,
            history: &self.version.history,
            not_upgradeable: self
                .objection_to_minors()
                .map(|(reason, message)| (reason.to_owned(), message.into_owned())),
            recommendation: self.recommendation(&release),
        };
        match precondition::check(&case, candidate.force) {
            PreconditionOutcome::Refused(message) => {
                let message = format!(
                    "Preconditions failed for payload loaded version=\"{}\" image=\"{}\": {message}",
                    release.version, release.image
                );
                self.version.load = Load::refused("PreconditionChecks", message);
            }
            PreconditionOutcome::Accepted(risks) => {
                let verified = !candidate.force || !self.has(Fault::SignatureNotVerified);
                self.begin(release, verified, risks, now);
            }
        }
    }

    fn recommendation(&self, release: &Release) -> Recommendation {
        let updates = &self.version.updates;
        if self.version.spec.channel.is_empty() {
            return Recommendation::NoChannel;
        }
        if updates
            .available
            .iter()
            .flatten()
            .any(|offered| offered == release)
        {
            return Recommendation::Recommended;
        }
        match updates.conditional.iter().find(|(offered, _)| offered == release) {
            Some((_, verdict)) if verdict.status == ConditionStatus::Unknown => {
                Recommendation::Undecided(verdict.reason.to_string(), verdict.message.to_string())
            }
            Some((_, verdict)) => {
                Recommendation::NotRecommended(verdict.reason.to_string(), verdict.message.to_string())
            }
            None => Recommendation::NotOffered(
                updates.retrieved.status.as_str(),
                updates.retrieved.message.to_string(),
            ),
        }
    }

    /// The update begins: ClusterVersion's history has it from now on.
    fn begin(&mut self, release: Release, verified: bool, risks: String, now: Timestamp) {
        self.version.candidate = None;
        self.version.load = Load::accepted(&release);
        self.version.history.begin(release.clone(), verified, risks, now);
        self.version.release = release;
        self.query_updates(now);
        self.restart_sync(now);
        for (fault, minutes) in [
            (Fault::ControlPlaneUnreachable, 10.0),
            (Fault::VersionOperatorRestart, 28.0),
        ] {
            if self.has(fault) {
                let wait =
                    self.durations
                        .sample(fault.code(), self.version.counter, Spread::minutes(minutes));
                self.agenda.enter(now + wait, Event::FaultShows(fault));
            }
        }
    }

    fn restart_sync(&mut self, now: Timestamp) {
        self.version.counter += 1;
        let number = self.version.counter;
        self.version.waited.clear();
        self.version.sync = Some(PayloadSync {
            number,
            level: 0,
            applied: false,
        });
        let wait = self
            .durations
            .sample("self-replace", number, Spread::seconds(45.0));
        self.agenda
            .enter(now + wait, Event::SelfReplaced { sync: number });
    }

    /// Whether a sync is the present one.
    fn is_walking(&self, number: u64) -> bool {
        self.version
            .sync
            .as_ref()
            .is_some_and(|sync| sync.number == number)
    }

    pub(super) fn self_replaced(&mut self, number: u64, now: Timestamp) {
        if self.is_walking(number) {
            self.enter_level(number, 0, now);
        }
    }

    fn enter_level(&mut self, number: u64, level: usize, now: Timestamp) {
        let Some(sync) = &mut self.version.sync else {
            return;
        };
        sync.level = level;
        sync.applied = false;
        let seconds = LEVELS[level].apply_seconds;
        let wait = self
            .durations
            .sample("level", number * 100 + level as u64, Spread::seconds(seconds));
        self.agenda
            .enter(now + wait, Event::LevelApplied { sync: number, level });
    }

    pub(super) fn level_applied(&mut self, number: u64, level: usize, now: Timestamp) {
        if !self.is_walking(number) {
            return;
        }
        if let Some(sync) = &mut self.version.sync {
            sync.applied = true;
        }
        let release = self.version.release.clone();
        for name in LEVELS[level].gates() {
            let Some(index) = operators::position(name) else {
                continue;
            };
            let operator = &mut self.operators[index];
            if operator.reached == release {
                continue;
            }
            self.version.waited.entry(&operator.facts.name).or_insert(now);
            if operator.target.as_ref() != Some(&release) {
                operator.begin(&release);
                self.changed_operators.insert(index);
                let minutes = OPERATORS[index].minutes;
                let wait = self.durations.sample(name, number, Spread::minutes(minutes));
                self.agenda
                    .enter(now + wait, Event::RolledOut { operator: index });
            }
            self.agenda.enter(now + slow_after(name), Event::Deadline);
            self.agenda.enter(now + DEGRADED_AFTER, Event::Deadline);
            if name == VICTIM {
                self.ail(now);
            }
        }
        self.advance(now);
    }

    /// The failure modes of an operator show while it rolls out.
    fn ail(&mut self, now: Timestamp) {
        for fault in [Fault::OperatorUnavailable, Fault::OperatorDegraded] {
            if self.has(fault) {
                self.agenda
                    .enter(now + SignedDuration::from_mins(1), Event::FaultShows(fault));
            }
        }
    }

    pub(super) fn rolled_out(&mut self, index: usize, now: Timestamp) {
        let name = self.operators[index].facts.name.as_str();
        let is_wanted = self.operators[index].target.as_ref() == Some(&self.version.release);
        if !is_wanted || (name == VICTIM && self.has(Fault::OperatorSlow)) {
            return;
        }
        if name == MACHINE_CONFIG {
            // Its own pods are new; the gate opens when the control plane's nodes are, too.
            self.roll_out_machines(now);
        } else {
            self.operators[index].finish();
            self.changed_operators.insert(index);
        }
        self.advance(now);
    }

    /// Continues with the next level once all gates of this one are open.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let Some((number, level)) = self
            .version
            .sync
            .as_ref()
            .filter(|sync| sync.applied)
            .map(|sync| (sync.number, sync.level))
        else {
            return;
        };
        if LEVELS[level].gates().any(|gate| !self.passed(gate)) {
            return;
        }
        if level + 1 < LEVELS.len() {
            self.enter_level(number, level + 1, now);
            return;
        }
        self.version.sync = None;
        self.version.history.complete(now);
        self.version.applied = self.version.release.version.clone();
        self.version.write_now = true;
    }

    /// Whether an operator's gate is open.
    pub(super) fn passed(&self, gate: &str) -> bool {
        operators::position(gate).is_some_and(|index| {
            self.operators[index]
                .gate_blocker(&self.version.release)
                .is_none()
        })
    }

    pub(super) fn phase(&self) -> Phase {
        self.version.phase(|gate| self.passed(gate))
    }

    /// The operators that are waited for: those of the level that is applied, and those that are unhealthy while none is.
    pub(super) fn waits(&self) -> Vec<Wait> {
        let release = &self.version.release;
        let wait = |name: &'static str, gate_blocker: GateBlocker| Wait {
            operator: name,
            gate_blocker,
            since: self.version.waited.get(name).copied().unwrap_or(Timestamp::MAX),
        };
        match &self.version.sync {
            Some(sync) if sync.applied => LEVELS[sync.level]
                .gates()
                .filter_map(|name| {
                    let index = operators::position(name)?;
                    Some(wait(name, self.operators[index].gate_blocker(release)?))
                })
                .collect(),
            Some(_) => Vec::new(),
            None => self
                .operators
                .iter()
                .filter_map(|operator| match operator.gate_blocker(release)? {
                    GateBlocker::Updating => None,
                    gate_blocker => Some(wait(&operator.facts.name, gate_blocker)),
                })
                .collect(),
        }
    }

    pub(super) fn query_updates(&mut self, now: Timestamp) {
        let health = if self.has(Fault::UnknownUpdate) {
            GraphHealth::WithoutUpdates
        } else if self.has(Fault::GraphBroken) {
            GraphHealth::Broken
        } else if self.has(Fault::NotRecommended) {
            GraphHealth::RiskApplies
        } else if self.has(Fault::RiskUnknown) {
            GraphHealth::RiskUnknown
        } else {
            GraphHealth::Whole
        };
        let version = &mut self.version;
        version.updates = Updates::query(
            &version.release,
            &version.spec.channel,
            health,
            Some(&version.updates),
            now,
        );
        version.validate();
        // What was asked for may have become possible.
        self.consider(now);
    }

    /// Reason and message of `Upgradeable=False`, if the cluster is so.
    pub(super) fn objection_to_minors(&self) -> Option<(&'static str, Cow<'static, str>)> {
        if let Some((reason, message)) = self
            .operators
            .iter()
            .find_map(|operator| operator.not_upgradeable)
            && !self.has(Fault::MinorBlocked)
        {
            let message = format!(
                "Cluster operator {MACHINE_CONFIG} should not be upgraded between minor versions: {message}"
            );
            return Some((reason, Cow::Owned(message)));
        }
        self.has(Fault::MinorBlocked).then_some((
            "AdminAckRequired",
            Cow::Borrowed(
            "Kubernetes 1.28 and therefore OpenShift 4.15 remove several APIs which require admin consideration. Please \
             see the knowledge article https://access.redhat.com/articles/6958394 for details and instructions."),
        ))
    }

    pub(super) fn fault_shows(&mut self, fault: Fault, now: Timestamp) {
        let victim = operators::position(VICTIM);
        self.changed_operators.extend(victim);
        match fault {
            Fault::OperatorUnavailable => {
                if let Some(index) = victim {
                    self.operators[index].unhealthy = Some(Unhealthy::NotAvailable);
                }
            }
            Fault::OperatorDegraded => {
                if let Some(index) = victim {
                    let message = "UpdatingNodeExporter: reconciling node-exporter DaemonSet failed: waiting for \
                                   DaemonSetRollout of openshift-monitoring/node-exporter: expected 6 ready pods, got 5";
                    self.operators[index].unhealthy = Some(Unhealthy::Degraded(
                        "UpdatingNodeExporterFailed",
                        message.to_owned(),
                    ));
                    self.agenda.enter(now + DEGRADED_FOR, Event::FaultHeals(fault));
                }
            }
            Fault::ControlPlaneUnreachable => {
                self.reachable = false;
                self.agenda.enter(now + OUTAGE, Event::FaultHeals(fault));
            }
            Fault::VersionOperatorRestart if self.version.sync.is_some() => self.restart_sync(now),
            _ => {}
        }
    }

    pub(super) fn fault_heals(&mut self, fault: Fault, now: Timestamp) {
        match fault {
            Fault::OperatorDegraded => {
                if let Some(index) = operators::position(VICTIM) {
                    self.operators[index].unhealthy = None;
                    self.changed_operators.insert(index);
                }
                self.advance(now);
            }
            Fault::ControlPlaneUnreachable => self.reachable = true,
            _ => {}
        }
    }
}
