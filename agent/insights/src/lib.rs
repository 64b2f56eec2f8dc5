//! Insights of one cluster's update. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present
//! moment is passed in.
