//! What there should be on the cluster for the time of an upgrade, computed again in each pass whatever step waits: what exists
//! and is not wanted any more is removed. There is no other clean-up.

use std::collections::BTreeSet;

use drydock_api::conditions::TRUE;
use drydock_api::upgradeconfig::{
    MadeResource, NodeDrain, UpgradeConfigStatus, UpgradeHistory, UpgradePhase,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::capacity;
use crate::command::Command;
use crate::condition::{self, ConditionType};
use crate::drains::{self, Drain, Strategy};
use crate::facts::{Facts, Need, Target, Unread};
use crate::notification::{self, UpgradeEvent};
use crate::silences::{self, WantedSilences};
use crate::steps;
use crate::unready;

/// What follows from what is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reconciled {
    /// What must be read first.
    pub needs: BTreeSet<Need>,
    /// The writes.
    pub commands: Vec<Command>,
}

/// An upgrade under way, as far as what is wanted depends on it.
struct Running<'a> {
    entry: &'a UpgradeHistory,
    version: String,
    has_commenced: bool,
    is_control_plane_upgraded: bool,
    are_workers_left: bool,
}

impl Running<'_> {
    fn has_reached(&self, type_: ConditionType) -> bool {
        self.began(type_).is_some()
    }

    fn began(&self, type_: ConditionType) -> Option<Timestamp> {
        steps::began(self.entry.conditions.as_deref().unwrap_or_default(), type_)
    }
}

fn running<'a>(
    facts: &Facts,
    target: Option<&Target>,
    status: &'a UpgradeConfigStatus,
) -> Option<Running<'a>> {
    let entry = status.history.iter().flatten().next()?;
    let target = target.filter(|_| entry.phase == UpgradePhase::Upgrading)?;
    let version = target.version().unwrap_or_default().to_owned();
    let conditions = entry.conditions.as_deref().unwrap_or_default();
    Some(Running {
        entry,
        has_commenced: facts.has_commenced(target),
        is_control_plane_upgraded: condition::is(conditions, ConditionType::ControlPlaneUpgraded, TRUE),
        // Workers that cannot be seen may be on their way.
        are_workers_left: match &facts.workers {
            Ok(workers) => workers.as_ref().is_some_and(|workers| !workers.are_updated()),
            Err(_) => true,
        },
        version,
    })
}

/// Reconciles all of it, and notes in the status what is made, and which drains are under way. `target` is that of the upgrade
/// under way, if one is. What an UpgradeConfig `is_new` has been made before it is not known: it may have been another, or have lost its
/// status.
pub fn reconcile(
    facts: &Facts,
    target: Option<&Target>,
    is_new: bool,
    status: &mut UpgradeConfigStatus,
) -> Reconciled {
    let mut reconciled = Reconciled::default();
    let mut made: BTreeSet<MadeResource> = status.made.iter().flatten().copied().collect();
    {
        let running = running(facts, target, status);
        silence(facts, running.as_ref(), &mut made, &mut reconciled);
        reserve(facts, running.as_ref(), is_new, &mut made, &mut reconciled);
    }
    status.made = (!made.is_empty()).then(|| made.into_iter().collect());
    help_drains(facts, target, status, &mut reconciled);
    let newest = status.history.iter().flatten().next();
    if newest.is_none_or(|newest| newest.phase != UpgradePhase::Upgrading) {
        reconciled.commands.extend(steps::release_lock(facts));
    }
    reconciled
}

/// The silences that there should be.
fn wanted_silences(facts: &Facts, running: Option<&Running<'_>>) -> WantedSilences {
    let Some(running) = running else {
        return WantedSilences::default();
    };
    let conditions = running.entry.conditions.as_deref().unwrap_or_default();
    let window = running.began(ConditionType::ControlPlaneMaintenanceWindowCreated);
    let control_plane = match window.filter(|_| !running.is_control_plane_upgraded) {
        None => Vec::new(),
        Some(window) => {
            // From when it really began, and from when it was asked for where it does not begin.
            let history = facts.cluster.history.iter();
            let started = history
                .filter(|past| past.version == running.version)
                .find_map(|past| past.started);
            let asked = condition::find(conditions, ConditionType::UpgradeCommenced)
                .and_then(|commenced| Some(commenced.complete_time.as_ref()?.0));
            let began = started.or(asked).unwrap_or(window);
            silences::for_control_plane(&running.version, &facts.configuration, began, facts.now)
        }
    };
    let workers = facts
        .known_workers()
        .filter(|_| running.has_commenced && running.is_control_plane_upgraded)
        .and_then(|workers| {
            let budget = facts.spec.pdb_force_drain_timeout;
            silences::for_workers(&running.version, workers, budget, &facts.configuration, facts.now)
        });
    WantedSilences {
        control_plane,
        workers,
    }
}

fn silence(
    facts: &Facts,
    running: Option<&Running<'_>>,
    made: &mut BTreeSet<MadeResource>,
    reconciled: &mut Reconciled,
) {
    let wanted = wanted_silences(facts, running);
    let is_any_wanted = !wanted.control_plane.is_empty() || wanted.workers.is_some();
    if !is_any_wanted && !made.contains(&MadeResource::Silences) {
        return;
    }
    let known = match &facts.seen.silences {
        Err(Unread::NotAsked) => {
            reconciled.needs.insert(Need::Silences);
            return;
        }
        Err(Unread::Failed(_)) => {
            // They end by themselves; an UpgradeConfig that goes does not wait for them longer than they last.
            if facts.is_gone_for(SignedDuration::from_mins(
                facts.configuration.maintenance.control_plane_time,
            )) {
                made.remove(&MadeResource::Silences);
            }
            return;
        }
        Ok(known) => known,
    };
    let mut changes = silences::control_plane_changes(&wanted.control_plane, known, facts.now);
    // What workers there are is not known: their silence stays as it is.
    if facts.workers.is_ok() || running.is_none() {
        changes.extend(silences::worker_changes(
            wanted.workers.as_ref(),
            known,
            facts.now,
        ));
    }
    if is_any_wanted {
        made.insert(MadeResource::Silences);
    } else if running.is_none() && changes.is_empty() {
        made.remove(&MadeResource::Silences);
    }
    reconciled
        .commands
        .extend(changes.into_iter().map(Command::Silence));
}

/// Whether extra workers should be there, and whether those that are missing are still made.
fn wants_machine_sets(facts: &Facts, running: Option<&Running<'_>>) -> (bool, bool) {
    let Some(running) = running else {
        return (false, false);
    };
    let is_over = running.is_control_plane_upgraded && !running.are_workers_left;
    let is_wanted = facts.spec.capacity_reservation == Some(true) && !is_over;
    let has_begun = running.has_reached(ConditionType::ComputeCapacityReserved);
    (is_wanted, is_wanted && has_begun && !running.has_commenced)
}

fn reserve(
    facts: &Facts,
    running: Option<&Running<'_>>,
    is_new: bool,
    made: &mut BTreeSet<MadeResource>,
    reconciled: &mut Reconciled,
) {
    let (is_wanted, is_made) = wants_machine_sets(facts, running);
    let is_removal =
        running.is_some_and(|running| running.has_reached(ConditionType::ComputeCapacityRemoved));
    let may_be_there = made.contains(&MadeResource::MachineSets) || is_new || is_removal;
    if !is_made && (is_wanted || !may_be_there) {
        return;
    }
    let seen = match &facts.seen.capacity {
        Err(Unread::NotAsked) => {
            reconciled.needs.insert(Need::Capacity);
            return;
        }
        Err(Unread::Failed(_)) => return,
        Ok(seen) => seen,
    };
    if is_made {
        let missing = capacity::missing_copies(seen);
        if !missing.is_empty() || !seen.copies.is_empty() {
            made.insert(MadeResource::MachineSets);
        }
        let missing = missing.into_iter().map(Box::new).map(Command::CreateMachineSet);
        reconciled.commands.extend(missing);
        return;
    }
    let unwanted = seen.copies.iter().filter(|copy| !copy.is_deleting);
    let unwanted = unwanted.map(|copy| Command::DeleteMachineSet(copy.name.clone()));
    reconciled.commands.extend(unwanted);
    if seen.copies.is_empty() && seen.machines.is_empty() {
        made.remove(&MadeResource::MachineSets);
    } else {
        made.insert(MadeResource::MachineSets);
    }
}

/// While nodes are drained, what blocks them is removed; which drains are under way, and which node does not come back, is noted in the status.
fn help_drains(
    facts: &Facts,
    target: Option<&Target>,
    status: &mut UpgradeConfigStatus,
    reconciled: &mut Reconciled,
) {
    let is_time = running(facts, target, status).is_some_and(|running| {
        let removes = running.has_reached(ConditionType::ComputeCapacityRemoved);
        running.has_commenced && (running.are_workers_left || removes)
    });
    if !is_time {
        status.drains = None;
        status.unready = None;
        return;
    }
    if !facts.drain_check_due {
        return;
    }
    let known = known_drains(status);
    let plan = match drains::decide(facts, &known) {
        Ok(plan) => plan,
        Err(need) => {
            reconciled.needs.insert(need);
            return;
        }
    };
    if let Ok(nodes) = &facts.seen.nodes {
        status.unready = unready::longest(nodes, facts.now);
    }
    let forced = plan
        .actions
        .iter()
        .find(|action| action.strategy == Strategy::PdbDelete);
    if let (Some(action), Some(entry)) = (forced, status.history.iter_mut().flatten().next()) {
        let message = format!(
            "node {} does not drain within the time for PodDisruptionBudgets: pods under a budget are deleted, {}/{} first",
            action.pod.node, action.pod.namespace, action.pod.name
        );
        notification::raise(entry, UpgradeEvent::Delayed, &message, facts.now);
    }
    status.drains = (!plan.drains.is_empty()).then(|| {
        let drains = plan.drains.into_iter().map(|drain| NodeDrain {
            node: drain.node,
            drain: drain.mark,
            start_time: Time(drain.since),
            stuck: drain.is_stuck,
        });
        drains.collect()
    });
    if !plan.actions.is_empty() {
        reconciled.commands.push(Command::ActOnPods(plan.actions));
    }
}

/// The drains that were under way when the status was written.
pub fn known_drains(status: &UpgradeConfigStatus) -> Vec<Drain> {
    let drains = status.drains.iter().flatten().map(|drain| Drain {
        node: drain.node.clone(),
        mark: drain.drain.clone(),
        since: drain.start_time.0,
        is_stuck: drain.stuck,
    });
    drains.collect()
}
