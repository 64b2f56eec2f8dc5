use std::collections::BTreeSet;

use drydock_api::upgradeconfig::UpgradeType;
use jiff::SignedDuration;

use super::fixture::{START, commence, facts};
use super::*;
use crate::facts::IllOperator;
use crate::silences::{Change, Silence, State};

/// An agent between two looks: what it sees, and the status it wrote.
struct Agent {
    facts: Facts,
    status: UpgradeConfigStatus,
    told: Vec<&'static str>,
}

impl Agent {
    fn new() -> Self {
        Self {
            facts: facts(),
            status: UpgradeConfigStatus::default(),
            told: Vec::new(),
        }
    }

    /// Looks once, reading what is asked for; operators are well unless the test says otherwise.
    fn look(&mut self) -> Next {
        let decision = decide(&self.facts, &self.status);
        self.told.extend(
            transitions(&self.status, &decision.status)
                .iter()
                .map(|told| told.reason),
        );
        self.status = decision.status;
        match decision.next {
            Next::Read(need) => {
                self.read(need);
                self.look()
            }
            Next::Write(Command::Silence(change)) => {
                self.silence(&change);
                self.look()
            }
            next => next,
        }
    }

    /// Reads what is asked for; all is well unless the test says otherwise.
    fn read(&mut self, need: Need) {
        let seen = &mut self.facts.seen;
        match need {
            Need::Operators => seen.ill = Some(Vec::new()),
            Need::Alerts => seen.alerts = Some(Ok(BTreeSet::new())),
            Need::Silences => seen.silences = Some(Ok(Vec::new())),
            Need::Nodes => seen.nodes = Some(Vec::new()),
            Need::Budgets => seen.budgets = Some(Vec::new()),
            other => panic!("{other:?} is not expected"),
        }
    }

    fn silence(&mut self, change: &Change) {
        let Some(Ok(silences)) = &mut self.facts.seen.silences else {
            panic!("{change:?} without silences");
        };
        match change {
            Change::Create(wanted) => silences.push(Silence {
                id: wanted.comment.clone(),
                comment: wanted.comment.clone(),
                state: State::Active,
                starts: self.facts.now,
                ends: self.facts.now + wanted.lasts,
            }),
            Change::Renew { id, wanted, .. } => {
                let mut renewed = silences.iter_mut().filter(|silence| silence.id == *id);
                renewed.next().unwrap().ends = self.facts.now + wanted.lasts;
            }
            Change::Expire(id) => silences.retain(|silence| silence.id != *id),
        }
    }

    fn wait(&mut self, minutes: i64) {
        self.facts.now += SignedDuration::from_mins(minutes);
    }

    fn entry(&self) -> &UpgradeHistory {
        &self.status.history.as_ref().unwrap()[0]
    }

    fn says(&self, type_: &str) -> (String, String) {
        let conditions = self.entry().conditions.as_deref().unwrap_or_default();
        let condition = condition::find(conditions, type_).unwrap_or_else(|| panic!("no {type_}"));
        (
            condition.status.clone(),
            condition.message.clone().unwrap_or_default(),
        )
    }
}

#[test]
fn a_new_upgrade_waits_for_its_time_and_then_tells_the_cluster_channel_and_release() {
    let mut agent = Agent::new();
    agent.facts.now = START - SignedDuration::from_mins(3);
    agent.facts.cluster.channel = "stable-4.13".to_owned();
    assert_eq!(agent.look(), Next::Rest(Some(EACH_MINUTE)));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        agent.look(),
        Next::Rest(Some(Duration::from_mins(3))),
        "at its time exactly"
    );
    agent.facts.now = START;
    assert_eq!(
        agent.look(),
        Next::Write(Command::SetChannel("stable-4.14".to_owned()))
    );
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.facts.cluster.channel = "stable-4.14".to_owned();
    let release = Command::SetDesiredUpdate {
        version: Some("4.14.12".to_owned()),
        image: None,
    };
    assert_eq!(agent.look(), Next::Write(release));
    assert_eq!(agent.told, ["UpgradeStarted"]);
}

#[test]
fn the_steps_follow_each_other_and_each_is_told_once() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    commence(&mut agent.facts);
    assert_eq!(agent.look(), Next::Rest(Some(EACH_MINUTE)));
    assert_eq!(
        agent.says("ControlPlaneUpgraded"),
        ("False".to_owned(), "ControlPlaneUpgraded has started".to_owned())
    );
    agent.wait(30);
    agent.look();
    assert_eq!(
        agent.says("ControlPlaneUpgraded").1,
        "ControlPlaneUpgraded still in progress"
    );
    agent.facts.workers = Some(crate::facts::Workers {
        paused: false,
        trouble: None,
        machines: 3,
        updated: 0,
    });
    agent.look();
    assert!(agent.entry().worker_start_time.is_some());
    agent.facts.cluster.history[0].completed = true;
    agent.look();
    assert_eq!(agent.says("WorkerNodesUpgraded").0, "False");
    agent.facts.workers = Some(crate::facts::Workers {
        paused: false,
        trouble: None,
        machines: 3,
        updated: 3,
    });
    agent.wait(20);
    assert_eq!(agent.look(), Next::Rest(None));
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
    assert!(agent.entry().complete_time.is_some() && agent.entry().worker_complete_time.is_some());
    let once = agent.status.clone();
    agent.wait(600);
    agent.look();
    assert_eq!(agent.status, once, "nothing changes any more");
    assert_eq!(
        agent.told,
        [
            "UpgradeStarted",
            "ControlPlaneUpgradeStarted",
            "ControlPlaneUpgradeFinished",
            "WorkerUpgradeFinished",
            "UpgradeCompleted"
        ]
    );
}

#[test]
fn an_ill_operator_holds_the_upgrade_until_its_window_is_over() {
    let mut agent = Agent::new();
    agent.look();
    agent.facts.seen.ill = Some(vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded: a member is down".to_owned(),
    }]);
    assert_eq!(agent.look(), Next::Rest(Some(EACH_MINUTE)));
    let (status, message) = agent.says("ClusterHealthyBeforeUpgrade");
    assert_eq!(
        (
            status.as_str(),
            message.contains("etcd is degraded: a member is down")
        ),
        ("False", true),
        "{message}"
    );
    agent.wait(31);
    agent.look();
    agent.wait(60);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.wait(60);
    assert_eq!(agent.look(), Next::Rest(None));
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    assert_eq!(
        agent.told,
        [
            "UpgradeStarted",
            "HealthCheckFailed",
            "UpgradeDelayed",
            "UpgradeFailed"
        ]
    );
}

#[test]
fn a_cluster_that_does_not_go_on_says_why_in_the_condition_of_the_step_that_waits() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    commence(&mut agent.facts);
    agent.facts.cluster.refusal = Some("InvalidClusterVersion: no such release".to_owned());
    agent.look();
    let (status, message) = agent.says("ControlPlaneUpgraded");
    assert_eq!(
        (status.as_str(), message.as_str()),
        (
            "False",
            "the cluster does not go on: InvalidClusterVersion: no such release"
        )
    );
    agent.facts.cluster.refusal = None;
    agent.look();
    assert_eq!(
        agent.says("ControlPlaneUpgraded").1,
        "ControlPlaneUpgraded still in progress"
    );
}

#[test]
fn an_upgrade_of_aro_has_no_window() {
    let mut agent = Agent::new();
    agent.facts.spec.upgrade_type = UpgradeType::Aro;
    agent.facts.seen.ill = Some(vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }]);
    agent.look();
    agent.look();
    agent.wait(60 * 24);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
}

#[test]
fn upgradeable_false_blocks_a_minor_upgrade_and_no_patch() {
    let block = Some(("AdminAckRequired".to_owned(), "ask first".to_owned()));
    let mut patch = Agent::new();
    patch.facts.cluster.not_upgradeable.clone_from(&block);
    patch.look();
    assert!(matches!(patch.look(), Next::Write(_)));
    let mut minor = Agent::new();
    minor.facts.cluster.not_upgradeable = block;
    minor.facts.spec.desired.version = Some("4.15.2".to_owned());
    minor.facts.spec.desired.channel = Some("stable-4.15".to_owned());
    minor.look();
    assert_eq!(minor.look(), Next::Rest(Some(EACH_MINUTE)));
    assert!(
        minor
            .says("IsClusterUpgradable")
            .1
            .contains("AdminAckRequired: ask first")
    );
}

#[test]
fn what_is_invalid_stays_pending_with_a_condition_and_starts_when_it_is_mended() {
    let mut agent = Agent::new();
    agent.facts.spec.desired.version = Some("4.14.40".to_owned());
    agent.look();
    assert_eq!(agent.look(), Next::Rest(Some(RESYNC)));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.says(VALIDATED).0, "False");
    assert_eq!(agent.told, ["InvalidUpgradeConfig"]);
    agent.facts.spec.desired.version = Some("4.14.12".to_owned());
    agent.look();
    assert!(matches!(agent.look(), Next::Write(_)));
}

#[test]
fn an_edit_before_commencement_counts_and_one_after_it_is_refused() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    agent.facts.spec.upgrade_at = (START + SignedDuration::from_hours(4)).to_string();
    agent.look();
    assert_eq!(
        agent.entry().phase,
        UpgradePhase::Pending,
        "it waits for its new time"
    );
    agent.facts.spec.upgrade_at = START.to_string();
    agent.look();
    commence(&mut agent.facts);
    agent.look();
    agent.facts.spec.desired.version = Some("4.14.13".to_owned());
    agent.look();
    assert_eq!(
        agent.entry().version.as_deref(),
        Some("4.14.12"),
        "there is no way back"
    );
    assert!(agent.says(ACCEPTED).1.contains("the change to 4.14.13 waits"));
    agent.facts.cluster.history[0].completed = true;
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
    agent.look();
    assert_eq!(
        agent.entry().version.as_deref(),
        Some("4.14.13"),
        "and now it is its turn"
    );
}

#[test]
fn what_the_cluster_refuses_has_not_begun_and_can_be_edited_until_it_does() {
    for (is_begun, expected) in [(false, "4.14.13"), (true, "4.14.12")] {
        let mut agent = Agent::new();
        agent.look();
        agent.look();
        commence(&mut agent.facts);
        agent.facts.cluster.refusal = Some("RetrievePayload: it cannot be verified".to_owned());
        if !is_begun {
            agent.facts.cluster.desired = Some("4.14.9".to_owned());
            agent.facts.cluster.history.remove(0);
        }
        agent.look();
        agent.facts.spec.desired.version = Some("4.14.13".to_owned());
        agent.look();
        assert_eq!(agent.entry().version.as_deref(), Some(expected));
    }
}

#[test]
fn an_agent_that_finds_the_upgrade_commenced_goes_on_with_it() {
    let mut agent = Agent::new();
    commence(&mut agent.facts);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        agent.says("ClusterHealthyBeforeUpgrade").0,
        "True",
        "what precedes the commencement is over"
    );
}

#[test]
fn health_is_looked_at_hours_ahead_only_with_the_feature_and_blocks_nothing() {
    let mut agent = Agent::new();
    agent.facts.now = START - SignedDuration::from_hours(5);
    agent.facts.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    agent.facts.seen.ill = Some(vec![IllOperator {
        name: "dns".to_owned(),
        why: "not available: x".to_owned(),
    }]);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.told, ["HealthCheckFailed"]);
}
