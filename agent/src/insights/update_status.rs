//! The controller of the UpdateStatus (insights.md, section 1.5). Informers are asked while an update is under way, and until everything
//! that they have left unresolved is; else it costs no request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::hooks::{Hook, InsightsRequestSpec};
use drydock_api::insights::{FailurePolicy, InformerState, UpdateInformer, UpdateStatus, UpdateStatusStatus};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_insights::InformerName;
use drydock_insights::built_in::{BuiltIn, Question};
use drydock_insights::cluster;
use drydock_insights::merge::{Attempt, Stage, end_of_grace, merge};
use drydock_insights::update_status::{
    ControlPlaneProgress, MAX_INFORMERS, Observed, Records, assemble, records,
};
use drydock_runtime::pages::list_all;
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Resource, ResourceExt};
use tokio_util::sync::CancellationToken;

use super::cluster_objects::KeptPods;
use super::question::{Questioner, by_name, is_wait};
use super::watches::Seen;
use super::{AT_ONCE, Context, IDLE, MOST_SLOW, built_in, write};
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::presence::Presence;
use crate::reconcile::written::Changed;
use crate::refusal;

/// How often informers are asked while the cluster is updated (insights.md, section 1.9, row 14).
const BUSY: SignedDuration = SignedDuration::from_secs(30);
/// How often the agent's own informers look while the cluster is updated: what they find is reported by conditions that last longer.
const OWN: SignedDuration = SignedDuration::from_secs(60);
/// After how long an informer is asked again that says Wait.
const WAIT: SignedDuration = SignedDuration::from_secs(5);
/// The operator that renders the configurations of nodes.
const MACHINE_CONFIG: &str = "machine-config";

/// What the controller has.
pub(super) struct UpdateStatuses {
    pub context: Context,
    pub seen: Seen,
    pub presence: Presence,
    pub questioner: Questioner,
    /// Pods that budgets keep.
    pub kept: KeptPods,
    /// Whether the agent's own informers are asked.
    pub has_built_in: bool,
    pub changed: Changed<UpdateStatus>,
    pub shutdown: CancellationToken,
    /// When each informer is to be asked next.
    pub due: Mutex<BTreeMap<InformerName, Timestamp>>,
    /// What was read last of nodes and operators, and when.
    pub workers: Mutex<Option<(Timestamp, Workers)>>,
}

/// What is read of the workers while they are being updated.
#[derive(Clone)]
pub(super) struct Workers {
    /// The version that it was read for: of another one it says nothing.
    target: Option<String>,
    nodes: Fact<Vec<PartialObjectMeta<Node>>>,
    /// How many percent of the operators have the version.
    operators_percent: Option<i64>,
    /// Whether pools already have the configurations of the version.
    is_rendered: bool,
}

impl Reconcile for UpdateStatuses {
    type Object = ClusterVersion;

    fn objects(&self) -> Vec<Arc<ClusterVersion>> {
        let Seen {
            informers,
            status,
            pools,
            ..
        } = &self.seen;
        let is_looked_for = informers.is_looked_for() && status.is_looked_for() && pools.is_looked_for();
        if is_looked_for {
            self.seen.cluster.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        cluster: &Arc<ClusterVersion>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        if !self.presence.serves(&UpdateStatus::plural(&())) {
            return Ok(None);
        }
        let Some(status) = self.object().await? else {
            return Ok(None);
        };
        let control_plane = match self.seen.cluster.known(now) {
            Ok(()) => cluster::control_plane(cluster, now),
            Err(why) => Err(why),
        };
        let pools = self.seen.pools.objects();
        let workers = self.workers(&control_plane, &pools, now).await;
        let pools: Vec<_> = pools.iter().map(AsRef::as_ref).collect();
        let pools = cluster::pools(&pools, &workers.nodes, workers.is_rendered);
        let mut observed = Frame {
            pools,
            update: control_plane
                .as_ref()
                .ok()
                .and_then(|progress| cluster::ongoing(cluster, progress)),
            operators_percent: workers.operators_percent,
            control_plane,
        };
        // While workers are left, the update is not over, although the control plane is what it should be.
        let is_open = observed.update.is_some() || observed.is_any_pool_pending();
        if observed.update.is_none() && is_open {
            observed.update = status.status.as_ref().and_then(|status| status.update.clone());
        }
        let stage = if is_open { Stage::Open } else { Stage::Complete };
        self.ask_all(cluster, &status, &observed, stage, now).await?;
        Ok(self.wake(stage, now))
    }
}

/// An informer.
type Named = (InformerName, Arc<UpdateInformer>);

/// What is asked in one pass, and what the answers are put together with.
struct Round<'a> {
    question: InsightsRequestSpec,
    frame: &'a Frame,
    previous: Option<&'a UpdateStatusStatus>,
    stage: Stage,
}

/// What the status says besides the findings.
struct Frame {
    control_plane: Fact<ControlPlaneProgress>,
    operators_percent: Option<i64>,
    pools: Vec<drydock_insights::update_status::ObservedPool>,
    update: Option<drydock_api::insights::OngoingUpdate>,
}

impl Frame {
    fn is_any_pool_pending(&self) -> bool {
        let progress = self.pools.iter().filter_map(|pool| pool.progress.as_ref().ok());
        progress.into_iter().any(|progress| !progress.outdated.is_empty())
    }

    fn assemble(
        &self,
        previous: Option<&UpdateStatusStatus>,
        records: &Records,
        now: Timestamp,
    ) -> UpdateStatusStatus {
        let observed = Observed {
            records,
            control_plane: self.control_plane.clone(),
            operators_percent: self.operators_percent,
            pools: self.pools.clone(),
            update: self.update.clone(),
        };
        assemble(previous, &observed, now)
    }
}

impl UpdateStatuses {
    /// The one object, which is made where it is missing.
    async fn object(&self) -> Result<Option<Arc<UpdateStatus>>, ReconcileError> {
        if let Some(seen) = self.seen.status.object() {
            return Ok(Some(self.changed.newest(&seen)));
        }
        let created = write::create_update_status(&self.context.client).await?;
        Ok(created.map(Arc::new))
    }

    /// Asks who is due, and writes what comes of it. Those who did not answer the last time keep nobody else waiting: what the others say is
    /// written before they are asked, and only some of them are asked at a time.
    async fn ask_all(
        &self,
        cluster: &ClusterVersion,
        status: &Arc<UpdateStatus>,
        frame: &Frame,
        stage: Stage,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        let previous = status.status.as_ref();
        let mut known = previous.map(records).unwrap_or_default();
        let informers = by_name(&self.seen.informers.objects());
        let is_own = |name: &InformerName| self.has_built_in && BuiltIn::of(name).is_some();
        known.retain(|name, _| informers.contains_key(name) || is_own(name));
        let (prompt, slow) = self.due(&informers, &known, stage, now);
        let round = Round {
            question: question(cluster, frame),
            frame,
            previous,
            stage,
        };
        let mut next = frame.assemble(previous, &known, now);
        let mut known = records(&next);
        if self.ask_own(&mut known, stage, now).await {
            next = frame.assemble(previous, &known, now);
        }
        next = self.ask(prompt, &round, next).await;
        let status = self.write(status, &next).await?;
        if !slow.is_empty() {
            next = self.ask(slow, &round, next).await;
            self.write(&status, &next).await?;
        }
        Ok(())
    }

    /// Asks these informers. Findings are put together after each answer, so that no more than a few answers are in memory at once.
    async fn ask(
        &self,
        due: Vec<Named>,
        round: &Round<'_>,
        mut next: UpdateStatusStatus,
    ) -> UpdateStatusStatus {
        let asked = stream::iter(due).map(|(name, informer)| {
            let question = round.question.clone();
            async move {
                let attempt = self
                    .questioner
                    .ask(&informer, &name, Hook::UpdateInsights, question)
                    .await;
                (name, informer.spec.failure_policy, attempt)
            }
        });
        let mut asked = asked.buffer_unordered(AT_ONCE);
        // What has been found stays when the agent stops; who has not answered is asked by the next one.
        while let Some(Some((name, policy, attempt))) = self.shutdown.run_until_cancelled(asked.next()).await
        {
            let now = self.context.clock.now();
            let mut known = records(&next);
            self.merge(&mut known, &name, policy, &attempt, round.stage, now);
            next = round.frame.assemble(round.previous, &known, now);
        }
        next
    }

    /// Asks the agent's own informers, where they are due. What they have found about an update ends with it.
    async fn ask_own(&self, known: &mut Records, stage: Stage, now: Timestamp) -> bool {
        let names = BuiltIn::ALL.map(BuiltIn::name);
        if !self.has_built_in {
            return false;
        }
        if stage == Stage::Complete {
            let before = known.len();
            known.retain(|name, _| !names.contains(name));
            self.lock_due().retain(|name, _| !names.contains(name));
            return known.len() != before;
        }
        let is_due = names.iter().any(|name| is_due(self.lock_due().get(name), now));
        if !is_due {
            return false;
        }
        let facts = built_in::facts(
            &self.context.client,
            &self.context.monitoring,
            &self.seen,
            &self.kept,
            Question::Status,
            now,
        )
        .await;
        for informer in BuiltIn::ALL {
            let attempt = informer.attempt(&facts, Question::Status, now);
            self.merge(known, &informer.name(), FailurePolicy::Fail, &attempt, stage, now);
        }
        true
    }

    fn merge(
        &self,
        known: &mut Records,
        name: &InformerName,
        policy: FailurePolicy,
        attempt: &Attempt,
        stage: Stage,
        now: Timestamp,
    ) {
        let before = known.get(name).cloned().unwrap_or_default();
        let record = merge(name, &before, attempt, policy, stage, now);
        let pause = if is_wait(attempt) {
            WAIT
        } else if stage == Stage::Open && BuiltIn::of(name).is_some() {
            OWN
        } else if stage == Stage::Open {
            BUSY
        } else {
            IDLE
        };
        let next = now.checked_add(pause).unwrap_or(Timestamp::MAX);
        let next = end_of_grace(&record).map_or(next, |end| next.min(end.max(now)));
        self.lock_due().insert(name.clone(), next);
        known.insert(name.clone(), record);
    }

    /// Who is to be asked now, those apart who did not answer the last time: all of them during an update, after it those who have left
    /// something unresolved.
    fn due(
        &self,
        informers: &BTreeMap<InformerName, Arc<UpdateInformer>>,
        known: &Records,
        stage: Stage,
        now: Timestamp,
    ) -> (Vec<Named>, Vec<Named>) {
        let mut due = self.lock_due();
        due.retain(|name, _| informers.contains_key(name) || BuiltIn::of(name).is_some());
        let has_findings =
            |name: &InformerName| known.get(name).is_some_and(|record| !record.insights.is_empty());
        let asked = informers.iter().take(MAX_INFORMERS).filter(|(name, informer)| {
            // What an informer that is switched off has reported goes at once.
            let is_off = !informer.spec.enabled && has_findings(name);
            let is_due = is_due(due.get(*name), now);
            is_off || (is_due && (stage == Stage::Open || has_findings(name)))
        });
        let asked = asked.map(|(name, informer)| (name.clone(), Arc::clone(informer)));
        let (prompt, mut slow): (Vec<_>, Vec<_>) = asked.partition(|(name, informer)| {
            let is_unavailable = known
                .get(name)
                .is_none_or(|record| record.state == InformerState::Unavailable);
            !informer.spec.enabled || !is_unavailable
        });
        // Who has waited longest comes first.
        slow.sort_by_key(|(name, _)| due.get(name).copied());
        slow.truncate(MOST_SLOW);
        (prompt, slow)
    }

    fn wake(&self, stage: Stage, now: Timestamp) -> Option<Timestamp> {
        let latest = now.checked_add(IDLE).unwrap_or(Timestamp::MAX);
        let next = self.lock_due().values().copied().filter(|next| *next > now).min();
        // Who waits for the time of a clock that has been set back since is due before.
        let next = next.map(|next| next.min(latest));
        let poll = now.checked_add(BUSY).ok().filter(|_| stage == Stage::Open);
        next.into_iter().chain(poll).min()
    }

    fn lock_due(&self) -> std::sync::MutexGuard<'_, BTreeMap<InformerName, Timestamp>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(
        &self,
        object: &Arc<UpdateStatus>,
        next: &UpdateStatusStatus,
    ) -> Result<Arc<UpdateStatus>, ReconcileError> {
        if object.status.as_ref() == Some(next) {
            return Ok(Arc::clone(object));
        }
        let written = write::status(&self.context.client, object.as_ref(), next).await?;
        self.changed.note(written.clone());
        Ok(Arc::new(written))
    }

    /// Nodes and the operator that configures them, read only while some node is not what it should be.
    async fn workers(
        &self,
        control_plane: &Fact<ControlPlaneProgress>,
        pools: &[Arc<MachineConfigPool>],
        now: Timestamp,
    ) -> Workers {
        let is_reconciled = control_plane
            .as_ref()
            .is_ok_and(|progress| progress.is_reconciled);
        if is_reconciled && pools.iter().all(|pool| cluster::is_settled(pool)) {
            return Workers {
                target: None,
                nodes: Ok(Vec::new()),
                operators_percent: None,
                is_rendered: true,
            };
        }
        let target = control_plane
            .as_ref()
            .ok()
            .map(|progress| progress.target.clone());
        let known = self
            .workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((read, workers)) = known
            && workers.target == target
            && (SignedDuration::ZERO..BUSY).contains(&now.duration_since(read))
        {
            return workers;
        }
        let operators = if is_reconciled {
            Vec::new()
        } else {
            self.operators().await
        };
        let workers = Workers {
            nodes: self.nodes().await,
            operators_percent: target
                .as_ref()
                .and_then(|target| cluster::operators_percent(&operators, target)),
            is_rendered: is_reconciled || is_rendered(&operators, target.as_deref()),
            target,
        };
        *self.workers.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, workers.clone()));
        workers
    }

    async fn nodes(&self) -> Fact<Vec<PartialObjectMeta<Node>>> {
        let api: Api<PartialObjectMeta<Node>> = Api::all(self.context.client.clone());
        let listed = list_all(&api, ListParams::default()).await;
        listed.map_err(|error| Unread::Failed(refusal::words(&error)))
    }

    /// Operators that cannot be read have not got the version, as far as is known.
    async fn operators(&self) -> Vec<ClusterOperator> {
        let api: Api<ClusterOperator> = Api::all(self.context.client.clone());
        list_all(&api, ListParams::default()).await.unwrap_or_default()
    }
}

/// Has the operator that configures nodes the version?
fn is_rendered(operators: &[ClusterOperator], target: Option<&str>) -> bool {
    let operator = operators
        .iter()
        .find(|operator| operator.name_any() == MACHINE_CONFIG);
    let status = operator.and_then(|operator| operator.status.as_ref());
    let version = status.and_then(|status| status.versions.iter().find(|version| version.name == "operator"));
    version.is_some_and(|version| Some(version.version.as_str()) == target)
}

/// Whether who was to be asked then is to be asked now. No pause is longer than the idle one, unless the clock has been set back since.
fn is_due(due: Option<&Timestamp>, now: Timestamp) -> bool {
    due.is_none_or(|due| *due <= now || due.duration_since(now) > IDLE)
}

/// What informers are asked.
fn question(cluster: &ClusterVersion, frame: &Frame) -> InsightsRequestSpec {
    let facts = cluster::facts(cluster).unwrap_or_default();
    let target = frame
        .update
        .as_ref()
        .map_or_else(|| facts.version.clone(), |update| update.target.clone());
    InsightsRequestSpec {
        cluster_id: facts.id,
        control_plane_version: facts.version,
        target_control_plane_version: target,
        informer_update: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_lets_nobody_wait_for_the_old_time() {
        let now = Timestamp::from_second(1_767_600_000).unwrap();
        for (seconds, is_so) in [(-1, true), (0, true), (30, false), (300, false), (3600, true)] {
            let due = now + SignedDuration::from_secs(seconds);
            assert_eq!(is_due(Some(&due), now), is_so, "{seconds}");
        }
        assert!(is_due(None, now));
    }
}
