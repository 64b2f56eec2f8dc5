//! What a client may expect of an API server: cases that run unchanged on the sandbox and on a real kube-apiserver. Each has
//! a namespace of its own.

mod deletion;
mod patches;
mod reads;
mod writes;

pub use deletion::*;
pub use patches::*;
pub use reads::*;
pub use writes::*;

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::PostParams;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long a real cluster's controllers get for what the sandbox does at once.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs every case on one server, and gives the name and the outcome of each.
pub async fn all(client: &Client) -> Vec<(&'static str, anyhow::Result<()>)> {
    vec![
        (
            "outdated_writes_conflict_and_empty_ones_do_nothing",
            outdated_writes_conflict_and_empty_ones_do_nothing(client.clone()).await,
        ),
        (
            "names_are_unique_generated_and_checked",
            names_are_unique_generated_and_checked(client.clone()).await,
        ),
        (
            "a_dry_run_writes_nothing",
            a_dry_run_writes_nothing(client.clone()).await,
        ),
        (
            "a_job_cannot_be_sent_as_a_whole_again",
            a_job_cannot_be_sent_as_a_whole_again(client.clone()).await,
        ),
        (
            "a_custom_kind_is_validated_pruned_and_has_a_status_of_its_own",
            a_custom_kind_is_validated_pruned_and_has_a_status_of_its_own(client.clone()).await,
        ),
        (
            "pages_of_a_list_show_one_moment",
            pages_of_a_list_show_one_moment(client.clone()).await,
        ),
        ("selectors_select", selectors_select(client.clone()).await),
        (
            "a_watch_tells_what_comes_and_what_leaves",
            a_watch_tells_what_comes_and_what_leaves(client.clone()).await,
        ),
        (
            "discovery_names_the_kinds",
            discovery_names_the_kinds(client.clone()).await,
        ),
        (
            "merge_and_json_patches_change_what_they_say",
            merge_and_json_patches_change_what_they_say(client.clone()).await,
        ),
        (
            "a_strategic_merge_patch_merges_lists_by_their_keys",
            a_strategic_merge_patch_merges_lists_by_their_keys(client.clone()).await,
        ),
        (
            "appliers_share_an_object",
            appliers_share_an_object(client.clone()).await,
        ),
        (
            "dependents_go_with_their_owner_and_finalizers_hold_it",
            dependents_go_with_their_owner_and_finalizers_hold_it(client.clone()).await,
        ),
        (
            "propagation_and_preconditions_are_honoured",
            propagation_and_preconditions_are_honoured(client.clone()).await,
        ),
        (
            "a_namespace_takes_its_content_with_it",
            a_namespace_takes_its_content_with_it(client.clone()).await,
        ),
    ]
}

/// A client and the namespace of a case.
pub(crate) struct Case {
    client: Client,
    namespace: String,
}

impl Case {
    /// Makes the namespace.
    pub(crate) async fn named(client: Client, namespace: &str) -> anyhow::Result<Self> {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        namespaces
            .create(&PostParams::default(), &object_of(object)?)
            .await?;
        Ok(Self {
            client,
            namespace: namespace.to_owned(),
        })
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn maps(&self) -> Api<ConfigMap> {
        self.api()
    }

    pub(crate) async fn make(&self, value: Value) -> anyhow::Result<ConfigMap> {
        Ok(self
            .maps()
            .create(&PostParams::default(), &object_of(value)?)
            .await?)
    }

    /// Waits until an object is gone.
    pub(crate) async fn gone(&self, map: &ConfigMap) -> anyhow::Result<()> {
        let uid = map.uid().unwrap_or_default();
        let name = map.name_any();
        let deleted = await_condition(self.maps(), &name, conditions::is_deleted(&uid));
        tokio::time::timeout(TIMEOUT, deleted)
            .await
            .with_context(|| format!("{name} is still there"))??;
        Ok(())
    }
}

/// An object from JSON.
pub(crate) fn object_of<K: DeserializeOwned>(value: Value) -> anyhow::Result<K> {
    serde_json::from_value(value).context("reading the object of a case")
}

/// Expects a refusal with this code and reason.
pub(crate) fn refused<T>(result: kube::Result<T>, code: u16, reason: &str) -> anyhow::Result<String> {
    match result {
        Err(kube::Error::Api(status)) => {
            anyhow::ensure!(
                (status.code, status.reason.as_str()) == (code, reason),
                "{} {}: {}, instead of {code} {reason}",
                status.code,
                status.reason,
                status.message
            );
            Ok(status.message.clone())
        }
        Err(other) => Err(other.into()),
        Ok(_) => anyhow::bail!("it was accepted, instead of {code} {reason}"),
    }
}
