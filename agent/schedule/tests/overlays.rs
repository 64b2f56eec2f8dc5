//! Which spec a managed ClusterVersion puts in force (Maintenance schedules, sections 1.6 and 3.7).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_api::openshift::cluster_version::ClusterVersionSpec;
use drydock_api::schedule::ManagedClusterVersionSpec;
use drydock_schedule::overlays::{Application, OverlayPlan, change, conclude, decide, upstream};
use jiff::Timestamp;
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn spec(template: &Value, overlays: &[(&str, Value)]) -> ManagedClusterVersionSpec {
    let overlays: Vec<_> = overlays
        .iter()
        .map(|(from, spec)| json!({ "from": from, "overlay": { "spec": spec } }))
        .collect();
    let spec = json!({ "template": { "spec": template }, "overlays": overlays });
    serde_json::from_value(spec).unwrap()
}

fn plan(template: &Value, overlays: &[(&str, Value)], now: &str) -> OverlayPlan {
    decide(&spec(template, overlays), None, at(now))
}

fn channel(plan: &OverlayPlan) -> &str {
    plan.spec.channel.as_deref().unwrap()
}

/// The template with one overlay that is in force.
fn merged(template: &Value, overlay: Value) -> Value {
    let plan = plan(
        template,
        &[("2026-01-01T00:00:00Z", overlay)],
        "2026-01-02T00:00:00Z",
    );
    serde_json::to_value(plan.spec).unwrap()
}

const JUNE: &str = "2026-06-01T00:00:00Z";
const JULY: &str = "2026-07-01T00:00:00Z";

#[test]
fn the_last_overlay_applies_from_its_moment_on() {
    let template = json!({ "clusterID": "c", "channel": "stable-4.16" });
    // Not in the order of time.
    let overlays = [
        (JULY, json!({ "channel": "stable-4.18" })),
        (JUNE, json!({ "channel": "stable-4.17" })),
    ];
    for (now, expected, wake, applied) in [
        ("2026-05-31T23:59:59Z", "stable-4.16", Some(JUNE), None),
        (JUNE, "stable-4.17", Some(JULY), Some(JUNE)),
        (JULY, "stable-4.18", None, Some(JULY)),
    ] {
        let plan = plan(&template, &overlays, now);
        assert_eq!(channel(&plan), expected, "{now}");
        assert_eq!(plan.wake, wake.map(at), "{now}");
        let since = plan.status.overlay_applied.map(|since| since.0);
        assert_eq!(since, applied.map(at), "{now}");
        assert_eq!(plan.status.current, Some(plan.spec), "{now}");
    }
}

#[test]
fn overlays_do_not_add_up() {
    let template = json!({ "clusterID": "c", "channel": "stable-4.16" });
    let overlays = [
        (JUNE, json!({ "upstream": "https://updates.example.com" })),
        (JULY, json!({ "channel": "stable-4.18" })),
    ];
    let plan = plan(&template, &overlays, JULY);
    assert_eq!(
        (channel(&plan), plan.spec.upstream.as_deref()),
        ("stable-4.18", None)
    );
}

#[test]
fn of_overlays_at_the_same_moment_the_last_one_listed_applies() {
    let template = json!({ "clusterID": "c" });
    let overlays = [
        (JUNE, json!({ "channel": "first" })),
        (JUNE, json!({ "channel": "last" })),
    ];
    assert_eq!(channel(&plan(&template, &overlays, JUNE)), "last");
}

#[test]
fn the_status_previews_the_overlays_in_the_order_of_the_spec() {
    let template = json!({ "clusterID": "c", "channel": "stable-4.16" });
    let overlays = [
        (JULY, json!({ "channel": "stable-4.18" })),
        (JUNE, json!({ "clusterID": "d" })),
    ];
    let status = plan(&template, &overlays, JULY).status;
    assert_eq!(
        serde_json::to_value(status.overlays).unwrap(),
        json!([
            { "from": JULY, "preview": { "spec": { "clusterID": "c", "channel": "stable-4.18" } } },
            { "from": JUNE, "preview": { "spec": { "clusterID": "d", "channel": "stable-4.16" } } },
        ])
    );
}

#[test]
fn objects_are_merged_and_lists_replaced() {
    let template = json!({
        "clusterID": "c",
        "capabilities": { "baselineCapabilitySet": "v4.11", "additionalEnabledCapabilities": ["Console", "Ingress"] },
        "overrides": [{ "kind": "Deployment", "name": "a" }],
    });
    let overlay = json!({
        "capabilities": { "additionalEnabledCapabilities": ["Storage"] },
        "overrides": [{ "kind": "Deployment", "name": "b" }, { "kind": "Deployment", "name": "c" }],
        "signatureStores": [{ "url": "https://signatures.example.com" }],
    });
    assert_eq!(
        merged(&template, overlay),
        json!({
            "clusterID": "c",
            "capabilities": { "baselineCapabilitySet": "v4.11", "additionalEnabledCapabilities": ["Storage"] },
            "overrides": [{ "kind": "Deployment", "name": "b" }, { "kind": "Deployment", "name": "c" }],
            "signatureStores": [{ "url": "https://signatures.example.com" }],
        })
    );
}

#[test]
fn what_is_empty_clears_nothing() {
    let template = json!({
        "clusterID": "c",
        "channel": "stable-4.16",
        "capabilities": { "baselineCapabilitySet": "v4.11" },
        "overrides": [{ "kind": "Deployment", "name": "a", "unmanaged": true }],
    });
    let empty =
        json!({ "clusterID": "", "channel": "", "capabilities": {}, "overrides": [], "signatureStores": [] });
    assert_eq!(merged(&template, empty), template);
}

#[test]
fn a_desired_update_is_ignored_and_the_clusters_own_kept() {
    let template = json!({ "clusterID": "c", "desiredUpdate": { "version": "4.16.1" } });
    let overlay = json!({ "desiredUpdate": { "version": "4.16.2", "force": true } });
    let plan = plan(&template, &[(JUNE, overlay)], JULY);
    assert_eq!(plan.spec.desired_update, None);
    let present = json!({ "clusterID": "x", "channel": "by-hand", "overrides": [], "desiredUpdate": { "version": "4.16.10" } });
    let present: ClusterVersionSpec = serde_json::from_value(present).unwrap();
    assert_eq!(
        serde_json::to_value(upstream(&plan.spec, &present)).unwrap(),
        json!({ "clusterID": "c", "desiredUpdate": { "version": "4.16.10" } }),
        "what was changed by hand is reverted"
    );
}

#[test]
fn without_a_template_and_overlays_nothing_is_in_force() {
    let plan = decide(&ManagedClusterVersionSpec::default(), None, at(JUNE));
    assert_eq!(plan.spec, ClusterVersionSpec::default());
    assert_eq!((plan.wake, plan.status.overlays), (None, Some(Vec::new())));
}

#[test]
fn what_others_write_in_the_status_is_kept() {
    let present = drydock_api::schedule::ManagedClusterVersionStatus {
        observed_generation: Some(7),
        ..Default::default()
    };
    let spec = spec(&json!({ "clusterID": "c" }), &[]);
    assert_eq!(
        decide(&spec, Some(&present), at(JUNE)).status.observed_generation,
        Some(7)
    );
}

fn parsed(spec: Value) -> ClusterVersionSpec {
    serde_json::from_value(spec).unwrap()
}

#[test]
fn only_what_differs_is_changed_and_what_is_not_in_force_goes() {
    let present = json!({
        "clusterID": "c", "channel": "stable-4.16", "desiredUpdate": {"version": "4.16.2"},
        "capabilities": {"baselineCapabilitySet": "v4.16", "additionalEnabledCapabilities": ["a"]},
        "overrides": [{"kind": "Deployment"}],
    });
    for (in_force, expected) in [
        (present.clone(), None),
        (
            json!({"clusterID": "c", "channel": "stable-4.17", "capabilities": {"baselineCapabilitySet": "v4.16"}}),
            Some(json!({
                "channel": "stable-4.17", "overrides": null,
                "capabilities": {"additionalEnabledCapabilities": null},
            })),
        ),
        (
            json!({"clusterID": "c", "signatureStores": [], "desiredUpdate": {"version": "4.99.0"}}),
            Some(json!({
                "channel": null, "capabilities": null, "overrides": null, "signatureStores": [],
            })),
        ),
    ] {
        let changed = change(&parsed(in_force.clone()), &parsed(present.clone()));
        assert_eq!(changed, expected, "{in_force}");
    }
}

#[test]
fn the_status_says_whether_the_spec_is_applied_and_has_no_spec_of_no_cluster() {
    let now = at(JUNE);
    let overlays = [(JULY, json!({ "clusterID": "c" }))];
    for (template, application, ready, has_current) in [
        (
            json!({ "clusterID": "c" }),
            Application::Applied,
            ("True", "Applied"),
            true,
        ),
        (
            json!({}),
            Application::NoClusterId,
            ("False", "NoClusterID"),
            false,
        ),
        (
            json!({ "clusterID": "c" }),
            Application::Failed("no".to_owned()),
            ("False", "NotApplied"),
            true,
        ),
    ] {
        let mut status = decide(&spec(&template, &overlays), None, now).status;
        conclude(&mut status, Some(7), &application, now);
        let condition = &status.conditions.as_ref().unwrap()[0];
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ready);
        assert_eq!(status.observed_generation, Some(7));
        assert_eq!(status.current.is_some(), has_current);
        assert!(status.overlays.unwrap()[0].preview.is_some());
    }
}
