//! The silences of an upgrade (agent 3, steps 7, 10, 11 and 14): which there should be, and which are over. They are found
//! again by their comments.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::configuration::Configuration;
use crate::facts::Workers;

/// Who makes our silences; the original's name, by which its tools find them.
pub(crate) const CREATOR: &str = "managed-upgrade-operator";
/// What the comments of the silences for the control plane have in common.
pub(crate) const CONTROL_PLANE: &str = "OSD control plane";
/// What the comments of the silences for the workers have in common.
pub(crate) const WORKERS: &str = "OSD worker node";
/// A silence of the control plane that ends so soon is made longer.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_mins(5);

/// A silence that Alertmanager has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub id: String,
    pub comment: String,
    pub state: State,
    pub starts: Timestamp,
    pub ends: Timestamp,
}

/// Whether a silence holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Active,
    Expired,
}

/// What a silence silences, as Alertmanager reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matcher {
    pub name: &'static str,
    pub value: String,
    pub is_regex: bool,
}

/// A silence to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub comment: String,
    pub matchers: Vec<Matcher>,
    pub lasts: SignedDuration,
}

/// A change to the silences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Create(Wanted),
    /// Makes the silence with this id, which holds since then, last so long from now.
    Renew {
        id: String,
        since: Timestamp,
        wanted: Wanted,
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

/// The next change that makes the silences those of a control plane on its way to `version`.
pub(crate) fn for_control_plane(
    version: &str,
    configuration: &Configuration,
    silences: &[Silence],
    now: Timestamp,
) -> Option<Change> {
    let maintenance = &configuration.maintenance;
    let lasts = SignedDuration::from_mins(maintenance.control_plane_time);
    let criticals = &maintenance.ignored_alerts.control_plane_criticals;
    let mut wanted = vec![Wanted {
        comment: format!("Silence for {CONTROL_PLANE} upgrade to version {version}"),
        matchers: lesser_alerts(),
        lasts,
    }];
    if !criticals.is_empty() {
        wanted.push(Wanted {
            comment: format!(
                "Silence for critical alerts during {CONTROL_PLANE} upgrade to version {version}"
            ),
            matchers: vec![regex("alertname", format!("({})", criticals.join("|")))],
            lasts,
        });
    }
    let soon = now + RENEWED_BEFORE.min(lasts / 2);
    wanted.into_iter().find_map(|wanted| {
        let mut active = silences.iter().filter(|silence| is_active(silence, now));
        match active.find(|silence| silence.comment == wanted.comment) {
            Some(silence) if silence.ends > soon => None,
            Some(silence) => Some(Change::Renew {
                id: silence.id.clone(),
                since: silence.starts,
                wanted,
            }),
            None => Some(Change::Create(wanted)),
        }
    })
}

/// The next change that makes the silences those of workers on their way to `version`. One that was made for the same number
/// of nodes is never made again: where nothing moves, silence ends.
pub(crate) fn for_workers(
    version: &str,
    workers: &Workers,
    budget_minutes: i32,
    configuration: &Configuration,
    silences: &[Silence],
    now: Timestamp,
) -> Option<Change> {
    let left = workers.machines - workers.updated;
    if left < 1 {
        return None;
    }
    let of_version = format!("Silence for {WORKERS} upgrade to version {version} ");
    let comment = format!("{of_version}with remaining {left} nodes");
    if !silences.iter().any(|silence| silence.comment == comment) {
        let drain = &configuration.node_drain;
        let each = drain.time_out.max(i64::from(budget_minutes)) + drain.expected_node_drain_time;
        return Some(Change::Create(Wanted {
            comment,
            matchers: lesser_alerts(),
            lasts: SignedDuration::from_mins(each.saturating_mul(left)),
        }));
    }
    // The new one holds by now: what it replaces goes.
    let older = silences.iter().find(|silence| {
        is_active(silence, now) && silence.comment.starts_with(&of_version) && silence.comment != comment
    });
    older.map(|silence| Change::Expire(silence.id.clone()))
}

/// The next change that ends all silences with `marker` in their comment.
pub(crate) fn ended(marker: &str, silences: &[Silence], now: Timestamp) -> Option<Change> {
    let active = silences
        .iter()
        .find(|silence| is_active(silence, now) && silence.comment.contains(marker));
    active.map(|silence| Change::Expire(silence.id.clone()))
}

/// Whether one of our silences holds now.
pub(crate) fn any_active(silences: &[Silence], now: Timestamp) -> bool {
    silences.iter().any(|silence| is_active(silence, now))
}

fn is_active(silence: &Silence, now: Timestamp) -> bool {
    silence.state == State::Active && silence.ends > now
}

#[cfg(test)]
mod tests;
