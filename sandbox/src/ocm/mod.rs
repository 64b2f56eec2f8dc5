//! Stand-ins for Open Cluster Management: placement, work agent, registration, add-ons.

pub mod cel;
pub mod condition;
pub mod names;
pub mod object;
pub mod placement;
pub mod selector;
pub mod work;
