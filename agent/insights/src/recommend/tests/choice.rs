use super::*;

#[test]
fn each_issue_has_its_name() {
    let stated = |type_: &str, status: &str| {
        let condition = json!({"type": type_, "status": status, "reason": "Because", "message": "It is so."});
        let found = assess(
            &with_condition(version(&[], json!([])), condition),
            &alerts(&[]),
            None,
        );
        found.issues.into_iter().collect::<Vec<_>>().join(",")
    };
    for (type_, status, issues) in [
        ("Failing", "True", "Failing"),
        ("Failing", "Unknown", "Failing"),
        ("Failing", "False", ""),
        ("Progressing", "True", "Progressing"),
        ("RetrievedUpdates", "False", "CannotRetrieveUpdates"),
        ("RetrievedUpdates", "True", ""),
    ] {
        assert_eq!(stated(type_, status), issues, "{type_}={status}");
    }
    let folder = assess(&version(&[], json!([])), &Err(Unread::NotAsked), Some("case"));
    assert_eq!(folder.issues, BTreeSet::from(["AlertNoTestData".to_owned()]));
}

#[test]
fn a_cluster_version_that_does_not_say_whether_it_fails_is_an_issue_and_a_warning() {
    let mut version = version(&["4.16.28"], json!([]));
    version
        .status
        .as_mut()
        .unwrap()
        .conditions
        .retain(|condition| condition.type_ != "Failing");
    let rendered = show(&version, &one("4.16.28", &["Failing"]));
    assert_eq!(
        rendered.warnings,
        "accepted warning: No current Failing info, see `oc describe clusterversion` for more details.\n"
    );
    assert!(!rendered.is_refused);
}

#[test]
fn releases_that_are_not_among_the_updates_have_four_reasons() {
    let some = version(&["4.16.28", "4.16.30"], json!([]));
    for (version, asked, error) in [
        (
            &version(&[], json!([])),
            "4.16.29",
            "no updates available, so cannot display context for the requested release 4.16.29",
        ),
        (
            &some,
            "5.0.0",
            "no updates to 5 available, so cannot display context for the requested release 5.0.0",
        ),
        (
            &some,
            "4.17.1",
            "no updates to 4.17 available, so cannot display context for the requested release 4.17.1",
        ),
        (
            &some,
            "4.16.29",
            "no update to 4.16.29 available, so cannot display context for the requested release",
        ),
    ] {
        let rendered = show(version, &one(asked, &[]));
        assert!(
            rendered.text.ends_with(&format!("\n\nerror: {error}\n")),
            "{}",
            rendered.text
        );
        assert!(rendered.is_refused);
    }
}

#[test]
fn a_release_that_nothing_speaks_against_is_not_refused() {
    let rendered = show(&version(&["4.16.28"], json!([])), &one("4.16.28", &[]));
    assert!(rendered.text.ends_with(
        "\n\nUpdate to 4.16.28 has no known issues relevant to this cluster.\nImage: image-of-4.16.28\nRelease URL: https://example.com/4.16.28\n"
    ));
    assert!(!rendered.is_refused);
}

#[test]
fn risks_of_a_release_are_refused_unless_they_are_accepted() {
    let version = version(&[], json!([risky("4.16.30", "False")]));
    let refused = show(&version, &one("4.16.30", &[]));
    assert!(refused.text.ends_with(
        "\n\nUpdate to 4.16.30 Recommended=False:\nImage: image-of-4.16.30\nRelease URL: https://example.com/4.16.30\nReason: Fire\nMessage: It may burn.\n  \n  Really.\n\nerror: issues that apply to this cluster but which were not included in --accept: ConditionalUpdateRisk\n"
    ), "{}", refused.text);
    assert!(refused.is_refused);
    let accepted = show(&version, &one("4.16.30", &["ConditionalUpdateRisk"]));
    assert!(accepted.text.ends_with(
        "\nReason: accepted Fire via ConditionalUpdateRisk\nMessage: It may burn.\n  \n  Really.\nUpdate to 4.16.30 has no known issues relevant to this cluster other than the accepted ConditionalUpdateRisk.\n"
    ), "{}", accepted.text);
    assert!(!accepted.is_refused);
}

#[test]
fn accepted_concerns_are_named_apart() {
    let found = of_alerts(&[alert("One", "critical"), alert("Two", "critical")]);
    let text = render::recommendation(&found, &one("4.16.28", &["One"])).text;
    assert!(
        text.contains(
            "releases, but were explicitly accepted via --accept: recommended/CriticalAlerts/One/0\n"
        )
    );
    assert!(text.contains("to later releases: recommended/CriticalAlerts/Two/1\n"));
    let all = render::recommendation(&found, &one("4.16.28", &["One", "Two"])).text;
    assert!(
        !all.contains("recommended/CriticalAlerts/One/0=False"),
        "no blocks if all is accepted"
    );
}

#[test]
fn quietly_only_the_names_are_printed_of_what_is_not_accepted() {
    let failing = json!({"type": "Failing", "status": "True", "reason": "Because", "message": "It is so."});
    let version = with_condition(version(&[], json!([risky("4.16.30", "False")])), failing);
    let quiet = |accepted: &[&str]| {
        show(
            &version,
            &RecommendationView {
                quiet: true,
                ..one("4.16.30", accepted)
            },
        )
    };
    assert_eq!(quiet(&[]).text, "ConditionalUpdateRisk,Failing\n");
    assert_eq!(quiet(&["Failing"]).text, "ConditionalUpdateRisk\n");
    let accepted = quiet(&["Failing", "ConditionalUpdateRisk"]);
    assert_eq!((accepted.text.as_str(), accepted.is_refused), ("", false));
    // A script would take what is printed for a name.
    let absent = RecommendationView {
        quiet: true,
        ..one("4.16.99", &[])
    };
    let refused = show(&version, &absent);
    assert_eq!((refused.text.as_str(), refused.is_refused), ("", true));
    assert!(
        refused.warnings.starts_with("error: no update to 4.16.99"),
        "{}",
        refused.warnings
    );
}
