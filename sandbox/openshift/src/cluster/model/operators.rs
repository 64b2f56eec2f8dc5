//! The cluster operators of a payload: their names, what they report, how long they take. The table is `operators.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// A version that an operator reports besides its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Operand {
    /// At the version of the release.
    Release(String),
    /// At the version of Kubernetes in the release.
    Kubernetes(String),
    /// At the version of the release with `_openshift` behind it.
    Suffixed(String),
    /// At a pull spec.
    Image(String),
    /// At the version of the operator lifecycle manager.
    Lifecycle(String),
    /// At a version that never changes.
    Snapshot(String),
}

/// The reason and the message of a condition. In messages `{v}` stands for the version of the release, `{r}` for
/// the newest revision of a static pod, `{p}` for the one before, `{o}` for the operator lifecycle manager's version.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Text {
    pub(super) reason: String,
    pub(super) message: String,
}

/// A condition that is the operator's own and never changes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Extra {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    #[serde(flatten)]
    pub(super) text: Text,
}

/// What is fixed about a cluster operator.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) name: String,
    /// The median of its rollout, in minutes.
    pub(super) minutes: f64,
    #[serde(default, rename = "versions")]
    pub(super) operands: Vec<Operand>,
    pub(super) available: Text,
    /// `Progressing=False`.
    pub(super) idle: Text,
    /// `Progressing=True`.
    pub(super) busy: Text,
    pub(super) not_degraded: Text,
    /// `Upgradeable=True`, where the operator reports that.
    pub(super) upgradeable: Option<Text>,
    #[serde(default, rename = "conditions")]
    pub(super) extras: Vec<Extra>,
}

/// The operator that rolls out the operating system; its gate waits for the control plane's nodes.
pub(super) const MACHINE_CONFIG: &str = "machine-config";

/// Where an operator stands in [`OPERATORS`].
pub(super) fn position(name: &str) -> Option<usize> {
    OPERATORS.iter().position(|facts| facts.name == name)
}

/// The operators, in the order of the task graph.
#[expect(
    clippy::expect_used,
    reason = "the table is part of the program; a test reads it"
)]
pub(super) static OPERATORS: LazyLock<Vec<Facts>> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("operators.yaml")).expect("operators.yaml is a table of operators")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_operators_as_in_a_real_cluster_and_no_name_twice() {
        let names: std::collections::BTreeSet<&str> =
            OPERATORS.iter().map(|facts| facts.name.as_str()).collect();
        assert_eq!(names.len(), OPERATORS.len());
        assert_eq!(names.len(), 33);
    }
}
