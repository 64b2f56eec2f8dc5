//! The steps of Azure Red Hat OpenShift.

use crate::steps::{
    Step, commence, completed_notification, control_plane, control_plane_window, dependencies, extra_workers,
    health_check, started_notification, workers, workers_window,
};

pub(super) const STEPS: &[Step] = &[
    started_notification::STEP,
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
    completed_notification::STEP,
];
