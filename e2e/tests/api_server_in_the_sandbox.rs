//! The cases of an API server, on the sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_e2e::conformance;
use drydock_runtime::Clock;
use drydock_sandbox::bed::hub_types;
use drydock_sandbox::server::{ApiServer, ServerSettings};
use kube::Client;

fn client() -> Client {
    let clock = Clock::simulated(drydock_e2e::yard::EPOCH);
    ApiServer::new(ServerSettings::new("hub", clock, 1, hub_types().unwrap())).client("conformance")
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {$(
        #[tokio::test(start_paused = true)]
        async fn $case() -> anyhow::Result<()> {
            conformance::$case(client()).await
        }
    )*};
}

cases!(
    outdated_writes_conflict_and_empty_ones_do_nothing,
    names_are_unique_generated_and_checked,
    a_dry_run_writes_nothing,
    a_job_cannot_be_sent_as_a_whole_again,
    a_custom_kind_is_validated_pruned_and_has_a_status_of_its_own,
    pages_of_a_list_show_one_moment,
    selectors_select,
    a_watch_tells_what_comes_and_what_leaves,
    discovery_names_the_kinds,
    merge_and_json_patches_change_what_they_say,
    a_strategic_merge_patch_merges_lists_by_their_keys,
    appliers_share_an_object,
    dependents_go_with_their_owner_and_finalizers_hold_it,
    propagation_and_preconditions_are_honoured,
    a_namespace_takes_its_content_with_it,
);
