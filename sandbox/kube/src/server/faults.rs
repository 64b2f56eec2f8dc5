//! Faults: requests that fail, wait or lose their answer, servers that cannot be reached, watches that are cut. Also
//! the counts of requests, which are taken at the same gate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{ApiServer, Identity, ServedKind, Status, Subresource, Verb};

/// A request as fault hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct RequestInfo<'a> {
    /// Who asks.
    pub identity: &'a Identity,
    /// What is asked.
    pub verb: Verb,
    /// About which kind; absent for discovery and the like.
    pub kind: Option<&'a ServedKind>,
    /// In which namespace.
    pub namespace: Option<&'a str>,
    /// About which object; empty for operations on many.
    pub name: &'a str,
    /// Which part of it.
    pub subresource: Option<Subresource>,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum FaultAction {
    /// It is served.
    Pass,
    /// It is served after this time.
    Delay(Duration),
    /// It is answered with this error.
    Refuse(Status),
    /// It is served, and answered after this time.
    AnswerLate(Duration),
    /// It is served, and the connection breaks before the answer.
    DropAfterWrite,
    /// The connection cannot be made.
    Unreachable,
}

/// By what requests are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    /// [`Identity::name`].
    pub identity: String,
    /// The verb.
    pub verb: Verb,
    /// `plural.group`, with `/subresource` if there is one; empty for discovery and the like.
    pub resource: String,
}

/// How a request that was let through ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultOutcome {
    /// With its answer.
    Answered,
    /// With its answer, this long after it was served.
    AnsweredLate(Duration),
    /// With a broken connection, after it was served.
    Dropped,
}

/// Why a request was not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Unreachable,
    Status(Box<Status>),
}

/// Decides what happens to each request.
pub type FaultHook = Arc<dyn Fn(&RequestInfo<'_>) -> FaultAction + Send + Sync>;

#[derive(Default)]
pub(super) struct Faults(Mutex<Gate>);

#[derive(Default)]
struct Gate {
    unreachable: bool,
    hook: Option<FaultHook>,
    requests: BTreeMap<RequestKey, u64>,
}

impl ApiServer {
    /// Whether clients can connect (F15 of the cluster model, when they cannot). Becoming unreachable cuts all watches.
    pub fn set_reachable(&self, reachable: bool) {
        self.gate(|gate| gate.unreachable = !reachable);
        if !reachable {
            self.cut_watches(|_, _| true);
        }
    }

    /// Whether clients can connect.
    pub fn is_reachable(&self) -> bool {
        self.gate(|gate| !gate.unreachable)
    }

    /// Installs the closure that decides about each request, or takes it away.
    pub fn set_fault_hook(&self, hook: Option<FaultHook>) {
        self.gate(|gate| gate.hook = hook);
    }

    /// Ends the watches for which `matches(identity name, plural.group)` holds.
    pub fn cut_watches(&self, matches: impl Fn(&str, &str) -> bool) {
        self.state()
            .store
            .cut(|watcher, collection| matches(watcher, collection.as_str()));
    }

    /// How many requests have come, by identity, verb and resource.
    pub fn requests(&self) -> BTreeMap<RequestKey, u64> {
        self.gate(|gate| gate.requests.clone())
    }

    /// Begins to count from zero.
    pub fn reset_requests(&self) {
        self.gate(|gate| gate.requests.clear());
    }

    /// The gate that every request passes, from memory or HTTP.
    pub(crate) async fn pass(&self, asked: &RequestInfo<'_>) -> Result<FaultOutcome, Refusal> {
        let hook = self.gate(|gate| {
            if gate.unreachable {
                return Err(Refusal::Unreachable);
            }
            *gate.requests.entry(request_key(asked)).or_default() += 1;
            Ok(gate.hook.clone())
        })?;
        let Some(hook) = hook else {
            return Ok(FaultOutcome::Answered);
        };
        match hook(asked) {
            FaultAction::Pass => Ok(FaultOutcome::Answered),
            FaultAction::Delay(time) => {
                tokio::time::sleep(time).await;
                if self.is_reachable() {
                    Ok(FaultOutcome::Answered)
                } else {
                    Err(Refusal::Unreachable)
                }
            }
            FaultAction::Refuse(status) => Err(Refusal::Status(Box::new(status))),
            FaultAction::AnswerLate(time) => Ok(FaultOutcome::AnsweredLate(time)),
            FaultAction::DropAfterWrite => Ok(FaultOutcome::Dropped),
            FaultAction::Unreachable => Err(Refusal::Unreachable),
        }
    }

    fn gate<T>(&self, with: impl FnOnce(&mut Gate) -> T) -> T {
        let mut gate = self.inner.faults.0.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut gate)
    }
}

fn request_key(asked: &RequestInfo<'_>) -> RequestKey {
    let resource = match (asked.kind, asked.subresource) {
        (None, _) => String::new(),
        (Some(kind), None) => kind.resource.as_str().to_owned(),
        (Some(kind), Some(part)) => format!("{}/{}", kind.resource, part.as_str()),
    };
    RequestKey {
        identity: asked.identity.name().to_owned(),
        verb: asked.verb,
        resource,
    }
}
