//! Suspension windows: an UpgradeJob that would start in one is skipped (Maintenance schedules, sections 2.6 and 2.8).

use drydock_api::fact::Unread;

use super::Need;
use super::condition::{Failure, JobReason};
use super::event::JobStep;
use super::pass::{Flow, NEXT, Pass};
use crate::suspension::{Affects, Suspensions};

/// Skips an UpgradeJob whose time has come in a window, however late it is.
pub(super) fn skip(pass: &mut Pass<'_>) -> Flow {
    let seen = pass.seen;
    let is_late = pass.now() > pass.settings.start_before;
    let windows = match &seen.windows {
        // It may not start, but it may end.
        Err(Unread::Failed(why)) if is_late => {
            let message = format!(
                "not started by {}, as its suspension windows cannot be read: {why}",
                pass.settings.start_before
            );
            return pass.fail(Failure::Expired, &message);
        }
        windows => pass.read(
            windows,
            Need::Windows,
            "the UpgradeSuspensionWindows of its namespace",
        )?,
    };
    let suspensions = Suspensions::of(&seen.job.metadata, Affects::Jobs, windows);
    match suspensions.at(pass.now()) {
        Some(suspension) => {
            let message = format!("skipped: {suspension}");
            pass.succeed(JobReason::Skipped, JobStep::UpgradeSkipped, &message)
        }
        None => NEXT,
    }
}
