//! The text that `oc` prints (insights.md, sections 2.2 and 2.4).
//!
//! What clusters say is theirs: of control characters in it, a terminal sees how they are written. Where a text may have several lines, they
//! stay below each other.

mod columns;
mod control_plane;
mod escape;
mod health;
mod nodes;
mod recommendation;
mod releases;
mod status;

pub use recommendation::{RecommendationView, Rendered, recommendation};
pub use status::status;

/// What is shown in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// Everything.
    All,
    /// All nodes of each pool.
    Nodes,
    /// What matters, with where to read what to do.
    Health,
    /// The operators that are being updated.
    Operators,
}

impl Details {
    /// Whether a section is shown in full.
    fn include(self, section: Self) -> bool {
        self == Self::All || self == section
    }
}
