//! The steps of Azure Red Hat OpenShift.

use crate::steps::{
    Step, commence, completed_notification, control_plane, health_check, started_notification, workers,
};

pub(super) const STEPS: &[Step] = &[
    started_notification::STEP,
    health_check::BEFORE,
    commence::STEP,
    control_plane::STEP,
    workers::STEP,
    health_check::AFTER,
    completed_notification::STEP,
];
