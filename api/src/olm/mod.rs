//! The kinds of the Operator Lifecycle Manager on a managed cluster: which operator is wanted, which bundle installs it,
//! and how the installed one is.

pub mod catalog_source;
pub mod cluster_service_version;
pub mod install_plan;
pub mod subscription;

pub use catalog_source::CatalogSource;
pub use cluster_service_version::ClusterServiceVersion;
pub use install_plan::InstallPlan;
pub use subscription::Subscription;
