//! The silences of an upgrade: which there should be, and what makes those that there are
//! the same. They are found again by their comments.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::configuration::Configuration;
use crate::facts::Workers;

/// Who makes our silences; managed-upgrade-operator's name, by which its tools find them.
pub const CREATOR: &str = "managed-upgrade-operator";
/// What the comments of the silences for the control plane have in common.
pub const CONTROL_PLANE: &str = "OSD control plane";
/// What the comments of the silences for the workers have in common.
pub const WORKERS: &str = "OSD worker node";
/// A silence that ends by no more than this too early is left as it is.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// No silence lasts longer, however long drains may be blocked.
const LONGEST_MINUTES: i64 = 30 * 24 * 60;

/// A silence that Alertmanager has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Alertmanager's id of it.
    pub id: String,
    /// What it is for.
    pub comment: String,
    /// Whether it is active.
    pub state: SilenceState,
    /// Since when it is active.
    pub starts: Timestamp,
    /// Until when.
    pub ends: Timestamp,
}

/// Whether a silence is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceState {
    /// It is active.
    Active,
    /// It has ended.
    Expired,
}

/// What a silence silences, as Alertmanager reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Matcher {
    /// The label.
    pub name: &'static str,
    /// Its value, or a regular expression for it.
    pub value: String,
    /// Whether it is one.
    pub is_regex: bool,
}

/// A silence that there should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedSilence {
    /// What it is for.
    pub comment: String,
    /// What it silences.
    pub matchers: Vec<Matcher>,
    /// Until when.
    pub ends: Timestamp,
}

/// All silences that there should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedSilences {
    /// Those for the control plane.
    pub control_plane: Vec<WantedSilence>,
    /// That for the workers. Where it has been made before and has ended since, it is not made again: where nothing moves,
    /// silence ends.
    pub workers: Option<WantedSilence>,
}

/// A change to the silences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SilenceChange {
    /// A new one.
    Create(WantedSilence),
    /// Makes the silence with this id, which is active since then, end when this one should.
    Renew {
        /// The silence.
        id: String,
        /// Since when it is active.
        since: Timestamp,
        /// What it should be.
        wanted: WantedSilence,
    },
    /// Ends the silence with this id.
    Expire(String),
}

fn regex(name: &'static str, value: impl Into<String>) -> Matcher {
    Matcher {
        name,
        value: value.into(),
        is_regex: true,
    }
}

/// Warnings and notes of the platform.
fn lesser_alerts() -> Vec<Matcher> {
    vec![
        regex("severity", "(warning|info)"),
        regex("namespace", "(^openshift.*|^kube.*|^redhat.*|^default$)"),
    ]
}

/// The silences of a control plane that is upgraded to `version` since `began`: for as long as it may take, and not longer.
pub fn for_control_plane(
    version: &str,
    configuration: &Configuration,
    began: Timestamp,
    now: Timestamp,
) -> Vec<WantedSilence> {
    let maintenance = &configuration.maintenance;
    let minutes = maintenance.control_plane_time.min(LONGEST_MINUTES);
    let ends = began + SignedDuration::from_mins(minutes);
    if ends <= now {
        return Vec::new();
    }
    let criticals = &maintenance.ignored_alerts.control_plane_criticals;
    let mut wanted = vec![WantedSilence {
        comment: format!("Silence for {CONTROL_PLANE} upgrade to version {version}"),
        matchers: lesser_alerts(),
        ends,
    }];
    if !criticals.is_empty() {
        wanted.push(WantedSilence {
            comment: format!(
                "Silence for critical alerts during {CONTROL_PLANE} upgrade to version {version}"
            ),
            matchers: vec![regex("alertname", format!("({})", criticals.join("|")))],
            ends,
        });
    }
    wanted
}

/// The silence of workers that are updated to `version`, for as many as are left; none if none is.
pub fn for_workers(
    version: &str,
    workers: &Workers,
    budget_minutes: i32,
    configuration: &Configuration,
    now: Timestamp,
) -> Option<WantedSilence> {
    let left = workers.machines - workers.updated;
    if left < 1 {
        return None;
    }
    let drain = &configuration.node_drain;
    let each = drain.time_out.max(i64::from(budget_minutes)) + drain.expected_node_drain_time;
    let minutes = each.saturating_mul(left).min(LONGEST_MINUTES);
    Some(WantedSilence {
        comment: format!("Silence for {WORKERS} upgrade to version {version} with remaining {left} nodes"),
        matchers: lesser_alerts(),
        ends: now + SignedDuration::from_mins(minutes),
    })
}

/// What makes the silences for the control plane those that are wanted: each once, and no others.
pub fn control_plane_changes(
    wanted: &[WantedSilence],
    silences: &[Silence],
    now: Timestamp,
) -> Vec<SilenceChange> {
    let active = |marker: &'static str| {
        let ours = move |silence: &&Silence| is_active(silence, now) && silence.comment.contains(marker);
        silences.iter().filter(ours)
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut changes = Vec::new();
    for wanted in wanted {
        let same = active(CONTROL_PLANE).filter(|silence| silence.comment == wanted.comment);
        let Some(longest) = same.max_by_key(|silence| silence.ends) else {
            changes.push(SilenceChange::Create(wanted.clone()));
            continue;
        };
        kept.push(&longest.id);
        if longest.ends + TOLERANCE < wanted.ends {
            changes.push(SilenceChange::Renew {
                id: longest.id.clone(),
                since: longest.starts,
                wanted: wanted.clone(),
            });
        }
    }
    let others = active(CONTROL_PLANE).filter(|silence| !kept.contains(&silence.id.as_str()));
    changes.extend(others.map(|silence| SilenceChange::Expire(silence.id.clone())));
    changes
}

/// What makes the silences for the workers the one that is wanted. The newest that was made says for how many nodes it was:
/// another number is progress, and gets another silence; only once that is active, the one before is removed.
pub fn worker_changes(
    wanted: Option<&WantedSilence>,
    silences: &[Silence],
    now: Timestamp,
) -> Vec<SilenceChange> {
    let ours = || {
        silences
            .iter()
            .filter(|silence| silence.comment.contains(WORKERS))
    };
    let expire = |kept: Option<&str>| -> Vec<SilenceChange> {
        let active = ours().filter(|silence| is_active(silence, now));
        let others = active.filter(|silence| Some(silence.id.as_str()) != kept);
        others
            .map(|silence| SilenceChange::Expire(silence.id.clone()))
            .collect()
    };
    let Some(wanted) = wanted else {
        return expire(None);
    };
    let newest = ours().max_by_key(|silence| (silence.starts, silence.ends));
    match newest {
        Some(newest) if newest.comment == wanted.comment => expire(Some(&newest.id)),
        _ => vec![SilenceChange::Create(wanted.clone())],
    }
}

/// Whether one of our silences is active now.
pub fn any_active(silences: &[Silence], now: Timestamp) -> bool {
    silences.iter().any(|silence| is_active(silence, now))
}

fn is_active(silence: &Silence, now: Timestamp) -> bool {
    silence.state == SilenceState::Active && silence.ends > now
}

#[cfg(test)]
mod tests;
