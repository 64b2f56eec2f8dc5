//! A hub and simulated OpenShift clusters put together: what the demo, the sandbox and the suites start.
//! Binds to loopback only; every run is deterministic from its seed.

pub mod local_fleet;
pub mod test_env;
