//! Subscription: an operator that is wanted, and kept at the newest version of a channel.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// An operator that is wanted.
    Subscription, "operators.coreos.com", "v1alpha1", "subscriptions", NamespaceResourceScope,
    spec: SubscriptionSpec, status: SubscriptionStatus
);

/// Which operator, from where, and who approves its upgrades.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubscriptionSpec {
    /// The package.
    pub name: String,
    /// Its channel; absent means the package's default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// `Automatic` or `Manual`; absent means Automatic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_plan_approval: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Which versions are installed and on their way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubscriptionStatus {
    /// `UpgradeAvailable`, `UpgradePending`, `AtLatestKnown`, `UpgradeFailed`; empty before the first installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The version that is wanted now.
    #[serde(rename = "currentCSV", skip_serializing_if = "Option::is_none")]
    pub current_csv: Option<String>,
    /// The version that is there.
    #[serde(rename = "installedCSV", skip_serializing_if = "Option::is_none")]
    pub installed_csv: Option<String>,
    /// The InstallPlan that brings `currentCSV`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_plan_ref: Option<InstallPlanReference>,
    /// `CatalogSourcesUnhealthy`, `InstallPlanPending`, `InstallPlanFailed`.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// An InstallPlan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InstallPlanReference {
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
