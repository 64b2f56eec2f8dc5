//! One node and its way through a configuration change: selected, drained, written, rebooted, uncordoned.

use crate::cluster::kinds::MACHINE_API_NAMESPACE;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::condition::{ConditionStatus, wire_time};
use super::duration::{Durations, Spread};
use super::machine_api::provider_id;

/// Prefix of the machine config operator's annotations.
const PREFIX: &str = "machineconfiguration.openshift.io";

/// Where a node stands in a configuration change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// At its desired configuration.
    Done,
    /// The controller has set the desired configuration.
    Selected,
    /// The daemon works and has asked for a drain.
    Working,
    /// Cordoned; pods are being evicted.
    Draining,
    /// The drain is done; files and operating system are written.
    Drained,
    /// About to reboot.
    Rebooting,
    /// Down.
    Down,
    /// Ready again, still cordoned.
    Back,
    /// The configuration is current, the daemon has asked to be uncordoned.
    Current,
    /// Uncordoned.
    Uncordoned,
    /// Deleted with its machine.
    Gone,
}

impl Stage {
    /// The stage that follows and how long this one lasts; `None` for the last.
    fn next(self) -> Option<(Self, &'static str, Spread)> {
        Some(match self {
            Self::Done | Self::Gone => return None,
            Self::Selected => (Self::Working, "node-selected", Spread::seconds(6.0)),
            Self::Working => (Self::Draining, "node-cordon", Spread::seconds(2.0)),
            Self::Draining => (Self::Drained, "node-drain", Spread::seconds(90.0)),
            Self::Drained => (Self::Rebooting, "node-write", Spread::minutes(3.0)),
            Self::Rebooting => (Self::Down, "node-shutdown", Spread::seconds(50.0)),
            Self::Down => (Self::Back, "node-boot", Spread::minutes(3.5)),
            Self::Back => (Self::Current, "node-check", Spread::seconds(20.0)),
            Self::Current => (Self::Uncordoned, "node-uncordon", Spread::seconds(5.0)),
            Self::Uncordoned => (Self::Done, "node-done", Spread::seconds(3.0)),
        })
    }
}

/// What a node is that joins.
pub(super) struct NodePlan<'a> {
    pub(super) machine: &'a str,
    pub(super) zone: &'a str,
    pub(super) labels: &'a Map<String, Value>,
    pub(super) config: &'a str,
    pub(super) kubelet: &'a str,
    pub(super) now: Timestamp,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    /// The name of its Machine.
    pub(super) machine: Option<String>,
    labels: Map<String, Value>,
    pub(super) zone: String,
    pub(super) is_master: bool,
    pub(super) also_worker: bool,
    pub(super) stage: Stage,
    pub(super) current: String,
    pub(super) desired: String,
    /// Whether a new configuration awaits it.
    pub(super) outdated: bool,
    /// Why the daemon calls itself degraded.
    pub(super) degraded: Option<String>,
    cordoned_since: Option<Timestamp>,
    pub(super) ready: bool,
    ready_since: Timestamp,
    created: Timestamp,
    desired_drain: String,
    applied_drain: String,
    kubelet: String,
    next_kubelet: String,
    changes: u64,
}

impl Node {
    /// The node number `index` of its role, at configuration `config`.
    pub(super) fn installed(
        is_master: bool,
        also_worker: bool,
        index: usize,
        config: &str,
        kubelet: &str,
        created: Timestamp,
        durations: Durations,
    ) -> Self {
        let role = if is_master { "master" } else { "worker" };
        let number = durations.number(role, index as u64);
        let (third, fourth) = (number % 128 + index as u64 * 8 % 128, number / 128 % 256);
        Self {
            name: format!("ip-10-0-{third}-{fourth}.us-east-2.compute.internal"),
            machine: None,
            labels: Map::new(),
            zone: format!("us-east-2{}", ["a", "b", "c"][index % 3]),
            is_master,
            also_worker,
            stage: Stage::Done,
            current: config.to_owned(),
            desired: config.to_owned(),
            outdated: false,
            degraded: None,
            cordoned_since: None,
            ready: true,
            ready_since: created,
            created,
            desired_drain: format!("uncordon-{config}"),
            applied_drain: format!("uncordon-{config}"),
            kubelet: kubelet.to_owned(),
            next_kubelet: kubelet.to_owned(),
            changes: 0,
        }
    }

    /// A worker that joins because of a new machine.
    pub(super) fn joined(plan: &NodePlan<'_>, index: usize, durations: Durations) -> Self {
        let node = Self::installed(
            false,
            false,
            index,
            plan.config,
            plan.kubelet,
            plan.now,
            durations,
        );
        Self {
            machine: Some(plan.machine.to_owned()),
            labels: plan.labels.clone(),
            zone: plan.zone.to_owned(),
            ..node
        }
    }

    /// Nothing new may be scheduled to it from now on.
    pub(super) fn cordon(&mut self, now: Timestamp) {
        self.cordoned_since.get_or_insert(now);
    }

    /// Whether the pool counts it as updated to `target`.
    pub(super) fn is_updated(&self, target: &str) -> bool {
        self.current == target
            && self.desired == target
            && self.stage == Stage::Done
            && self.degraded.is_none()
    }

    /// Whether the pool counts it as unavailable.
    pub(super) fn is_unavailable(&self) -> bool {
        self.stage != Stage::Done || !self.ready || self.degraded.is_some()
    }

    /// Whether no pod can run on it: cordoned or not Ready.
    pub(super) fn is_down(&self) -> bool {
        self.cordoned_since.is_some() || !self.ready
    }

    /// The controller sets its desired configuration.
    pub(super) fn select(&mut self, target: &str, kubelet: &str) {
        target.clone_into(&mut self.desired);
        kubelet.clone_into(&mut self.next_kubelet);
        self.stage = Stage::Selected;
        self.changes += 1;
    }

    /// How long the present stage lasts, if it ends by itself.
    pub(super) fn remaining(&self, durations: Durations) -> Option<jiff::SignedDuration> {
        let (_, purpose, spread) = self.stage.next()?;
        let index = durations.number(&self.name, self.changes);
        let spread = match self.stage {
            Stage::Draining if !self.is_master => worker_drain(durations.fraction("drain-kind", index)),
            _ => spread,
        };
        Some(durations.sample(purpose, index, spread))
    }

    /// Enters the next stage.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let Some((next, _, _)) = self.stage.next() else {
            return;
        };
        self.stage = next;
        match next {
            Stage::Working => self.desired_drain = format!("drain-{}", self.desired),
            Stage::Draining => self.cordoned_since = Some(now),
            Stage::Drained => self.applied_drain.clone_from(&self.desired_drain),
            Stage::Down => self.set_ready(false, now),
            Stage::Back => {
                self.kubelet.clone_from(&self.next_kubelet);
                self.set_ready(true, now);
            }
            Stage::Current => {
                self.current.clone_from(&self.desired);
                self.desired_drain = format!("uncordon-{}", self.desired);
            }
            Stage::Uncordoned => {
                self.cordoned_since = None;
                self.outdated = false;
                self.applied_drain.clone_from(&self.desired_drain);
            }
            Stage::Done | Stage::Selected | Stage::Rebooting | Stage::Gone => {}
        }
    }

    fn set_ready(&mut self, ready: bool, now: Timestamp) {
        self.ready = ready;
        self.ready_since = now;
    }

    fn state(&self) -> &'static str {
        match self.stage {
            _ if self.degraded.is_some() => "Degraded",
            Stage::Done | Stage::Selected => "Done",
            Stage::Rebooting | Stage::Down => "Rebooting",
            _ => "Working",
        }
    }

    fn annotations(&self) -> Value {
        let entries = [
            ("currentConfig", self.current.as_str()),
            ("desiredConfig", &self.desired),
            ("desiredDrain", &self.desired_drain),
            ("lastAppliedDrain", &self.applied_drain),
            ("reason", self.degraded.as_deref().unwrap_or_default()),
            ("state", self.state()),
        ];
        let entries = entries.map(|(key, value)| (format!("{PREFIX}/{key}"), Value::from(value)));
        Value::Object(Map::from_iter(entries))
    }

    fn taints(&self) -> Vec<Value> {
        let mut taints = Vec::new();
        if self.is_master && !self.also_worker {
            taints.push(json!({"effect": "NoSchedule", "key": "node-role.kubernetes.io/master"}));
        }
        if let Some(since) = self.cordoned_since {
            taints.push(json!({
                "effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": wire_time(since),
            }));
        }
        if self.outdated {
            taints.push(json!({"effect": "PreferNoSchedule", "key": "UpdateInProgress"}));
        }
        if !self.ready {
            let since = wire_time(self.ready_since);
            for effect in ["NoSchedule", "NoExecute"] {
                let key = "node.kubernetes.io/unreachable";
                taints.push(json!({"effect": effect, "key": key, "timeAdded": since}));
            }
        }
        taints
    }

    /// A merge patch that brings metadata and spec up to date.
    pub(super) fn patch(&self) -> Value {
        let taints = self.taints();
        let taints = if taints.is_empty() {
            Value::Null
        } else {
            Value::Array(taints)
        };
        let unschedulable = if self.cordoned_since.is_some() {
            Value::Bool(true)
        } else {
            Value::Null
        };
        json!({
            "metadata": {"annotations": self.annotations()},
            "spec": {"taints": taints, "unschedulable": unschedulable},
        })
    }

    /// The status as on the wire.
    pub(super) fn status(&self) -> Value {
        let pressure = [
            (
                "MemoryPressure",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            (
                "DiskPressure",
                "KubeletHasNoDiskPressure",
                "kubelet has no disk pressure",
            ),
            (
                "PIDPressure",
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available",
            ),
        ];
        let unknown = ("NodeStatusUnknown", "Kubelet stopped posting node status.");
        let heartbeat = wire_time(self.ready_since);
        let entry = |kind: &str, status: ConditionStatus, (reason, message): (&str, &str), since: &Value| {
            json!({
                "lastHeartbeatTime": heartbeat, "lastTransitionTime": since, "message": message,
                "reason": reason, "status": status.as_str(), "type": kind,
            })
        };
        let created = wire_time(self.created);
        let mut conditions: Vec<Value> = pressure
            .iter()
            .map(|(kind, reason, message)| {
                if self.ready {
                    entry(kind, ConditionStatus::False, (reason, message), &created)
                } else {
                    entry(kind, ConditionStatus::Unknown, unknown, &heartbeat)
                }
            })
            .collect();
        conditions.push(if self.ready {
            entry(
                "Ready",
                ConditionStatus::True,
                ("KubeletReady", "kubelet is posting ready status"),
                &heartbeat,
            )
        } else {
            entry("Ready", ConditionStatus::Unknown, unknown, &heartbeat)
        });
        let mut status = json!({
            "addresses": [
                {"address": self.name, "type": "Hostname"},
                {"address": self.name, "type": "InternalDNS"},
            ],
            "capacity": {"cpu": "4", "memory": "16092956Ki", "pods": "250"},
            "allocatable": {"cpu": "3500m", "memory": "14942Mi", "pods": "250"},
            "nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "cri-o://1.27.1",
                "kernelVersion": "5.14.0-284.41.1.el9_2.x86_64", "kubeProxyVersion": self.kubelet,
                "kubeletVersion": self.kubelet, "machineID": "", "operatingSystem": "linux",
                "osImage": "Red Hat Enterprise Linux CoreOS", "systemUUID": "",
            },
        });
        status["conditions"] = Value::Array(conditions);
        status
    }

    /// The object without its status.
    pub(super) fn object(&self) -> Value {
        let mut labels = Map::new();
        let role = |name: &str| (format!("node-role.kubernetes.io/{name}"), Value::from(""));
        labels.extend([
            (
                "kubernetes.io/hostname".to_owned(),
                Value::from(self.name.as_str()),
            ),
            (
                "topology.kubernetes.io/region".to_owned(),
                Value::from("us-east-2"),
            ),
            (
                "topology.kubernetes.io/zone".to_owned(),
                Value::from(self.zone.as_str()),
            ),
        ]);
        if self.is_master {
            labels.extend([role("control-plane"), role("master")]);
        }
        if !self.is_master || self.also_worker {
            labels.extend([role("worker")]);
        }
        labels.extend(self.labels.clone());
        let mut annotations = self.annotations();
        if let Some(machine) = &self.machine {
            annotations["machine.openshift.io/machine"] =
                Value::from(format!("{MACHINE_API_NAMESPACE}/{machine}"));
        }
        annotations[format!("{PREFIX}/controlPlaneTopology")] = Value::from("HighlyAvailable");
        annotations[format!("{PREFIX}/lastSyncedControllerConfigResourceVersion")] = Value::from("24893");
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"annotations": annotations, "labels": labels, "name": self.name},
            "spec": {},
        });
        if let Some(machine) = &self.machine {
            object["spec"]["providerID"] = Value::from(provider_id(&self.zone, machine));
        }
        let taints = self.taints();
        if !taints.is_empty() {
            object["spec"]["taints"] = Value::Array(taints);
        }
        object
    }
}

/// Most drains of workers take a minute or two, some many, few hang for long.
pub(super) fn worker_drain(kind: f64) -> Spread {
    if kind < 0.015 {
        Spread::minutes(25.0)
    } else if kind < 0.08 {
        Spread::minutes(8.0)
    } else {
        Spread {
            median_seconds: 85.0,
            sigma: 0.5,
        }
    }
}
