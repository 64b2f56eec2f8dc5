//! How update insights are acted on.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// A part of what is done about update insights, which can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InsightsPart {
    /// UpdateInformers are asked what they can do, and their conditions say how they are doing.
    UpdateInformers,
    /// UpdateStatus says what is known about the update that is under way.
    UpdateStatus,
    /// UpdatePlans say what would be a problem.
    UpdatePlans,
    /// The agent itself says what it knows of updates.
    BuiltInInformers,
}

/// How update insights are acted on.
#[derive(Clone, Debug)]
pub struct InsightsSettings {
    /// What is left alone. Where the cluster does not have a kind, nothing is done about it in any case.
    pub off: BTreeSet<InsightsPart>,
    /// The file with the authorities that OpenShift's service CA uses.
    pub service_authority: PathBuf,
}

impl Default for InsightsSettings {
    fn default() -> Self {
        Self {
            off: BTreeSet::new(),
            service_authority: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt"),
        }
    }
}

impl InsightsSettings {
    /// Everything is left alone.
    pub fn off() -> Self {
        let all = [
            InsightsPart::UpdateInformers,
            InsightsPart::UpdateStatus,
            InsightsPart::UpdatePlans,
            InsightsPart::BuiltInInformers,
        ];
        Self {
            off: all.into(),
            ..Self::default()
        }
    }

    /// Is a part acted on?
    pub(super) fn is_on(&self, part: InsightsPart) -> bool {
        !self.off.contains(&part)
    }
}
