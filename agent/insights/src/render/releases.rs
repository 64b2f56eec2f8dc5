//! The releases that a cluster may update to.

use super::columns::Columns;
use super::escape::{indented, line};
use super::recommendation::NO_ISSUES;
use crate::recommend::{NotRecommended, ReleaseGroup, TargetRelease};

/// How many releases of a minor version are shown.
const SHOWN: usize = 2;
/// How wide the column of versions is at least.
const NARROWEST: usize = 14;

/// The releases by minor versions.
pub fn of_groups(groups: &[ReleaseGroup], with_outdated: bool) -> String {
    if groups.is_empty() {
        return "No updates available. You may still upgrade to a specific release image with --to-image or wait for new updates to be available.\n".to_owned();
    }
    let group = |group: &ReleaseGroup| {
        let heading = format!("\nUpdates to {}.{}:\n", group.major, group.minor);
        let releases = if with_outdated {
            all(&group.targets)
        } else {
            newest(group)
        };
        heading + &releases
    };
    groups.iter().map(group).collect()
}

/// All releases in one table.
fn all(targets: &[TargetRelease]) -> String {
    let mut table = Columns::with_widths(NARROWEST, 1, &["  VERSION", "ISSUES"]);
    for target in targets {
        let issues = target
            .not_recommended
            .as_ref()
            .map_or(NO_ISSUES, |says| &says.reason);
        table.push(&[&format!("  {}", target.version)], issues);
    }
    table.to_string()
}

/// The newest releases: rows for those that nothing speaks against, blocks for the others. Each row is set by itself, but the first one with
/// the header; a blank line is before each block, and after it.
fn newest(group: &ReleaseGroup) -> String {
    let mut parts = Vec::new();
    let mut needs_header = true;
    let mut after_block = false;
    for (index, target) in group.targets.iter().enumerate() {
        let not_recommended = target.not_recommended.as_ref();
        if after_block || not_recommended.is_some() {
            parts.push("\n".to_owned());
            needs_header |= not_recommended.is_none();
        }
        if index == SHOWN {
            parts.push(older(group));
            break;
        }
        after_block = not_recommended.is_some();
        match not_recommended {
            None => {
                parts.push(row(target, needs_header));
                needs_header = false;
            }
            Some(says) => parts.push(short_block(target, says)),
        }
    }
    parts.concat()
}

fn older(group: &ReleaseGroup) -> String {
    format!(
        "And {} older {}.{} updates you can see with '--show-outdated-releases' or '--version VERSION'.\n",
        group.targets.len() - SHOWN,
        group.major,
        group.minor
    )
}

fn row(target: &TargetRelease, with_header: bool) -> String {
    let mut table = if with_header {
        Columns::with_widths(NARROWEST, 1, &["  VERSION", "ISSUES"])
    } else {
        Columns::headless(NARROWEST, 1)
    };
    table.push(&[&format!("  {}", target.version)], NO_ISSUES);
    table.to_string()
}

fn short_block(target: &TargetRelease, says: &NotRecommended) -> String {
    format!(
        "  Version: {}\n  Image: {}\n  Reason: {}\n  Message: {}\n",
        target.version,
        line(&target.image),
        line(&says.reason),
        indented(says.message.trim(), "  ")
    )
}
