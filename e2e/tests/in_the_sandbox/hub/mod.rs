//! What people do on a hub, beside each other and at any time.

mod actions;
mod at_target;
mod feedback;
mod forecasts;
mod ownership;
mod refusals;
mod retries;
mod selection;
mod stale_plans;
mod status;
