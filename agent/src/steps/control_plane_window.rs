//! CreateControlPlaneMaintWindow and RemoveControlPlaneMaintWindow: lesser alerts are silent while the control plane is
//! upgraded (agent 3, steps 7 and 10).

use super::{Situation, Step, Verdict, control_plane};
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
    super::change_silences(situation, |silences| {
        silences::for_control_plane(situation.version(), &facts.configuration, silences, facts.now)
    })
}
