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
const PATIENCE: Duration = Duration::from_mins(1);

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
        tokio::time::timeout(PATIENCE, deleted)
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
