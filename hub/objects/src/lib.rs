//! Kubernetes objects and the values that decisions are made of, in both directions. [`Fleet`] joins what is seen of all kinds into
//! one row a cluster for each upgrade; [`render_status`] and [`works`] write what was decided as objects. No I/O: the hub feeds a
//! [`Fleet`] from watches, the plugin from lists.

pub mod acceptance;
pub mod cluster;
mod details;
pub mod findings;
mod fleet;
mod forecast;
pub mod freeze_calendar;
pub mod hint;
pub mod placement;
pub mod record;
mod spec;
pub mod status;
pub mod upgrade;
pub mod works;

pub use acceptance::Ending;
pub use details::ClusterDetails;
pub use fleet::{
    Change, ClusterSchedule, Fleet, FleetKind, ForecastOnRecord, KindSelector, LookedAt, Planned,
    RefusedAction, StartSpan,
};
pub use forecast::{RolloutStart, forecast_error, forecast_status, has_start_forecast, without_forecast};
pub use spec::parse_spec;
pub use status::render_status;
