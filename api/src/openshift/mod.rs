//! OpenShift's kinds on a managed cluster: which release it runs, how its operators and its pools of nodes are.

pub mod api_request_count;
pub mod cluster_operator;
pub mod cluster_version;
pub mod etcd;
pub mod machine_config;
pub mod machine_config_pool;
pub mod release_request;

pub use api_request_count::APIRequestCount;
pub use cluster_operator::ClusterOperator;
pub use cluster_version::ClusterVersion;
pub use etcd::Etcd;
pub use machine_config::MachineConfig;
pub use machine_config_pool::MachineConfigPool;
