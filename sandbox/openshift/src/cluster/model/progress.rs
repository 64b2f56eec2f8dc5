//! What ClusterVersion says of its progress: the conditions Failing and Progressing.

use jiff::{SignedDuration, Timestamp};

use super::condition::{ConditionStatus, ConditionValue};
use super::operators::MACHINE_CONFIG;

/// How long a degraded operator is waited for.
pub(super) const DEGRADED_AFTER: SignedDuration = SignedDuration::from_mins(40);

/// How long an operator may take before its slowness is said.
pub(super) fn slow_after(operator: &str) -> SignedDuration {
    SignedDuration::from_mins(if operator == MACHINE_CONFIG { 90 } else { 30 })
}

/// What keeps an operator's gate closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GateBlocker {
    NotAvailable,
    Degraded,
    Updating,
}

/// An operator that is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) operator: &'static str,
    pub(super) gate_blocker: GateBlocker,
    /// Since when the version operator waits for it in this update.
    pub(super) since: Timestamp,
}

/// What the version operator is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    Reconciling,
    /// Applying a release, with this many of its tasks done.
    Updating {
        done: u32,
        total: u32,
    },
}

/// Everything that the two conditions depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperatorSituation<'a> {
    pub(super) version: &'a str,
    pub(super) phase: Phase,
    /// Whether the spec is invalid.
    pub(super) invalid: bool,
    /// The operators that are waited for, by name.
    pub(super) waits: &'a [Wait],
    pub(super) now: Timestamp,
}

/// The two conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) failing: ConditionValue,
    pub(super) progressing: ConditionValue,
}

/// An error that stops the version operator, as its reason, its text, and its summary.
struct Failure {
    reason: &'static str,
    message: String,
    summary: String,
}

/// What `Failing` will be, without its texts.
pub(super) fn failing(situation: &OperatorSituation<'_>) -> ConditionStatus {
    let fails = |wait: &Wait| match (wait.gate_blocker, situation.phase) {
        (GateBlocker::NotAvailable, _) | (GateBlocker::Degraded, Phase::Reconciling) => true,
        (GateBlocker::Degraded, Phase::Updating { .. }) => {
            situation.now.duration_since(wait.since) >= DEGRADED_AFTER
        }
        (GateBlocker::Updating, _) => false,
    };
    if situation.waits.iter().any(fails) {
        ConditionStatus::True
    } else if slow(situation).is_some() {
        ConditionStatus::Unknown
    } else {
        ConditionStatus::False
    }
}

/// Words both conditions.
pub(super) fn judge(situation: &OperatorSituation<'_>) -> Judgement {
    match situation.phase {
        Phase::Reconciling => judge_reconciling(situation),
        Phase::Updating { done, total } => judge_updating(situation, done, total),
    }
}

fn judge_reconciling(situation: &OperatorSituation<'_>) -> Judgement {
    let version = situation.version;
    if let Some(failure) = failure(situation) {
        let text = format!("Error while reconciling {version}: {}", failure.summary);
        return Judgement {
            failing: ConditionValue::new(ConditionStatus::True, failure.reason, failure.message),
            progressing: ConditionValue::new(ConditionStatus::False, failure.reason, text),
        };
    }
    let progressing = if situation.invalid {
        let text = format!("Stopped at {version}: the cluster version is invalid");
        ConditionValue::new(ConditionStatus::False, "InvalidClusterVersion", text)
    } else {
        ConditionValue::new(
            ConditionStatus::False,
            "",
            format!("Cluster version is {version}"),
        )
    };
    Judgement {
        failing: ConditionValue::bare(ConditionStatus::False),
        progressing,
    }
}

fn judge_updating(situation: &OperatorSituation<'_>, done: u32, total: u32) -> Judgement {
    let version = situation.version;
    let status = failing(situation);
    if let Some(failure) = failure(situation).filter(|_| status == ConditionStatus::True) {
        let text = format!("Unable to apply {version}: {}", failure.summary);
        return Judgement {
            failing: ConditionValue::new(ConditionStatus::True, failure.reason, failure.message),
            progressing: ConditionValue::new(ConditionStatus::True, failure.reason, text),
        };
    }
    let failing = match slow(situation) {
        Some(text) => ConditionValue::new(ConditionStatus::Unknown, "SlowClusterOperator", text),
        None => ConditionValue::bare(ConditionStatus::False),
    };
    let progressing = if situation.invalid {
        let text = format!("Reconciling {version}: the cluster version is invalid");
        ConditionValue::new(ConditionStatus::True, "InvalidClusterVersion", text)
    } else {
        let head = format!("Working towards {version}");
        let counted = if done > 0 {
            let percent = u64::from(done) * 100 / u64::from(total);
            format!("{head}: {done} of {total} done ({percent}% complete)")
        } else {
            head
        };
        match waiting(situation) {
            None => ConditionValue::new(ConditionStatus::True, "", counted),
            Some((reason, text)) => {
                let joint = if done > 0 { "," } else { ":" };
                ConditionValue::new(ConditionStatus::True, reason, format!("{counted}{joint} {text}"))
            }
        }
    };
    Judgement { failing, progressing }
}

fn names(situation: &OperatorSituation<'_>, gate_blocker: GateBlocker) -> Vec<&'static str> {
    let of_kind = situation
        .waits
        .iter()
        .filter(|wait| wait.gate_blocker == gate_blocker);
    let mut names: Vec<&'static str> = of_kind.map(|wait| wait.operator).collect();
    names.sort_unstable();
    names
}

/// What is waited for while nothing fails.
fn waiting(situation: &OperatorSituation<'_>) -> Option<(&'static str, String)> {
    let degraded = names(situation, GateBlocker::Degraded);
    if !degraded.is_empty() {
        let reason = plural(&degraded, "ClusterOperatorDegraded", "ClusterOperatorsDegraded");
        return Some((
            reason,
            format!("waiting up to 40 minutes on {}", degraded.join(", ")),
        ));
    }
    let updating = names(situation, GateBlocker::Updating);
    if updating.is_empty() {
        return None;
    }
    let reason = plural(&updating, "ClusterOperatorUpdating", "ClusterOperatorsUpdating");
    let text = slow(situation).unwrap_or_else(|| format!("waiting on {}", updating.join(", ")));
    Some((reason, text))
}

fn slow(situation: &OperatorSituation<'_>) -> Option<String> {
    let is_slow = |name: &&'static str| {
        let wait = situation.waits.iter().find(|wait| wait.operator == *name);
        wait.is_some_and(|wait| situation.now.duration_since(wait.since) >= slow_after(name))
    };
    if !matches!(situation.phase, Phase::Updating { .. }) {
        return None;
    }
    let slow = names(situation, GateBlocker::Updating)
        .into_iter()
        .filter(is_slow);
    let (machine_config, others): (Vec<_>, Vec<_>) = slow.partition(|name| *name == MACHINE_CONFIG);
    let mut parts = Vec::new();
    if !others.is_empty() {
        parts.push(format!("{} over 30 minutes", others.join(", ")));
    }
    if !machine_config.is_empty() {
        parts.push(format!("{MACHINE_CONFIG} over 90 minutes"));
    }
    (!parts.is_empty()).then(|| format!("waiting on {} which is longer than expected", parts.join(" and ")))
}

fn plural(names: &[&str], one: &'static str, several: &'static str) -> &'static str {
    if names.len() == 1 { one } else { several }
}

fn failure(situation: &OperatorSituation<'_>) -> Option<Failure> {
    let unavailable = names(situation, GateBlocker::NotAvailable);
    let degraded = names(situation, GateBlocker::Degraded);
    match (unavailable.is_empty(), degraded.is_empty()) {
        (true, true) => None,
        (false, true) => Some(Failure {
            reason: plural(
                &unavailable,
                "ClusterOperatorNotAvailable",
                "ClusterOperatorsNotAvailable",
            ),
            message: sentence(&unavailable, "not available"),
            summary: summary(&unavailable, "not available"),
        }),
        (true, false) => Some(Failure {
            reason: plural(&degraded, "ClusterOperatorDegraded", "ClusterOperatorsDegraded"),
            message: sentence(&degraded, "degraded"),
            summary: exceeded(situation, &degraded).unwrap_or_else(|| summary(&degraded, "degraded")),
        }),
        (false, false) => Some(Failure {
            reason: "MultipleErrors",
            message: format!(
                "Multiple errors are preventing progress:\n* {}\n* {}",
                sentence(&unavailable, "not available"),
                sentence(&degraded, "degraded")
            ),
            summary: "an unknown error has occurred: MultipleErrors".to_owned(),
        }),
    }
}

fn exceeded(situation: &OperatorSituation<'_>, degraded: &[&str]) -> Option<String> {
    if matches!(situation.phase, Phase::Reconciling) {
        return None;
    }
    let late = |name: &&&str| {
        let wait = situation.waits.iter().find(|wait| wait.operator == **name);
        wait.is_some_and(|wait| situation.now.duration_since(wait.since) >= DEGRADED_AFTER)
    };
    let late: Vec<&str> = degraded.iter().filter(late).copied().collect();
    Some(format!(
        "wait has exceeded 40 minutes for these operators: {}",
        late.join(", ")
    ))
}

fn sentence(names: &[&str], state: &str) -> String {
    match names {
        [one] => format!("Cluster operator {one} is {state}"),
        several => format!("Cluster operators {} are {state}", several.join(", ")),
    }
}

fn summary(names: &[&str], state: &str) -> String {
    match names {
        [one] => format!("the cluster operator {one} is {state}"),
        _ => format!("some cluster operators are {state}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_700_000_000).unwrap()
    }

    fn wait(operator: &'static str, gate_blocker: GateBlocker, minutes: i64) -> Wait {
        Wait {
            operator,
            gate_blocker,
            since: now() - SignedDuration::from_mins(minutes),
        }
    }

    fn judged(version: &str, phase: Phase, invalid: bool, waits: &[Wait]) -> [String; 2] {
        let judgement = judge(&OperatorSituation {
            version,
            phase,
            invalid,
            waits,
            now: now(),
        });
        [judgement.failing, judgement.progressing].map(|verdict| {
            format!(
                "{}|{}|{}",
                verdict.status.as_str(),
                verdict.reason,
                verdict.message
            )
        })
    }

    const fn updating(done: u32, total: u32) -> Phase {
        Phase::Updating { done, total }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn an_update_is_worded_as_real_clusters_word_it() {
        use GateBlocker::{Degraded, NotAvailable, Updating};
        let table: &[(Phase, bool, &[Wait], &str, &str)] = &[
            (
                updating(0, 862),
                false,
                &[],
                "False||",
                "True||Working towards 4.15.0-ec.2",
            ),
            (
                updating(55, 863),
                false,
                &[],
                "False||",
                "True||Working towards 4.15.0-ec.2: 55 of 863 done (6% complete)",
            ),
            (
                updating(106, 863),
                false,
                &[wait("kube-apiserver", Updating, 3), wait("etcd", Updating, 3)],
                "False||",
                "True|ClusterOperatorsUpdating|Working towards 4.15.0-ec.2: 106 of 863 done (12% complete), waiting \
                 on etcd, kube-apiserver",
            ),
            (
                updating(110, 863),
                false,
                &[wait("etcd", Degraded, 20), wait("kube-apiserver", Updating, 20)],
                "False||",
                "True|ClusterOperatorDegraded|Working towards 4.15.0-ec.2: 110 of 863 done (12% complete), waiting \
                 up to 40 minutes on etcd",
            ),
            (
                updating(110, 863),
                false,
                &[wait("etcd", Degraded, 45), wait("kube-apiserver", Degraded, 45)],
                "True|ClusterOperatorsDegraded|Cluster operators etcd, kube-apiserver are degraded",
                "True|ClusterOperatorsDegraded|Unable to apply 4.15.0-ec.2: wait has exceeded 40 minutes for these \
                 operators: etcd, kube-apiserver",
            ),
            (
                updating(110, 863),
                false,
                &[wait("etcd", NotAvailable, 0)],
                "True|ClusterOperatorNotAvailable|Cluster operator etcd is not available",
                "True|ClusterOperatorNotAvailable|Unable to apply 4.15.0-ec.2: the cluster operator etcd is not \
                 available",
            ),
            (
                updating(735, 862),
                false,
                &[
                    wait("etcd", Updating, 31),
                    wait("machine-config", Updating, 91),
                    wait("dns", Updating, 1),
                ],
                "Unknown|SlowClusterOperator|waiting on etcd over 30 minutes and machine-config over 90 minutes which \
                 is longer than expected",
                "True|ClusterOperatorsUpdating|Working towards 4.15.0-ec.2: 735 of 862 done (85% complete), waiting on \
                 etcd over 30 minutes and machine-config over 90 minutes which is longer than expected",
            ),
            (
                updating(55, 863),
                true,
                &[],
                "False||",
                "True|InvalidClusterVersion|Reconciling 4.15.0-ec.2: the cluster version is invalid",
            ),
        ];
        for (phase, invalid, waits, failing, progressing) in table {
            let expected = [(*failing).to_owned(), (*progressing).to_owned()];
            assert_eq!(judged("4.15.0-ec.2", *phase, *invalid, waits), expected);
        }
    }

    #[test]
    fn a_reconciling_cluster_reports_a_degraded_operator_at_once() {
        let waits = [wait("monitoring", GateBlocker::Degraded, 0)];
        let expected = [
            "True|ClusterOperatorDegraded|Cluster operator monitoring is degraded",
            "False|ClusterOperatorDegraded|Error while reconciling 4.16.27: the cluster operator monitoring is degraded",
        ];
        assert_eq!(judged("4.16.27", Phase::Reconciling, false, &waits), expected);
    }

    #[test]
    fn a_reconciling_cluster_says_its_version_or_that_it_stopped_there() {
        let done = judged("4.14.1", Phase::Reconciling, false, &[]);
        assert_eq!(done, ["False||", "False||Cluster version is 4.14.1"]);
        let stopped = judged("4.14.1", Phase::Reconciling, true, &[]);
        let text = "False|InvalidClusterVersion|Stopped at 4.14.1: the cluster version is invalid";
        assert_eq!(stopped, ["False||", text]);
    }
}
