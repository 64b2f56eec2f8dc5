//! EnsureExtraUpgradeWorkers and RemoveExtraScaledNodes: capacity for the pods of nodes that are drained (agent 3, steps 6
//! and 13).

use jiff::SignedDuration;

use super::{Command, Need, Situation, Step, Verdict};
use crate::capacity::{self, Capacity, Reservation};
use crate::notify::Event;

pub(crate) const ENSURE: Step = Step {
    condition: "ComputeCapacityReserved",
    precedes_commencement: true,
    once: false,
    decide: ensure,
};

pub(crate) const REMOVE: Step = Step {
    condition: "ComputeCapacityRemoved",
    precedes_commencement: false,
    once: true,
    decide: remove,
};

fn ensure(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if facts.spec.capacity_reservation != Some(true) {
        return Verdict::Done;
    }
    let Some(seen) = &facts.seen.capacity else {
        return Verdict::Needs(Need::Capacity);
    };
    let patience = SignedDuration::from_mins(facts.configuration.scale.time_out);
    match capacity::reserve(seen, patience, facts.now) {
        Reservation::Nothing => Verdict::DoneWith(
            Event::ScaleSkipped,
            "there is no MachineSet of workers to copy: the upgrade goes on without extra workers".to_owned(),
        ),
        Reservation::Create(set) => Verdict::Asks(Command::CreateMachineSet(set)),
        Reservation::Waits(why) => Verdict::Waiting(Some(format!("waiting for extra workers: {why}"))),
        Reservation::TooLate(why) => Verdict::DoneWith(
            Event::Skipped,
            format!("the upgrade goes on without all extra workers, which did not come in time: {why}"),
        ),
        Reservation::Ready => Verdict::Done,
    }
}

fn remove(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if facts.spec.capacity_reservation != Some(true) {
        return Verdict::Done;
    }
    match &facts.seen.capacity {
        None => Verdict::Needs(Need::Capacity),
        Some(seen) => removal(seen),
    }
}

/// What is next until no extra worker is left.
pub(crate) fn removal(seen: &Capacity) -> Verdict {
    if let Some(copy) = seen.copies.iter().find(|copy| !copy.is_going) {
        return Verdict::Asks(Command::DeleteMachineSet(copy.name.clone()));
    }
    if seen.machines.is_empty() && seen.copies.is_empty() {
        return Verdict::Done;
    }
    let names: Vec<&str> = seen
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    Verdict::Waiting(Some(format!(
        "waiting until extra machines are gone: {}",
        names.join(", ")
    )))
}
