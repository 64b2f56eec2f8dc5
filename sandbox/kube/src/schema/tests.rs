//! Against what a real kube-apiserver (1.36) answered: `testdata/validation.json` holds its answers.

use super::{GroupVersionKind, Structural};
use crate::server::{Cause, Status};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Recorded {
    schema: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    spec: Option<Value>,
    then: Option<Value>,
    becomes: Option<Value>,
    message: Option<String>,
    #[serde(default)]
    causes: Vec<Value>,
}

fn probe(spec: Option<&Value>) -> Value {
    let mut object = json!({"apiVersion": "t.example.com/v1", "kind": "Probe", "metadata": {"name": "p"}});
    if let Some(spec) = spec {
        object["spec"] = spec.clone();
    }
    object
}

fn sorted(mut causes: Vec<Value>) -> Vec<String> {
    causes.sort_by_key(Value::to_string);
    let mut words: Vec<String> = causes.iter().map(Value::to_string).collect();
    words.dedup();
    words
}

#[test]
fn an_object_is_refused_and_accepted_in_the_api_servers_words() {
    let recorded: Recorded = serde_json::from_str(include_str!("testdata/validation.json")).unwrap();
    let kind = GroupVersionKind::new("t.example.com", "v1", "Probe");
    let structural = Structural::compile(&recorded.schema, &kind).unwrap();
    let read = |spec: Option<&Value>| {
        let mut object = probe(spec);
        structural.default(&mut object);
        structural.prune(&mut object);
        object
    };
    let mut wrong = Vec::new();
    for case in &recorded.cases {
        let mut object = read(case.spec.as_ref());
        let mut old = None;
        if let Some(then) = &case.then {
            assert_eq!(structural.validate(&object, None), [], "{:?}", case.spec);
            old = Some(std::mem::replace(&mut object, read(Some(then))));
        }
        let errors = structural.validate(&object, old.as_ref());
        let causes = errors.iter().map(Cause::from).collect();
        let status = Status::invalid_of("t.example.com", "Probe", "p", causes).to_value();
        let found = sorted(
            status["details"]["causes"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
        );
        if found != sorted(case.causes.clone()) {
            wrong.push(format!(
                "{:?}\n  said {found:?}\n  real {:?}",
                case.spec,
                sorted(case.causes.clone())
            ));
        } else if errors.len() == 1 && case.message.as_deref() != status["message"].as_str() {
            wrong.push(format!(
                "{:?}\n  said {}\n  real {:?}",
                case.spec, status["message"], case.message
            ));
        }
        if let (true, Some(becomes)) = (errors.is_empty(), &case.becomes)
            && !same(&object["spec"], becomes)
        {
            wrong.push(format!(
                "{:?}\n  became {}\n  really {becomes}",
                case.spec, object["spec"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        recorded.cases.len(),
        wrong.join("\n")
    );
}

/// Equal, but for 2 and 2.0: the API server stores the one for the other.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

#[test]
fn what_was_wrong_already_and_did_not_change_is_not_reported() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "word": {"type": "string", "enum": ["A"]},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "count": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}, {"rule": "self >= oldSelf"}]},
        "free": {"type": "string"},
    }}}});
    let kind = GroupVersionKind::new("t.example.com", "v1", "Probe");
    let structural = Structural::compile(&schema, &kind).unwrap();
    let fields = |new: Value, old: Value| -> Vec<String> {
        let errors = structural.validate(&probe(Some(&new)), Some(&probe(Some(&old))));
        errors.iter().map(ToString::to_string).collect()
    };
    let old = json!({"word": "C", "set": ["a", "a"], "count": 3});
    assert_eq!(
        fields(
            json!({"word": "C", "set": ["a", "a"], "count": 3, "free": "x"}),
            old.clone()
        ),
        [""; 0]
    );
    assert_eq!(
        fields(json!({"word": "C", "count": 4}), old.clone()),
        ["spec.count: Invalid value: 4: failed rule: self > 5"]
    );
    assert_eq!(
        fields(json!({"word": "D", "set": ["a", "a"]}), old),
        [
            "spec.word: Unsupported value: \"D\": supported values: \"A\"",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; \
             correct the existing errors to complete validation",
        ]
    );
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let recorded: Recorded = serde_json::from_str(include_str!("testdata/validation.json")).unwrap();
    let kind = GroupVersionKind::new("t.example.com", "v1", "Probe");
    let structural = Structural::compile(&recorded.schema, &kind).unwrap();
    let mut object = json!({
        "apiVersion": "t.example.com/v1", "kind": "Probe", "metadata": {"name": "p", "nonsense": 1}, "status": {},
        "spec": {
            "unknown": 1, "byName": [{"name": "a", "bad": 1}], "map": {"any": 1},
            "raw": {"any": {"thing": 1}, "known": {"x": "a", "y": "b"}},
            "embedded": {"metadata": {"name": "x", "odd": 1}, "data": {"x": 1}},
        },
    });
    let unknown = structural.prune(&mut object);
    let expected = [
        "metadata.nonsense",
        "spec.byName[0].bad",
        "spec.embedded.metadata.odd",
        "spec.raw.known.y",
        "spec.unknown",
        "status",
    ];
    assert_eq!(unknown, expected);
    assert_eq!(
        object["spec"]["raw"],
        json!({"any": {"thing": 1}, "known": {"x": "a"}})
    );
    assert_eq!(object["spec"]["embedded"]["data"], json!({"x": 1}));
}

#[test]
fn a_rule_that_does_not_compile_is_reported_with_the_rule() {
    let schema =
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.x >", "message": "m"}]});
    let errors = Structural::compile(&schema, &GroupVersionKind::new("t", "v1", "Probe")).unwrap_err();
    let message = errors[0].to_string();
    let start = ".x-kubernetes-validations[0].rule: Invalid value: {\"FieldPath\":\"\",\"Message\":\"m\",";
    assert!(
        message.starts_with(start)
            && message.contains("compilation failed: ERROR: <input>:1:9: Syntax error"),
        "{message}"
    );
}

#[test]
fn schemas_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Structural>();
}

#[test]
fn real_definitions_compile() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/crds");
    let Ok(groups) = std::fs::read_dir(&folder) else {
        println!("skipped: no real definitions in ../shared/crds");
        return;
    };
    let mut compiled = 0;
    for group in groups.flatten().filter(|group| group.path().is_dir()) {
        for file in std::fs::read_dir(group.path()).unwrap().flatten() {
            let text = std::fs::read_to_string(file.path()).unwrap();
            let crd: Value = serde_saphyr::from_str(&text).unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let kind = GroupVersionKind::new(
                    crd["spec"]["group"].as_str().unwrap(),
                    version["name"].as_str().unwrap(),
                    crd["spec"]["names"]["kind"].as_str().unwrap(),
                );
                let structural = Structural::compile(&version["schema"]["openAPIV3Schema"], &kind);
                assert!(structural.is_ok(), "{:?}: {:?}", file.path(), structural.err());
                compiled += 1;
            }
        }
    }
    assert!(compiled > 20, "only {compiled} schemas");
}
