//! Where two answers differ.

use serde_json::{Map, Value};

use super::normal::normal;

/// One place where the sandbox answers otherwise than the real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The step of the case, counted from 1.
    pub step: usize,
    /// Where in the answer: `/code`, `/headers/…`, `/body/…` (RFC 6901).
    pub pointer: String,
    /// What the sandbox said; `None` if nothing.
    pub sandbox: Option<Value>,
    /// What the real server said.
    pub real: Option<Value>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        write!(
            f,
            "step {} {}\n      sandbox: {}\n      real:    {}",
            self.step,
            self.pointer,
            text(&self.sandbox),
            text(&self.real)
        )
    }
}

/// The differences between two answers to the same step, after what no two servers share is taken out.
pub fn compare(step: usize, sandbox: &Value, real: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare_at(step, "", &normal(sandbox), &normal(real), &mut differences);
    differences
}

fn compare_at(step: usize, at: &str, sandbox: &Value, real: &Value, into: &mut Vec<Difference>) {
    match (sandbox, real) {
        (Value::Object(one), Value::Object(two)) => fields(step, at, one, two, into),
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                compare_at(step, &format!("{at}/{index}"), one, two, into);
            }
        }
        _ if sandbox == real => {}
        _ => into.push(Difference {
            step,
            pointer: at.to_owned(),
            sandbox: Some(sandbox.clone()),
            real: Some(real.clone()),
        }),
    }
}

fn fields(
    step: usize,
    at: &str,
    one: &Map<String, Value>,
    two: &Map<String, Value>,
    into: &mut Vec<Difference>,
) {
    let mut keys: Vec<&String> = one.keys().chain(two.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (one.get(key), two.get(key)) {
            (Some(one), Some(two)) => compare_at(step, &pointer, one, two, into),
            (sandbox, real) => into.push(Difference {
                step,
                pointer,
                sandbox: sandbox.cloned(),
                real: real.cloned(),
            }),
        }
    }
}
