//! Wire types of Drydock and of the systems it meets: Open Cluster Management, OpenShift.
