use super::JsonPath;
use serde_json::{Value, json};

fn object() -> Value {
    json!({
        "spec": {"n": 3, "a.b": "dotted"},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "weight": 2},
            {"type": "Degraded", "status": "False", "weight": 5},
            {"type": "Odd)", "status": "Unknown"},
        ], "empty": [], "nothing": null},
    })
}

fn found(path: &str) -> Result<Value, String> {
    let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
    let object = object();
    let found = path.find(&object).map_err(|error| error.to_string())?;
    Ok(Value::Array(found.into_iter().cloned().collect()))
}

#[test]
fn paths_select_what_kubectl_selects() {
    let cases = [
        (".spec.n", json!([3])),
        ("{.spec.n}", json!([3])),
        ("$.spec.n", json!([3])),
        (".spec['n']", json!([3])),
        (r".spec['a\.b']", json!(["dotted"])),
        (r".spec.a\.b", json!(["dotted"])),
        (".spec['a.b']", json!([])),
        (".missing.deeper", json!([])),
        (".status.nothing", json!([null])),
        (".status.nothing.deeper", json!([])),
        (".status.nothing[0]", json!([])),
        (".status.empty[*].x", json!([])),
        (".status.conditions[0].type", json!(["Ready"])),
        (".status.conditions[-1].type", json!(["Odd)"])),
        (".status.conditions[1:].type", json!(["Degraded", "Odd)"])),
        (".status.conditions[:1].type", json!(["Ready"])),
        (".status.conditions[::2].type", json!(["Ready", "Odd)"])),
        (".status.conditions[0,2].type", json!(["Ready", "Odd)"])),
        (
            ".status.conditions[*].status",
            json!(["True", "False", "Unknown"]),
        ),
        (
            r#".status.conditions[?(@.type=="Ready")].status"#,
            json!(["True"]),
        ),
        (".status.conditions[?(@.type=='Odd)')].status", json!(["Unknown"])),
        (
            ".status.conditions[?(@.type != 'Ready')].status",
            json!(["False", "Unknown"]),
        ),
        (".status.conditions[?(@.weight>2)].type", json!(["Degraded"])),
        (".status.conditions[?(@.weight<=2)].type", json!(["Ready"])),
        (
            ".status.conditions[?(@.weight)].type",
            json!(["Ready", "Degraded"]),
        ),
        ("..weight", json!([2, 5])),
        (".spec.*", json!(["dotted", 3])),
    ];
    for (path, wanted) in cases {
        assert_eq!(found(path), Ok(wanted), "{path}");
    }
}

#[test]
fn errors_are_worded_as_client_go_words_them() {
    let cases = [
        (
            ".status.conditions[7]",
            "array index out of bounds: index 7, length 3",
        ),
        (".status[0]", "map[string]interface {} is not array or slice"),
        (
            ".spec.n[?(@.x==1)]",
            "3 is not array or slice and cannot be filtered",
        ),
        (".status.conditions[", "unterminated array"),
        (".status.conditions[x]", "invalid array index x"),
        (".status.conditions[?(@.type=='Ready'", "unterminated filter"),
        (
            ".status.conditions[?(@.type==3)]",
            "incompatible types for comparison",
        ),
        (
            ".status.conditions[?(@.type=~'x')]",
            "unrecognized character in action: U+007E '~'",
        ),
        ("spec.n", "unrecognized identifier spec"),
    ];
    for (path, wanted) in cases {
        assert_eq!(found(path), Err(wanted.to_owned()), "{path}");
    }
}
