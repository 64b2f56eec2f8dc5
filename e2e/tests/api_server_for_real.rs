//! The cases of an API server, on a real kube-apiserver: one server for all, a namespace a case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::{conformance, manifests};

macro_rules! all_cases {
    ($client:expr, $failures:expr; $($case:ident),* $(,)?) => {$(
        if let Err(error) = conformance::$case($client.clone()).await {
            $failures.push(format!("{}: {error:#}", stringify!($case)));
        }
    )*};
}

#[tokio::test]
async fn a_real_server_answers_every_case_as_the_sandbox_does() -> anyhow::Result<()> {
    let control_plane = ControlPlane::start().await?;
    let client = control_plane.client(ADMIN).await?;
    manifests::install(&client, &drydock_api::crds()).await?;
    let mut failures: Vec<String> = Vec::new();
    all_cases!(client, failures;
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
    assert!(failures.is_empty(), "{failures:#?}");
    Ok(())
}
