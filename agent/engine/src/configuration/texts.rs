//! The texts of a configuration that have a form of their own: patterns, addresses, names.

use std::net::IpAddr;

use http::Uri;
use regex::Regex;

use super::{Configuration, ConfigurationError, PolicySource};
use crate::notification::UpgradeEvent;

/// Checks all of them.
pub fn check(configuration: &Configuration) -> Result<(), ConfigurationError> {
    let unusable = |field: &'static str, value: &str, reason: String| ConfigurationError::Unusable {
        field,
        value: value.to_owned(),
        reason,
    };
    for glob in &configuration.scale.extra_machine_pools {
        pattern(glob).map_err(|error| {
            unusable(
                "scale.extraMachinePools",
                glob,
                format!("it is not a valid glob: {error}"),
            )
        })?;
    }
    for pattern in &configuration.node_drain.ignored_namespace_patterns {
        Regex::new(&regular_expression(pattern)).map_err(|error| {
            let field = "nodeDrain.ignoredNamespacePatterns";
            unusable(
                field,
                pattern,
                format!("it is not a valid regular expression: {error}"),
            )
        })?;
    }
    for url in &configuration.ext_dependency_availability_checks.http.urls {
        let field = "extDependencyAvailabilityChecks.http.urls";
        address(url).map_err(|reason| unusable(field, &shown(url), reason))?;
    }
    let manager = &configuration.config_manager;
    if manager.source == PolicySource::Ocm {
        let url = manager.ocm_base_url.as_deref().unwrap_or_default();
        secure(url).map_err(|reason| unusable("configManager.ocmBaseUrl", &shown(url), reason))?;
    }
    for hook in &configuration.notify.webhooks {
        secure(&hook.url).map_err(|reason| unusable("notify.webhooks[].url", &shown(&hook.url), reason))?;
        if let Some(unknown) = hook
            .events
            .iter()
            .find(|event| UpgradeEvent::named(event).is_none())
        {
            let reason = "there is no such notification; StateStarted is one".to_owned();
            return Err(unusable("notify.webhooks[].events", unknown, reason));
        }
    }
    Ok(())
}

fn address(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|_| "it is not a valid URL".to_owned())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(_)) => Ok(uri),
        _ => Err("it is not a valid URL that begins with https://".to_owned()),
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

/// Whether what is sent to an address is encrypted, or does not leave the machine.
pub fn may_carry_secrets(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || is_loopback
}

/// An address as it may be shown: who is named before an @, the path and the query may be secrets.
fn shown(text: &str) -> String {
    let uri: Option<Uri> = text.parse().ok();
    let place = uri
        .as_ref()
        .and_then(|uri| Some((uri.scheme_str()?, uri.host()?)));
    place.map_or_else(|| "…".to_owned(), |(scheme, host)| format!("{scheme}://{host}/…"))
}

/// A message without what it quotes, which may be a secret.
pub(super) fn without_quotes(message: &str) -> String {
    let mut parts = message.split('"');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest: String = parts
        .enumerate()
        .map(|(index, part)| if index % 2 == 0 { "\"…\"" } else { part })
        .collect();
    first + &rest
}

/// A pattern of Go's `path.Match`.
///
/// # Errors
/// If it is none.
pub fn pattern(glob: &str) -> Result<glob::Pattern, glob::PatternError> {
    let mut text = glob.replace("[^", "[!");
    while text.contains("**") {
        text = text.replace("**", "*");
    }
    glob::Pattern::new(&text)
}

/// A regular expression of Go's, which knows `\\Q…\\E` for a text that is meant as it stands.
pub fn regular_expression(go: &str) -> String {
    let mut parts = go.split(r"\Q");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (literal, rest) = part.split_once(r"\E").unwrap_or((part, ""));
        text.push_str(&regex::escape(literal));
        text.push_str(rest);
    }
    text
}
