//! The texts of a configuration that have a form of their own: patterns, addresses, names.

use http::Uri;
use regex::Regex;

use super::{Configuration, ConfigurationError, Source};
use crate::http::may_carry_secrets;
use crate::notify::Event;

/// Checks all of them.
pub(super) fn check(configuration: &Configuration) -> Result<(), ConfigurationError> {
    let unusable = |field: &'static str, value: &str, reason: String| ConfigurationError::Unusable {
        field,
        value: value.to_owned(),
        reason,
    };
    for glob in &configuration.scale.extra_machine_pools {
        glob::Pattern::new(glob)
            .map_err(|error| unusable("scale.extraMachinePools", glob, format!("it is no glob: {error}")))?;
    }
    for pattern in &configuration.node_drain.ignored_namespace_patterns {
        Regex::new(pattern).map_err(|error| {
            let field = "nodeDrain.ignoredNamespacePatterns";
            unusable(field, pattern, format!("it is no regular expression: {error}"))
        })?;
    }
    for url in &configuration.ext_dependency_availability_checks.http.urls {
        let field = "extDependencyAvailabilityChecks.http.urls";
        address(url).map_err(|reason| unusable(field, url, reason))?;
    }
    let manager = &configuration.config_manager;
    if manager.source == Source::Ocm {
        let url = manager.ocm_base_url.as_deref().unwrap_or_default();
        secure(url).map_err(|reason| unusable("configManager.ocmBaseUrl", url, reason))?;
    }
    for hook in &configuration.notify.webhooks {
        secure(&hook.url).map_err(|reason| unusable("notify.webhooks[].url", &hook.url, reason))?;
        if let Some(unknown) = hook.events.iter().find(|event| Event::named(event).is_none()) {
            let reason = "there is no such state; StateStarted is one".to_owned();
            return Err(unusable("notify.webhooks[].events", unknown, reason));
        }
    }
    Ok(())
}

fn address(text: &str) -> Result<Uri, String> {
    let uri: Uri = text
        .parse()
        .map_err(|error| format!("it is no address: {error}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err("it is no address that begins with https://".to_owned()),
    }
}

/// An address to which secrets may go.
fn secure(text: &str) -> Result<(), String> {
    let uri = address(text)?;
    // OCM's own agent in the cluster speaks plain HTTP.
    let is_in_cluster = uri
        .host()
        .is_some_and(|host| host.ends_with(".svc.cluster.local"));
    if may_carry_secrets(&uri) || is_in_cluster {
        Ok(())
    } else {
        Err("it must begin with https://".to_owned())
    }
}
