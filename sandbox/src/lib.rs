//! An in-memory Kubernetes API server, stand-ins for Open Cluster Management, and simulated OpenShift clusters.
