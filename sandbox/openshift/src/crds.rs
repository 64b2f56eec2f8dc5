//! CustomResourceDefinitions of OpenShift, of the operator lifecycle manager and of monitoring for a server to which nobody has given
//! the real ones. Scope, names, columns, subresources, list types and the defaults that a client can see are the real ones'; all fields
//! are accepted and kept.

/// What a cluster has. YAML.
pub const CLUSTER: &[&str] = &[
    include_str!("../crds/catalogsources.yaml"),
    include_str!("../crds/clusteroperators.yaml"),
    include_str!("../crds/clusterserviceversions.yaml"),
    include_str!("../crds/clusterversions.yaml"),
    include_str!("../crds/etcds.yaml"),
    include_str!("../crds/installplans.yaml"),
    include_str!("../crds/machineconfigpools.yaml"),
    include_str!("../crds/machines.yaml"),
    include_str!("../crds/machinesets.yaml"),
    include_str!("../crds/prometheusrules.yaml"),
    include_str!("../crds/subscriptions.yaml"),
];
