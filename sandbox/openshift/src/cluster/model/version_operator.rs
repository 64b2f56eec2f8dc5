//! The cluster version operator: what it was asked for, what it is about, and the status of ClusterVersion.

use std::collections::BTreeMap;

use jiff::Timestamp;
use semver::Version;
use serde_json::{Map, Value, json};

use super::condition::{ConditionStatus, ConditionValue, Conditions, wire_time};
use super::history::History;
use super::progress::{Judgement, Phase};
use super::release::{Offer, Release, offer};
use super::task_graph;
use super::write::Written;

const CAPABILITIES: [&str; 12] = [
    "Build",
    "CSISnapshot",
    "Console",
    "DeploymentConfig",
    "ImageRegistry",
    "Insights",
    "MachineAPI",
    "NodeTuning",
    "Storage",
    "baremetal",
    "marketplace",
    "openshift-samples",
];
const UPSTREAM: &str = "https://api.openshift.com/api/upgrades_info/v1/graph";

/// The part of ClusterVersion's spec that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionSpec {
    /// `metadata.generation`.
    pub generation: i64,
    /// `spec.channel`.
    pub channel: String,
    /// `spec.desiredUpdate`.
    pub desired: Option<DesiredUpdate>,
}

/// `spec.desiredUpdate` of ClusterVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesiredUpdate {
    /// The version that is asked for, or nothing.
    pub version: String,
    /// The pull spec that is asked for, or nothing.
    pub image: String,
    /// Whether failed verification and preconditions are passed over.
    pub force: bool,
}

impl VersionSpec {
    /// Reads a ClusterVersion; what is absent counts as empty.
    pub fn read(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &object["spec"];
        let desired = spec.get("desiredUpdate").filter(|update| update.is_object());
        Self {
            generation: object["metadata"]["generation"].as_i64().unwrap_or_default(),
            channel: text(&spec["channel"]),
            desired: desired.map(|update| DesiredUpdate {
                version: text(&update["version"]),
                image: text(&update["image"]),
                force: update["force"].as_bool().unwrap_or_default(),
            }),
        }
    }
}

/// How the update graph comes to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GraphHealth {
    Whole,
    /// No request succeeds.
    Broken,
    /// No version follows the current one.
    WithoutUpdates,
    /// Every update has a risk that applies.
    RiskApplies,
    /// Every update has a risk that cannot be evaluated.
    RiskUnknown,
}

/// How the last query of the update graph ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Updates {
    pub(super) retrieved: ConditionValue,
    /// `None` if never retrieved.
    pub(super) available: Option<Vec<Release>>,
    /// With the value on each.
    pub(super) conditional: Vec<(Release, ConditionValue)>,
    since: Timestamp,
}

/// What ReleaseAccepted says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) step: &'static str,
    pub(super) status: ConditionStatus,
    pub(super) message: String,
}

/// An update that has been asked for and is being checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) number: u64,
    pub(super) release: Result<Release, String>,
    pub(super) image: String,
    pub(super) force: bool,
}

/// An update that is being applied.
#[derive(Clone, Debug)]
pub(super) struct PayloadSync {
    pub(super) number: u64,
    pub(super) level: usize,
    pub(super) applied: bool,
}

/// The operator's state.
#[derive(Clone, Debug)]
pub(super) struct VersionOperator {
    pub(super) spec: VersionSpec,
    pub(super) cluster_id: String,
    /// The release that is being, or has been, applied.
    pub(super) release: Release,
    /// The release of which ClusterVersion says that it is applied.
    pub(super) applied: Version,
    pub(super) history: History,
    pub(super) updates: Updates,
    /// Why the spec is invalid.
    pub(super) invalid: Option<String>,
    pub(super) load: Load,
    pub(super) candidate: Option<Candidate>,
    pub(super) sync: Option<PayloadSync>,
    /// Candidates and syncs so far.
    pub(super) counter: u64,
    /// Since when each operator has been waited for.
    pub(super) waited: BTreeMap<&'static str, Timestamp>,
    pub(super) conditions: Conditions,
    /// The status that was written last, and when.
    pub(super) written: Option<(Written, Timestamp)>,
    pub(super) shown_failing: ConditionStatus,
    pub(super) write_now: bool,
    pub(super) write_scheduled: bool,
}

impl VersionOperator {
    /// The operator of a cluster that was installed with `release`.
    pub(super) fn installed(release: Release, channel: &str, cluster_id: String, now: Timestamp) -> Self {
        let started = now - jiff::SignedDuration::from_mins(35);
        let spec = VersionSpec {
            generation: 1,
            channel: channel.to_owned(),
            desired: None,
        };
        Self {
            updates: Updates::query(&release, channel, GraphHealth::Whole, None, now),
            history: History::installed(release.clone(), started, now),
            load: Load::accepted(&release),
            applied: release.version.clone(),
            spec,
            cluster_id,
            release,
            invalid: None,
            candidate: None,
            sync: None,
            counter: 0,
            waited: BTreeMap::new(),
            conditions: Conditions::default(),
            written: None,
            shown_failing: ConditionStatus::False,
            write_now: true,
            write_scheduled: false,
        }
    }

    /// What the operator is about; `passed` says which gates are open.
    pub(super) fn phase(&self, passed: impl Fn(&str) -> bool) -> Phase {
        match &self.sync {
            None => Phase::Reconciling,
            Some(sync) => Phase::Updating {
                done: task_graph::done(sync.level, sync.applied, passed),
                total: task_graph::total(),
            },
        }
    }

    /// Looks whether the spec is valid.
    pub(super) fn validate(&mut self) {
        self.invalid = self
            .spec
            .desired
            .as_ref()
            .and_then(|desired| self.objection(desired));
    }

    fn objection(&self, desired: &DesiredUpdate) -> Option<String> {
        let DesiredUpdate { version, image, .. } = desired;
        let why = match (version.is_empty(), image.is_empty()) {
            (true, true) => {
                "spec.desiredUpdate.version: Required value: must specify version or image".to_owned()
            }
            (true, false) => return None,
            (false, _) if Version::parse(version).is_err() => format!(
                "spec.desiredUpdate.version: Invalid value: \"{version}\": must be a semantic version (1.2.3[-...])"
            ),
            (false, true) if self.find(version).is_none() => format!(
                "spec.desiredUpdate.version: Invalid value: \"{version}\": when image is empty the update must be a \
                 previous version or an available update"
            ),
            (false, _) => return None,
        };
        Some(format!("The cluster version is invalid: {why}"))
    }

    /// The release of a version without an image: an available update, or one of the history.
    pub(super) fn find(&self, version: &str) -> Option<Release> {
        let version = Version::parse(version).ok()?;
        let available = self.updates.available.iter().flatten();
        let past = self.history.entries().iter().map(|entry| &entry.release);
        available
            .chain(past)
            .find(|release| release.version == version)
            .cloned()
    }

    /// Brings every condition up to date.
    pub(super) fn refresh(
        &mut self,
        judgement: Judgement,
        not_upgradeable: Option<ConditionValue>,
        now: Timestamp,
    ) {
        let conditions = &mut self.conditions;
        conditions.set("RetrievedUpdates", self.updates.retrieved.clone(), now);
        let capabilities = ConditionValue::new(
            ConditionStatus::False,
            "AsExpected",
            "Capabilities match configured spec",
        );
        conditions.set("ImplicitlyEnabledCapabilities", capabilities, now);
        let load = ConditionValue::new(self.load.status, self.load.step, self.load.message.clone());
        conditions.set("ReleaseAccepted", load, now);
        let available = ConditionValue::new(
            ConditionStatus::True,
            "",
            format!("Done applying {}", self.applied),
        );
        conditions.set("Available", available, now);
        conditions.set("Failing", judgement.failing, now);
        conditions.set("Progressing", judgement.progressing, now);
        match not_upgradeable {
            Some(value) => conditions.set("Upgradeable", value, now),
            None => conditions.remove("Upgradeable"),
        }
        match &self.invalid {
            Some(why) => {
                conditions.set(
                    "Invalid",
                    ConditionValue::new(ConditionStatus::True, "InvalidClusterVersion", why.clone()),
                    now,
                );
            }
            None => conditions.remove("Invalid"),
        }
    }

    /// The status as on the wire.
    pub(super) fn status(&self) -> Value {
        let available = match &self.updates.available {
            None => Value::Null,
            Some(releases) => releases.iter().map(Release::to_value).collect(),
        };
        let capabilities = json!({"enabledCapabilities": CAPABILITIES, "knownCapabilities": CAPABILITIES});
        let mut status = Map::new();
        status.insert("availableUpdates".into(), available);
        status.insert("capabilities".into(), capabilities);
        if !self.updates.conditional.is_empty() {
            status.insert("conditionalUpdates".into(), self.updates.conditional_value());
        }
        status.insert("conditions".into(), self.conditions.sparse());
        status.insert("desired".into(), self.release.to_value());
        status.insert("history".into(), self.history.to_value());
        status.insert("observedGeneration".into(), json!(self.spec.generation));
        status.insert("versionHash".into(), json!(self.release.payload_hash()));
        Value::Object(status)
    }

    /// The object without its status.
    pub(super) fn object(&self) -> Value {
        json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "spec": {"channel": self.spec.channel, "clusterID": self.cluster_id},
        })
    }
}

impl Load {
    /// The release has been accepted.
    pub(super) fn accepted(release: &Release) -> Self {
        Self {
            step: "PayloadLoaded",
            status: ConditionStatus::True,
            message: format!(
                "Payload loaded version=\"{}\" image=\"{}\" architecture=\"amd64\"",
                release.version, release.image
            ),
        }
    }

    /// The payload is being retrieved.
    pub(super) fn retrieving(version: &str, image: &str) -> Self {
        Self {
            step: "RetrievePayload",
            status: ConditionStatus::Unknown,
            message: format!("Retrieving and verifying payload version=\"{version}\" image=\"{image}\""),
        }
    }

    /// A step has failed.
    pub(super) fn refused(step: &'static str, message: String) -> Self {
        Self {
            step,
            status: ConditionStatus::False,
            message,
        }
    }
}

impl Updates {
    /// Queries the graph; a query that fails keeps what the one before it brought.
    pub(super) fn query(
        current: &Release,
        channel: &str,
        health: GraphHealth,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let keep = |retrieved: ConditionValue| Self {
            retrieved,
            available: before.and_then(|before| before.available.clone()),
            conditional: before
                .map(|before| before.conditional.clone())
                .unwrap_or_default(),
            since: before.map_or(now, |before| before.since),
        };
        let none = |reason: &'static str, message: String| Self {
            retrieved: ConditionValue::new(ConditionStatus::False, reason, message),
            available: None,
            conditional: Vec::new(),
            since: now,
        };
        let found = match offer(current, channel) {
            Offer::NoChannel => {
                return none(
                    "NoChannel",
                    "The update channel has not been configured.".to_owned(),
                );
            }
            _ if health == GraphHealth::Broken => {
                let message = format!(
                    "Unable to retrieve available updates: Get \"{UPSTREAM}?arch=amd64&channel={channel}&version={}\": \
                     dial tcp: lookup api.openshift.com: no such host",
                    current.version
                );
                return keep(ConditionValue::new(
                    ConditionStatus::False,
                    "RemoteFailed",
                    message,
                ));
            }
            Offer::VersionNotFound => {
                let message = format!(
                    "Unable to retrieve available updates: currently reconciling cluster version {} not found in the \
                     \"{channel}\" channel",
                    current.version
                );
                return none("VersionNotFound", message);
            }
            Offer::Updates(found) => found,
        };
        let retrieved = ConditionValue::bare(ConditionStatus::True);
        let (available, conditional) = match risk_verdict(health) {
            Some(value) => (
                Vec::new(),
                found
                    .into_iter()
                    .map(|release| (release, value.clone()))
                    .collect(),
            ),
            None if health == GraphHealth::WithoutUpdates => (Vec::new(), Vec::new()),
            None => (found, Vec::new()),
        };
        Self {
            retrieved,
            available: Some(available),
            conditional,
            since: now,
        }
    }

    fn conditional_value(&self) -> Value {
        let entry = |(release, value): &(Release, ConditionValue)| {
            json!({
                "conditions": [{
                    "lastTransitionTime": wire_time(self.since),
                    "message": value.message,
                    "reason": value.reason,
                    "status": value.status.as_str(),
                    "type": "Recommended",
                }],
                "release": release.to_value(),
                "risks": [{
                    "matchingRules": [{"promql": {"promql": RISK_QUERY}, "type": "PromQL"}],
                    "message": RISK_MESSAGE,
                    "name": RISK_NAME,
                    "url": RISK_URL,
                }],
            })
        };
        self.conditional.iter().map(entry).collect()
    }
}

const RISK_NAME: &str = "AROBrokenDNSMasq";
const RISK_MESSAGE: &str = "Adding a new worker node will fail for clusters running on ARO.";
const RISK_URL: &str = "https://issues.redhat.com/browse/MCO-958";
const RISK_QUERY: &str = "(\n  group(cluster_operator_conditions{name=\"aro\"})\n  or\n  0 * \
                          group(cluster_operator_conditions)\n)\n";

fn risk_verdict(health: GraphHealth) -> Option<ConditionValue> {
    match health {
        GraphHealth::RiskApplies => Some(ConditionValue::new(
            ConditionStatus::False,
            RISK_NAME,
            format!("{RISK_MESSAGE} {RISK_URL}"),
        )),
        GraphHealth::RiskUnknown => Some(ConditionValue::new(
            ConditionStatus::Unknown,
            "EvaluationFailed",
            format!(
                "Could not evaluate exposure to update risk {RISK_NAME} (client-side throttling: only 1s has elapsed \
                 since the last match call completed for this cluster condition backend)\n  {RISK_NAME} description: \
                 {RISK_MESSAGE}\n  {RISK_NAME} URL: {RISK_URL}"
            ),
        )),
        GraphHealth::Whole | GraphHealth::Broken | GraphHealth::WithoutUpdates => None,
    }
}
