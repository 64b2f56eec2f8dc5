//! PostUpgradeProcedures: in FedRAMP environments the file-integrity operator takes the upgraded files for the good ones.

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{FileIntegrity, Need};

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    if !facts.configuration.environment.fedramp {
        return StepOutcome::Done;
    }
    let version = situation.version();
    match &facts.seen.file_integrity {
        Err(unread) => StepOutcome::unread(
            Need::FileIntegrity,
            "FileIntegrity openshift-file-integrity/osd-fileintegrity",
            unread,
        ),
        Ok(FileIntegrity::Absent) => StepOutcome::Done,
        Ok(FileIntegrity::ReinitializedFor(done)) if done.as_deref() == Some(version) => StepOutcome::Done,
        Ok(FileIntegrity::ReinitializedFor(_)) => {
            StepOutcome::Asks(Command::ReinitializeFileIntegrity(version.to_owned()))
        }
    }
}
