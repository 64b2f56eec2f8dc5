use jiff::SignedDuration;

use super::*;

#[test]
fn an_empty_configuration_has_the_defaults_of_the_reference() {
    let configuration = parse("{}").unwrap();
    assert_eq!(configuration.upgrade_type, UpgraderType::Aro);
    assert_eq!(configuration.config_manager.watch_interval, 60);
    assert_eq!(configuration.maintenance.control_plane_time, 90);
    assert_eq!(configuration.scale.time_out, 30);
    assert_eq!(
        configuration.upgrade_window.delay(),
        Some(SignedDuration::from_mins(30))
    );
    assert_eq!(
        configuration.upgrade_window.limit(),
        Some(SignedDuration::from_mins(120))
    );
    assert_eq!(configuration.node_drain.time_out, 45);
    assert_eq!(configuration.node_drain.expected_node_drain_time, 8);
    assert_eq!(configuration.ext_dependency_availability_checks.http.timeout, 10);
    assert!(!configuration.feature_gate.pre_health_check());
}

#[test]
fn what_has_no_fields_is_refused_and_not_taken_for_the_defaults() {
    for text in ["", " \n", "# all commented out", "[]", "~", "- source: OCM"] {
        assert_eq!(parse(text), Err(ConfigurationError::NoFields), "{text:?}");
    }
}

#[test]
fn a_list_is_not_taken_for_the_fields_of_a_section() {
    for text in [
        "upgradeWindow: [5, 6]",
        "nodeDrain: []",
        "configManager: []",
        "maintenance: {ignoredAlerts: [[A]]}",
        "extDependencyAvailabilityChecks: {http: [10]}",
        "notify: []",
        "notify: {webhooks: [[https://example.com]]}",
    ] {
        let refused = parse(text).unwrap_err().to_string();
        assert!(refused.contains("is a list"), "{text}: {refused}");
    }
}

#[test]
fn every_key_of_the_original_is_read() {
    let text = "
upgradeType: OSD
configManager: {source: OCM, ocmBaseUrl: https://api.example.com, localConfigName: x, watchInterval: 5}
validation: {cincinnati: true}
environment: {fedramp: true}
maintenance:
  controlPlaneTime: 70
  ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown]}
scale: {timeOut: 20, extraMachinePools: ['gpu-*']}
upgradeWindow: {delayTrigger: 0, timeOut: 0}
nodeDrain: {timeOut: 10, expectedNodeDrainTime: 4, disableDrainStrategies: true, ignoredNamespacePatterns: ['^x']}
healthCheck: {ignoredCriticals: [A], ignoredNamespaces: [b]}
extDependencyAvailabilityChecks: {http: {timeout: 3, urls: [https://example.com]}}
featureGate: {enabled: [PreHealthCheck, ServiceLogNotification]}
";
    let configuration = parse(text).unwrap();
    assert_eq!(configuration.config_manager.source, PolicySource::Ocm);
    assert_eq!(
        configuration.maintenance.ignored_alerts.control_plane_criticals,
        ["ClusterOperatorDown"]
    );
    assert_eq!(
        (
            configuration.upgrade_window.delay(),
            configuration.upgrade_window.limit()
        ),
        (None, None)
    );
    assert!(
        configuration.node_drain.disable_drain_strategies && configuration.feature_gate.pre_health_check()
    );
    assert_eq!(configuration.health_check.ignored_namespaces, ["b"]);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_field_that_is_wrong() {
    let table = [
        (
            "nodeDrain: {timeOut: 0}",
            "nodeDrain.timeOut in the ConfigMap managed-upgrade-operator-config is 0",
        ),
        ("upgradeWindow: {timeOut: -1}", "upgradeWindow.timeOut"),
        ("upgradeWindow: {delayTrigger: 99999999999}", "2147483647 or less"),
        (
            "maintenance: {controlPlaneTime: 9223372036854775807}",
            "2147483647 or less",
        ),
        ("upgradeType: XYZ", "cannot be read"),
        ("scale: [", "cannot be read"),
    ];
    for (text, expected) in table {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn texts_that_have_a_form_are_checked_before_they_are_used() {
    for (text, field) in [
        ("scale: {extraMachinePools: ['a[']}", "scale.extraMachinePools"),
        (
            "nodeDrain: {ignoredNamespacePatterns: ['(']}",
            "nodeDrain.ignoredNamespacePatterns",
        ),
        (
            "extDependencyAvailabilityChecks: {http: {urls: [nowhere]}}",
            "extDependencyAvailabilityChecks.http.urls",
        ),
        ("configManager: {source: OCM}", "configManager.ocmBaseUrl"),
        (
            "configManager: {source: OCM, ocmBaseUrl: 'http://api.example'}",
            "configManager.ocmBaseUrl",
        ),
        (
            "notify: {webhooks: [{url: 'http://hooks.example'}]}",
            "notify.webhooks[].url",
        ),
        (
            "notify: {webhooks: [{url: 'https://hooks.example', events: [Started]}]}",
            "notify.webhooks[].events",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    let good = "
configManager: {source: OCM, ocmBaseUrl: 'https://api.openshift.com'}
scale: {extraMachinePools: ['gpu-*']}
nodeDrain: {ignoredNamespacePatterns: ['^shop-']}
notify:
  webhooks:
    - {url: 'https://hooks.example/x', secretRef: {name: hook}, events: [StateStarted, StateCompleted]}
    - {url: 'http://127.0.0.1:8080/'}
";
    let webhooks = parse(good).unwrap().notify.webhooks;
    assert_eq!(webhooks[0].secret_ref.as_ref().unwrap().key, "key");
    assert!(webhooks[0].wants("StateStarted") && !webhooks[0].wants("StateDelayed"));
    assert!(webhooks[1].wants("StateDelayed"));
}

#[test]
fn what_the_original_accepts_is_accepted() {
    for text in [
        "configManager: {source: ocm, ocmBaseUrl: 'https://api.openshift.com'}",
        "configManager: {source: Local}",
        "configManager: {source: ''}",
        "configManager: {source: }",
        "configManager: ",
        "upgradeType: ''",
        "upgradeType: null",
        "extDependencyAvailabilityChecks: {http: {timeout: 0}}",
        "configManager: {watchInterval: 0}",
        r"nodeDrain: {ignoredNamespacePatterns: ['\Qopenshift-\E.*', '\Qa.b']}",
        "upgradeWindow: {timeOut: null, delayTrigger: null}",
        "scale: {timeOut: 0}",
        "scale: {extraMachinePools: ['**', '[^a]*']}",
        "healthCheck: {ignoredCriticals: [null, A]}",
        "unknown: {key: 1}",
    ] {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let ocm = parse("configManager: {source: ocm, ocmBaseUrl: 'https://api.openshift.com'}").unwrap();
    assert_eq!(ocm.config_manager.source, PolicySource::Ocm);
    let zero = parse("configManager: {watchInterval: 0}\nscale: {timeOut: 0}").unwrap();
    assert_eq!(
        (zero.config_manager.watch_interval, zero.scale.time_out),
        (60, 30)
    );
    assert_eq!(zero.notes.len(), 2, "it is reported: {:?}", zero.notes);
    let misspelt =
        parse("healthCheck: {checkupdateplan: true, ignoredCriticals: [A]}\nunknown: {key: 1}").unwrap();
    assert_eq!(misspelt.unknown_keys, ["healthCheck.checkupdateplan", "unknown"]);
    assert_eq!(regular_expression(r"^\Qa.b\E-[0-9]+$"), r"^a\.b-[0-9]+$");
}

#[test]
fn what_is_refused_is_reported_without_what_may_be_a_secret() {
    for text in [
        "notify: {webhooks: [{url: 'http://user:hunter2@hooks.example/T0/hunter2?token=hunter2'}]}",
        "configManager: {source: OCM, ocmBaseUrl: 'http://hunter2@api.example/hunter2'}",
        "extDependencyAvailabilityChecks: {http: {urls: ['ftp://hunter2@x.example/hunter2']}}",
        "notify: {webhooks: hunter2}",
        "notify: {webhooks: [{url: ['hunter2']}]}",
        "a: [hunter2",
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
