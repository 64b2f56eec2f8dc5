//! The Operator Lifecycle Manager's part on a cluster: catalogs in ConfigMaps, Subscriptions, InstallPlans and
//! ClusterServiceVersions. What it does follows from the objects there are; nothing is remembered between two looks.
//!
//! As in the real one, an InstallPlan is for all Subscriptions of its namespace that have an upgrade, waits for approval
//! if any Subscription there is `Manual`, and is `Complete` before the operators that it installs run.

mod catalog;
mod controller;
mod decide;
mod kinds;
mod objects;
mod version;

pub use catalog::{FAILS_ANNOTATION, catalog_data};
pub use controller::run;
