//! One MachineConfigPool: which of its nodes may be worked on, and what it reports.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::condition::{ConditionStatus, ConditionValue, Conditions};
use super::node::{Node, Stage};
use super::release::{Release, digest};

/// How many nodes of a pool may be unavailable at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxUnavailable {
    /// A count.
    Count(usize),
    /// A percentage, rounded down.
    Percent(usize),
}

impl MaxUnavailable {
    /// Reads the field of a MachineConfigPool: an integer or a percentage; 1 if absent or unreadable.
    pub fn parse(value: &Value) -> Self {
        let percent = |text: &str| text.strip_suffix('%')?.parse().ok();
        match value {
            Value::Number(number) => Self::Count(number.as_u64().unwrap_or(1) as usize),
            Value::String(text) => percent(text).map_or(Self::Count(1), Self::Percent),
            _ => Self::Count(1),
        }
    }

    /// How many of `total` that is: at least one.
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => total * percent / 100,
        }
        .max(1)
    }
}

/// The numbers in a pool's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) machines: usize,
    pub(super) updated: usize,
    pub(super) ready: usize,
    pub(super) unavailable: usize,
    pub(super) degraded: usize,
}

/// A pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) name: &'static str,
    pub(super) paused: bool,
    pub(super) max_unavailable: MaxUnavailable,
    pub(super) generation: i64,
    observed_generation: i64,
    /// `spec.configuration.name`.
    pub(super) target: String,
    /// `status.configuration.name`: what all nodes ran last.
    applied: String,
    pub(super) counts: Counts,
    conditions: Conditions,
}

/// The name of the rendered configuration of a pool in a release.
pub(super) fn rendered(pool: &str, release: &Release) -> String {
    format!("rendered-{pool}-{}", &digest(pool, &release.image)[..32])
}

impl Pool {
    /// The pool `name` whose nodes all run `release`.
    pub(super) fn installed(name: &'static str, release: &Release, nodes: &[Node], now: Timestamp) -> Self {
        let config = rendered(name, release);
        let mut pool = Self {
            name,
            paused: false,
            max_unavailable: MaxUnavailable::Count(1),
            generation: 1,
            observed_generation: 1,
            target: config.clone(),
            applied: config,
            counts: Counts::default(),
            conditions: Conditions::default(),
        };
        pool.refresh(nodes, now);
        pool
    }

    /// Whether a node belongs to it: one that is master and worker belongs to the masters.
    pub(super) fn owns(&self, node: &Node) -> bool {
        node.stage != Stage::Gone && node.is_master == (self.name == "master")
    }

    /// The nodes to begin with now, as many as may be unavailable besides those that already are. Zones in their order,
    /// and of the masters the one that hosts the controller last.
    pub(super) fn candidates(&self, nodes: &[Node]) -> Vec<usize> {
        if self.paused {
            return Vec::new();
        }
        let own = || nodes.iter().enumerate().filter(|(_, node)| self.owns(node));
        let unavailable = own().filter(|(_, node)| node.is_unavailable()).count();
        let capacity = self.max_unavailable.of(own().count()).saturating_sub(unavailable);
        let host = own()
            .map(|(index, _)| index)
            .nth(1)
            .filter(|_| self.name == "master");
        let waits =
            |node: &Node| node.stage == Stage::Done && node.current != self.target && !node.is_unavailable();
        let mut waiting: Vec<(bool, &str, usize)> = own()
            .filter(|(_, node)| waits(node))
            .map(|(index, node)| (Some(index) == host, node.zone.as_str(), index))
            .collect();
        waiting.sort_unstable();
        waiting
            .into_iter()
            .take(capacity)
            .map(|(_, _, index)| index)
            .collect()
    }

    /// Whether its nodes, as they are now, all run the target.
    pub(super) fn is_at_target(&self, nodes: &[Node]) -> bool {
        let mut own = nodes.iter().filter(|node| self.owns(node));
        own.all(|node| node.is_updated(&self.target) && !node.is_down())
    }

    /// Whether all its nodes ran the target when they were last counted.
    pub(super) fn is_updated(&self) -> bool {
        let Counts {
            machines,
            updated,
            ready,
            unavailable,
            ..
        } = self.counts;
        updated == machines && ready == machines && unavailable == 0
    }

    /// Counts its nodes and words its conditions; says whether the status changed.
    pub(super) fn refresh(&mut self, nodes: &[Node], now: Timestamp) -> bool {
        let before = (self.counts, self.observed_generation, self.conditions.clone());
        let own: Vec<&Node> = nodes.iter().filter(|node| self.owns(node)).collect();
        let count = |test: &dyn Fn(&Node) -> bool| own.iter().filter(|node| test(node)).count();
        self.counts = Counts {
            machines: own.len(),
            updated: count(&|node| node.is_updated(&self.target)),
            ready: count(&|node| node.is_updated(&self.target) && !node.is_down()),
            unavailable: count(&|node| node.is_unavailable() || node.is_down()),
            degraded: count(&|node| node.degraded.is_some()),
        };
        self.observed_generation = self.generation;
        self.word_degradation(&own, now);
        self.word_progress(now);
        before != (self.counts, self.observed_generation, self.conditions.clone())
    }

    fn word_degradation(&mut self, own: &[&Node], now: Timestamp) {
        let entries: Vec<String> = own
            .iter()
            .filter_map(|node| {
                Some(format!(
                    "Node {} is reporting: \"{}\"",
                    node.name,
                    node.degraded.as_ref()?
                ))
            })
            .collect();
        let degraded = if entries.is_empty() {
            ConditionValue::bare(ConditionStatus::False)
        } else {
            let reason = format!("{} nodes are reporting degraded status on sync", entries.len());
            ConditionValue::new(ConditionStatus::True, reason, entries.join(", "))
        };
        let overall = ConditionValue::bare(degraded.status);
        self.conditions.set(
            "RenderDegraded",
            ConditionValue::bare(ConditionStatus::False),
            now,
        );
        self.conditions.set("NodeDegraded", degraded, now);
        self.conditions.set("Degraded", overall, now);
    }

    fn word_progress(&mut self, now: Timestamp) {
        let target = &self.target;
        let (updated, updating) = if self.is_updated() {
            self.applied.clone_from(target);
            let text = format!("All nodes are updated with MachineConfig {target}");
            (
                ConditionValue::new(ConditionStatus::True, "", text),
                ConditionValue::bare(ConditionStatus::False),
            )
        } else if self.paused {
            let text = format!("Pool is paused; will not update to {target}");
            (
                ConditionValue::bare(ConditionStatus::False),
                ConditionValue::new(ConditionStatus::False, "", text),
            )
        } else {
            let text = format!("All nodes are updating to MachineConfig {target}");
            (
                ConditionValue::bare(ConditionStatus::False),
                ConditionValue::new(ConditionStatus::True, "", text),
            )
        };
        self.conditions.set("Updated", updated, now);
        self.conditions.set("Updating", updating, now);
    }

    fn sources(&self) -> Value {
        let name = self.name;
        [
            format!("00-{name}"),
            format!("01-{name}-container-runtime"),
            format!("01-{name}-kubelet"),
            format!("97-{name}-generated-kubelet"),
            format!("98-{name}-generated-kubelet"),
            format!("99-{name}-generated-registries"),
            format!("99-{name}-ssh"),
        ]
        .into_iter()
        .map(|source| {
            json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "name": source})
        })
        .collect()
    }

    /// The status as on the wire.
    pub(super) fn status(&self) -> Value {
        // Values are moved in: the macro would write each again.
        let mut status = json!({
            "configuration": {"name": self.applied},
            "degradedMachineCount": self.counts.degraded,
            "machineCount": self.counts.machines,
            "observedGeneration": self.observed_generation,
            "readyMachineCount": self.counts.ready,
            "unavailableMachineCount": self.counts.unavailable,
            "updatedMachineCount": self.counts.updated,
        });
        status["conditions"] = self.conditions.full();
        status["configuration"]["source"] = self.sources();
        status
    }

    /// The object without its status.
    pub(super) fn object(&self) -> Value {
        let name = self.name;
        let mut labels = json!({
            "machineconfiguration.openshift.io/mco-built-in": "",
            format!("pools.operator.machineconfiguration.openshift.io/{name}"): "",
        });
        if name == "master" {
            labels["operator.machineconfiguration.openshift.io/required-for-upgrade"] = Value::from("");
        }
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfigPool",
            "metadata": {"labels": labels, "name": name},
            "spec": {
                "configuration": {"name": self.target, "source": self.sources()},
                "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": name}},
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
                "paused": self.paused,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_unavailable_is_rounded_down_and_never_nothing() {
        let table = [
            (json!(null), 10, 1),
            (json!(0), 10, 1),
            (json!(3), 10, 3),
            (json!("10%"), 19, 1),
            (json!("50%"), 5, 2),
            (json!("10%"), 3, 1),
            (json!("nonsense"), 3, 1),
        ];
        for (value, total, expected) in table {
            assert_eq!(
                MaxUnavailable::parse(&value).of(total),
                expected,
                "{value} of {total}"
            );
        }
    }
}
