//! The configuration in force: the ConfigMap's, or the last good one while that is refused, unread or gone. The last good one
//! is kept in the cluster, so that a restart does not lose it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use drydock_api::names::AGENT_MANAGER;
use drydock_engine::configuration::{self, CONFIG_MAP, Configuration, ConfigurationError, KEY};
use drydock_engine::facts::{ActiveConfiguration, ConfigurationProblem, Fact};
use drydock_engine::phase::Transition;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use super::{Shared, reconcile, write};

/// The ConfigMap in which the last good configuration is kept.
pub(crate) const LAST_GOOD: &str = "drydock-agent-last-good-configuration";

/// The last good configuration, and what has been reported.
#[derive(Debug, Default)]
pub(super) struct LastGood(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    good: Option<Configuration>,
    /// Whether the defaults are in force, since there has never been another.
    uses_defaults: bool,
    /// What the cluster keeps, as far as that is known.
    kept: Kept,
    reported_version: Option<String>,
}

/// What the cluster keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Kept {
    #[default]
    Unknown,
    Nothing,
    Text(String),
}

impl LastGood {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this version of the ConfigMap has not been reported yet.
    fn is_new_version(&self, version: Option<String>) -> bool {
        let mut state = self.state();
        let is_new_version = state.reported_version != version;
        state.reported_version = version;
        is_new_version
    }
}

impl Shared {
    /// The configuration in force now.
    pub(super) async fn in_force(&self) -> ActiveConfiguration {
        let map = self.cache.configuration(self.context.clock.now());
        let (reason, message) = match &map {
            Ok(Some(map)) => match read(map) {
                Ok((text, configuration)) => return self.accept(map, text, configuration).await,
                Err(error) => {
                    self.report(map, true, "InvalidConfiguration", error.to_string());
                    ("InvalidConfiguration", error.to_string())
                }
            },
            Ok(None) => (
                "ConfigMapDeleted",
                format!(
                    "the ConfigMap {CONFIG_MAP} is gone, and its last good configuration stays in force: delete the ConfigMap \
                     {LAST_GOOD}, too, to get the defaults"
                ),
            ),
            Err(unread) => (
                "ConfigMapUnread",
                format!("the ConfigMap {CONFIG_MAP} cannot be read: {unread}"),
            ),
        };
        if matches!(map, Ok(None)) {
            self.forget_what_is_kept_no_more().await;
        }
        self.fall_back(&map, reason, message).await
    }

    /// With the ConfigMap and the last good configuration gone, there has never been another than the defaults.
    async fn forget_what_is_kept_no_more(&self) {
        if !matches!(self.configuration.state().kept, Kept::Text(_)) {
            return;
        }
        let found = api(&self.context.client, &self.context.namespace)
            .get_opt(LAST_GOOD)
            .await;
        if let Ok(None) = found {
            let mut state = self.configuration.state();
            state.kept = Kept::Nothing;
            state.good = None;
        }
    }

    async fn accept(&self, map: &ConfigMap, text: &str, configuration: Configuration) -> ActiveConfiguration {
        if self.configuration.is_new_version(map.resource_version()) {
            let Configuration {
                notes, unknown_keys, ..
            } = &configuration;
            if !notes.is_empty() {
                self.publish(map, false, "ConfigurationDefaulted", notes.join("; "));
            }
            if !unknown_keys.is_empty() {
                let keys = unknown_keys.join(", ");
                let message =
                    format!("keys that are not known are ignored: {keys}; see whether they are misspelt");
                self.publish(map, true, "UnknownConfigurationKeys", message);
            }
        }
        self.keep(text).await;
        let mut state = self.configuration.state();
        state.good = Some(configuration.clone());
        state.uses_defaults = false;
        ActiveConfiguration {
            configuration,
            problem: None,
            is_absent: false,
        }
    }

    async fn fall_back(
        &self,
        map: &Fact<Option<std::sync::Arc<ConfigMap>>>,
        reason: &'static str,
        message: String,
    ) -> ActiveConfiguration {
        let known = {
            let state = self.configuration.state();
            let defaults = (state.uses_defaults && !matches!(map, Ok(None))).then(Configuration::default);
            state.good.clone().or(defaults)
        };
        let (good, is_unknown, message) = match known {
            Some(good) => (Some(good), false, message),
            None => match self.kept().await {
                Ok(Kept::Text(text)) => {
                    let good = configuration::parse(&text).ok();
                    (good.clone(), good.is_none(), message)
                }
                Ok(_) => (None, !matches!(map, Ok(None)), message),
                Err(why) => {
                    let message =
                        format!("{message}; the ConfigMap {LAST_GOOD} cannot be read either: {why}");
                    (None, true, message)
                }
            },
        };
        // There has never been one: the defaults are what was meant.
        if good.is_none() && !is_unknown {
            self.configuration.state().uses_defaults = true;
            return ActiveConfiguration {
                is_absent: true,
                ..ActiveConfiguration::default()
            };
        }
        if !self.configuration.state().uses_defaults {
            self.configuration.state().good.clone_from(&good);
        }
        let message = match (&good, reason) {
            (Some(_), "ConfigMapDeleted") => message,
            (Some(_), _) => format!("{message}; the last good configuration stays in force"),
            (None, _) => format!("{message}; no good configuration is known, and no upgrade commences"),
        };
        ActiveConfiguration {
            configuration: good.unwrap_or_default(),
            problem: Some(ConfigurationProblem {
                reason,
                message,
                is_unknown,
            }),
            is_absent: false,
        }
    }

    /// What the cluster keeps.
    async fn kept(&self) -> Result<Kept, String> {
        let known = self.configuration.state().kept.clone();
        if known != Kept::Unknown {
            return Ok(known);
        }
        let found = api(&self.context.client, &self.context.namespace)
            .get_opt(LAST_GOOD)
            .await;
        let found = found.map_err(|error| write::words(&error))?;
        let text = found.and_then(|map| map.data?.remove(KEY));
        let kept = text.map_or(Kept::Nothing, Kept::Text);
        self.configuration.state().kept = kept.clone();
        Ok(kept)
    }

    /// Keeps a good configuration in the cluster; what does not succeed is tried again in the next pass.
    async fn keep(&self, text: &str) {
        let wanted = Kept::Text(text.to_owned());
        match self.kept().await {
            Ok(kept) if kept == wanted => return,
            Ok(_) => {}
            Err(why) => {
                tracing::debug!(
                    error = why,
                    object = LAST_GOOD,
                    "the last good configuration cannot be read"
                );
                return;
            }
        }
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": LAST_GOOD}, "data": {KEY: text},
        });
        let parameters = PatchParams::apply(AGENT_MANAGER).force();
        let api = api(&self.context.client, &self.context.namespace);
        match api.patch(LAST_GOOD, &parameters, &Patch::Apply(body)).await {
            Ok(_) => self.configuration.state().kept = wanted,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    error,
                    object = LAST_GOOD,
                    "the last good configuration cannot be kept"
                );
            }
        }
    }

    fn report(&self, map: &ConfigMap, warning: bool, reason: &'static str, message: String) {
        if self.configuration.is_new_version(map.resource_version()) {
            self.publish(map, warning, reason, message);
        }
    }

    fn publish(&self, map: &ConfigMap, warning: bool, reason: &'static str, message: String) {
        let transition = Transition {
            warning,
            reason,
            message,
        };
        reconcile::publish(self, map.object_ref(&()), &transition);
    }
}

fn api(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

fn read(map: &ConfigMap) -> Result<(&str, Configuration), ConfigurationError> {
    let text = map.data.as_ref().and_then(|data| data.get(KEY));
    let text = text.ok_or(ConfigurationError::NoKey)?;
    Ok((text, configuration::parse(text)?))
}
