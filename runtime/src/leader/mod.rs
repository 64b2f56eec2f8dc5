//! Which of several replicas may write: the holder of a Lease.
//!
//! As in client-go, a candidate takes a lease over when it has seen it unchanged for the lease's duration by its own
//! clock, so clocks need not agree. The holder counts from the moment at which it asked for the renewal, and stops sooner
//! than a candidate may begin: [`Leadership::holds`] turns false by the time alone, even in a process that was stopped
//! and continues, and [`guard`] asks it last before each write.

mod election;
mod guard;

pub use election::{Election, ElectionError, LeaseSettings};
pub use guard::{LeaderOnlyWrites, NotLeading, leader_only_writes};

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// Whether this process leads. Cheap to clone; all clones say the same.
#[derive(Clone, Debug, Default)]
pub struct Leadership {
    until: Arc<Mutex<Option<Instant>>>,
}

impl Leadership {
    /// Whether this process may write now.
    pub fn holds(&self) -> bool {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn set(&self, until: Option<Instant>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn until(&self) -> Option<Instant> {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
