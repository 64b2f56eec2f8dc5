//! Whether the agents of a spoke run and reach the hub.

use std::sync::Arc;

use tokio::sync::watch;

/// The state of a spoke's agents: while it is down they neither read nor write, and no heartbeat is sent. Clones
/// share the state.
#[derive(Clone, Debug)]
pub struct Connection(Arc<watch::Sender<bool>>);

impl Default for Connection {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }
}

impl Connection {
    /// Cuts or restores it.
    pub fn set(&self, up: bool) {
        self.0
            .send_if_modified(|state| std::mem::replace(state, up) != up);
    }

    /// True while the agents work.
    pub fn is_up(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is up or down; returns at once if it is so already.
    pub async fn becomes(&self, up: bool) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|state| *state == up).await;
    }
}
