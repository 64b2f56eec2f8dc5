use drydock_api::insights::hooks::Hook;
use drydock_api::insights::{Handler, ImpactType, Level};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::informer_name::InformerName;

const NOW: &str = "2026-01-05T08:00:00Z";

fn informer() -> InformerName {
    InformerName::parse("mco").unwrap()
}

fn insight() -> Value {
    json!({
        "uid": "high-cpu", "acquisitionTime": NOW,
        "scope": {"type": "ControlPlane", "resources": [
            {"kind": "Node", "name": "a"}, {"kind": "Pod", "namespace": "n", "name": "p"},
        ]},
        "impact": {"level": "warning", "type": "api-availability", "summary": "High CPU", "description": "Very\nhigh"},
        "remediation": {"reference": "https://docs.example/x", "resolved": false, "estimatedFinish": "15m"},
    })
}

fn read(body: &Value) -> Result<Answer, InvalidResponse> {
    let bytes = body.to_string();
    response(
        &informer(),
        Hook::UpdateInsights,
        bytes.as_bytes(),
        NOW.parse().unwrap(),
    )
}

fn of(insights: &[Value]) -> Value {
    json!({"kind": "UpdateInsightsResponse", "spec": {"insights": insights}, "status": {"response": "Success"}})
}

#[test]
fn the_documents_example_is_understood() {
    let Ok(Answer::Success(findings)) = read(&of(&[insight()])) else {
        panic!("it is a success");
    };
    let found = &findings[0];
    assert_eq!(
        (found.impact.level, found.impact.impact_type),
        (Level::Warning, ImpactType::ApiAvailability)
    );
    let remedy = found.remediation.as_ref().unwrap();
    let finish = remedy.estimated_finish.as_ref().unwrap().0.to_string();
    assert_eq!(
        (finish.as_str(), remedy.resolved),
        ("2026-01-05T08:15:00Z", Some(false))
    );
}

#[test]
fn normal_progress_needs_neither_description_nor_reference() {
    let progress = json!({
        "uid": "reboot", "acquisitionTime": NOW,
        "scope": {"type": "WorkerPool", "workerPool": [{"kind": "MachineSet", "namespace": "m", "name": "w"}]},
        "impact": {"level": "status", "summary": "Node rebooting"},
        "remediation": {"estimatedFinish": "2026-01-05T09:00:00Z"},
    });
    assert!(matches!(read(&of(&[progress])), Ok(Answer::Success(findings)) if findings.len() == 1));
}

/// Whoever misspells a field has not found nothing.
#[test]
fn a_success_without_a_list_of_insights_is_refused() {
    for spec in [json!(null), json!({}), json!({"insight": [insight()]})] {
        let mut body = of(&[]);
        body["spec"] = spec.clone();
        assert!(read(&body).is_err(), "{spec}");
        body.as_object_mut().unwrap().remove("spec");
        assert!(read(&body).is_err(), "no spec");
    }
}

/// A headline of several lines could look like the headings and findings of others.
#[test]
fn headlines_and_messages_are_on_one_line() {
    let mut forged = insight();
    forged["impact"]["summary"] = json!("x\n\n= Accepted =\n\nWarning (None): nothing");
    let Ok(Answer::Success(findings)) = read(&of(&[forged])) else {
        panic!("it is a headline");
    };
    assert_eq!(
        findings[0].impact.summary,
        "x  = Accepted =  Warning (None): nothing"
    );
    let mut failure = of(&[]);
    failure["status"] = json!({"response": "Failure", "message": "no\nInformer drydock.alerts has nothing"});
    let Ok(Answer::Failure { message, .. }) = read(&failure) else {
        panic!("it is a failure");
    };
    assert_eq!(message, "no Informer drydock.alerts has nothing");
}

#[test]
fn one_bad_finding_refuses_the_answer_and_is_named() {
    let long = "x".repeat(5000);
    let cases = [
        ("/uid", json!("Upper"), "insights[1].uid"),
        ("/uid", json!("a".repeat(64)), "insights[1].uid"),
        ("/uid", json!("informer-failure"), "the agent itself uses"),
        ("/uid", json!("high-cpu"), "two insights have uid \"high-cpu\""),
        ("/acquisitionTime", json!("yesterday"), "RFC 3339"),
        (
            "/acquisitionTime",
            json!("2026-01-05T08:05:01Z"),
            "more than 5 minutes ahead",
        ),
        ("/scope/type", json!("Cluster"), "ControlPlane or WorkerPool"),
        ("/scope/type", json!("WorkerPool"), "at least one"),
        ("/scope/resources/0/name", json!("\u{1b}[31m"), "visible ASCII"),
        (
            "/scope/resources",
            json!(vec![json!({"kind": "Node", "name": "a"}); 17]),
            "more than 16",
        ),
        ("/impact/summary", json!(""), "1 to 256 characters, not 0"),
        ("/impact/summary", json!(long), "not 5000"),
        ("/impact/description", json!(long), "1 to 4096"),
        (
            "/remediation/reference",
            json!("javascript:alert(1)"),
            "must begin with http",
        ),
        (
            "/remediation/estimatedFinish",
            json!("soon"),
            "a duration such as 15m",
        ),
        (
            "/remediation/estimatedFinish",
            json!("-1h"),
            "a duration such as 15m",
        ),
    ];
    for (pointer, value, words) in cases {
        let mut bad = insight();
        bad["uid"] = json!("other");
        *bad.pointer_mut(pointer).unwrap() = value;
        let error = read(&of(&[insight(), bad])).unwrap_err().to_string();
        assert!(error.contains(words), "{pointer}: {error}");
    }
}

#[test]
fn what_is_no_answer_says_why() {
    let cases = [
        (json!("text"), "not JSON of the expected shape"),
        (
            json!({"status": {"response": "Maybe"}}),
            "status.response is \"Maybe\"",
        ),
        (json!({}), "status.response is \"\""),
        (
            json!({"kind": "Pod", "status": {"response": "Success"}}),
            "its kind is \"Pod\"",
        ),
        (of(&vec![insight(); 1025]), "a list has more than 1024 entries"),
        (of(&[insight(), insight()]), "two insights"),
    ];
    for (body, words) in cases {
        let error = read(&body).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let read = response(
        &informer(),
        Hook::UpdateInsights,
        deep.as_bytes(),
        NOW.parse().unwrap(),
    );
    assert!(matches!(read, Err(InvalidResponse::Json(_))));
}

#[test]
fn one_uid_with_two_scopes_is_two_findings() {
    let mut other = insight();
    other["scope"]["resources"] = json!([{"kind": "Node", "name": "b"}]);
    assert!(matches!(read(&of(&[insight(), other])), Ok(Answer::Success(findings)) if findings.len() == 2));
}

#[test]
fn failure_and_wait_are_answers() {
    let failure =
        json!({"spec": {"insights": [insight()]}, "status": {"response": "Failure", "message": "no\u{7}"}});
    let Ok(Answer::Failure { message, findings }) = read(&failure) else {
        panic!("it is a failure");
    };
    assert_eq!((message.as_str(), findings.len()), ("no ", 1));
    let wait = read(&json!({"status": {"response": "Wait", "message": "x".repeat(2000)}}));
    assert!(matches!(wait, Ok(Answer::Wait { message }) if message.len() == 1024));
}

#[test]
fn discovery_says_what_an_informer_can_do_and_how_it_is() {
    let body = |response: &str, levels: Value| {
        json!({
            "kind": "DiscoveryResponse", "status": {"response": response, "message": "m"},
            "spec": {"apiLevels": levels, "handlers": ["plan", "status", "plan", "later"]},
        })
        .to_string()
    };
    let found = discovery(body("Success", json!(["v1alpha"])).as_bytes()).unwrap();
    assert_eq!(found.handlers, [Handler::Status, Handler::Plan]);
    assert!(found.is_supported() && found.report == SelfReport::Fine);
    let found = discovery(body("Wait", json!(["v2"])).as_bytes()).unwrap();
    assert!(!found.is_supported() && found.report == SelfReport::Updating);
    assert!(discovery(body("Perhaps", json!([])).as_bytes()).is_err());
    assert!(discovery(b"<html>").is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _refused = response(&informer(), Hook::UpdateInsights, &bytes, NOW.parse().unwrap());
        let _refused = discovery(&bytes);
    }

    #[test]
    fn the_order_of_objects_does_not_change_who_a_finding_is(
        mut resources in prop::collection::vec(("[A-Z][a-z]{0,3}", "[a-z:/%,]{1,4}"), 1..6), seed in any::<u64>(),
    ) {
        let of_order = |resources: &[(String, String)]| {
            let mut insight = insight();
            let resources: Vec<_> =
                resources.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect();
            insight["scope"]["resources"] = json!(resources);
            match read(&of(&[insight])) {
                Ok(Answer::Success(findings)) => findings[0].uuid(&informer()),
                other => panic!("{other:?}"),
            }
        };
        let before = of_order(&resources);
        let middle = seed as usize % resources.len();
        resources.rotate_left(middle);
        prop_assert_eq!(before, of_order(&resources));
    }
}
