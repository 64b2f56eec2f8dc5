//! Where one cluster of an upgrade is, in words: what the plugin and the page show.

use drydock_api::mcu::{self, reason as reasons};
use drydock_rollout::{Afterwards, ClusterName, ClusterState, ClusterStatus, Deadline, RefusalCause};
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

/// Where one cluster of an upgrade is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDetails {
    /// Its name.
    pub name: String,
    /// Whether it is a canary.
    pub canary: bool,
    /// Whether a Placement selects it now.
    pub selected: bool,
    /// Its state.
    #[serde(serialize_with = "by_name")]
    pub state: ClusterState,
    /// Why it is in it, in CamelCase.
    pub reason: String,
    /// Why it is in it, in a sentence.
    pub message: String,
    /// The version that it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Since when it is in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When its first work was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When it leaves this state at the latest: then it fails, if nothing else happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When it may start or continue at the earliest, where start windows or freezes keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Timestamp>,
    /// Whether its message names what it waits for, which may not end by itself.
    #[serde(skip)]
    pub is_blocked: bool,
    /// What has become of it since its attempt ended, where that is not as it ended.
    #[serde(skip)]
    pub afterwards: Option<Afterwards>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn by_name<S: Serializer>(state: &ClusterState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.as_str())
}

impl ClusterDetails {
    /// One cluster as the report has it.
    pub fn of(name: &ClusterName, status: &ClusterStatus) -> Self {
        Self {
            name: name.to_string(),
            canary: status.canary,
            selected: status.selected,
            state: status.state,
            reason: status.reason.as_str().to_owned(),
            message: message(status),
            version: status.version.clone(),
            since: status.since,
            started_at: status.started,
            ended_at: status.finished,
            deadline: match status.deadline {
                Deadline::At(deadline) => Some(deadline),
                Deadline::Never(_) => None,
            },
            opens_at: status.reason.opens(),
            is_blocked: status.reason.is_blocked(),
            afterwards: status.afterwards.clone(),
        }
    }

    /// Takes over what the upgrade's status says and no other object does: of a write that is refused only who writes knows, and of what a
    /// cluster had answered before it was asked anew.
    pub(crate) fn take_what_only_the_hub_knows(&mut self, entry: &mcu::ClusterStatusEntry) {
        const HELD: [&str; 2] = [reasons::RISKS_NOT_ACCEPTED, reasons::PRE_CHECKS_UNANSWERED];
        let reason = entry.reason.as_deref().unwrap_or_default();
        let state = ClusterState::parse(&entry.state);
        let is_refused = refusal_cause(reason).is_some() && !self.state.finished();
        let is_held = self.reason == reasons::AWAITING_PRE_CHECKS && HELD.contains(&reason);
        if let (true, Some(state)) = (is_refused || is_held, state) {
            self.state = state;
            reason.clone_into(&mut self.reason);
            self.message = entry.message.clone().unwrap_or_default();
            self.since = entry.since.as_ref().map(|since| since.0);
        }
    }

    /// How far the cluster is on its way to the version `target`, in percent, as far as that is known: its own figure while it upgrades. A message
    /// that says what it waits for names no step.
    pub fn known_percent(&self, target: Option<&str>) -> Option<u64> {
        let is_known = self.state != ClusterState::PartialUpgrade
            || self.is_version_reached(target)
            || self.said_percent().is_some();
        is_known.then(|| self.percent(target))
    }

    fn is_version_reached(&self, target: Option<&str>) -> bool {
        self.version.is_some() && self.version.as_deref() == target
    }

    /// What its message says of that.
    fn said_percent(&self) -> Option<u64> {
        match (percent_of_step(&self.message), percent_in(&self.message)) {
            // An agent follows the workers, too: its share is that of the control plane alone.
            (Some(CONTROL_PLANE_BEGINS), Some(share)) => {
                let span = WORKERS_BEGIN - CONTROL_PLANE_BEGINS;
                Some(CONTROL_PLANE_BEGINS + span * share.min(100) / 100)
            }
            (step, share) => share.or(step),
        }
    }

    /// The same, and where it is known to be at least, where there is no figure.
    pub fn percent(&self, target: Option<&str>) -> u64 {
        let is_version_reached = self.is_version_reached(target);
        let at_least = |known: u64| self.said_percent().unwrap_or(known).clamp(known, 99);
        match self.state {
            ClusterState::NotStarted | ClusterState::PreAction => 0,
            ClusterState::Initialized => at_least(1),
            ClusterState::PartialUpgrade if is_version_reached => at_least(WORKERS_BEGIN),
            ClusterState::PartialUpgrade => at_least(CONTROL_PLANE_BEGINS),
            ClusterState::Operators | ClusterState::PostAction => 99,
            ClusterState::Complete | ClusterState::Failed => 100,
        }
    }

    /// How long it has taken so far, or took.
    pub fn took(&self, now: Timestamp) -> Option<SignedDuration> {
        Some(self.ended_at.unwrap_or(now).duration_since(self.started_at?))
    }
}

/// Why a cluster is where it is, and what it has drifted to since.
fn message(status: &ClusterStatus) -> String {
    let said = status.reason.to_string();
    let Some(afterwards) = &status.afterwards else {
        return said;
    };
    let runs = status.version.as_deref().unwrap_or("another version");
    let since = match afterwards {
        Afterwards::GoesOn(release) if status.state == ClusterState::Failed => {
            format!("the update to {release} still goes on there")
        }
        Afterwards::GoesOn(release) => {
            format!("the update to {release} of its earlier attempt still goes on there")
        }
        Afterwards::NotRequested(release) => {
            format!("the update to {release} has not begun there, and is taken back")
        }
        Afterwards::Arrived => format!("it runs {runs} by now"),
        Afterwards::LeftTo { upgrade, is_at_work } => {
            let has = if *is_at_work {
                "has it now"
            } else {
                "has had it since"
            };
            format!("upgrade {upgrade} {has}")
        }
        Afterwards::Drifted { .. } if names_version(&said, runs) => return said,
        Afterwards::Drifted { by: Some(upgrade) } => {
            format!("upgrade {upgrade} has brought it to {runs} since")
        }
        Afterwards::Drifted { by: None } => {
            format!("it has drifted: it runs {runs}, which this upgrade did not ask for")
        }
    };
    format!("{said}; {since}")
}

/// Whether a sentence names a version, and not only one that begins with it.
fn names_version(said: &str, version: &str) -> bool {
    let mut words = said.split([' ', ',', ';']);
    words.any(|word| word == version)
}

/// How far an upgrade is when the control plane begins, in percent.
const CONTROL_PLANE_BEGINS: u64 = 5;
/// How far it is when the workers follow.
const WORKERS_BEGIN: u64 = 80;

/// An agent names the step that it waits for; this is about when each begins.
fn percent_of_step(message: &str) -> Option<u64> {
    const STEPS: [(&str, u64); 4] = [
        ("UpgradeCommenced", 3),
        ("ControlPlaneUpgraded", CONTROL_PLANE_BEGINS),
        ("WorkerNodesUpgraded", WORKERS_BEGIN),
        ("ClusterHealthyAfterUpgrade", 95),
    ];
    STEPS
        .iter()
        .find(|(step, _)| message.contains(step))
        .map(|(_, percent)| *percent)
}

/// `45` of `Working towards 4.14.12: 390 of 862 done (45% complete)`, `80` of `about 80 % done`.
fn percent_in(message: &str) -> Option<u64> {
    let (before, _) = message.split_once('%')?;
    let digits = before
        .trim_end()
        .rsplit(|letter: char| !letter.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

/// Why a write is refused, if a reason is about one that is.
pub(crate) fn refusal_cause(reason: &str) -> Option<RefusalCause> {
    match reason {
        "WriteRefused" => Some(RefusalCause::Other),
        "NamespaceMissing" => Some(RefusalCause::NamespaceMissing),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use drydock_rollout::Reason;

    use super::*;

    #[test]
    fn a_figure_is_read_with_and_without_a_space() {
        for (message, figure) in [
            ("upgrading: about 80 % done", Some(80)),
            ("390 of 862 done (45% complete)", Some(45)),
            ("upgrading", None),
        ] {
            assert_eq!(percent_in(message), figure, "{message}");
        }
    }

    #[test]
    fn what_is_waited_for_takes_nothing_from_the_share() {
        let mut last = 0;
        for (state, version, message) in [
            (
                ClusterState::Initialized,
                "4.14.9",
                "waiting until the cluster takes up the target",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.9",
                "upgrading: waits for UpgradeCommenced",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.9",
                "upgrading: monitoring is not available",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.9",
                "upgrading: waits for ControlPlaneUpgraded",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.9",
                "upgrading: waits for ControlPlaneUpgraded; about 90 % done",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.12",
                "upgrading: waits for WorkerNodesUpgraded",
            ),
            (
                ClusterState::PartialUpgrade,
                "4.14.12",
                "upgrading: the MachineConfigPool worker is paused",
            ),
        ] {
            let status = ClusterDetails {
                name: "dev1".to_owned(),
                canary: false,
                selected: true,
                state,
                reason: String::new(),
                message: message.to_owned(),
                version: Some(version.to_owned()),
                since: None,
                started_at: None,
                ended_at: None,
                deadline: None,
                opens_at: None,
                is_blocked: false,
                afterwards: None,
            };
            let percent = status.percent(Some("4.14.12"));
            assert!(percent >= last, "{message}: {percent}");
            last = percent;
        }
        assert_eq!(last, 80);
    }

    /// A share that falls to where it is known to be at least is none.
    #[test]
    fn the_share_of_a_cluster_in_trouble_is_not_known() {
        let name = ClusterName::from("dev1");
        let percent = |state, said: &str, target| {
            let status = status(state, Reason::Progressing(Some(said.into())));
            ClusterDetails::of(&name, &status).known_percent(target)
        };
        let (partial, elsewhere) = (ClusterState::PartialUpgrade, Some("4.14.13"));
        assert_eq!(percent(partial, "about 91 % done", elsewhere), Some(91));
        assert_eq!(percent(partial, "monitoring is not available", elsewhere), None);
        assert_eq!(percent(partial, "a pool is paused", Some("4.14.12")), Some(80));
        assert_eq!(
            percent(ClusterState::Initialized, "it is read", elsewhere),
            Some(1)
        );
    }

    #[test]
    fn what_has_become_of_a_cluster_since_it_failed_is_said() {
        let name = ClusterName::from("dev1");
        let failed = || Reason::Failed {
            reason: None,
            message: "it took too long".into(),
        };
        for (afterwards, said) in [
            (
                Afterwards::GoesOn("4.14.12".into()),
                "the update to 4.14.12 still goes on there",
            ),
            (
                Afterwards::NotRequested("4.14.12".into()),
                "the update to 4.14.12 has not begun there, and is taken back",
            ),
            (Afterwards::Arrived, "it runs 4.14.12 by now"),
            (
                Afterwards::LeftTo {
                    upgrade: "hub/autumn".into(),
                    is_at_work: true,
                },
                "upgrade hub/autumn has it now",
            ),
        ] {
            let mut status = status(ClusterState::Failed, failed());
            status.afterwards = Some(afterwards);
            let message = ClusterDetails::of(&name, &status).message;
            assert_eq!(message, format!("it took too long; {said}"));
        }
    }

    /// Another version may begin with the same digits.
    #[test]
    fn a_cluster_that_has_fallen_to_an_earlier_version_says_so() {
        let name = ClusterName::from("dev1");
        let there = Reason::AlreadyAtTarget("already runs 4.14.12".into());
        let mut status = status(ClusterState::Complete, there);
        status.version = Some("4.14.1".to_owned());
        let message = |status: &ClusterStatus| ClusterDetails::of(&name, status).message;
        status.afterwards = Some(Afterwards::Drifted { by: None });
        assert!(message(&status).contains("it runs 4.14.1, which"));
        status.afterwards = Some(Afterwards::Drifted {
            by: Some("hub/autumn".into()),
        });
        assert_eq!(
            message(&status),
            "already runs 4.14.12; upgrade hub/autumn has brought it to 4.14.1 since"
        );
    }

    fn status(state: ClusterState, reason: Reason) -> ClusterStatus {
        ClusterStatus {
            state,
            reason,
            canary: false,
            selected: true,
            version: Some("4.14.12".to_owned()),
            since: None,
            started: None,
            finished: None,
            deadline: Deadline::Never("it is over"),
            initialized: false,
            applied: false,
            afterwards: None,
        }
    }

    /// Nothing else in the row of a complete cluster says so.
    #[test]
    fn a_cluster_that_has_drifted_says_so() {
        let name = ClusterName::from("dev1");
        let mut status = status(
            ClusterState::Complete,
            Reason::Upgraded("upgraded to 4.14.10".into()),
        );
        assert_eq!(ClusterDetails::of(&name, &status).message, "upgraded to 4.14.10");
        status.afterwards = Some(Afterwards::Drifted { by: None });
        assert_eq!(
            ClusterDetails::of(&name, &status).message,
            "upgraded to 4.14.10; it has drifted: it runs 4.14.12, which this upgrade did not ask for"
        );
        status.reason = Reason::Upgraded("runs 4.14.12, which is newer than 4.14.10".into());
        assert!(
            !ClusterDetails::of(&name, &status).message.contains("drifted"),
            "it was so at once"
        );
    }

    /// Who reads the objects alone takes such a cluster for one that is about to answer.
    #[test]
    fn what_only_the_hub_knows_is_taken_from_the_status() {
        let name = ClusterName::from("dev1");
        let entry = |state: &str, reason: &str| mcu::ClusterStatusEntry {
            name: "dev1".to_owned(),
            state: state.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some("the hub says".to_owned()),
            ..mcu::ClusterStatusEntry::default()
        };
        let awaits = || status(ClusterState::NotStarted, Reason::AwaitingPreChecks);
        for (seen, said, is_taken) in [
            (awaits(), entry("NotStarted", "RisksNotAccepted"), true),
            (awaits(), entry("NotStarted", "PreChecksUnanswered"), true),
            (awaits(), entry("NotStarted", "NotAvailable"), false),
            (
                status(ClusterState::NotStarted, Reason::Starting),
                entry("NotStarted", "RisksNotAccepted"),
                false,
            ),
            (
                status(ClusterState::NotStarted, Reason::Starting),
                entry("PreAction", "WriteRefused"),
                true,
            ),
            (
                status(ClusterState::Complete, Reason::Starting),
                entry("PreAction", "WriteRefused"),
                false,
            ),
        ] {
            let mut details = ClusterDetails::of(&name, &seen);
            details.take_what_only_the_hub_knows(&said);
            assert_eq!(details.message == "the hub says", is_taken, "{seen:?} {said:?}");
        }
    }
}
