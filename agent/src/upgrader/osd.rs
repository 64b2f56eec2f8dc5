//! The steps of OpenShift Dedicated and ROSA.

use crate::steps::{
    Step, commence, completed_notification, control_plane, delayed_check, health_check, started_notification,
    upgradeable, workers,
};

pub(super) const STEPS: &[Step] = &[
    started_notification::STEP,
    delayed_check::STEP,
    upgradeable::STEP,
    health_check::BEFORE,
    commence::STEP,
    control_plane::STEP,
    workers::STEP,
    health_check::AFTER,
    completed_notification::STEP,
];
