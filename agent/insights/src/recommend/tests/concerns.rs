use super::*;

#[test]
fn critical_alerts_concern_whatever_their_name() {
    let found = of_alerts(&[
        alert("Anything", "critical"),
        alert("KubeNodeNotReady", "critical"),
    ]);
    assert_eq!(
        types(&found.concerns),
        [
            "recommended/CriticalAlerts/Anything/0",
            "recommended/CriticalAlerts/KubeNodeNotReady/1"
        ]
    );
    assert_eq!(
        found.concerns[0].message,
        "critical alert Anything firing, suggesting significant cluster issues worth investigating. It burns. The alert description is: Look. https://example.com"
    );
}

#[test]
fn a_critical_alert_about_a_budget_names_it_and_its_group_is_not_quiet() {
    let found = of_alerts(&[alert("PodDisruptionBudgetLimit", "critical")]);
    assert!(
        found.concerns[0]
            .message
            .contains("investigating. Namespace=ns, PodDisruptionBudget=budget. It burns.")
    );
    let quiet: Vec<_> = found
        .concerns
        .iter()
        .filter(|concern| concern.is_well())
        .map(|concern| concern.type_.as_str())
        .collect();
    assert_eq!(
        quiet,
        [
            "recommended/PodImagePullAlerts",
            "recommended/NodeAlerts",
            "recommended/UpdatePrecheckAlerts"
        ]
    );
}

#[test]
fn alerts_about_budgets_at_their_limit_concern() {
    let found = of_alerts(&[
        alert("PodDisruptionBudgetAtLimit", "warning"),
        alert("PodDisruptionBudgetLimit", "warning"),
    ]);
    assert_eq!(
        types(&found.concerns),
        ["recommended/PodDisruptionBudgetAlerts/PodDisruptionBudgetAtLimit/0"]
    );
    assert!(found.concerns[0].message.starts_with(
        "warning alert PodDisruptionBudgetAtLimit firing, which might slow node drains. Namespace=ns, PodDisruptionBudget=budget. It burns."
    ));
}

#[test]
fn waiting_containers_concern() {
    let found = of_alerts(&[alert("KubeContainerWaiting", "warning")]);
    assert_eq!(
        types(&found.concerns),
        ["recommended/PodImagePullAlerts/KubeContainerWaiting/0"]
    );
}

#[test]
fn unwell_nodes_concern() {
    let names = [
        "KubeletHealthState",
        "KubeNodeNotReady",
        "KubeNodeReadinessFlapping",
        "KubeNodeUnreachable",
    ];
    let found = of_alerts(&names.map(|name| alert(name, "warning")));
    for (index, name) in names.iter().enumerate() {
        assert_eq!(
            types(&found.concerns)[index],
            format!("recommended/NodeAlerts/{name}/{index}")
        );
    }
    assert!(
        found.concerns[0]
            .message
            .contains("which may slow workload redistribution during rolling node updates.")
    );
}

#[test]
fn alerts_that_are_marked_for_it_concern() {
    let mut marked = alert("Anything", "info");
    marked["labels"]["openShiftUpdatePrecheck"] = json!("true");
    let found = of_alerts(&[marked]);
    assert_eq!(
        types(&found.concerns),
        ["recommended/UpdatePrecheckAlerts/Anything/0"]
    );
    assert!(
        found.concerns[0]
            .message
            .contains("suggesting issues worth investigating before updating the cluster.")
    );
}

#[test]
fn virtual_machines_that_cannot_move_concern_and_are_never_said_to_be_quiet() {
    let names = ["VirtHandlerDaemonSetRolloutFailing", "VMCannotBeEvicted"];
    let found = of_alerts(&names.map(|name| alert(name, "warning")));
    assert_eq!(types(&found.concerns).len(), 2);
    assert!(
        of_alerts(&[])
            .concerns
            .iter()
            .all(|concern| !concern.type_.contains("Virt"))
    );
}

#[test]
fn pending_nameless_and_other_alerts_do_not_concern() {
    let mut pending = alert("Anything", "critical");
    pending["state"] = json!("pending");
    let found = of_alerts(&[pending, alert("", "critical"), alert("Watchdog", "none")]);
    assert!(types(&found.concerns).is_empty());
    assert_eq!(found.concerns.len(), 5);
    assert!(
        found
            .concerns
            .iter()
            .all(|concern| concern.reason == "AsExpected")
    );
}

#[test]
fn what_an_alert_does_not_say_is_filled_in() {
    let mut silent = alert("Anything", "critical");
    silent["annotations"] = json!({});
    assert!(of_alerts(&[silent]).concerns[0].message.ends_with(
        "worth investigating. Anything. The alert has no description. <alert does not have a runbook_url annotation>"
    ));
}

#[test]
fn alerts_that_could_not_be_read_are_an_issue() {
    let unread = Err(Unread::Failed("no token".to_owned()));
    let found = assess(&version(&[], json!([])), &unread, None);
    assert_eq!(
        found.issues,
        BTreeSet::from(["FailedToCompletePrecheck".to_owned()])
    );
    let text = render::recommendation(&found, &RecommendationView::default()).text;
    assert!(
        text.starts_with("Failed to check for at least some preconditions: no token\n"),
        "{text}"
    );
}
