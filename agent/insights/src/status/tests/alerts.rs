use super::*;

fn alert(name: &str, severity: &str, state: &str, minutes: i64) -> Value {
    json!({"labels": {"alertname": name, "severity": severity, "namespace": "ns"}, "state": state, "activeAt": minutes_ago(minutes),
        "annotations": {"summary": "It burns", "description": "Look at it", "runbook_url": "https://example.com/runbook"}})
}

fn insights(alerts: &[Value]) -> Vec<Insight> {
    update([json!({"status": "success", "data": {"alerts": alerts}})]).insights
}

#[test]
fn alerts_are_warnings_or_critical_by_their_severity() {
    for (severity, level) in [
        ("warning", Some("Warning")),
        ("critical", Some("Critical")),
        ("info", None),
        ("none", None),
    ] {
        let expected: Vec<_> = level.map(|level| (level, "Unknown")).into_iter().collect();
        assert_eq!(
            levels(&insights(&[alert("Fire", severity, "firing", 5)])),
            expected,
            "{severity}"
        );
    }
}

#[test]
fn pending_and_nameless_alerts_do_not_count() {
    assert!(insights(&[alert("Fire", "warning", "pending", 5)]).is_empty());
    assert!(insights(&[alert("", "warning", "firing", 5)]).is_empty());
}

#[test]
fn alerts_count_that_began_during_the_update() {
    let found = insights(&[alert("Fire", "warning", "firing", 29)]);
    assert_eq!(
        found[0].description,
        "Alert started firing during the update. The alert description is: Look at it"
    );
    assert_eq!(found[0].resources[0].namespaced_name(), "ns/Fire");
    assert!(insights(&[alert("Fire", "warning", "firing", 31)]).is_empty());
}

#[test]
fn alerts_about_disruption_budgets_count_whenever_they_began() {
    for name in ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"] {
        let before = insights(&[alert(name, "warning", "firing", 31)]);
        let during = insights(&[alert(name, "warning", "firing", 29)]);
        assert!(
            before[0].description.starts_with(
                "Alert known to affect updates has been firing since before the update started."
            )
        );
        assert!(
            during[0]
                .description
                .starts_with("Alert known to affect updates started firing during the update.")
        );
    }
}

#[test]
fn what_an_alert_does_not_say_is_filled_in() {
    let mut silent = alert("Fire", "warning", "firing", 5);
    silent["annotations"] = json!({});
    let found = insights(&[silent.clone()]);
    assert_eq!(found[0].summary, "Alert is firing: Fire");
    assert_eq!(
        found[0].description,
        "Alert started firing during the update. The alert has no description."
    );
    assert_eq!(
        found[0].reference,
        "<alert does not have a runbook_url annotation>"
    );
    silent["annotations"] = json!({"description": "One", "message": "Two"});
    assert!(
        insights(&[silent])[0]
            .description
            .ends_with("The alert description is: One | Two")
    );
}

#[test]
fn alerts_that_could_not_be_read_are_noted() {
    let objects = vec![version(), operator("etcd"), json!({"data": {"alerts": 7}})];
    let report = report(objects).unwrap();
    let said = "Unable to fetch alerts, ignoring alerts in 'Update Health': parsing alerts:";
    assert!(
        report.notes.iter().any(|note| note.starts_with(said)),
        "{:?}",
        report.notes
    );
}
