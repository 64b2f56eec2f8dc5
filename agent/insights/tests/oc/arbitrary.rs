//! Whatever objects say, something is printed of them, and nothing of it that a terminal acts on.

use drydock_insights::estimate::Method;
use drydock_insights::render::{self, Details, RecommendationView};
use drydock_insights::{objects, recommend, status};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Texts that objects have, and others.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "True", "False", "Unknown", "Partial", "Completed", "4.14.1", "4.15.0-ec.2", "master", "worker", "version", "etcd",
            "machine-config", "Available", "Progressing", "Degraded", "Failing", "Upgradeable", "Recommended", "operator", "operator-image",
            "2026-03-01T12:00:00Z", "9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z", "critical", "firing", "Done", "drain-x", "",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        60 => text().prop_map(Value::String),
        1 => any::<i64>().prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ]
}

/// Objects whose fields are mostly texts.
fn fields(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let field = (prop::sample::select(names), scalar());
    prop::collection::vec(field, 0..8).prop_map(|fields| {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect::<Map<_, _>>())
    })
}

fn list(items: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec(items, 0..4).prop_map(Value::Array)
}

fn conditions() -> impl Strategy<Value = Value> {
    list(fields(&[
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
    ]))
}

fn metadata() -> impl Strategy<Value = Value> {
    (text(), text(), text()).prop_map(|(name, key, value)| {
        json!({
            "name": name,
            "labels": {"node-role.kubernetes.io/worker": "", "role": value},
            "annotations": {
                "include.release.openshift.io/x": "true",
                "machineconfiguration.openshift.io/currentConfig": key,
                "machineconfiguration.openshift.io/desiredConfig": value,
                "machineconfiguration.openshift.io/state": key,
                "machineconfiguration.openshift.io/release-image-version": value,
            },
        })
    })
}

fn cluster_version() -> impl Strategy<Value = Value> {
    let release = || fields(&["version", "image", "url"]);
    let history = list(fields(&[
        "state",
        "startedTime",
        "completionTime",
        "version",
        "image",
    ]));
    let risky = (release(), conditions(), list(fields(&["name", "message"])));
    let risky = risky.prop_map(
        |(release, conditions, risks)| json!({"release": release, "conditions": conditions, "risks": risks}),
    );
    let spec = fields(&["channel", "upstream"]);
    (metadata(), spec, release(), history, conditions(), list(release()), list(risky)).prop_map(
        |(metadata, spec, desired, history, conditions, available, conditional)| {
            json!({"kind": "ClusterVersion", "metadata": metadata, "spec": spec, "status": {"desired": desired, "history": history,
                "conditions": conditions, "availableUpdates": available, "conditionalUpdates": conditional}})
        },
    )
}

fn object() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![
        "ClusterOperator",
        "MachineConfigPool",
        "Node",
        "MachineConfig",
    ]);
    let spec = fields(&["paused", "unschedulable", "maxUnavailable"]);
    (kind, metadata(), spec, conditions(), list(fields(&["name", "version"]))).prop_map(
        |(kind, metadata, mut spec, conditions, versions)| {
            spec["nodeSelector"] = json!({"matchLabels": {"node-role.kubernetes.io/worker": ""}});
            json!({"kind": kind, "metadata": metadata, "spec": spec, "status": {"conditions": conditions, "versions": versions}})
        },
    )
}

fn alerts() -> impl Strategy<Value = Value> {
    let labels = fields(&["alertname", "severity", "namespace", "openShiftUpdatePrecheck"]);
    let annotations = fields(&["summary", "description", "message", "runbook_url"]);
    let alert = (labels, annotations, text(), text());
    let alert = alert.prop_map(|(labels, annotations, state, active_at)| {
        json!({"labels": labels, "annotations": annotations, "state": state, "activeAt": active_at})
    });
    list(alert).prop_map(|alerts| json!({"data": {"alerts": alerts}}))
}

fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|letter| !letter.is_control() || letter == '\n' || letter == '\t')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn something_is_printed_of_whatever_objects_say(
        version in cluster_version(),
        others in prop::collection::vec(object(), 0..6),
        alerts in alerts(),
        second in -377_705_023_201_i64..=253_402_207_200,
    ) {
        let documents = [version, alerts].into_iter().chain(others).collect();
        let Ok(facts) = objects::facts(documents) else {
            return Ok(());
        };
        let now = jiff::Timestamp::from_second(second).unwrap();
        for method in [Method::Oc, Method::History] {
            if let Ok(report) = status::assess(&facts, now, method) {
                prop_assert!(serde_json::to_string(&report).is_ok());
                for details in [Details::None, Details::All] {
                    let text = render::status(&report, details);
                    prop_assert!(is_harmless(&text), "{text:?}");
                    prop_assert!(text.ends_with('\n'));
                }
            }
        }
        let recommendation = recommend::assess(&facts.version, &facts.alerts, Some("case"));
        for with_outdated in [false, true] {
            let view = RecommendationView { with_outdated, ..RecommendationView::default() };
            let rendered = render::recommendation(&recommendation, &view);
            prop_assert!(is_harmless(&rendered.text) && is_harmless(&rendered.warnings), "{rendered:?}");
        }
    }
}
