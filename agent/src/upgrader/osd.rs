//! The steps of OpenShift Dedicated and ROSA.

use crate::steps::{
    Step, commence, completed_notification, control_plane, control_plane_window, delayed_check, dependencies,
    extra_workers, health_check, post_procedures, started_notification, upgradeable, workers, workers_window,
};

pub(super) const STEPS: &[Step] = &[
    started_notification::STEP,
    delayed_check::STEP,
    upgradeable::STEP,
    health_check::BEFORE,
    dependencies::STEP,
    extra_workers::ENSURE,
    control_plane_window::CREATE,
    commence::STEP,
    control_plane::STEP,
    control_plane_window::REMOVE,
    workers_window::CREATE,
    workers::STEP,
    extra_workers::REMOVE,
    workers_window::REMOVE,
    health_check::AFTER,
    post_procedures::STEP,
    completed_notification::STEP,
];
