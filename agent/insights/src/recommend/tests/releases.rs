use super::*;

#[test]
fn releases_are_grouped_by_minor_versions_the_newest_first() {
    let version = version(
        &["4.16.28", "4.17.1", "5.0.0", "4.16.30", "4.16.29", "4.17.1-rc.1"],
        json!([]),
    );
    let rendered = show(&version, &RecommendationView::default());
    let updates = rendered.text.split_once("stable-4.17)\n").unwrap().1;
    assert_eq!(
        updates,
        "
Updates to 5.0:
  VERSION     ISSUES
  5.0.0       no known issues relevant to this cluster

Updates to 4.17:
  VERSION     ISSUES
  4.17.1      no known issues relevant to this cluster
  4.17.1-rc.1 no known issues relevant to this cluster

Updates to 4.16:
  VERSION     ISSUES
  4.16.30     no known issues relevant to this cluster
  4.16.29     no known issues relevant to this cluster
And 1 older 4.16 updates you can see with '--show-outdated-releases' or '--version VERSION'.
"
    );
}

#[test]
fn risky_releases_are_blocks_between_blank_lines() {
    let blocks = "  Version: 4.16.30
  Image: image-of-4.16.30
  Reason: Fire
  Message: It may burn.
  \n  Really.
";
    for (risks, available, expected) in [
        (json!([risky("4.16.30", "False")]), &["4.16.29", "4.16.28"][..], format!(
            "\n{blocks}\n  VERSION     ISSUES\n  4.16.29     no known issues relevant to this cluster\nAnd 1 older 4.16 updates you can see with '--show-outdated-releases' or '--version VERSION'.\n")),
        (json!([risky("4.16.30", "Unknown")]), &["4.16.31", "4.16.29"][..], format!(
            "  VERSION     ISSUES\n  4.16.31     no known issues relevant to this cluster\n\n{blocks}\nAnd 1 older 4.16 updates you can see with '--show-outdated-releases' or '--version VERSION'.\n")),
        (json!([risky("4.16.28", "False")]), &["4.16.31", "4.16.29"][..],
            "  VERSION     ISSUES\n  4.16.31     no known issues relevant to this cluster\n  4.16.29     no known issues relevant to this cluster\n\nAnd 1 older 4.16 updates you can see with '--show-outdated-releases' or '--version VERSION'.\n".to_owned()),
        (json!([risky("4.16.30", "True")]), &[][..],
            "  VERSION     ISSUES\n  4.16.30     no known issues relevant to this cluster\n".to_owned()),
    ] {
        let rendered = show(&version(available, risks), &RecommendationView::default());
        let updates = rendered.text.split_once("Updates to 4.16:\n").unwrap().1;
        assert_eq!(updates, expected);
    }
}

#[test]
fn long_versions_widen_the_rows_that_are_set_with_them() {
    let version = version(&["4.16.0-okd-scos.18", "4.16.0-okd-scos.9"], json!([]));
    let rendered = show(&version, &RecommendationView::default());
    let updates = rendered.text.split_once("Updates to 4.16:\n").unwrap().1;
    assert_eq!(
        updates,
        "  VERSION            ISSUES
  4.16.0-okd-scos.18 no known issues relevant to this cluster
  4.16.0-okd-scos.9 no known issues relevant to this cluster
"
    );
}

#[test]
fn all_releases_are_in_one_table_with_the_reasons_of_risks() {
    let view = RecommendationView {
        with_outdated: true,
        ..RecommendationView::default()
    };
    let rendered = show(
        &version(&["4.16.29", "4.16.28"], json!([risky("4.16.30", "False")])),
        &view,
    );
    let updates = rendered.text.split_once("Updates to 4.16:\n").unwrap().1;
    assert_eq!(
        updates,
        "  VERSION     ISSUES
  4.16.30     Fire
  4.16.29     no known issues relevant to this cluster
  4.16.28     no known issues relevant to this cluster
"
    );
}

#[test]
fn an_update_with_risks_is_not_repeated_among_the_available_ones() {
    let found = assess(
        &version(&["4.16.30"], json!([risky("4.16.30", "False")])),
        &alerts(&[]),
        None,
    );
    assert_eq!(found.groups[0].targets.len(), 1);
}

#[test]
fn risks_without_a_verdict_are_unknown() {
    let update = json!([{"release": release("4.16.30"), "risks": [{"name": "Smoke"}, {"name": "Fire"}]}]);
    let found = assess(&version(&[], update), &alerts(&[]), None);
    let says = found.groups[0].targets[0].not_recommended.as_ref().unwrap();
    assert_eq!(
        (says.status.as_str(), says.reason.as_str()),
        ("Unknown", "NoConditions")
    );
    assert_eq!(
        says.message,
        "Conditional update to 4.16.30 has risks (Fire, Smoke), but no conditions."
    );
}

#[test]
fn operators_that_do_not_allow_it_are_a_risk_of_other_minor_versions() {
    let not_upgradeable =
        json!({"type": "Upgradeable", "status": "False", "reason": "AdminAck", "message": "Say yes."});
    let conditional = json!([risky("4.17.2", "False"), risky("4.17.1", "True")]);
    let version = with_condition(
        version(&["4.16.28", "4.17.0", "5.0.0", "4.15.50"], conditional),
        not_upgradeable,
    );
    let found = assess(&version, &alerts(&[]), None);
    let reasons: Vec<_> = found
        .groups
        .iter()
        .flat_map(|group| &group.targets)
        .map(|target| {
            (
                target.version.to_string(),
                target.not_recommended.as_ref().map(|says| says.reason.as_str()),
            )
        })
        .collect();
    let reasons: Vec<_> = reasons
        .iter()
        .map(|(version, reason)| (version.as_str(), *reason))
        .collect();
    assert_eq!(
        reasons,
        [
            ("5.0.0", Some("AdminAck")),
            ("4.17.2", Some("MultipleReasons")),
            ("4.17.1", Some("AdminAck")),
            ("4.17.0", Some("AdminAck")),
            ("4.16.28", None),
            ("4.15.50", None),
        ]
    );
    let both = found.groups[1].targets[0].not_recommended.as_ref().unwrap();
    assert_eq!(both.message, "Say yes.\n\nIt may burn.\n\nReally.");
}

#[test]
fn a_risk_that_says_already_that_operators_do_not_allow_it_is_not_repeated() {
    let not_upgradeable =
        json!({"type": "Upgradeable", "status": "False", "reason": "AdminAck", "message": "It may burn."});
    let version = with_condition(version(&[], json!([risky("4.17.1", "False")])), not_upgradeable);
    let found = assess(&version, &alerts(&[]), None);
    assert_eq!(
        found.groups[0].targets[0]
            .not_recommended
            .as_ref()
            .unwrap()
            .reason,
        "Fire"
    );
}

#[test]
fn versions_that_cannot_be_read_are_warned_of() {
    let rendered = show(&version(&["latest"], json!([])), &RecommendationView::default());
    assert!(
        rendered
            .warnings
            .starts_with("warning: Cannot parse SemVer available update \"latest\": ")
    );
    assert!(rendered.text.ends_with(
        "No updates available. You may still upgrade to a specific release image with --to-image or wait for new updates to be available.\n"
    ));
}

#[test]
fn an_update_service_that_is_not_set_or_not_asked_is_said() {
    let failed = json!({"type": "RetrievedUpdates", "status": "False", "reason": "NoChannel", "message": "There is\nnone."});
    let rendered = show(
        &with_condition(version(&[], json!([])), failed),
        &RecommendationView::default(),
    );
    assert_eq!(
        rendered.warnings,
        "warning: Cannot refresh available updates:\n  Reason: NoChannel\n  Message: There is\n  none.\n\n"
    );
    assert!(rendered.text.contains("Upstream update service is unset, so the cluster will use an appropriate default.\nChannel: stable-4.16 (available channels: stable-4.16, stable-4.17)\n"));
}
