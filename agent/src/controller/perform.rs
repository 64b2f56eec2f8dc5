//! Does what a decision asks for. What is refused is remembered for the next pass, whose conditions say it; one write that
//! cannot be made does not keep the others from being made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use drydock_engine::command::Command;
use drydock_engine::drains::Action;
use drydock_engine::facts::{Observation, Unread, Write};
use drydock_engine::silences::SilenceChange;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::reconcile::ReconcileError;
use super::{Shared, write};
use crate::monitoring::MonitoringError;
use crate::update_plan;

/// How often drains are checked.
const DRAIN_CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(55);

/// When drains were last checked.
#[derive(Debug, Default)]
pub(super) struct LastDrainCheck(Mutex<Option<Timestamp>>);

impl LastDrainCheck {
    /// Whether it is time again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| now.duration_since(last) >= DRAIN_CHECK_INTERVAL)
    }

    /// Notes that drains were checked, if they were.
    pub fn note(&self, seen: &Observation) {
        if seen.drain_check_due && !matches!(seen.seen.nodes, Err(Unread::NotAsked)) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.now);
        }
    }
}

/// The writes that were refused when they were last tried.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<BTreeMap<Write, String>>);

impl Refusals {
    /// All of them, with their words.
    pub fn known(&self) -> BTreeMap<Write, String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a refusal.
    pub fn note(&self, write: Write, why: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(write, why.to_owned());
    }

    /// Forgets those that were not refused this time: asked for and made, or not wanted any more.
    fn keep(&self, refused: &BTreeSet<Write>, asked: &BTreeSet<Write>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Pods are not looked at in each pass.
        known.retain(|write, _| refused.contains(write) || (*write == Write::Pod && !asked.contains(write)));
    }
}

/// Does all of it.
///
/// # Errors
/// The first that could not be done.
pub(super) async fn all(shared: &Shared, commands: &[Command]) -> Result<(), ReconcileError> {
    let mut first = Ok(());
    let mut refused = BTreeSet::new();
    for command in commands {
        let Err(error) = one(shared, command).await else {
            continue;
        };
        // That an object has changed since is nothing to show: the next pass sees it as it is.
        if let ReconcileError::Write {
            is_conflict: false, ..
        } = &error
        {
            shared.refusals.note(command.write(), &error.to_string());
            refused.insert(command.write());
        }
        if first.is_ok() {
            first = Err(error);
        }
    }
    let asked = commands.iter().map(Command::write).collect();
    shared.refusals.keep(&refused, &asked);
    first
}

async fn one(shared: &Shared, command: &Command) -> Result<(), ReconcileError> {
    let client = &shared.context.client;
    let (what, done) = match command {
        Command::TakeLock(key) => (
            "the lock of the cluster into ClusterVersion".to_owned(),
            write::lock(client, shared.cache.version().as_deref(), Some(key)).await,
        ),
        Command::ReleaseLock => (
            "the end of the lock of the cluster into ClusterVersion".to_owned(),
            write::lock(client, shared.cache.version().as_deref(), None).await,
        ),
        Command::SetChannel(channel) => (
            "the channel into ClusterVersion".to_owned(),
            write::channel(client, shared.cache.version().as_deref(), channel).await,
        ),
        Command::SetDesiredUpdate { version, image } => (
            "the desired update into ClusterVersion".to_owned(),
            write::desired_update(
                client,
                shared.cache.version().as_deref(),
                version.as_deref(),
                image.as_deref(),
            )
            .await,
        ),
        Command::SetVersion { version, image } => (
            "the version of the image into the UpgradeConfig".to_owned(),
            write::version_of_image(client, &shared.latest, version, image).await,
        ),
        Command::Silence(change) => {
            return silence(shared, change)
                .await
                .map_err(|error| ReconcileError::Write {
                    what: "a silence of Alertmanager".to_owned(),
                    why: error.to_string(),
                    is_conflict: false,
                });
        }
        Command::CreateMachineSet(set) => (
            format!("MachineSet {} for extra workers", set.name_any()),
            write::create_machine_set(client, set).await,
        ),
        Command::DeleteMachineSet(name) => (
            format!("the deletion of MachineSet {name}"),
            write::delete_machine_set(client, name).await,
        ),
        Command::ReinitializeFileIntegrity(version) => (
            "the annotation of FileIntegrity osd-fileintegrity".to_owned(),
            write::reinitialize_file_integrity(client, version).await,
        ),
        Command::RequestUpdatePlan { update, asker } => (
            format!("the UpdatePlan of {}", update.version),
            update_plan::request(client, update, *asker, shared.context.clock.now()).await,
        ),
        Command::ActOnPods(actions) => (
            "pods that block drains".to_owned(),
            act_on_pods(shared, actions).await,
        ),
    };
    done.map_err(|error| ReconcileError::Write {
        what,
        why: write::words(&error),
        is_conflict: matches!(&error, kube::Error::Api(refusal) if refusal.is_conflict()),
    })
}

async fn silence(shared: &Shared, change: &SilenceChange) -> Result<(), MonitoringError> {
    let monitoring = &shared.context.monitoring;
    let now = shared.context.clock.now();
    match change {
        SilenceChange::Create(wanted) => monitoring.silence(None, wanted, now).await,
        SilenceChange::Renew { id, since, wanted } => monitoring.silence(Some(id), wanted, *since).await,
        SilenceChange::Expire(id) => monitoring.expire(id).await,
    }
}

/// Removes what blocks drains. A failure about one pod does not stop the others.
async fn act_on_pods(shared: &Shared, actions: &[Action]) -> Result<(), kube::Error> {
    let mut first = Ok(());
    for action in actions {
        let (pod, node) = (&action.pod, &action.pod.node);
        let (object, strategy) = (format!("{}/{}", pod.namespace, pod.name), action.strategy.name());
        match write::act_on_pod(&shared.context.client, action).await {
            Ok(()) => tracing::info!(object, node, strategy, "a pod that blocks a drain was acted on"),
            Err(error) => {
                let shown: &dyn std::error::Error = &error;
                tracing::warn!(
                    object,
                    node,
                    strategy,
                    error = shown,
                    "a pod that blocks a drain could not be acted on"
                );
                if first.is_ok() {
                    first = Err(error);
                }
            }
        }
    }
    first
}
