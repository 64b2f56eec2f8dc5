//! The hub controller: reconciles ManagedClustersUpgrade.
