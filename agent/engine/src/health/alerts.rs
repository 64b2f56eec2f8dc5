//! Critical alerts of the platform (a).

use super::{Check, Finding, reason, some};
use crate::configuration::Configuration;
use crate::facts::{Facts, Need, Unread};

/// Alerts that say that an upgrade waits, or went wrong: an upgrade that waited for their end would wait forever.
const OURS: [&str; 8] = [
    "UpgradeConfigValidationFailedSRE",
    "UpgradeClusterCheckFailedSRE",
    "UpgradeNodeScalingFailedSRE",
    "UpgradeControlPlaneUpgradeTimeoutSRE",
    "UpgradeNodeUpgradeTimeoutSRE",
    "UpgradeNodeDrainFailedSRE",
    "UpgradeConfigSyncFailureOver4HrSRE",
    "UpgradeNotificationFailedSRE",
];

/// The query for critical alerts that are not ignored.
pub fn query(configuration: &Configuration) -> String {
    let check = &configuration.health_check;
    let namespaces = check.ignored_namespaces.iter().map(|name| ("namespace", name));
    let alerts = check.ignored_criticals.iter().map(|name| ("alertname", name));
    let ignored: String = namespaces
        .chain(alerts)
        .map(|(label, name)| format!(",{label}!=\"{}\"", escaped(name)))
        .collect();
    format!(
        r#"ALERTS{{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$"{ignored}}}"#
    )
}

/// A text as it stands between quotes in PromQL.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}

pub fn check(facts: &Facts) -> Check {
    let finding = |reason, message| {
        Ok(vec![Finding {
            reason,
            message,
            blocks: true,
        }])
    };
    match &facts.seen.alerts {
        Err(Unread::NotAsked) => Err(Need::Alerts),
        // That nothing fires has to be known.
        Err(Unread::Failed(why)) => finding(
            reason::QUERY_FAILED,
            format!("cannot check whether critical alerts fire: {why}"),
        ),
        Ok(names) => {
            let others: Vec<String> = names
                .iter()
                .filter(|name| !OURS.contains(&name.as_str()))
                .cloned()
                .collect();
            if others.is_empty() {
                return Ok(Vec::new());
            }
            finding(reason::ALERTS, format!("critical alerts fire: {}", some(&others)))
        }
    }
}
