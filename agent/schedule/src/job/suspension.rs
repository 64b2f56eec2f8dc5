//! Suspension windows: an UpgradeJob that would start in one is skipped (Maintenance schedules, sections 2.6 and 2.8).

use drydock_api::schedule::UpgradeSuspensionWindow;
use kube::ResourceExt;

use super::Need;
use super::condition::{Failure, JobReason};
use super::event::JobStep;
use super::pass::{Flow, NEXT, Pass};
use crate::facts::Unread;
use crate::selection::Selection;

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
    let mut names: Vec<&UpgradeSuspensionWindow> = windows.iter().collect();
    names.sort_by_key(|window| window.name_any());
    let found = names.into_iter().find_map(|window| applies(pass, window));
    let Some(message) = found else {
        return NEXT;
    };
    pass.succeed(JobReason::Skipped, JobStep::UpgradeSkipped, &message)
}

/// Whether a window is in force for this UpgradeJob, and why, for people. A selector that cannot be used selects: a holiday is not
/// lost by a typing error.
fn applies(pass: &Pass<'_>, window: &UpgradeSuspensionWindow) -> Option<String> {
    let (start, end) = (window.spec.start.0, window.spec.end.0);
    if !(start..=end).contains(&pass.now()) {
        return None;
    }
    let by = format!(
        "UpgradeSuspensionWindow {}: {}",
        window.name_any(),
        window.spec.reason
    );
    match Selection::or_nothing(window.spec.job_selector.as_ref()) {
        Ok(selection) => selection
            .selects(pass.labels())
            .then(|| format!("skipped by {by}")),
        Err(error) => Some(format!(
            "skipped by {by} (its jobSelector cannot be used, and counts as matching: {error})"
        )),
    }
}
