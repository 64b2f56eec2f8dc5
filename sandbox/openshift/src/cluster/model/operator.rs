//! One cluster operator: the version it has reached, what ails it, and the status that it reports.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::condition::{ConditionStatus, ConditionValue, Conditions};
use super::operators::{Facts, MACHINE_CONFIG, Operand, Text};
use super::progress::GateBlocker;
use super::release::{Release, digest};

/// Why an operator is unhealthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unhealthy {
    NotAvailable,
    /// With the reason and the message of the condition.
    Degraded(&'static str, String),
}

/// A cluster operator.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub(super) facts: &'static Facts,
    /// The release that it has reached.
    pub(super) reached: Release,
    /// The release that it is rolling out.
    pub(super) target: Option<Release>,
    pub(super) unhealthy: Option<Unhealthy>,
    /// Why `Progressing` is True although it rolls nothing out: nodes that reboot, for one.
    pub(super) disturbance: Option<(&'static str, String)>,
    /// Reason and message of `Upgradeable=False`.
    pub(super) not_upgradeable: Option<(&'static str, &'static str)>,
    revision: u64,
    conditions: Conditions,
}

impl Operator {
    /// The operator of a cluster that runs `release` since `now`.
    pub(super) fn installed(facts: &'static Facts, release: &Release, now: Timestamp) -> Self {
        let mut operator = Self {
            facts,
            reached: release.clone(),
            target: None,
            unhealthy: None,
            disturbance: None,
            not_upgradeable: None,
            revision: 7,
            conditions: Conditions::default(),
        };
        operator.refresh(now);
        operator
    }

    /// Begins to roll out a release.
    pub(super) fn begin(&mut self, release: &Release) {
        self.target = Some(release.clone());
        self.revision += 1;
    }

    /// Ends its rollout: the versions change only now.
    pub(super) fn finish(&mut self) {
        if let Some(release) = self.target.take() {
            self.reached = release;
        }
    }

    /// What keeps its gate closed for `release`; a health problem comes before a missing version.
    pub(super) fn gate_blocker(&self, release: &Release) -> Option<GateBlocker> {
        match self.unhealthy {
            Some(Unhealthy::NotAvailable) => Some(GateBlocker::NotAvailable),
            Some(Unhealthy::Degraded(..)) => Some(GateBlocker::Degraded),
            None if self.reached != *release => Some(GateBlocker::Updating),
            None => None,
        }
    }

    /// Brings the conditions up to date.
    pub(super) fn refresh(&mut self, now: Timestamp) {
        let degraded = match &self.unhealthy {
            Some(Unhealthy::Degraded(reason, message)) => {
                ConditionValue::new(ConditionStatus::True, *reason, message.clone())
            }
            _ => self.value(ConditionStatus::False, &self.facts.not_degraded),
        };
        let progressing = match (&self.target, &self.disturbance) {
            (Some(target), _) => {
                let text = &self.facts.busy;
                ConditionValue::new(
                    ConditionStatus::True,
                    &text.reason,
                    self.fill(&text.message, target),
                )
            }
            (None, Some((reason, message))) => {
                ConditionValue::new(ConditionStatus::True, *reason, message.clone())
            }
            (None, None) => self.value(ConditionStatus::False, &self.facts.idle),
        };
        let available = match self.unhealthy {
            Some(Unhealthy::NotAvailable) => unavailable(&self.facts.name),
            _ => self.value(ConditionStatus::True, &self.facts.available),
        };
        let upgradeable = match (self.not_upgradeable, &self.facts.upgradeable) {
            (Some((reason, message)), _) => {
                Some(ConditionValue::new(ConditionStatus::False, reason, message))
            }
            (None, Some(text)) => Some(self.value(ConditionStatus::True, text)),
            (None, None) => None,
        };
        let extras: Vec<(&'static str, ConditionValue)> = self
            .facts
            .extras
            .iter()
            .map(|extra| (extra.kind.as_str(), self.value(truth(&extra.status), &extra.text)))
            .collect();
        self.conditions.set("Degraded", degraded, now);
        self.conditions.set("Progressing", progressing, now);
        self.conditions.set("Available", available, now);
        if let Some(upgradeable) = upgradeable {
            self.conditions.set("Upgradeable", upgradeable, now);
        }
        for (kind, value) in extras {
            self.conditions.set(kind, value, now);
        }
    }

    /// A text of an operator that names the release it has reached.
    fn value(&self, status: ConditionStatus, text: &'static Text) -> ConditionValue {
        ConditionValue::new(status, &text.reason, self.fill(&text.message, &self.reached))
    }

    fn fill(&self, message: &'static str, release: &Release) -> Cow<'static, str> {
        if !message.contains('{') {
            return Cow::Borrowed(message);
        }
        let filled = message
            .replace("{v}", &release.version.to_string())
            .replace("{o}", &lifecycle_version(release))
            .replace("{p}", &(self.revision - 1).to_string())
            .replace("{r}", &self.revision.to_string());
        Cow::Owned(filled)
    }

    fn versions(&self) -> Value {
        let version = self.reached.version.to_string();
        let own = json!({"name": "operator", "version": version});
        let operands = self.facts.operands.iter().map(|operand| {
            let (name, value) = match operand {
                Operand::Release(name) => (name, version.clone()),
                Operand::Kubernetes(name) => (name, self.reached.kubernetes()),
                Operand::Suffixed(name) => (name, format!("{version}_openshift")),
                Operand::Lifecycle(name) => (name, lifecycle_version(&self.reached)),
                Operand::Snapshot(name) => (name, "0.0.1-snapshot".to_owned()),
                Operand::Image(name) => {
                    let image = digest(name, &version);
                    (
                        name,
                        format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{image}"),
                    )
                }
            };
            json!({"name": name, "version": value})
        });
        std::iter::once(own).chain(operands).collect()
    }

    fn related_objects(&self) -> Value {
        let name = self.facts.name.as_str();
        let namespace = match name {
            "machine-config" => "openshift-machine-config-operator".to_owned(),
            _ if name.starts_with("openshift-") => name.to_owned(),
            _ => format!("openshift-{name}"),
        };
        json!([{"group": "", "name": namespace, "resource": "namespaces"}])
    }

    /// The status as on the wire.
    pub(super) fn status(&self) -> Value {
        let extension = if self.facts.name == MACHINE_CONFIG {
            json!({"lastSyncError": null})
        } else {
            Value::Null
        };
        let fields = [
            ("conditions", self.conditions.sparse()),
            ("extension", extension),
            ("relatedObjects", self.related_objects()),
            ("versions", self.versions()),
        ];
        let fields = fields.map(|(name, field)| (name.to_owned(), field));
        Value::Object(Map::from_iter(fields))
    }

    /// The object without its status.
    pub(super) fn object(&self) -> Value {
        json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterOperator",
            "metadata": {
                "name": self.facts.name,
                "annotations": {
                    "exclude.release.openshift.io/internal-openshift-hosted": "true",
                    "include.release.openshift.io/self-managed-high-availability": "true",
                    "include.release.openshift.io/single-node-developer": "true",
                },
            },
            "spec": {},
        })
    }
}

fn truth(status: &str) -> ConditionStatus {
    match status {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}

fn unavailable(operator: &'static str) -> ConditionValue {
    let (reason, message) = match operator {
        "monitoring" => (
            "UpdatingPrometheusFailed",
            "UpdatingPrometheus: reconciling Prometheus object failed: waiting for Prometheus \
             openshift-monitoring/k8s: expected 2 replicas, got 0 available replicas"
                .to_owned(),
        ),
        _ => (
            "NoReplicasAvailable",
            format!("{operator}: no replicas are available"),
        ),
    };
    ConditionValue::new(ConditionStatus::False, reason, message)
}

fn lifecycle_version(release: &Release) -> String {
    let version = &release.version;
    let hash = &digest("lifecycle", &version.to_string())[..7];
    format!(
        "{}.{}.0-202401{:02}1027.p0.g{hash}.assembly.stream-{hash}",
        version.major,
        version.minor,
        version.patch % 28 + 1
    )
}
