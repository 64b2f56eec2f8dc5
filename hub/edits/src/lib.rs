//! What people change about upgrades, as the plugin and the page write it: each is one write, with the rights of the client that is
//! given.

mod accept;
mod error;
mod manifest;
mod pause;
mod retry;
mod start;
mod user;

pub use accept::{Accepted, Accepting, Before, accept, goal, reporters, target};
pub use error::EditError;
pub use manifest::{
    Change, Changes, Manifest, Writing, Written, documents, edition, remove_what_the_server_gives, state,
};
pub use pause::set_paused;
pub use retry::{failed, failed_set, retry, when_it_starts_over};
pub use user::user_name;

use kube::api::PatchParams;

/// Who writes.
pub const MANAGER: &str = "kubectl-drydock";

/// The first bytes of a digest.
fn hex(digest: &[u8], bytes: usize) -> String {
    digest
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}
