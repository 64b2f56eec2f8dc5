//! Stand-ins for Open Cluster Management: placement, work agent, works by the set, registration, add-ons.

pub mod cel;
pub mod condition;
pub mod connection;
pub mod kinds;
pub mod names;
pub mod object;
pub mod placement;
pub mod queue;
pub mod registration;
pub mod replica_set;
pub mod selector;
pub mod spokes;
pub mod work;
