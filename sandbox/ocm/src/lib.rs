//! Stand-ins for what Open Cluster Management (OCM) does that an upgrade of clusters uses: registration, placement and the work
//! agent. They run against any API server that a [`kube_sandbox::access::Access`] reaches.

pub mod cel;
pub mod connection;
pub mod crds;
pub mod kinds;
pub mod names;
pub mod placement;
pub mod queue;
pub mod registration;
pub mod spokes;
pub mod work;
