//! PostUpgradeProcedures: in FedRAMP environments the file-integrity operator takes the upgraded files for the good ones.

use super::{Situation, Verdict};
use crate::command::Command;
use crate::facts::{FileIntegrity, Need};

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if !facts.configuration.environment.fedramp {
        return Verdict::Done;
    }
    let version = situation.version();
    match &facts.seen.file_integrity {
        Err(unread) => Verdict::unread(
            Need::FileIntegrity,
            "FileIntegrity openshift-file-integrity/osd-fileintegrity",
            unread,
        ),
        Ok(FileIntegrity::Absent) => Verdict::Done,
        Ok(FileIntegrity::Milestone(told)) if told.as_deref() == Some(version) => Verdict::Done,
        Ok(FileIntegrity::Milestone(_)) => {
            Verdict::Asks(Command::ReinitializeFileIntegrity(version.to_owned()))
        }
    }
}
