//! CreateControlPlaneMaintWindow and RemoveControlPlaneMaintWindow: lesser alerts are silent while the control plane is
//! upgraded. The silences themselves follow from what is wanted, see [`crate::wanted`].

use super::{Situation, Verdict};
use crate::facts::{Need, Write};
use crate::silences::{self, CONTROL_PLANE};

pub(super) fn create(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    // Once it has commenced, silences are no reason to stop.
    if facts.has_commenced(situation.target) {
        return Verdict::Done;
    }
    let wanted = silences::for_control_plane(
        situation.version(),
        &facts.configuration,
        situation.began,
        facts.now,
    );
    match &facts.seen.silences {
        Err(unread) => Verdict::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let is_there = wanted.iter().all(|wanted| {
                let mut same = known.iter().filter(|silence| silence.comment == wanted.comment);
                same.any(|silence| silences::any_active(std::slice::from_ref(silence), facts.now))
            });
            if is_there {
                Verdict::Done
            } else {
                Verdict::Waiting(facts.refusals.get(&Write::Silence).cloned())
            }
        }
    }
}

pub(super) fn remove(situation: &Situation<'_>) -> Verdict {
    ended(situation, CONTROL_PLANE)
}

/// Whether no silence with `marker` is left.
pub(super) fn ended(situation: &Situation<'_>, marker: &str) -> Verdict {
    let facts = situation.facts;
    match &facts.seen.silences {
        Err(unread) => Verdict::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let mut ours = known.iter().filter(|silence| silence.comment.contains(marker));
            if ours.any(|silence| silences::any_active(std::slice::from_ref(silence), facts.now)) {
                Verdict::Waiting(facts.refusals.get(&Write::Silence).cloned())
            } else {
                Verdict::Done
            }
        }
    }
}
