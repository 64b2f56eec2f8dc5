mod edits;
mod faults;
mod lock;
mod steps;
mod wanted;

use std::collections::BTreeSet;

use drydock_api::insights::{PlanAsker, UpdatePlanState};
use drydock_api::machine_api::MachineSet;
use drydock_api::upgradeconfig::UpgradeType;
use jiff::SignedDuration;

use super::fixture::{START, commence, observation};
use super::*;
use crate::capacity::{Capacity, Extra, ExtraMachine};
use crate::drains::{Cordon, ObservedNode, ObservedPod};
use crate::facts::{
    FileIntegrity, HistoryEntry, LockHolder, Observation, ObservedCluster, ObservedPool, Origin, PausedBy,
    ReleaseRef, UnhealthyOperator, Unread, Workers, Write,
};
use crate::silences::{Silence, SilenceChange, SilenceState};

/// An agent between two looks: what it sees, and the status it wrote.
struct Agent {
    seen: Observation,
    status: UpgradeConfigStatus,
    published: Vec<&'static str>,
    /// The silences that Alertmanager has.
    silences: Vec<Silence>,
    /// What is wrong with operators.
    unhealthy: Vec<UnhealthyOperator>,
    /// What cannot be read, and why.
    broken: BTreeSet<Need>,
    capacity: Capacity,
    nodes: Vec<ObservedNode>,
    pods: Vec<ObservedPod>,
    /// Whether the lock of the cluster is taken and freed as soon as that is asked for.
    is_lock_granted: bool,
    /// What the UpdatePlan says.
    update_plan: UpdatePlanState,
    pools: Vec<ObservedPool>,
}

impl Agent {
    fn new() -> Self {
        Self {
            seen: observation(),
            status: UpgradeConfigStatus::default(),
            published: Vec::new(),
            silences: Vec::new(),
            unhealthy: Vec::new(),
            broken: BTreeSet::new(),
            capacity: Capacity::default(),
            nodes: Vec::new(),
            pods: Vec::new(),
            is_lock_granted: true,
            update_plan: UpdatePlanState::Outdated(PlanAsker::Cluster),
            pools: Vec::new(),
        }
    }

    fn cluster(&mut self) -> &mut ObservedCluster {
        self.seen.cluster.as_mut().unwrap()
    }

    /// One pass: reads what is asked for, and writes the status. Returns the decision.
    fn pass(&mut self) -> Decision {
        self.seen.seen = crate::facts::ReadOnDemand::default();
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
        if self.is_lock_granted && self.grant_lock(&mut decision.commands) {
            return self.pass();
        }
        self.published.extend(
            transitions(&self.status, &decision.status)
                .iter()
                .map(|transition| transition.reason),
        );
        self.status = decision.status.clone();
        decision
    }

    /// Takes or frees the lock of the cluster, as it is asked for. Says whether it was taken.
    fn grant_lock(&mut self, commands: &mut Vec<Command>) -> bool {
        let mut is_taken = false;
        let cluster = self.seen.cluster.as_mut();
        let Ok(cluster) = cluster else {
            return false;
        };
        commands.retain(|command| match command {
            Command::TakeLock(key) => {
                is_taken = true;
                cluster.lock = Some(LockHolder {
                    holder: key.holder.clone(),
                    uid: Some(key.uid.clone()),
                });
                false
            }
            Command::ReleaseLock => {
                cluster.lock = None;
                false
            }
            _ => true,
        });
        is_taken
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
            Need::Operators if is_broken => seen.unhealthy = Err(broken()),
            Need::Operators => seen.unhealthy = Ok(self.unhealthy.clone()),
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
            Need::UpdatePlan if is_broken => seen.update_plan = Err(broken()),
            Need::UpdatePlan => seen.update_plan = Ok(self.update_plan.clone()),
            Need::Pools if is_broken => seen.pools = Err(broken()),
            Need::Pools => seen.pools = Ok(self.pools.clone()),
            Need::FileIntegrity => seen.file_integrity = Ok(FileIntegrity::Absent),
            other => panic!("{other:?} is not expected"),
        }
    }

    fn silence(&mut self, change: &SilenceChange) {
        match change {
            SilenceChange::Create(wanted) => self.silences.push(Silence {
                id: format!("{} {}", wanted.comment, self.silences.len()),
                comment: wanted.comment.clone(),
                state: SilenceState::Active,
                starts: self.seen.now,
                ends: wanted.ends,
            }),
            SilenceChange::Renew { id, wanted, .. } => {
                let mut renewed = self.silences.iter_mut().filter(|silence| silence.id == *id);
                renewed.next().unwrap().ends = wanted.ends;
            }
            SilenceChange::Expire(id) => {
                let mut ended = self.silences.iter_mut().filter(|silence| silence.id == *id);
                ended.next().unwrap().state = SilenceState::Expired;
            }
        }
    }

    /// The comments of the active silences.
    fn silent(&self) -> Vec<&str> {
        let active = self
            .silences
            .iter()
            .filter(|silence| silence.state == SilenceState::Active && silence.ends > self.seen.now);
        active.map(|silence| silence.comment.as_str()).collect()
    }

    fn wait(&mut self, minutes: i64) {
        self.seen.now += SignedDuration::from_mins(minutes);
    }

    fn workers(&mut self, machines: i64, updated: i64) {
        self.seen.workers = Ok(Some(Workers {
            paused: None,
            degraded: None,
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
    assert!(decision.needs_finalizer);
    agent.capacity.copies = vec![Extra {
        name: "w-upgrade".to_owned(),
        created: agent.seen.now,
        is_deleting: false,
    }];
    agent.pass();
    agent
}
