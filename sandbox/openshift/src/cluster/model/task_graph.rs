//! The task graph by which the version operator applies a payload: levels, groups of tasks, operators as gates.

/// Tasks of one component that are applied one after another; the gates are among them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) tasks: u32,
    /// How many of the tasks lie behind the first gate.
    pub(super) behind: u32,
    /// The operators that must have reached the release.
    pub(super) gates: &'static [&'static str],
}

/// Groups that are applied in parallel; the next level begins when all are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Median of the time to apply what does not wait, in seconds.
    pub(super) apply_seconds: f64,
    pub(super) groups: &'static [Group],
}

const fn gate(tasks: u32, gates: &'static [&'static str]) -> Group {
    Group {
        tasks,
        behind: gates.len() as u32 - 1,
        gates,
    }
}

const fn plain(tasks: u32) -> Group {
    Group {
        tasks,
        behind: 0,
        gates: &[],
    }
}

/// The levels of the payload, 862 tasks in all.
pub(super) const LEVELS: &[Level] = &[
    Level {
        apply_seconds: 30.0,
        groups: &[plain(54)],
    },
    Level {
        apply_seconds: 2.0,
        groups: &[gate(1, &["config-operator"])],
    },
    Level {
        apply_seconds: 15.0,
        groups: &[gate(13, &["etcd"]), gate(31, &["kube-apiserver"])],
    },
    Level {
        apply_seconds: 10.0,
        groups: &[
            gate(12, &["kube-controller-manager"]),
            gate(9, &["kube-scheduler"]),
        ],
    },
    Level {
        apply_seconds: 12.0,
        groups: &[gate(32, &["cloud-controller-manager"])],
    },
    Level {
        apply_seconds: 25.0,
        groups: &[
            gate(16, &["control-plane-machine-set"]),
            gate(49, &["machine-api"]),
        ],
    },
    Level {
        apply_seconds: 10.0,
        groups: &[gate(23, &["baremetal"])],
    },
    Level {
        apply_seconds: 60.0,
        groups: &[
            gate(17, &["cloud-credential"]),
            gate(13, &["authentication"]),
            gate(23, &["cluster-autoscaler"]),
            gate(24, &["csi-snapshot-controller"]),
            gate(22, &["image-registry"]),
            gate(20, &["ingress"]),
            gate(10, &["kube-storage-version-migrator"]),
            gate(12, &["machine-approver"]),
            gate(24, &["monitoring"]),
            gate(29, &["node-tuning"]),
            gate(9, &["openshift-apiserver"]),
            gate(14, &["openshift-controller-manager"]),
            gate(20, &["openshift-samples"]),
            gate(42, &["storage"]),
            gate(54, &["console"]),
            gate(51, &["insights"]),
            gate(
                44,
                &[
                    "operator-lifecycle-manager",
                    "operator-lifecycle-manager-catalog",
                    "operator-lifecycle-manager-packageserver",
                ],
            ),
            gate(11, &["marketplace"]),
            gate(13, &["service-ca"]),
        ],
    },
    Level {
        apply_seconds: 15.0,
        groups: &[gate(9, &["network"]), gate(10, &["dns"])],
    },
    Level {
        apply_seconds: 15.0,
        groups: &[gate(25, &["machine-config"])],
    },
    Level {
        apply_seconds: 60.0,
        groups: &[plain(126)],
    },
];

/// How many tasks the payload has.
pub(super) fn total() -> u32 {
    LEVELS.iter().map(Level::tasks).sum()
}

impl Level {
    fn tasks(&self) -> u32 {
        self.groups.iter().map(|group| group.tasks).sum()
    }

    /// The operators that the level waits for.
    pub(super) fn gates(&self) -> impl Iterator<Item = &'static str> {
        self.groups.iter().flat_map(|group| group.gates.iter().copied())
    }
}

/// How many tasks are done when the sync is in `level`, what does not wait is applied or not, and `passed` says
/// which gates are open.
pub(super) fn done(level: usize, applied: bool, passed: impl Fn(&str) -> bool) -> u32 {
    let before: u32 = LEVELS.iter().take(level).map(Level::tasks).sum();
    let here = LEVELS.get(level).filter(|_| applied).map_or(0, |level| {
        let of_group = |group: &Group| match group.gates.iter().position(|gate| !passed(gate)) {
            None => group.tasks,
            Some(first) => group.tasks - 1 - group.behind + first as u32,
        };
        level.groups.iter().map(of_group).sum()
    });
    before + here
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::operators::OPERATORS;
    use super::*;

    #[test]
    fn every_operator_is_a_gate_once() {
        let gates: Vec<&str> = LEVELS.iter().flat_map(Level::gates).collect();
        let known: BTreeSet<&str> = OPERATORS.iter().map(|facts| facts.name.as_str()).collect();
        assert_eq!(gates.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(gates.len(), known.len());
    }

    #[test]
    fn the_payload_has_the_tasks_of_the_reference() {
        assert_eq!(total(), 862);
    }

    #[test]
    fn waiting_on_machine_config_is_85_percent() {
        let level = LEVELS.len() - 2;
        let tasks = done(level, true, |_| false);
        assert_eq!(tasks, 735);
        assert_eq!(tasks * 100 / total(), 85);
    }

    #[test]
    fn waiting_on_etcd_and_the_api_server_is_11_percent() {
        let tasks = done(2, true, |_| false);
        assert_eq!(tasks * 100 / total(), 11);
    }

    #[test]
    fn tasks_behind_a_gate_wait_for_it() {
        let none = done(7, true, |_| false);
        let two_of_three = done(7, true, |gate| {
            gate == "operator-lifecycle-manager" || gate == "operator-lifecycle-manager-catalog"
        });
        let all = done(7, true, |_| true);
        assert_eq!(two_of_three - none, 2);
        assert_eq!(all - none, 21);
    }
}
