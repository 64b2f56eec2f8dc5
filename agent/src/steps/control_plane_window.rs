//! CreateControlPlaneMaintWindow and RemoveControlPlaneMaintWindow: lesser alerts are silent while the control plane is
//! upgraded (agent 3, steps 7 and 10).

use super::{Command, Need, Situation, Step, Verdict, control_plane};
use crate::silences;

pub(crate) const CREATE: Step = Step {
    condition: "ControlPlaneMaintenanceWindowCreated",
    precedes_commencement: false,
    once: false,
    decide: create,
};

pub(crate) const REMOVE: Step = Step {
    condition: "ControlPlaneMaintenanceWindowRemoved",
    precedes_commencement: false,
    once: true,
    decide: |situation| super::end_silences(situation, silences::CONTROL_PLANE),
};

fn create(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if control_plane::is_upgraded(situation) {
        return Verdict::Done;
    }
    match &facts.seen.silences {
        None => Verdict::Needs(Need::Silences),
        Some(Err(why)) => Verdict::Waiting(Some(format!("silences cannot be made: {why}"))),
        Some(Ok(silences)) => {
            let version = situation.version();
            match silences::for_control_plane(version, &facts.configuration, silences, facts.now) {
                Some(change) => Verdict::Asks(Command::Silence(change)),
                None => Verdict::Done,
            }
        }
    }
}
