//! The kinds that the lifecycle manager reads and writes.

use kube_sandbox::access::Kind;

const GROUP: &str = "operators.coreos.com";

/// A catalog of operators.
pub(super) static CATALOG_SOURCE: Kind =
    Kind::new(GROUP, "v1alpha1", "CatalogSource", "catalogsources", true);
/// An operator that is wanted.
pub(super) static SUBSCRIPTION: Kind = Kind::new(GROUP, "v1alpha1", "Subscription", "subscriptions", true);
/// Bundles that are installed together.
pub(super) static INSTALL_PLAN: Kind = Kind::new(GROUP, "v1alpha1", "InstallPlan", "installplans", true);
/// One version of an operator.
pub(super) static CLUSTER_SERVICE_VERSION: Kind = Kind::new(
    GROUP,
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
    true,
);
/// What a catalog of type `configmap` is made of.
pub(super) static CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
