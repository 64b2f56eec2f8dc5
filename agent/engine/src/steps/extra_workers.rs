//! EnsureExtraUpgradeWorkers and RemoveExtraScaledNodes: capacity for the pods of nodes that are drained. The
//! MachineSets themselves are made and removed by what is wanted, see [`crate::wanted`].

use drydock_api::upgradeconfig::MadeResource;
use jiff::SignedDuration;

use super::{StepContext, StepOutcome};
use crate::capacity::{self, Capacity, CapacityDecision};
use crate::facts::{Facts, Need, Unread, Write};
use crate::notification::UpgradeEvent;

pub(super) fn ensure(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    if facts.spec.capacity_reservation != Some(true) {
        return StepOutcome::Done;
    }
    let timeout = SignedDuration::from_mins(facts.configuration.scale.time_out);
    let reservation = match &facts.seen.capacity {
        Err(Unread::NotAsked) => return StepOutcome::Needs(Need::Capacity),
        Err(Unread::Failed(why)) if facts.now > situation.began + timeout => {
            CapacityDecision::TooLate(format!("MachineSets cannot be read: {why}"))
        }
        Err(unread) => return StepOutcome::unread(Need::Capacity, "MachineSets", unread),
        Ok(seen) => capacity::reserve(seen, timeout, situation.began, facts.now),
    };
    match reservation {
        CapacityDecision::Nothing => StepOutcome::DoneWith(
            UpgradeEvent::ScaleSkipped,
            "there is no MachineSet of workers to copy: the upgrade continues without extra workers"
                .to_owned(),
        ),
        CapacityDecision::Waits(why) => StepOutcome::Waiting(Some(format!(
            "waiting for extra workers: {why}{}",
            refusal(facts)
        ))),
        CapacityDecision::TooLate(why) => StepOutcome::DoneWith(
            UpgradeEvent::Skipped,
            format!(
                "the upgrade continues without all extra workers, which did not come in time: {why}{}",
                refusal(facts)
            ),
        ),
        CapacityDecision::Ready => StepOutcome::Done,
    }
}

fn refusal(facts: &Facts) -> String {
    let refusal = facts.refusals.get(&Write::MachineSet);
    refusal.map_or_else(String::new, |why| format!(" ({why})"))
}

pub(super) fn remove(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let is_expected =
        facts.spec.capacity_reservation == Some(true) || situation.made.contains(&MadeResource::MachineSets);
    match &facts.seen.capacity {
        // Who never asked for extra workers waits for none that cannot be seen.
        Err(Unread::Failed(_)) if !is_expected => StepOutcome::Done,
        Err(unread) => StepOutcome::unread(Need::Capacity, "MachineSets", unread),
        Ok(seen) => removal(facts, seen),
    }
}

fn removal(facts: &Facts, seen: &Capacity) -> StepOutcome {
    if seen.machines.is_empty() && seen.copies.is_empty() {
        return StepOutcome::Done;
    }
    let machines = seen.machines.iter().map(|machine| machine.name.as_str());
    let copies = seen.copies.iter().map(|copy| copy.name.as_str());
    let names: Vec<&str> = machines.chain(copies).collect();
    StepOutcome::Waiting(Some(format!(
        "waiting until extra machines are gone: {}{}",
        names.join(", "),
        refusal(facts)
    )))
}
