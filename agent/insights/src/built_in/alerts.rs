//! What alerts say about an update (insights.md, section 2.5): during one those that began with it, before one those that make it harder.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::openshift::ClusterVersion;
use drydock_api::prometheus::Alert;
use jiff::Timestamp;

use super::Question;
use super::draft::Draft;
use crate::finding::Finding;
use crate::recommend;
use crate::status::{self, first, runbook};
use crate::times::moment;

/// By which one sees whether it still fires.
const VERIFY: &str = "kubectl get --raw /api/v1/namespaces/openshift-monitoring/services/https:thanos-querier:web/proxy/api/v1/alerts";
/// How many alerts of the same name and namespace are described.
const SHOWN: usize = 3;

/// Labels that say by which program an alert was seen, and not what it is about.
const OF_THE_SEEING: [&str; 7] = [
    "alertname",
    "namespace",
    "severity",
    "prometheus",
    "prometheus_replica",
    "replica",
    "openshift_io_alert_source",
];
/// Labels that name a pod.
const PODS: [&str; 2] = ["pod", "pod_name"];
/// Labels that say where in a pod, beside one that names it.
const OF_PODS: [&str; 4] = ["container", "container_name", "endpoint", "uid"];
/// Where something is scraped: of a pod its address, of all else its name.
const INSTANCE: &str = "instance";
/// The letters of names that Kubernetes makes up.
const MADE_UP: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Does a label say which of many like it, and not what: with it each restart would be another finding. A pod of a node or of a StatefulSet keeps
/// its name, and what is not a pod is known by its instance.
fn is_passing(key: &str, value: &str, is_of_pod: bool) -> bool {
    if OF_THE_SEEING.contains(&key) || (is_of_pod && OF_PODS.contains(&key)) {
        return true;
    }
    let is_address = value.parse::<SocketAddr>().is_ok() || value.parse::<IpAddr>().is_ok();
    let is_made_up = value
        .rsplit_once('-')
        .is_some_and(|(_, end)| end.len() == 5 && end.chars().all(|letter| MADE_UP.contains(letter)));
    let is_instance = key == INSTANCE && is_of_pod;
    (is_instance || PODS.contains(&key)) && (is_address || is_made_up)
}

/// Alerts that differ only in the pod are one finding: they come and go by it. What they are about makes them another one, so that who has
/// accepted that one operator is down has not accepted the same of others.
pub(super) fn findings(
    alerts: &[Alert],
    cluster: &ClusterVersion,
    question: Question<'_>,
    now: Timestamp,
) -> Vec<Finding> {
    let started = cluster.status.as_ref().and_then(|status| {
        let newest = status.history.first()?;
        moment(newest.started_time.as_deref())
    });
    let mut by_subject: BTreeMap<Subject<'_>, Vec<Said>> = BTreeMap::new();
    for alert in alerts {
        if let Some(said) = said(alert, question, started) {
            by_subject.entry(Subject::of(alert)).or_default().push(said);
        }
    }
    let drafts = by_subject
        .into_iter()
        .filter_map(|(subject, said)| draft(&subject, said));
    drafts.map(|draft| draft.finding(now)).collect()
}

/// What alerts are about.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Subject<'a> {
    name: &'a str,
    namespace: &'a str,
    /// All other labels that tell one from another, as `key="value"`.
    labels: String,
}

impl<'a> Subject<'a> {
    fn of(alert: &'a Alert) -> Self {
        let is_of_pod = PODS.iter().any(|label| !alert.label(label).is_empty());
        let labels = alert.labels.iter();
        let labels = labels.filter(|(key, value)| !is_passing(key, value, is_of_pod));
        // In quotes, so that no value can look like several.
        let labels: Vec<_> = labels.map(|(key, value)| format!("{key}={value:?}")).collect();
        Self {
            name: alert.label("alertname"),
            namespace: alert.label("namespace"),
            labels: labels.join(","),
        }
    }

    fn resources(&self) -> Vec<ResourceReference> {
        let object = |kind: &str, namespace: &str, name: &str| ResourceReference {
            group: None,
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            name: name.to_owned(),
        };
        let labels = (!self.labels.is_empty()).then(|| object("AlertLabels", "", &self.labels));
        std::iter::once(object("Alert", self.namespace, self.name))
            .chain(labels)
            .collect()
    }
}

/// What an alert says.
struct Said {
    level: Level,
    impact_type: ImpactType,
    summary: String,
    description: String,
    reference: String,
}

fn said(alert: &Alert, question: Question<'_>, started: Option<Timestamp>) -> Option<Said> {
    match question {
        Question::Status => {
            let insight = status::of_alert(alert, started)?;
            Some(Said {
                level: insight.level,
                impact_type: insight.impact,
                summary: insight.summary,
                description: insight.description,
                reference: insight.reference,
            })
        }
        Question::Plan(_) => {
            let concern = recommend::concern_of_alert(alert)?;
            let name = alert.label("alertname");
            Some(Said {
                level: if concern.is_critical {
                    Level::Critical
                } else {
                    Level::Warning
                },
                impact_type: concern.impact,
                summary: format!("Alert is firing: {}", first(alert.annotation("summary"), name)),
                description: concern.details,
                reference: runbook(alert).to_owned(),
            })
        }
    }
}

fn draft(subject: &Subject<'_>, mut said: Vec<Said>) -> Option<Draft> {
    said.sort_by(|one, other| (other.level, &one.description).cmp(&(one.level, &other.description)));
    let count = said.len();
    let texts: Vec<&str> = said
        .iter()
        .take(SHOWN)
        .map(|said| said.description.trim())
        .collect();
    let mut description = texts.join("\n");
    if count > SHOWN {
        description = format!("{description}\nand {} more like these", count - SHOWN);
    }
    let worst = said.swap_remove(0);
    Some(Draft {
        uid: "alert",
        level: worst.level,
        impact_type: worst.impact_type,
        summary: worst.summary,
        description,
        action: format!(
            "Follow the runbook of alert {}, or resolve what it names",
            subject.name
        ),
        verify: VERIFY.to_owned(),
        reference: Some(worst.reference),
        resources: subject.resources(),
    })
    .filter(|_| count > 0)
}
