//! Alerts, during an update and before one.

use super::*;

fn alert(name: &str, severity: &str, namespace: &str, active_at: &str) -> Alert {
    read(json!({
        "labels": {"alertname": name, "severity": severity, "namespace": namespace}, "state": "firing",
        "annotations": {"summary": format!("{name} in words"), "runbook_url": "https://runbook"}, "activeAt": active_at,
    }))
}

#[test]
fn alerts_count_that_began_with_the_update_or_make_one_harder() {
    let mut updating = cluster(&well());
    updating.status.as_mut().unwrap().history[0].started_time = Some("2026-01-05T07:00:00Z".to_owned());
    let (before, during) = ("2026-01-05T06:00:00Z", "2026-01-05T07:30:00Z");
    let facts = BuiltInFacts {
        cluster: Ok(updating),
        alerts: Ok(vec![
            alert("Old", "critical", "a", before),
            alert("New", "warning", "a", during),
            alert("New", "critical", "a", during),
            alert("New", "warning", "b", during),
            alert("Info", "info", "a", during),
            alert("PodDisruptionBudgetAtLimit", "warning", "a", before),
        ]),
        ..facts()
    };
    let levels = |question| {
        let found = found(BuiltIn::Alerts, &facts, question).into_iter();
        found
            .map(|(_, level, summary)| (level, summary))
            .collect::<Vec<_>>()
    };
    let words = |name: &str| format!("Alert is firing: {name} in words");
    assert_eq!(
        levels(Question::Status),
        [
            (Level::Critical, words("New")),
            (Level::Warning, words("New")),
            (Level::Warning, words("PodDisruptionBudgetAtLimit")),
        ]
    );
    assert_eq!(
        levels(Question::Plan("4.14.4")),
        [
            (Level::Critical, words("New")),
            (Level::Critical, words("Old")),
            (Level::Warning, words("PodDisruptionBudgetAtLimit")),
        ]
    );
}
