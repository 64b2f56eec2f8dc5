//! Failure modes of a simulated cluster, by their names in the reference (3.6 "Failure modes").

use std::fmt;
use std::str::FromStr;

/// What goes wrong on a simulated cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// F1: a ClusterOperator reports `Degraded=True`.
    OperatorDegraded,
    /// F2: a ClusterOperator reports `Available=False`.
    OperatorUnavailable,
    /// F3: a ClusterOperator never reports the new version.
    OperatorSlow,
    /// F4: a disruption budget keeps a worker from being drained.
    DrainStuck,
    /// F5: the signature of the target release cannot be verified.
    SignatureNotVerified,
    /// F6: the target is absent from the update graph.
    UnknownUpdate,
    /// F7: every update is conditional and its risk applies.
    NotRecommended,
    /// F8: every update is conditional and its risk cannot be evaluated.
    RiskUnknown,
    /// F9: a worker's files on disk do not match its configuration.
    NodeConfigDegraded,
    /// F10: the worker pool is paused.
    PausedPool,
    /// F11: the update service does not answer.
    GraphBroken,
    /// F13: the cluster is not upgradeable to another minor version.
    MinorBlocked,
    /// F14: the cluster version operator restarts and counts from the beginning.
    VersionOperatorRestart,
    /// F15: the control plane cannot be reached for a while.
    ControlPlaneUnreachable,
    /// F16: a worker does not become Ready after its reboot.
    NodeNotReady,
}

impl Fault {
    /// Every mode there is, in the order of the reference.
    pub const ALL: [Self; 15] = [
        Self::OperatorDegraded,
        Self::OperatorUnavailable,
        Self::OperatorSlow,
        Self::DrainStuck,
        Self::SignatureNotVerified,
        Self::UnknownUpdate,
        Self::NotRecommended,
        Self::RiskUnknown,
        Self::NodeConfigDegraded,
        Self::PausedPool,
        Self::GraphBroken,
        Self::MinorBlocked,
        Self::VersionOperatorRestart,
        Self::ControlPlaneUnreachable,
        Self::NodeNotReady,
    ];

    /// The short name, `F1` to `F16`.
    pub fn code(self) -> &'static str {
        match self {
            Self::OperatorDegraded => "F1",
            Self::OperatorUnavailable => "F2",
            Self::OperatorSlow => "F3",
            Self::DrainStuck => "F4",
            Self::SignatureNotVerified => "F5",
            Self::UnknownUpdate => "F6",
            Self::NotRecommended => "F7",
            Self::RiskUnknown => "F8",
            Self::NodeConfigDegraded => "F9",
            Self::PausedPool => "F10",
            Self::GraphBroken => "F11",
            Self::MinorBlocked => "F13",
            Self::VersionOperatorRestart => "F14",
            Self::ControlPlaneUnreachable => "F15",
            Self::NodeNotReady => "F16",
        }
    }

    /// What it does, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::OperatorDegraded => "operator degraded",
            Self::OperatorUnavailable => "operator unavailable",
            Self::OperatorSlow => "operator slow",
            Self::DrainStuck => "drain stuck",
            Self::SignatureNotVerified => "signature not verified",
            Self::UnknownUpdate => "unknown update",
            Self::NotRecommended => "update not recommended",
            Self::RiskUnknown => "update risk unknown",
            Self::NodeConfigDegraded => "node configuration degraded",
            Self::PausedPool => "worker pool paused",
            Self::GraphBroken => "update service broken",
            Self::MinorBlocked => "minor updates blocked",
            Self::VersionOperatorRestart => "version operator restarted",
            Self::ControlPlaneUnreachable => "control plane unreachable",
            Self::NodeNotReady => "node not ready after reboot",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

/// A failure mode was asked for that the simulated cluster does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no failure mode {given:?}; the modes are {}", known_modes())]
pub struct UnknownFault {
    /// What was asked for.
    pub given: String,
}

fn known_modes() -> String {
    Fault::ALL
        .map(|fault| format!("{} ({})", fault.code(), fault.title()))
        .join(", ")
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|fault| fault.code().eq_ignore_ascii_case(given.trim()))
            .ok_or_else(|| UnknownFault {
                given: given.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_parsed_from_its_code() {
        for fault in Fault::ALL {
            assert_eq!(fault.code().parse(), Ok(fault));
            assert_eq!(fault.code().to_lowercase().parse(), Ok(fault));
        }
    }

    #[test]
    fn a_mode_that_does_not_exist_is_refused_with_the_list_of_modes() {
        let message = "F12".parse::<Fault>().unwrap_err().to_string();
        assert!(message.contains("\"F12\""), "{message}");
        assert!(message.contains("F2 (operator unavailable)"), "{message}");
        assert!(message.contains("F16 (node not ready after reboot)"), "{message}");
    }
}
