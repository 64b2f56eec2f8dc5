//! CustomResourceDefinitions of Open Cluster Management for a server to which nobody has given the real ones. Scope, names, columns,
//! subresources, list types and the defaults that a client can see are the real ones'; all fields are accepted and kept.

/// What a hub has: clusters and their sets, placements, add-ons and works. YAML.
pub const HUB: &[&str] = &[
    include_str!("../crds/managedclusters.yaml"),
    include_str!("../crds/managedclustersets.yaml"),
    include_str!("../crds/managedclustersetbindings.yaml"),
    include_str!("../crds/placements.yaml"),
    include_str!("../crds/placementdecisions.yaml"),
    include_str!("../crds/managedclusteraddons.yaml"),
    include_str!("../crds/manifestworks.yaml"),
];

/// What the work agent keeps on a spoke. YAML.
pub const SPOKE: &[&str] = &[include_str!("../crds/appliedmanifestworks.yaml")];
