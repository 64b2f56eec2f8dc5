use std::collections::BTreeSet;

use drydock_api::machine_api::MachineSet;
use drydock_api::upgradeconfig::UpgradeType;
use jiff::SignedDuration;

use super::fixture::{START, commence, observation};
use super::*;
use crate::capacity::{Capacity, Extra, ExtraMachine};
use crate::drains::{Cordon, NodeSeen, PodSeen};
use crate::facts::{Cluster, FileIntegrity, IllOperator, Observation, Unread, Workers, Write};
use crate::silences::{Change, Silence, State};

/// An agent between two looks: what it sees, and the status it wrote.
struct Agent {
    seen: Observation,
    status: UpgradeConfigStatus,
    told: Vec<&'static str>,
    /// The silences that Alertmanager has.
    silences: Vec<Silence>,
    /// What is wrong with operators.
    ill: Vec<IllOperator>,
    /// What cannot be read, and why.
    broken: BTreeSet<Need>,
    capacity: Capacity,
    nodes: Vec<NodeSeen>,
    pods: Vec<PodSeen>,
}

impl Agent {
    fn new() -> Self {
        Self {
            seen: observation(),
            status: UpgradeConfigStatus::default(),
            told: Vec::new(),
            silences: Vec::new(),
            ill: Vec::new(),
            broken: BTreeSet::new(),
            capacity: Capacity::default(),
            nodes: Vec::new(),
            pods: Vec::new(),
        }
    }

    fn cluster(&mut self) -> &mut Cluster {
        self.seen.cluster.as_mut().unwrap()
    }

    /// One pass: reads what is asked for, and writes the status. Returns the decision.
    fn pass(&mut self) -> Decision {
        self.seen.seen = crate::facts::Seen::default();
        let mut decision = decide(&self.seen, &self.status);
        for _ in 0..16 {
            for need in std::mem::take(&mut decision.needs) {
                self.read(need);
            }
            decision = decide(&self.seen, &self.status);
            if decision.needs.is_empty() {
                break;
            }
        }
        assert!(decision.needs.is_empty(), "{:?}", decision.needs);
        self.told.extend(
            transitions(&self.status, &decision.status)
                .iter()
                .map(|told| told.reason),
        );
        self.status = decision.status.clone();
        decision
    }

    /// Passes until only writes to the cluster, or nothing, are asked for: silences are made. Returns those writes, and when to
    /// look again.
    fn look(&mut self) -> (Vec<Command>, Option<Duration>) {
        for _ in 0..8 {
            let decision = self.pass();
            let mut others = Vec::new();
            let mut made = false;
            for command in decision.commands {
                match command {
                    Command::Silence(change) => {
                        self.silence(&change);
                        made = true;
                    }
                    other => others.push(other),
                }
            }
            if !made {
                return (others, decision.wait);
            }
        }
        panic!("silences are never as they should be: {:?}", self.silences);
    }

    /// Reads what is asked for; all is well unless the test says otherwise.
    fn read(&mut self, need: Need) {
        let is_broken = self.broken.contains(&need);
        let broken = || Unread::Failed("forbidden".to_owned());
        let seen = &mut self.seen.seen;
        match need {
            Need::Operators if is_broken => seen.ill = Err(broken()),
            Need::Operators => seen.ill = Ok(self.ill.clone()),
            Need::Alerts if is_broken => seen.alerts = Err(broken()),
            Need::Alerts => seen.alerts = Ok(BTreeSet::new()),
            Need::Silences if is_broken => seen.silences = Err(broken()),
            Need::Silences => seen.silences = Ok(self.silences.clone()),
            Need::Nodes if is_broken => seen.nodes = Err(broken()),
            Need::Nodes => seen.nodes = Ok(self.nodes.clone()),
            Need::Pods => seen.pods = Ok(self.pods.clone()),
            Need::Budgets if is_broken => seen.budgets = Err(broken()),
            Need::Budgets => seen.budgets = Ok(Vec::new()),
            Need::Capacity if is_broken => seen.capacity = Err(broken()),
            Need::Capacity => seen.capacity = Ok(self.capacity.clone()),
            Need::Result => seen.fired = Ok(BTreeSet::new()),
            Need::FileIntegrity => seen.file_integrity = Ok(FileIntegrity::Absent),
            other => panic!("{other:?} is not expected"),
        }
    }

    fn silence(&mut self, change: &Change) {
        match change {
            Change::Create(wanted) => self.silences.push(Silence {
                id: format!("{} {}", wanted.comment, self.silences.len()),
                comment: wanted.comment.clone(),
                state: State::Active,
                starts: self.seen.now,
                ends: wanted.ends,
            }),
            Change::Renew { id, wanted, .. } => {
                let mut renewed = self.silences.iter_mut().filter(|silence| silence.id == *id);
                renewed.next().unwrap().ends = wanted.ends;
            }
            Change::Expire(id) => {
                let mut ended = self.silences.iter_mut().filter(|silence| silence.id == *id);
                ended.next().unwrap().state = State::Expired;
            }
        }
    }

    /// The comments of the silences that hold.
    fn silent(&self) -> Vec<&str> {
        let active = self
            .silences
            .iter()
            .filter(|silence| silence.state == State::Active && silence.ends > self.seen.now);
        active.map(|silence| silence.comment.as_str()).collect()
    }

    fn wait(&mut self, minutes: i64) {
        self.seen.now += SignedDuration::from_mins(minutes);
    }

    fn workers(&mut self, machines: i64, updated: i64) {
        self.seen.workers = Ok(Some(Workers {
            paused: false,
            trouble: None,
            machines,
            updated,
        }));
    }

    fn entry(&self) -> &UpgradeHistory {
        &self.status.history.as_ref().unwrap()[0]
    }

    fn says(&self, type_: ConditionType) -> (String, String) {
        let conditions = self.entry().conditions.as_deref().unwrap_or_default();
        let condition = condition::find(conditions, type_).unwrap_or_else(|| panic!("no {type_}"));
        (
            condition.status.clone(),
            condition.message.clone().unwrap_or_default(),
        )
    }

    /// The series that are 1, without their prefix.
    fn measures(&self) -> Vec<&'static str> {
        let wanted = crate::metrics::wanted(&self.seen, &self.status);
        let on = wanted
            .into_iter()
            .filter(|(_, value)| (value - 1.0).abs() < f64::EPSILON);
        on.filter_map(|((kind, _), _)| {
            let family = crate::metrics::FAMILIES
                .iter()
                .find(|family| family.kind == kind)?;
            Some(family.name)
        })
        .filter(|name| *name != "upgradeoperator_upgrade_notification")
        .collect()
    }
}

fn wait_of(look: &(Vec<Command>, Option<Duration>)) -> Option<Duration> {
    assert_eq!(look.0, []);
    look.1
}

#[test]
fn a_new_upgrade_waits_for_its_time_and_then_tells_the_cluster_channel_and_release() {
    let mut agent = Agent::new();
    agent.seen.now = START - SignedDuration::from_mins(3);
    agent.cluster().channel = "stable-4.13".to_owned();
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        wait_of(&agent.look()),
        Some(Duration::from_mins(3)),
        "at its time exactly"
    );
    agent.seen.now = START;
    assert_eq!(agent.look().0, [Command::SetChannel("stable-4.14".to_owned())]);
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.cluster().channel = "stable-4.14".to_owned();
    let release = Command::SetDesiredUpdate {
        version: Some("4.14.12".to_owned()),
        image: None,
    };
    assert_eq!(agent.look().0, [release]);
    assert_eq!(agent.told, ["UpgradeStarted"]);
}

#[test]
fn the_steps_follow_each_other_and_each_is_told_once() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded),
        ("False".to_owned(), "ControlPlaneUpgraded has started".to_owned())
    );
    agent.wait(30);
    agent.look();
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded).1,
        "ControlPlaneUpgraded still in progress"
    );
    agent.workers(3, 0);
    agent.look();
    assert!(agent.entry().worker_start_time.is_some());
    agent.cluster().history[0].completed = true;
    agent.look();
    assert_eq!(agent.says(ConditionType::WorkerNodesUpgraded).0, "False");
    agent.workers(3, 3);
    agent.wait(20);
    assert_eq!(wait_of(&agent.look()), Some(AT_ONCE), "how it went is asked");
    assert_eq!(wait_of(&agent.look()), None);
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
    agent.ill = vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded: a member is down".to_owned(),
    }];
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    let (status, message) = agent.says(ConditionType::ClusterHealthyBeforeUpgrade);
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
    assert_eq!(wait_of(&agent.look()), None);
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
    commence(&mut agent.seen);
    agent.cluster().refusal = Some("InvalidClusterVersion: no such release".to_owned());
    agent.look();
    let (status, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert_eq!(
        (status.as_str(), message.as_str()),
        (
            "False",
            "the cluster does not go on: InvalidClusterVersion: no such release"
        )
    );
    agent.cluster().refusal = None;
    agent.look();
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded).1,
        "ControlPlaneUpgraded still in progress"
    );
}

#[test]
fn an_upgrade_of_aro_has_no_window() {
    let mut agent = Agent::new();
    agent.seen.spec.upgrade_type = UpgradeType::Aro;
    agent.ill = vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
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
    patch.cluster().not_upgradeable.clone_from(&block);
    patch.look();
    assert!(!patch.look().0.is_empty());
    let mut minor = Agent::new();
    minor.cluster().not_upgradeable = block;
    minor.seen.spec.desired.version = Some("4.15.2".to_owned());
    minor.seen.spec.desired.channel = Some("stable-4.15".to_owned());
    minor.look();
    assert_eq!(wait_of(&minor.look()), Some(EACH_MINUTE));
    assert!(
        minor
            .says(ConditionType::IsClusterUpgradable)
            .1
            .contains("AdminAckRequired: ask first")
    );
}

#[test]
fn what_is_invalid_stays_pending_with_a_condition_and_starts_when_it_is_mended() {
    let mut agent = Agent::new();
    agent.seen.spec.desired.version = Some("4.14.40".to_owned());
    agent.look();
    assert_eq!(wait_of(&agent.look()), Some(RESYNC));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.says(ConditionType::UpgradeConfigValidated).0, "False");
    assert_eq!(agent.told, ["InvalidUpgradeConfig"]);
    agent.seen.spec.desired.version = Some("4.14.12".to_owned());
    agent.look();
    assert!(!agent.look().0.is_empty());
}

#[test]
fn an_edit_before_commencement_counts_and_one_after_it_is_refused() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    agent.seen.spec.upgrade_at = (START + SignedDuration::from_hours(4)).to_string();
    agent.look();
    assert_eq!(
        agent.entry().phase,
        UpgradePhase::Pending,
        "it waits for its new time"
    );
    agent.seen.spec.upgrade_at = START.to_string();
    agent.look();
    commence(&mut agent.seen);
    agent.look();
    agent.seen.spec.desired.version = Some("4.14.13".to_owned());
    agent.look();
    assert_eq!(
        agent.entry().version.as_deref(),
        Some("4.14.12"),
        "there is no way back"
    );
    assert!(
        agent
            .says(ConditionType::UpgradeConfigAccepted)
            .1
            .contains("the change of spec.desired.version to 4.14.13 waits")
    );
    agent.cluster().history[0].completed = true;
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
        commence(&mut agent.seen);
        agent.cluster().refusal = Some("RetrievePayload: it cannot be verified".to_owned());
        if !is_begun {
            agent.cluster().desired = Some("4.14.9".to_owned());
            agent.cluster().history.remove(0);
        }
        agent.look();
        agent.seen.spec.desired.version = Some("4.14.13".to_owned());
        agent.look();
        assert_eq!(agent.entry().version.as_deref(), Some(expected));
    }
}

#[test]
fn an_agent_that_finds_the_upgrade_commenced_goes_on_with_it() {
    let mut agent = Agent::new();
    commence(&mut agent.seen);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        agent.says(ConditionType::ClusterHealthyBeforeUpgrade).0,
        "True",
        "what precedes the commencement is over"
    );
}

#[test]
fn health_is_looked_at_hours_ahead_only_with_the_feature_and_blocks_nothing() {
    let mut agent = Agent::new();
    agent.seen.now = START - SignedDuration::from_hours(5);
    agent.seen.in_force.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    agent.ill = vec![IllOperator {
        name: "dns".to_owned(),
        why: "not available: x".to_owned(),
    }];
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.told, ["HealthCheckFailed"]);
}

/// An upgrade under way in this state.
fn upgrading(commenced: bool, control_plane_done: bool) -> Agent {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    if commenced {
        commence(&mut agent.seen);
        agent.workers(3, 0);
        agent.look();
    }
    if control_plane_done {
        agent.cluster().history[0].completed = true;
        agent.look();
    }
    agent
}

#[test]
fn silences_of_a_control_plane_that_never_ends_end_in_time() {
    let mut agent = upgrading(true, false);
    assert_eq!(agent.silent().len(), 1);
    for _ in 0..6 {
        agent.wait(10);
        agent.look();
    }
    assert_eq!(agent.silent().len(), 1);
    agent.wait(31);
    agent.look();
    assert_eq!(agent.silent(), [""; 0]);
    assert_eq!(
        agent.measures(),
        [
            "upgradeoperator_controlplane_timeout",
            "drydock_agent_step_overdue"
        ]
    );
}

#[test]
fn a_release_that_the_cluster_refuses_is_measured_and_not_silent_for_ever() {
    let mut agent = upgrading(false, false);
    commence(&mut agent.seen);
    agent.cluster().history.remove(0);
    agent.cluster().desired = Some("4.14.9".to_owned());
    agent.cluster().refusal = Some("RetrievePayload: it cannot be verified".to_owned());
    agent.look();
    assert_eq!(agent.silent().len(), 1);
    agent.wait(91);
    agent.look();
    assert_eq!(agent.silent(), [""; 0]);
    assert!(agent.measures().contains(&"upgradeoperator_controlplane_timeout"));
}

#[test]
fn machine_sets_that_cannot_be_read_keep_nothing_from_going_on() {
    let mut agent = Agent::new();
    agent.seen.spec.capacity_reservation = Some(true);
    agent.broken.insert(Need::Capacity);
    agent.look();
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert!(
        agent
            .says(ConditionType::ComputeCapacityReserved)
            .1
            .contains("MachineSets cannot be read: forbidden")
    );
    agent.wait(31);
    assert!(
        !agent.look().0.is_empty(),
        "it goes on without them, as it does where they do not come in time"
    );
    assert!(agent.measures().contains(&"upgradeoperator_scaling_failed"));
}

fn machine_set(name: &str) -> MachineSet {
    let set = serde_json::json!({
        "metadata": {"name": name, "labels": {crate::capacity::POOL_LABEL: "worker"}},
        "spec": {"replicas": 3},
    });
    serde_json::from_value(set).unwrap()
}

/// An upgrade that has not commenced, with an extra worker.
fn with_an_extra_worker() -> Agent {
    let mut agent = Agent::new();
    agent.seen.spec.capacity_reservation = Some(true);
    agent.capacity.originals = vec![machine_set("w")];
    agent.look();
    let decision = agent.pass();
    assert!(matches!(&decision.commands[..], [Command::CreateMachineSet(_)]));
    assert_eq!(agent.status.made, Some(vec![MadeResource::MachineSets]));
    assert!(decision.is_held);
    agent.capacity.copies = vec![Extra {
        name: "w-upgrade".to_owned(),
        created: agent.seen.now,
        is_going: false,
    }];
    agent.pass();
    agent
}

#[test]
fn extra_workers_go_whichever_way_they_are_not_wanted_any_more() {
    type Change = fn(&mut Agent);
    let ways: [(&str, Change); 6] = [
        ("not asked for", |agent| {
            agent.seen.spec.capacity_reservation = Some(false);
        }),
        ("put off", |agent| {
            agent.seen.spec.upgrade_at = (START + SignedDuration::from_hours(9)).to_string();
        }),
        ("another version, which fails", |agent| {
            agent.seen.spec.desired.version = Some("4.14.99".to_owned());
        }),
        ("deleted", |agent| agent.seen.going_since = Some(agent.seen.now)),
        ("its window is over", |agent| agent.wait(121)),
        ("changed below the agent", |agent| {
            agent.cluster().history[0].version = "4.14.13".to_owned();
        }),
    ];
    for (way, change) in ways {
        let mut agent = with_an_extra_worker();
        agent.ill = vec![IllOperator {
            name: "etcd".to_owned(),
            why: "degraded".to_owned(),
        }];
        change(&mut agent);
        let mut commands = Vec::new();
        for _ in 0..3 {
            commands.extend(agent.pass().commands);
        }
        let deleted = Command::DeleteMachineSet("w-upgrade".to_owned());
        assert!(commands.contains(&deleted), "{way}: {commands:?}");
        agent.capacity.copies.clear();
        for _ in 0..3 {
            agent.look();
        }
        assert_eq!(agent.status.made, None, "{way}");
    }
}

#[test]
fn a_write_that_is_refused_is_told_and_tried_again_later() {
    let mut agent = with_an_extra_worker();
    agent.capacity.copies.clear();
    let words = "writing MachineSet w-upgrade for extra workers: exceeded quota".to_owned();
    agent.seen.refusals.insert(Write::MachineSet, words);
    let decision = agent.pass();
    assert_eq!(decision.wait, Some(EACH_MINUTE));
    let (_, message) = agent.says(ConditionType::ComputeCapacityReserved);
    assert!(message.contains("exceeded quota"), "{message}");
}

#[test]
fn while_cluster_version_cannot_be_read_the_window_counts_and_the_reason_is_told() {
    let mut agent = Agent::new();
    agent.ill = vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.look();
    agent.look();
    agent.seen.cluster = Err(Unread::Failed("forbidden".to_owned()));
    agent.wait(10);
    agent.pass();
    assert_eq!(
        agent.says(ConditionType::ClusterHealthyBeforeUpgrade).1,
        "ClusterVersion version cannot be read: forbidden"
    );
    agent.wait(120);
    agent.pass();
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    let mut commenced = upgrading(true, false);
    commenced.seen.cluster = Err(Unread::Failed("forbidden".to_owned()));
    commenced.wait(60 * 48);
    commenced.pass();
    assert_eq!(commenced.entry().phase, UpgradePhase::Upgrading);
    assert!(
        commenced
            .measures()
            .contains(&"upgradeoperator_controlplane_timeout")
    );
}

#[test]
fn an_edit_after_commencement_is_refused_field_by_field_and_forgotten_when_it_is_taken_back() {
    let mut agent = upgrading(true, false);
    agent.seen.spec.pdb_force_drain_timeout = 5;
    agent.look();
    let (status, message) = agent.says(ConditionType::UpgradeConfigAccepted);
    assert_eq!(status, "False");
    assert!(
        message.contains("the change of spec.PDBForceDrainTimeout to 5 waits"),
        "{message}"
    );
    agent.seen.spec.pdb_force_drain_timeout = 60;
    agent.look();
    assert_eq!(agent.says(ConditionType::UpgradeConfigAccepted).0, "True");
}

#[test]
fn the_spec_is_noted_before_the_cluster_is_told() {
    let mut agent = Agent::new();
    agent.look();
    let (commands, _) = agent.look();
    assert!(matches!(&commands[..], [Command::SetDesiredUpdate { .. }]));
    assert_eq!(agent.entry().accepted_spec.as_ref(), Some(&agent.seen.spec));
    assert_eq!(agent.says(ConditionType::UpgradeCommenced).0, "False");
}

#[test]
fn the_times_of_workers_are_told_whatever_of_their_pool_was_seen() {
    let mut some = upgrading(true, false);
    some.workers(3, 2);
    some.look();
    assert!(some.entry().worker_start_time.is_some());
    let mut none = Agent::new();
    none.look();
    none.look();
    commence(&mut none.seen);
    none.cluster().history[0].completed = true;
    none.look();
    let entry = none.entry();
    assert!(entry.worker_start_time.is_some() && entry.worker_complete_time.is_some());
}

#[test]
fn a_condition_that_is_not_true_any_more_has_no_time_of_completion() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    let healthy = ConditionType::ClusterHealthyBeforeUpgrade;
    let completed = |agent: &Agent| {
        let conditions = agent.entry().conditions.as_deref().unwrap();
        condition::find(conditions, healthy)
            .unwrap()
            .complete_time
            .clone()
    };
    let first = completed(&agent).unwrap();
    agent.ill = vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.wait(5);
    agent.look();
    assert_eq!(completed(&agent), None);
    agent.ill.clear();
    agent.wait(5);
    agent.look();
    assert!(completed(&agent).unwrap().0 > first.0);
}

#[test]
fn what_waits_is_looked_at_and_says_so() {
    let mut agent = upgrading(true, false);
    let probed = |agent: &Agent| {
        let conditions = agent.entry().conditions.as_deref().unwrap();
        let condition = condition::find(conditions, ConditionType::ControlPlaneUpgraded).unwrap();
        condition.last_probe_time.clone().unwrap().0
    };
    agent.wait(1);
    agent.look();
    let before = probed(&agent);
    agent.wait(1);
    agent.look();
    assert_eq!(probed(&agent), before, "not each minute");
    agent.wait(10);
    agent.look();
    assert_eq!(probed(&agent), agent.seen.now);
}

#[test]
fn without_any_good_configuration_nothing_commences_and_what_has_commenced_goes_on() {
    let problem = crate::facts::ConfigurationProblem {
        reason: "InvalidConfiguration",
        message: "it is no YAML".to_owned(),
        is_unknown: true,
    };
    let mut waiting = Agent::new();
    waiting.seen.in_force.problem = Some(problem.clone());
    waiting.look();
    assert_eq!(waiting.look().0, []);
    assert_eq!(waiting.says(ConditionType::ConfigurationAccepted).0, "False");
    let mut commenced = upgrading(true, false);
    commenced.seen.in_force.problem = Some(problem);
    commenced.cluster().history[0].completed = true;
    commenced.workers(3, 3);
    commenced.look();
    commenced.look();
    assert_eq!(commenced.entry().phase, UpgradePhase::Upgraded);
}

#[test]
fn a_policy_of_ocm_never_becomes_a_local_one() {
    let mut agent = Agent::new();
    agent.seen.origin = Origin::Ocm;
    agent.look();
    assert_eq!(agent.look().0, []);
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.says(ConditionType::PolicyRefreshed).0, "False");
}

#[test]
fn drains_are_helped_whatever_step_waits() {
    for (what, control_plane_done, broken) in [
        ("the control plane is not done", false, None),
        ("silences cannot be read", true, Some(Need::Silences)),
    ] {
        let mut agent = upgrading(true, control_plane_done);
        agent.broken.extend(broken);
        agent.nodes = vec![NodeSeen {
            name: "w".to_owned(),
            is_worker: true,
            cordon: Some(Cordon {
                since: Some(agent.seen.now),
            }),
            mco_works: true,
            drain_mark: "drain-1".to_owned(),
            ..NodeSeen::default()
        }];
        agent.pods = vec![PodSeen {
            name: "holds".to_owned(),
            node: "w".to_owned(),
            ..PodSeen::default()
        }];
        let mut forced = Vec::new();
        for minute in 0..50 {
            agent.wait(1);
            let (commands, _) = agent.look();
            if commands.iter().any(|command| matches!(command, Command::Tend(_))) {
                forced.push(minute);
            }
        }
        assert_eq!(forced.first(), Some(&45), "{what}");
    }
}

#[test]
fn an_extra_machine_that_never_goes_is_measured() {
    let mut agent = with_an_extra_worker();
    commence(&mut agent.seen);
    agent.cluster().history[0].completed = true;
    agent.capacity.machines = vec![ExtraMachine {
        name: "w-upgrade-1".to_owned(),
        set: Some("w-upgrade".to_owned()),
        node: None,
        is_ready: false,
        failure: None,
    }];
    agent.look();
    assert_eq!(agent.measures(), [""; 0]);
    agent.wait(60 * 24);
    agent.look();
    let measured = agent.measures();
    for name in ["upgradeoperator_node_drain_timeout", "drydock_agent_step_overdue"] {
        assert!(measured.contains(&name), "{measured:?}");
    }
}

#[test]
fn a_check_that_has_passed_or_is_over_is_not_measured_any_more() {
    let ill = vec![IllOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    let failed = "upgradeoperator_healthcheck_failed";
    let mut early = Agent::new();
    early.seen.now = START - SignedDuration::from_hours(5);
    early.seen.in_force.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    early.ill.clone_from(&ill);
    early.look();
    let of_new = crate::metrics::wanted(&early.seen, &early.status);
    let mut states: Vec<&str> = of_new
        .keys()
        .filter(|(kind, _)| *kind == crate::metrics::Kind::HealthCheckFailed)
        .map(|(_, labels)| labels[1].as_str())
        .collect();
    states.dedup();
    assert_eq!(states, ["New"]);
    early.ill.clear();
    early.seen.now = START;
    early.look();
    assert!(!early.measures().contains(&failed));
    let mut late = Agent::new();
    late.ill = ill;
    late.look();
    late.look();
    assert!(late.measures().contains(&failed));
    late.wait(121);
    late.look();
    assert_eq!(late.entry().phase, UpgradePhase::Failed);
    assert!(!late.measures().contains(&failed));
}

#[test]
fn what_somebody_else_tells_cluster_version_is_told_and_not_fought_over() {
    for asked in [Some("4.14.13"), None] {
        let mut agent = upgrading(true, false);
        let told = asked.map(|version| crate::facts::Release {
            version: version.to_owned(),
            image: String::new(),
        });
        agent.cluster().asked = told;
        for _ in 0..3 {
            assert_eq!(agent.look().0, [], "{asked:?}");
        }
        let (_, message) = agent.says(ConditionType::ControlPlaneUpgraded);
        assert!(
            message.contains("somebody has changed ClusterVersion"),
            "{message}"
        );
    }
}

#[test]
fn an_upgrade_config_that_is_being_deleted_says_that_it_waits_for_the_end() {
    let mut agent = upgrading(true, false);
    agent.seen.going_since = Some(agent.seen.now);
    agent.seen.spec.desired.version = Some("4.14.13".to_owned());
    agent.look();
    let (status, message) = agent.says(ConditionType::UpgradeConfigAccepted);
    assert_eq!(status, "False");
    assert!(message.contains("is being deleted"), "{message}");
    assert_eq!(agent.entry().version.as_deref(), Some("4.14.12"));
}

#[test]
fn not_to_say_that_no_extra_workers_are_wanted_is_no_change() {
    let mut agent = Agent::new();
    agent.seen.spec.capacity_reservation = Some(false);
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    agent.look();
    agent.seen.spec.capacity_reservation = None;
    agent.look();
    let conditions = agent.entry().conditions.as_deref().unwrap();
    assert!(condition::find(conditions, ConditionType::UpgradeConfigAccepted).is_none());
}

#[test]
fn no_number_that_is_accepted_is_too_large_to_count_with() {
    let most = i32::MAX;
    let text = format!(
        "configManager: {{watchInterval: {most}}}
maintenance: {{controlPlaneTime: {most}}}
scale: {{timeOut: {most}}}
upgradeWindow: {{delayTrigger: {most}, timeOut: {most}}}
nodeDrain: {{timeOut: {most}, expectedNodeDrainTime: {most}}}
extDependencyAvailabilityChecks: {{http: {{timeout: {most}}}}}
"
    );
    let mut agent = Agent::new();
    agent.seen.in_force.configuration = crate::configuration::parse(&text).unwrap();
    agent.seen.spec.pdb_force_drain_timeout = most;
    agent.seen.spec.capacity_reservation = Some(true);
    agent.capacity.originals = vec![machine_set("w")];
    for _ in 0..3 {
        agent.pass();
        agent.measures();
    }
    agent.capacity.originals.clear();
    agent.look();
    commence(&mut agent.seen);
    agent.workers(500, 0);
    agent.nodes = vec![NodeSeen {
        name: "w".to_owned(),
        is_worker: true,
        cordon: Some(Cordon { since: None }),
        mco_works: true,
        ..NodeSeen::default()
    }];
    for _ in 0..3 {
        agent.look();
        agent.wait(60 * 24 * 365);
        agent.measures();
    }
    agent.cluster().history[0].completed = true;
    agent.look();
    agent.measures();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
}
