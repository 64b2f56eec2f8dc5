//! The pull secret: which registry gets which credentials.

use std::collections::BTreeMap;

use http::HeaderValue;
use serde::Deserialize;

/// `.dockerconfigjson`
#[derive(Default, Deserialize)]
pub(crate) struct Credentials {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
}

#[derive(Default, Deserialize)]
struct Auth {
    #[serde(default)]
    auth: String,
}

impl Credentials {
    /// Reads a pull secret.
    ///
    /// # Errors
    /// If it is not of that form; the text says no more than where.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The entry for a host, as it stands there.
    pub fn entry(&self, host: &str) -> Option<&str> {
        self.auths.get(host).map(|auth| auth.auth.as_str())
    }

    /// The header for a repository: of the longest entry that names it, or its registry.
    pub fn of(&self, registry: &str, repository: &str) -> Option<HeaderValue> {
        let name = format!("{registry}/{repository}");
        let matching = self.auths.iter().filter(|(key, _)| {
            let key = key.trim_start_matches("https://").trim_end_matches('/');
            name == key || name.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'))
        });
        let (_, auth) = matching.max_by_key(|(key, _)| key.len())?;
        let mut value = HeaderValue::try_from(format!("Basic {}", auth.auth.trim())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A parameter of a challenge: `realm="…",service="…"`.
pub(super) fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([' ', ',']);
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = after;
    }
    None
}
