//! CatalogSource: where operators come from.

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// A catalog of operators.
    CatalogSource, "operators.coreos.com", "v1alpha1", "catalogsources", NamespaceResourceScope,
    spec: Fields, status: Fields
);
