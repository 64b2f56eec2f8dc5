//! What alerts say about an update (insights.md, section 2.5): during one those that began with it, before one those that make it harder.

use std::collections::BTreeMap;

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

/// Alerts of the same name and namespace are one finding: they come and go by the pod.
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
    let mut by_name: BTreeMap<(&str, &str), Vec<Said>> = BTreeMap::new();
    for alert in alerts {
        if let Some(said) = said(alert, question, started) {
            let key = (alert.label("alertname"), alert.label("namespace"));
            by_name.entry(key).or_default().push(said);
        }
    }
    let drafts = by_name.into_iter().filter_map(|(key, said)| draft(key, said));
    drafts.map(|draft| draft.finding(now)).collect()
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

fn draft((name, namespace): (&str, &str), mut said: Vec<Said>) -> Option<Draft> {
    said.sort_by(|one, other| (other.level, &one.description).cmp(&(one.level, &other.description)));
    let count = said.len();
    let texts: Vec<&str> = said
        .iter()
        .take(SHOWN)
        .map(|said| said.description.trim())
        .collect();
    let mut description = texts.join("\n");
    if count > SHOWN {
        description = format!("{description}\nand {} more of this name", count - SHOWN);
    }
    let worst = said.swap_remove(0);
    Some(Draft {
        uid: "alert",
        level: worst.level,
        impact_type: worst.impact_type,
        summary: worst.summary,
        description,
        action: format!("Follow the runbook of alert {name}, or resolve what it names"),
        verify: VERIFY.to_owned(),
        reference: Some(worst.reference),
        resources: vec![ResourceReference {
            group: None,
            kind: "Alert".to_owned(),
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            name: name.to_owned(),
        }],
    })
    .filter(|_| count > 0)
}
