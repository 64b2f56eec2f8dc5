//! The series about maintenance schedules (Maintenance schedules, sections 5 and 11). All but the counters are computed from the objects
//! when they are scraped.
//!
//! Names and labels are the original's, with the namespace of the object after them: it has none, and two objects of the same name
//! make its series ambiguous. What there is no object of has no series, and breaks no other.

mod cluster_version;
mod config;
mod machine;
mod suspension_window;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{force_drain, job};

pub use cluster_version::of_cluster_version;
pub use config::of_config;
pub use drydock_api::metrics::{Family, FamilyKind, Sample};
pub use machine::of_machines;
pub use suspension_window::of_window;

/// All families.
pub const FAMILIES: &[&Family] = &[
    &config::INFO,
    &config::PIN_VERSION_WINDOW,
    &config::NEXT_SCHEDULE,
    &config::READY,
    &config::CREATED,
    &config::LAST_SUCCESS,
    &suspension_window::INFO,
    &suspension_window::START,
    &suspension_window::END,
    &suspension_window::MATCHING_CONFIG,
    &cluster_version::INFO,
    &cluster_version::OVERLAY,
    &job::metrics::CLUSTER_UPGRADING,
    &job::metrics::POOLS_UPGRADING,
    &job::metrics::POOLS_PAUSED,
    &job::metrics::POOL_MACHINES,
    &job::metrics::POOL_UPDATED_MACHINES,
    &job::metrics::STATE,
    &job::metrics::START_AFTER,
    &job::metrics::START_BEFORE,
    &job::metrics::WAITING,
    &job::metrics::HOOK_STATE,
    &machine::INFO,
    &force_drain::metrics::NODE_DRAINING,
    &force_drain::metrics::POD_DELETIONS,
    &force_drain::metrics::POD_TERMINATIONS,
];

pub(crate) fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

pub(crate) fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64
}

/// Name and namespace, the values of the labels that identify an object.
pub(crate) fn key(metadata: &ObjectMeta) -> [&str; 2] {
    [
        metadata.name.as_deref().unwrap_or_default(),
        metadata.namespace.as_deref().unwrap_or_default(),
    ]
}
