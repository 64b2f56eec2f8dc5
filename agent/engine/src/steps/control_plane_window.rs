//! CreateControlPlaneMaintWindow and RemoveControlPlaneMaintWindow: lesser alerts are silent while the control plane is
//! upgraded. The silences themselves follow from what is wanted, see [`crate::wanted`].

use super::{StepContext, StepOutcome};
use crate::facts::{Need, Write};
use crate::silences::{self, CONTROL_PLANE};

pub(super) fn create(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    // Once it has commenced, silences are no reason to stop.
    if facts.has_commenced(situation.target) {
        return StepOutcome::Done;
    }
    let wanted = silences::for_control_plane(
        situation.version(),
        &facts.configuration,
        situation.began,
        facts.now,
    );
    match &facts.seen.silences {
        Err(unread) => StepOutcome::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let is_there = wanted.iter().all(|wanted| {
                let mut same = known.iter().filter(|silence| silence.comment == wanted.comment);
                same.any(|silence| silences::any_active(std::slice::from_ref(silence), facts.now))
            });
            if is_there {
                StepOutcome::Done
            } else {
                StepOutcome::Waiting(facts.refusals.get(&Write::Silence).cloned())
            }
        }
    }
}

pub(super) fn remove(situation: &StepContext<'_>) -> StepOutcome {
    ended(situation, CONTROL_PLANE)
}

/// Whether no silence with `marker` is left.
pub(super) fn ended(situation: &StepContext<'_>, marker: &str) -> StepOutcome {
    let facts = situation.facts;
    match &facts.seen.silences {
        Err(unread) => StepOutcome::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let mut ours = known.iter().filter(|silence| silence.comment.contains(marker));
            if ours.any(|silence| silences::any_active(std::slice::from_ref(silence), facts.now)) {
                StepOutcome::Waiting(facts.refusals.get(&Write::Silence).cloned())
            } else {
                StepOutcome::Done
            }
        }
    }
}
