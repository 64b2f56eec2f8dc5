//! What runs the controllers of kinds that a cluster may not have.

pub(crate) mod changes;
pub(crate) mod control;
pub(crate) mod error;
pub(crate) mod follow;
pub(crate) mod presence;
pub(crate) mod write;
pub(crate) mod written;
