//! EnsureExtraUpgradeWorkers and RemoveExtraScaledNodes: capacity for the pods of nodes that are drained. The
//! MachineSets themselves are made and removed by what is wanted, see [`crate::wanted`].

use drydock_api::upgradeconfig::MadeResource;
use jiff::SignedDuration;

use super::{Situation, Verdict};
use crate::capacity::{self, Capacity, CapacityDecision};
use crate::facts::{Facts, Need, Unread, Write};
use crate::notification::Event;

pub(super) fn ensure(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if facts.spec.capacity_reservation != Some(true) {
        return Verdict::Done;
    }
    let patience = SignedDuration::from_mins(facts.configuration.scale.time_out);
    let reservation = match &facts.seen.capacity {
        Err(Unread::NotAsked) => return Verdict::Needs(Need::Capacity),
        Err(Unread::Failed(why)) if facts.now > situation.began + patience => {
            CapacityDecision::TooLate(format!("MachineSets cannot be read: {why}"))
        }
        Err(unread) => return Verdict::unread(Need::Capacity, "MachineSets", unread),
        Ok(seen) => capacity::reserve(seen, patience, situation.began, facts.now),
    };
    match reservation {
        CapacityDecision::Nothing => Verdict::DoneWith(
            Event::ScaleSkipped,
            "there is no MachineSet of workers to copy: the upgrade goes on without extra workers".to_owned(),
        ),
        CapacityDecision::Waits(why) => Verdict::Waiting(Some(format!(
            "waiting for extra workers: {why}{}",
            refusal(facts)
        ))),
        CapacityDecision::TooLate(why) => Verdict::DoneWith(
            Event::Skipped,
            format!(
                "the upgrade goes on without all extra workers, which did not come in time: {why}{}",
                refusal(facts)
            ),
        ),
        CapacityDecision::Ready => Verdict::Done,
    }
}

fn refusal(facts: &Facts) -> String {
    let refusal = facts.refusals.get(&Write::MachineSet);
    refusal.map_or_else(String::new, |why| format!(" ({why})"))
}

pub(super) fn remove(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let is_expected =
        facts.spec.capacity_reservation == Some(true) || situation.made.contains(&MadeResource::MachineSets);
    match &facts.seen.capacity {
        // Who never asked for extra workers waits for none that cannot be seen.
        Err(Unread::Failed(_)) if !is_expected => Verdict::Done,
        Err(unread) => Verdict::unread(Need::Capacity, "MachineSets", unread),
        Ok(seen) => removal(facts, seen),
    }
}

fn removal(facts: &Facts, seen: &Capacity) -> Verdict {
    if seen.machines.is_empty() && seen.copies.is_empty() {
        return Verdict::Done;
    }
    let machines = seen.machines.iter().map(|machine| machine.name.as_str());
    let copies = seen.copies.iter().map(|copy| copy.name.as_str());
    let names: Vec<&str> = machines.chain(copies).collect();
    Verdict::Waiting(Some(format!(
        "waiting until extra machines are gone: {}{}",
        names.join(", "),
        refusal(facts)
    )))
}
