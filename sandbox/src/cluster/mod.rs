//! A model of an OpenShift cluster: version operator, machine config operator, nodes, jobs.
