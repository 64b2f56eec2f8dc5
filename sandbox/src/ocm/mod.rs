//! Stand-ins for Open Cluster Management: placement, work agent, registration, add-ons.

pub mod cel;
pub mod condition;
pub mod connection;
pub mod feeder;
pub mod kinds;
pub mod names;
pub mod object;
pub mod placement;
pub mod registration;
pub mod selector;
pub mod work;
