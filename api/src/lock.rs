//! The lock of a cluster: one upgrade at a time, whoever makes it (Maintenance schedules, section 2.7). It is an annotation on OpenShift's
//! ClusterVersion, the original's, that says who has it. A second one, ours, repeats that and adds the UID: where the two differ, a
//! program that does not know the second one took the lock since.

use std::collections::BTreeMap;

use crate::names::{UPGRADE_LOCK_ANNOTATION, UPGRADE_LOCK_OWNER_ANNOTATION};

/// Who takes the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockKey {
    /// Who. An UpgradeJob is written as the original writes it, `namespace/name`.
    pub holder: String,
    /// The UID of the object.
    pub uid: String,
}

/// What the holder of an UpgradeConfig of `upgrade.managed.openshift.io` begins with.
const UPGRADE_CONFIG: &str = "upgradeconfig.upgrade.managed.openshift.io/";

impl LockKey {
    /// The key of an UpgradeConfig of `upgrade.managed.openshift.io`. A namespace has no dot, so that it cannot be mistaken for that of an
    /// UpgradeJob.
    pub fn of_upgrade_config(name: &str, uid: &str) -> Self {
        Self {
            holder: format!("{UPGRADE_CONFIG}{name}"),
            uid: uid.to_owned(),
        }
    }

    /// The name of the UpgradeConfig of `upgrade.managed.openshift.io` that has the lock, if one has.
    pub fn upgrade_config(holder: &str) -> Option<&str> {
        holder
            .strip_prefix(UPGRADE_CONFIG)
            .filter(|name| !name.is_empty())
    }

    /// The value of the second annotation.
    pub fn owner(&self) -> String {
        format!("{} {}", self.holder, self.uid)
    }
}

/// Who has the lock, by the annotations of ClusterVersion.
pub fn holder(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let holder = annotations.get(UPGRADE_LOCK_ANNOTATION);
    holder.map(String::as_str).filter(|holder| !holder.is_empty())
}

/// Namespace and name of the UpgradeJob that has the lock, if one has: a namespace has no dot.
pub fn upgrade_job(holder: &str) -> Option<(&str, &str)> {
    let (namespace, name) = holder.split_once('/')?;
    let is_job = !namespace.is_empty() && !namespace.contains('.') && !name.is_empty() && !name.contains('/');
    is_job.then_some((namespace, name))
}

/// Who has the lock, for people.
pub fn describe(holder: &str) -> String {
    const LONGEST: usize = 120;
    if let Some(name) = LockKey::upgrade_config(holder) {
        return format!("UpgradeConfig {name} of upgrade.managed.openshift.io");
    }
    if let Some((namespace, name)) = upgrade_job(holder) {
        return format!("UpgradeJob {namespace}/{name}");
    }
    let unknown: String = holder.chars().take(LONGEST).collect();
    format!("{unknown:?} (unknown: remove the annotation if nobody upgrades the cluster)")
}

/// The UID of who has the lock, where it is known.
pub fn holder_uid(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let holder = holder(annotations)?;
    let (owner, uid) = annotations.get(UPGRADE_LOCK_OWNER_ANNOTATION)?.split_once(' ')?;
    (owner == holder).then_some(uid)
}
