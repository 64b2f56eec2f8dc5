//! Extra workers for the time of an upgrade: which MachineSets are copied, how a copy looks, and
//! whether its machine serves.

use drydock_api::machine_api::{MachineSet, NAMESPACE};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::{Value, json};

/// The label of Hive that names the pool to which a MachineSet belongs.
pub const POOL_LABEL: &str = "hive.openshift.io/machine-pool";
/// The label of our copies, of their machines, too.
pub const UPGRADE_LABEL: &str = "upgrade.managed.openshift.io";
/// The label by which a MachineSet finds its machines.
pub const SET_LABEL: &str = "machine.openshift.io/cluster-api-machineset";
/// What the name of a copy has more than the original's.
const SUFFIX: &str = "-upgrade";
/// Annotations by which the autoscaler takes a MachineSet for its own.
const AUTOSCALER: &str = "machine.openshift.io/cluster-api-autoscaler-node-group-";

/// What there is of extra capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    /// The MachineSets that may be copied.
    pub originals: Vec<MachineSet>,
    /// Our copies.
    pub copies: Vec<Extra>,
    /// Our copies' machines that are there.
    pub machines: Vec<ExtraMachine>,
}

/// A copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub is_deleting: bool,
}

/// A machine of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraMachine {
    /// Its name.
    pub name: String,
    /// The copy that it belongs to.
    pub set: Option<String>,
    /// The node that it has become.
    pub node: Option<String>,
    /// Whether that node is Ready.
    pub is_ready: bool,
    /// Why it will never be.
    pub failure: Option<String>,
}

/// How far extra workers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapacityDecision {
    /// There is no MachineSet of workers.
    Nothing,
    /// This is waited for.
    Waits(String),
    /// They did not come in time; this is missing.
    TooLate(String),
    /// All serve.
    Ready,
}

/// Whether a pool is among `globs`.
fn matches(globs: &[String], pool: &str) -> bool {
    globs
        .iter()
        .filter_map(|glob| crate::configuration::pattern(glob).ok())
        .any(|pattern| pattern.matches(pool))
}

/// Whether a MachineSet is one of workers that may be copied.
pub fn is_original(set: &MachineSet, globs: &[String]) -> bool {
    let labels = set.labels();
    let pool = labels.get(POOL_LABEL).map(String::as_str);
    !labels.contains_key(UPGRADE_LABEL) && pool.is_some_and(|pool| pool == "worker" || matches(globs, pool))
}

/// The copies that are missing.
pub fn missing_copies(capacity: &Capacity) -> Vec<MachineSet> {
    let is_missing = |original: &&MachineSet| {
        let name = copy_name(original);
        capacity.copies.iter().all(|copy| copy.name != name)
    };
    capacity.originals.iter().filter(is_missing).map(copy).collect()
}

/// How far they are. `timeout` counts from `began`, or from when the youngest copy was made.
pub fn reserve(
    capacity: &Capacity,
    timeout: SignedDuration,
    began: Timestamp,
    now: Timestamp,
) -> CapacityDecision {
    if capacity.originals.is_empty() {
        return CapacityDecision::Nothing;
    }
    let lacking = |copy: &Extra| Some(format!("{}: {}", copy.name, missing(capacity, copy)?));
    let mut lacking: Vec<String> = capacity.copies.iter().filter_map(lacking).collect();
    let absent = missing_copies(capacity);
    lacking.extend(
        absent
            .iter()
            .map(|copy| format!("{}: it is not made yet", copy.name_any())),
    );
    let youngest = capacity.copies.iter().map(|copy| copy.created).max();
    let since = youngest.map_or(began, |youngest| youngest.max(began));
    match lacking.join("; ") {
        lacking if lacking.is_empty() => CapacityDecision::Ready,
        lacking if now > since + timeout => CapacityDecision::TooLate(lacking),
        lacking => CapacityDecision::Waits(lacking),
    }
}

/// What a copy lacks.
fn missing(capacity: &Capacity, copy: &Extra) -> Option<String> {
    let mut machines = capacity
        .machines
        .iter()
        .filter(|machine| machine.set.as_deref() == Some(&copy.name));
    let Some(machine) = machines.next() else {
        return Some("it has no machine yet".to_owned());
    };
    if machine.is_ready {
        return None;
    }
    Some(match (&machine.failure, &machine.node) {
        (Some(failure), _) => format!("machine {} failed: {failure}", machine.name),
        (None, None) => format!("machine {} has no node yet", machine.name),
        (None, Some(node)) => format!("node {node} is not Ready"),
    })
}

fn copy_name(original: &MachineSet) -> String {
    format!("{}{SUFFIX}", original.name_any())
}

/// The copy of a MachineSet: one replica, with labels by which it and its machines are known as ours.
fn copy(original: &MachineSet) -> MachineSet {
    let name = copy_name(original);
    let mut copy = MachineSet::default();
    copy.metadata.name = Some(name.clone());
    copy.metadata.namespace = Some(NAMESPACE.to_owned());
    copy.labels_mut()
        .insert(UPGRADE_LABEL.to_owned(), "true".to_owned());
    let kept = original
        .annotations()
        .iter()
        .filter(|(key, _)| !key.starts_with(AUTOSCALER) && !key.starts_with("kubectl.kubernetes.io/"));
    copy.annotations_mut()
        .extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    copy.spec = original.spec.clone();
    copy.spec.replicas = Some(1);
    let ours = json!({UPGRADE_LABEL: "true", SET_LABEL: name});
    for path in [
        &["selector", "matchLabels"][..],
        &["template", "metadata", "labels"][..],
    ] {
        let first = copy.spec.other.entry(path[0].to_owned());
        let mut at = first.or_insert_with(|| json!({}));
        for step in &path[1..] {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[*step];
        }
        merge(at, &ours);
    }
    copy
}

fn merge(into: &mut Value, labels: &Value) {
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in labels.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

#[cfg(test)]
mod tests;
