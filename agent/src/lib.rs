//! The per-cluster agent: runs UpgradeConfig.
