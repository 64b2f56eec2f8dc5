//! How long an update will take (insights.md, section 2.5).

mod history;
mod operators;
#[cfg(test)]
mod tests;
mod workers;

pub use history::{baseline, own_durations, remaining_by_history};
pub use operators::{remaining, timewise};
pub use workers::{PER_NODE, PoolEstimate, max_unavailable, remaining_of_pool};

/// How the remaining time is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// As `oc` does: by how operators usually advance; the control plane only.
    #[default]
    Oc,
    /// By how long this cluster's updates took; worker pools as well.
    History,
}
