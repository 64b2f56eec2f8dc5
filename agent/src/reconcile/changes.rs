//! Who is woken by a change of which objects.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes what depends on a kind. Changes that come while it is at work wake it once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakers(Vec<Arc<Notify>>);

impl Wakers {
    /// Wakes these.
    pub fn of<const N: usize>(woken: [&Arc<Notify>; N]) -> Self {
        Self(woken.into_iter().map(Arc::clone).collect())
    }

    /// Something has changed.
    pub fn wake(&self) {
        for woken in &self.0 {
            woken.notify_one();
        }
    }
}
