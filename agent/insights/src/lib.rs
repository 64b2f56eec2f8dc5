//! Insights of one cluster's update. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present
//! moment is passed in.
//!
//! [`facts`] are what is read of a cluster, or of [`objects`] in files; what could not be read is a fact, too. [`status`] says how an update proceeds, [`estimate`] how
//! long it will take, [`recommend`] which updates there are and what speaks against them. [`render`] writes both as `oc adm upgrade status`
//! and `oc adm upgrade recommend` do.
//!
//! [`hooks`] reads what informers answer, and [`identity`] says who a finding is; [`merge`] keeps what each informer has found, and
//! [`update_status`] puts it together. [`plan`] decides about updates that are planned: what is asked, accepted and pruned, and whether one may
//! start. [`cluster`] reads what OpenShift's objects say. [`online`] says how an informer is doing, and
//! [`built_in`] are the agent's own. [`pre_checks`] is what is said of all this to who wants to start an update, and [`start`] whether that may be.

pub mod built_in;
pub mod cluster;
pub mod estimate;
pub mod facts;
pub mod finding;
pub mod hooks;
pub mod identity;
mod informer_name;
pub mod insight;
pub mod merge;
pub mod metrics;
pub mod objects;
pub mod online;
pub mod plan;
pub mod pre_checks;
pub mod recommend;
pub mod render;
pub mod start;
pub mod status;
mod thresholds;
mod times;
pub mod update_status;

pub use informer_name::{InformerName, InvalidInformerName};
