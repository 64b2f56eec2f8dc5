//! What goes wrong between the hub and its API server, and to the hub itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drydock_runtime::Clock;
use jiff::Timestamp;
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Status, Verb};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Replicas;
use super::draw::below;
use super::happening::Refused;
use super::rules::Rules;
use super::world::Obstacles;
use crate::delayed_watch::Lateness;

/// How often each fault happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Requests that were refused: 500, 429, 409.
    pub refused: u64,
    /// Writes that were served, and whose answer was lost.
    pub lost: u64,
    /// Requests that took long.
    pub slow: u64,
    /// Requests that did not come through.
    pub unreachable: u64,
    /// Events of watches that were late.
    pub late: u64,
    /// Replicas and agents that were killed.
    pub killed: u64,
    /// Edits, pauses, placements that changed, clusters that were cut off, clocks that jumped.
    pub events: u64,
}

impl Counts {
    /// Adds those of another run.
    pub fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.lost += other.lost;
        self.slow += other.slow;
        self.unreachable += other.unreachable;
        self.late += other.late;
        self.killed += other.killed;
        self.events += other.events;
    }
}

/// Faults, while they last. All clones count together.
#[derive(Clone, Default)]
pub(super) struct InjectedFaults(Arc<Mutex<Counts>>);

impl InjectedFaults {
    /// Lets requests of the replicas fail until `end`, each by what the seed draws.
    pub fn begin(
        server: &ApiServer,
        rng: &mut ChaCha8Rng,
        end: Timestamp,
        clock: &Clock,
        obstacles: Obstacles,
        rules: Rules,
    ) -> Self {
        let faults = Self::default();
        let rate = [0, 2, 10, 30][below(rng, 4) as usize];
        let draws = Mutex::new(ChaCha8Rng::seed_from_u64(rng.next_u64()));
        let (noted, clock) = (faults.clone(), clock.clone());
        server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
            if asked.identity.name() == "spokes" && obstacles.has(asked.namespace) {
                return FaultAction::Unreachable;
            }
            if !asked.identity.name().starts_with("replica") {
                return FaultAction::Pass;
            }
            if obstacles.has_hub() {
                noted.counted().unreachable += 1;
                return FaultAction::Unreachable;
            }
            if obstacles.refuse(|refused| is_refused(refused, asked)) {
                noted.counted().refused += 1;
                let words = "admission webhook \"policy.example.com\" denied the request: not tonight";
                return FaultAction::Refuse(Status::new(403, "Forbidden", words));
            }
            let mut draws = draws.lock().unwrap_or_else(PoisonError::into_inner);
            let is_write = !matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch);
            let verdict = if clock.now() >= end || below(&mut draws, 100) >= rate {
                FaultAction::Pass
            } else {
                let (kind, seconds) = (below(&mut draws, 7), below(&mut draws, 40));
                verdict(kind, is_write, seconds, &mut noted.counted())
            };
            let is_served = !matches!(verdict, FaultAction::Refuse(_) | FaultAction::Unreachable);
            if is_served && asked.verb == Verb::Delete && is_of(asked, "manifestworks") {
                rules.deletion_asked(asked.namespace.unwrap_or_default(), asked.name);
            }
            verdict
        })));
        faults
    }

    /// By how much events of watches are late, as the seed draws.
    pub fn lateness(&self, rng: &mut ChaCha8Rng, end: Timestamp, clock: &Clock) -> Lateness {
        let latest = [0, 0, 10_000, 90_000][below(rng, 4) as usize];
        let draws = Mutex::new(ChaCha8Rng::seed_from_u64(rng.next_u64()));
        let (noted, clock) = (self.clone(), clock.clone());
        Arc::new(move || {
            if latest == 0 || clock.now() >= end {
                return Duration::ZERO;
            }
            noted.counted().late += 1;
            let mut draws = draws.lock().unwrap_or_else(PoisonError::into_inner);
            Duration::from_millis(below(&mut draws, latest))
        })
    }

    pub fn counted(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn counts(&self) -> Counts {
        *self.counted()
    }
}

fn is_of(asked: &RequestInfo<'_>, plural: &str) -> bool {
    asked.kind.is_some_and(|kind| kind.plural == plural)
}

fn is_refused(refused: &Refused, asked: &RequestInfo<'_>) -> bool {
    let is_there = refused.namespace.is_none() || refused.namespace.as_deref() == asked.namespace;
    asked.verb == refused.verb && is_of(asked, refused.kind) && is_there
}

fn verdict(kind: u64, is_write: bool, seconds: u64, counts: &mut Counts) -> FaultAction {
    match kind {
        0 => {
            counts.refused += 1;
            FaultAction::Refuse(Status::internal("etcdserver: request timed out"))
        }
        1 => {
            counts.refused += 1;
            FaultAction::Refuse(Status::too_many_requests("please try again later", 1))
        }
        2 if is_write => {
            counts.refused += 1;
            FaultAction::Refuse(Status::new(409, "Conflict", "the object has been modified"))
        }
        3 if is_write => {
            counts.lost += 1;
            FaultAction::DropAfterWrite
        }
        4 => {
            counts.slow += 1;
            FaultAction::Delay(Duration::from_secs(seconds))
        }
        5 => {
            counts.slow += 1;
            FaultAction::AnswerLate(Duration::from_secs(seconds))
        }
        _ => {
            counts.unreachable += 1;
            FaultAction::Unreachable
        }
    }
}

type Hub = JoinHandle<Result<(), drydock_hub::Error>>;

/// Keeps two replicas running forever, and for a while kills one at random and breaks watches. One that lost its lease is
/// started again, as a supervisor does. `kill` ends both.
pub(super) async fn restart_at_random(
    replicas: Replicas,
    mut rng: ChaCha8Rng,
    fault_period: Duration,
    faults: InjectedFaults,
    kill: Arc<Notify>,
) {
    let mut hubs: [Option<Hub>; 2] = [None, None];
    let end = Instant::now() + fault_period;
    loop {
        for (hub, name) in hubs.iter_mut().zip(["replica-a", "replica-b"]) {
            if hub.as_ref().is_none_or(JoinHandle::is_finished) {
                *hub = replicas.start(name).ok();
            }
        }
        let is_calm = Instant::now() >= end;
        let wait = if is_calm { 5 } else { 5 + below(&mut rng, 900) };
        tokio::select! {
            () = kill.notified() => {
                for hub in &mut hubs {
                    faults.counted().killed += 1;
                    end_of(hub).await;
                }
                continue;
            }
            () = tokio::time::sleep(Duration::from_secs(wait)) => {}
        }
        if is_calm {
            continue;
        }
        match below(&mut rng, 4) {
            0 => replicas.server.cut_watches(|who, _| who.starts_with("replica")),
            1 => replicas.server.compact(),
            which => {
                faults.counted().killed += 1;
                end_of(&mut hubs[(which - 2) as usize]).await;
            }
        }
    }
}

async fn end_of(hub: &mut Option<Hub>) {
    if let Some(hub) = hub.take() {
        hub.abort();
        // That it was aborted is what was asked for.
        let _aborted = hub.await;
    }
}
