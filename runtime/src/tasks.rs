//! The background tasks of a process. If one ends before shutdown, the process must not continue without it.

use std::fmt::Display;

use thiserror::Error;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use std::collections::BTreeMap;

/// A background task ended before shutdown.
#[derive(Debug, Error)]
#[error("the task `{task}` ended before shutdown: {reason}")]
pub struct TaskEnded {
    /// Its name.
    pub task: &'static str,
    /// Why.
    pub reason: String,
}

/// A set of named tasks that live as long as the process.
#[derive(Debug)]
pub struct Tasks {
    shutdown: CancellationToken,
    running: JoinSet<Result<(), String>>,
    names: BTreeMap<Id, &'static str>,
}

impl Tasks {
    /// No tasks yet. They should end when `shutdown` is cancelled.
    pub fn new(shutdown: CancellationToken) -> Self {
        Self {
            shutdown,
            running: JoinSet::new(),
            names: BTreeMap::new(),
        }
    }

    /// Starts a task.
    pub fn spawn<E: Display>(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let handle = self
            .running
            .spawn(async move { task.await.map_err(|error| error.to_string()) });
        self.names.insert(handle.id(), name);
    }

    /// Waits until all tasks have ended. The first that ends early cancels the shutdown token, so that the others end
    /// too, and is the result.
    ///
    /// # Errors
    /// If a task ended before shutdown, or failed.
    pub async fn finished(mut self) -> Result<(), TaskEnded> {
        let mut outcome = Ok(());
        while let Some(ended) = self.running.join_next_with_id().await {
            let (id, reason) = match ended {
                Ok((id, Ok(()))) if self.shutdown.is_cancelled() => (id, None),
                Ok((id, Ok(()))) => (id, Some("it returned".to_owned())),
                Ok((id, Err(reason))) => (id, Some(reason)),
                Err(error) => (error.id(), Some(error.to_string())),
            };
            let task = self.names.get(&id).copied().unwrap_or("unnamed");
            if let (Some(reason), true) = (reason, outcome.is_ok()) {
                tracing::error!(task, reason, "a background task ended early: shutting down");
                outcome = Err(TaskEnded { task, reason });
                self.shutdown.cancel();
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn until(token: CancellationToken) -> Result<(), String> {
        token.cancelled().await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_early_ends_the_process_with_its_name() {
        let shutdown = CancellationToken::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.spawn("watch", until(shutdown.clone()));
        tasks.spawn("events", async { Err::<(), _>("the queue is gone") });
        let error = tasks.finished().await.expect_err("a task ended early");
        assert_eq!(
            error.to_string(),
            "the task `events` ended before shutdown: the queue is gone"
        );
        assert!(shutdown.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_that_end_at_shutdown_are_fine() {
        let shutdown = CancellationToken::new();
        let mut tasks = Tasks::new(shutdown.clone());
        tasks.spawn("watch", until(shutdown.clone()));
        shutdown.cancel();
        tasks.finished().await.expect("ended at shutdown");
    }
}
