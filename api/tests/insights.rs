//! Update insights: what the definitions of these kinds accept and refuse (insights.md, section 1).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_api::crds;
use drydock_api::insights::{
    FailurePolicy, GROUP, ImpactType, Level, UpdateInformer, UpdatePlan, UpdateStatus,
    hooks::{self, Hook, InsightsRequest, InsightsRequestSpec, InsightsResponse},
};
use kube_cel::Validator;
use serde_json::{Value, json};

fn schema_of(kind: &str) -> Value {
    let definition = crds()
        .into_iter()
        .find(|definition| definition.spec.group == GROUP && definition.spec.names.kind == kind)
        .unwrap();
    serde_json::to_value(definition).unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": kind, "metadata": {"name": name}, "spec": spec,
    })
}

fn refusal(kind: &str, new: &Value, old: Option<&Value>) -> String {
    match Validator::new().validate(&schema_of(kind), new, old) {
        Ok(()) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn names_are_derived_from_what_they_are_about() {
    let uuid = "0123456789abcdef0123456789abcdef";
    let accepted = |until: &str| {
        json!({
            "targetRelease": "4.14.4", "updateInformer": "mco",
            "acceptedInsights": [{
                "uuid": uuid, "level": "Warning", "acceptedBy": "ann", "acceptedAt": "2026-01-05T08:00:00Z", "until": until,
            }],
        })
    };
    let service = json!({"clientConfig": {"service": {"namespace": "a", "name": "b", "port": 443}}});
    let target = |version: &str| json!({"targetRelease": version});
    let cases = [
        ("UpdateInformer", "mco", &service, ""),
        ("UpdateInformer", "m.co", &service, "must be a DNS label"),
        ("UpdateStatus", "cluster", &json!({}), ""),
        ("UpdateStatus", "other", &json!({}), "its name is cluster"),
        ("UpdatePlan", "update-plan-4.14.4", &target("4.14.4"), ""),
        (
            "UpdatePlan",
            "update-plan-4.14.4-rc.1.b",
            &target("4.14.4-RC.1+b"),
            "",
        ),
        (
            "UpdatePlan",
            "mine",
            &target("4.14.4"),
            "one plan for each target",
        ),
        (
            "UpdatePlan",
            "update-plan-4.14",
            &target("4.14"),
            "must be a version",
        ),
        (
            "UpdatePlanInsight",
            "update-plan-4.14.4.mco",
            &accepted("2026-01-06T08:00:00Z"),
            "",
        ),
        (
            "UpdatePlanInsight",
            "update-plan-4.14.4.x",
            &accepted("2026-01-06T08:00:00Z"),
            "the name must be",
        ),
        (
            "UpdatePlanInsight",
            "update-plan-4.14.4.mco",
            &accepted("2026-01-05T08:00:00Z"),
            "until must be after",
        ),
    ];
    for (kind, name, spec, words) in cases {
        let refusal = refusal(kind, &object(kind, name, spec), None);
        assert_eq!(refusal.is_empty(), words.is_empty(), "{kind} {name}: {refusal}");
        assert!(refusal.contains(words), "{kind} {name}: {refusal}");
    }
}

#[test]
fn the_target_of_a_plan_stays() {
    let plan = |version: &str| {
        object(
            "UpdatePlan",
            "update-plan-4.14.4",
            &json!({"targetRelease": version}),
        )
    };
    let refusal = refusal("UpdatePlan", &plan("4.14.5"), Some(&plan("4.14.4")));
    assert!(refusal.contains("cannot be changed"), "{refusal}");
}

#[test]
fn an_informer_is_asked_unless_it_says_otherwise() {
    let spec = json!({"clientConfig": {"service": {"namespace": "a", "name": "b"}}});
    let informer: UpdateInformer = serde_json::from_value(object("UpdateInformer", "mco", &spec)).unwrap();
    let spec = &informer.spec;
    assert!(spec.enabled);
    assert_eq!(
        (
            spec.timeout_seconds,
            spec.client_config.service.port,
            spec.failure_policy
        ),
        (10, 443, FailurePolicy::Fail)
    );
}

#[test]
fn a_status_without_a_spec_can_be_read() {
    for spec in [json!({}), json!({"spec": null}), json!({"spec": {}})] {
        let mut object =
            json!({"apiVersion": "config.openshift.io/v1beta1", "kind": "UpdateStatus", "metadata": {}});
        object
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        serde_json::from_value::<UpdateStatus>(object).unwrap();
    }
    let plan = json!({"apiVersion": "config.openshift.io/v1beta1", "kind": "UpdatePlan", "metadata": {}});
    assert!(serde_json::from_value::<UpdatePlan>(plan).is_err());
}

#[test]
fn levels_and_types_are_read_in_any_case() {
    for level in Level::ALL {
        assert_eq!(Level::parse(&level.as_str().to_lowercase()), level);
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
    for kind in ImpactType::ALL {
        assert_eq!(
            ImpactType::parse(&kind.as_str().to_lowercase().replace(' ', "-")),
            kind
        );
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
    assert_eq!(Level::parse("disastrous"), Level::Unknown);
    assert!(Level::Unknown.gates() && Level::Warning.gates() && !Level::Info.gates());
}

#[test]
fn hooks_are_as_the_document_has_them() {
    assert_eq!(
        hooks::path(Hook::UpdateInsights),
        "/hooks.config.openshift.io/v1alpha/updateInsights"
    );
    let request = InsightsRequest::new(Hook::UpdatePlanInsights, InsightsRequestSpec::default());
    assert_eq!(
        serde_json::to_value(request).unwrap(),
        json!({
            "apiVersion": "config.openshift.io/v1beta1", "kind": "UpdatePlanInsightsRequest",
            "spec": {
                "clusterID": "", "controlPlaneVersion": "", "targetControlPlaneVersion": "", "informerUpdate": false,
            },
        })
    );
    let response =
        json!({"spec": {"insights": [{"uid": "a", "unheard": 1}]}, "status": {"response": "Success"}});
    let response: InsightsResponse = serde_json::from_value(response).unwrap();
    assert_eq!(response.spec.insights.unwrap()[0].uid, "a");
}
