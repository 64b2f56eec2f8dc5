//! Insights of one cluster's update. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present
//! moment is passed in.
//!
//! [`facts`] are what is read of a cluster, or of [`objects`] in files; what could not be read is a fact, too. [`status`] says how an update proceeds, [`estimate`] how
//! long it will take, [`recommend`] which updates there are and what speaks against them. [`render`] writes both as `oc adm upgrade status`
//! and `oc adm upgrade recommend` do.

pub mod estimate;
pub mod facts;
pub mod insight;
pub mod objects;
pub mod recommend;
pub mod render;
pub mod status;
mod times;
