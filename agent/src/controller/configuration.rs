//! The configuration in force: the ConfigMap's, or the last good one while that is refused (agent 5).

use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use crate::configuration::{self, Configuration, ConfigurationError, KEY};

/// The last good configuration, and which refusal has been told.
#[derive(Debug, Default)]
pub(super) struct LastGood(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    good: Option<Configuration>,
    told: Option<String>,
}

/// What a ConfigMap came to.
pub(super) struct InForce {
    /// The configuration; none if there has never been a good one.
    pub configuration: Option<Configuration>,
    /// Why the ConfigMap is refused, the first time that this is seen.
    pub refused: Option<ConfigurationError>,
}

impl LastGood {
    /// The configuration that holds, without a word about one that is refused.
    pub fn good(&self, map: Option<&ConfigMap>) -> Option<Configuration> {
        match read(map) {
            Ok(configuration) => Some(configuration),
            Err(_) => self.0.lock().unwrap_or_else(PoisonError::into_inner).good.clone(),
        }
    }

    /// The configuration that holds now. Without a ConfigMap the defaults do.
    pub fn in_force(&self, map: Option<&ConfigMap>) -> InForce {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match read(map) {
            Ok(configuration) => {
                state.good = Some(configuration.clone());
                state.told = None;
                InForce {
                    configuration: Some(configuration),
                    refused: None,
                }
            }
            Err(error) => {
                let version = map.and_then(ConfigMap::resource_version);
                let is_news = state.told != version;
                state.told = version;
                InForce {
                    configuration: state.good.clone(),
                    refused: is_news.then_some(error),
                }
            }
        }
    }
}

fn read(map: Option<&ConfigMap>) -> Result<Configuration, ConfigurationError> {
    let Some(map) = map else {
        return Ok(Configuration::default());
    };
    let text = map.data.as_ref().and_then(|data| data.get(KEY));
    configuration::parse(text.ok_or(ConfigurationError::NoKey)?)
}
