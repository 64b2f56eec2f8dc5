//! UpdatePending and UpdateActive (insights.md, section 1.5): one row of its table is one arm here.

use drydock_api::conditions::{Condition, DesiredCondition, FALSE, TRUE, UNKNOWN, set};
use drydock_api::fact::Fact;
use drydock_api::insights::condition;
use jiff::Timestamp;

/// What keeps an update from making progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing.
    No,
    /// It is paused until somebody says otherwise.
    Indefinitely,
    /// It is paused until then.
    Until(Timestamp),
    /// It waits for a window; why, and when it opens next, if that is known.
    Window {
        /// Why it may not be now, in words.
        why: String,
        /// When it may be.
        opens: Option<Timestamp>,
    },
}

/// How far the control plane is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlaneProgress {
    /// The version that it should have.
    pub target: String,
    /// Whether it has it.
    pub is_reconciled: bool,
    /// How far it is in being started.
    pub start: Start,
    /// What keeps it.
    pub pause: Pause,
}

/// How far an update is before anything is updated (insights.md, section 5, point 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It has been asked for, and OpenShift has not looked at that yet.
    Requested,
    /// Its release is downloaded and verified.
    Downloading,
    /// What must hold before it is checked.
    Preconditions,
    /// OpenShift does not do it: at which step, and why not.
    Refused {
        /// The step.
        step: &'static str,
        /// Why not, in OpenShift's words.
        why: String,
    },
    /// It has started.
    Started,
}

impl Start {
    /// What is said of the control plane's update to a version.
    fn words(&self, target: &str) -> String {
        match self {
            Self::Requested => {
                format!("{target} has been requested: the cluster-version-operator has not looked at it yet")
            }
            Self::Downloading => {
                format!("{target} has been requested: its release is being downloaded and verified")
            }
            Self::Preconditions => format!(
                "{target} has been requested: its release is verified, and preconditions are being checked"
            ),
            Self::Refused { step, why } => {
                format!("{target} has been requested, and does not start: {step}: {why}")
            }
            Self::Started => format!("the control plane is being updated to {target}"),
        }
    }
}

/// How far a pool is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolProgress {
    /// How many nodes it has.
    pub nodes: usize,
    /// Nodes that are not what they should be, in order.
    pub outdated: Vec<String>,
    /// Nodes of them that have been given what they should become.
    pub updating: Vec<String>,
    /// What keeps the pool itself.
    pub pause: Pause,
}

/// What a condition says.
pub(super) struct Said {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Said {
    pub fn set(&self, conditions: &mut Vec<Condition>, now: Timestamp) {
        let wanted = DesiredCondition {
            type_: self.type_,
            status: self.status,
            reason: self.reason,
            message: &self.message,
            observed_generation: None,
        };
        set(conditions, &wanted, now);
    }
}

fn pending(status: &'static str, reason: &'static str, message: impl Into<String>) -> Said {
    Said {
        type_: condition::UPDATE_PENDING,
        status,
        reason,
        message: message.into(),
    }
}

fn active(status: &'static str, reason: &'static str, message: impl Into<String>) -> Said {
    Said {
        type_: condition::UPDATE_ACTIVE,
        status,
        reason,
        message: message.into(),
    }
}

const UP_TO_DATE: &str = "UpToDate";
const CANNOT_DETERMINE: &str = "CannotDetermine";

/// The conditions of the control plane.
pub(super) fn of_control_plane(progress: &Fact<ControlPlaneProgress>) -> [Said; 2] {
    let progress = match progress {
        Ok(progress) => progress,
        Err(why) => return unknown(&format!("ClusterVersion: {why}")),
    };
    let target = &progress.target;
    if progress.is_reconciled {
        let message = format!("the control plane runs {target}");
        return [
            pending(FALSE, UP_TO_DATE, message.clone()),
            active(FALSE, UP_TO_DATE, message),
        ];
    }
    let waits = pending(
        TRUE,
        "ControlPlaneDoesNotMatchRelease",
        format!("the control plane does not run {target} yet"),
    );
    let active = match paused(&progress.pause, "the control plane") {
        None => active(TRUE, "ControlPlaneUpdateActive", progress.start.words(target)),
        Some((reason, message)) => active(FALSE, reason, message),
    };
    [waits, active]
}

/// The conditions of a pool.
pub(super) fn of_pool(control_plane: &Fact<ControlPlaneProgress>, pool: &Fact<PoolProgress>) -> [Said; 2] {
    let (control_plane, pool) = match (control_plane, pool) {
        (Ok(control_plane), Ok(pool)) => (control_plane, pool),
        (Err(why), _) => return unknown(&format!("ClusterVersion: {why}")),
        (_, Err(why)) => return unknown(&format!("the pool: {why}")),
    };
    if pool.outdated.is_empty() {
        let message = "all nodes match the release";
        return [
            pending(FALSE, UP_TO_DATE, message),
            active(FALSE, UP_TO_DATE, message),
        ];
    }
    let waits = pending(
        TRUE,
        "WorkerDoesNotMatchRelease",
        format!("nodes do not match the release: {}", some_of(&pool.outdated)),
    );
    [waits, pool_activity(control_plane, pool)]
}

fn pool_activity(control_plane: &ControlPlaneProgress, pool: &PoolProgress) -> Said {
    let is_updated = control_plane.is_reconciled;
    let cause = paused(&control_plane.pause, "the control plane").filter(|_| !is_updated);
    if let Some((_, cause)) = cause {
        return active(FALSE, "ControlPlanePaused", cause);
    }
    if let Some((reason, message)) = paused(&pool.pause, "the pool") {
        return active(FALSE, reason, message);
    }
    if !is_updated && pool.updating.is_empty() {
        let message =
            "no node of the pool has been given the new configuration while the control plane is updated";
        return active(FALSE, "AwaitingControlPlane", message);
    }
    let message = match pool.updating.as_slice() {
        [] => "the next node is being chosen".to_owned(),
        nodes => format!("nodes are being updated: {}", some_of(nodes)),
    };
    active(TRUE, "WorkersUpdateActive", message)
}

/// Why something does not make progress: a reason, and words.
fn paused(pause: &Pause, what: &str) -> Option<(&'static str, String)> {
    const AWAITING: &str = "AwaitingWindow";
    match pause {
        Pause::No => None,
        Pause::Indefinitely => Some(("Paused", format!("{what} is paused until somebody unpauses it"))),
        Pause::Until(until) => Some((AWAITING, format!("{what} is paused until {until}"))),
        Pause::Window {
            why,
            opens: Some(opens),
        } => Some((AWAITING, format!("{why}; it may go on at {opens}"))),
        Pause::Window { why, opens: None } => Some((AWAITING, why.clone())),
    }
}

fn unknown(why: &str) -> [Said; 2] {
    let message = format!("it cannot be determined: {why}");
    [
        pending(UNKNOWN, CANNOT_DETERMINE, message.clone()),
        active(UNKNOWN, CANNOT_DETERMINE, message),
    ]
}

/// The first of some names, and how many there are besides.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
