//! CEL as OCM's placement and work agent use it: Kubernetes' functions and two of OCM's own.

use std::sync::Arc;

use kube_cel::{
    KubeCelExt,
    cel::{Context, ExecutionError, Program, extractors::This},
};
use serde_json::Value;
use thiserror::Error;

pub use kube_cel::cel::Value as CelValue;

/// Why an expression gave no answer.
#[derive(Debug, Error)]
pub enum CelError {
    /// It is not CEL.
    #[error("{0}")]
    Compile(String),
    /// It failed on this object.
    #[error("{0}")]
    Evaluate(#[from] ExecutionError),
    /// It gave a value of another type.
    #[error("expected {expected} result, got {got}")]
    Type {
        /// What the rule needs.
        expected: &'static str,
        /// What came.
        got: String,
    },
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression(Program);

impl Expression {
    /// Compiles `source`.
    pub fn compile(source: &str) -> Result<Self, CelError> {
        Program::compile(source)
            .map(Self)
            .map_err(|errors| CelError::Compile(errors.to_string()))
    }

    fn evaluate(&self, variables: &[(&str, CelValue)]) -> Result<CelValue, CelError> {
        let mut context = Context::default().with_all();
        context.add_function("hasConditions", has_conditions);
        context.add_function("parseJSON", parse_json);
        for (name, value) in variables {
            context.add_variable_from_value(*name, value.clone());
        }
        Ok(self.0.execute(&context)?)
    }

    /// Evaluates to a boolean.
    pub fn boolean(&self, variables: &[(&str, CelValue)]) -> Result<bool, CelError> {
        match self.evaluate(variables)? {
            CelValue::Bool(answer) => Ok(answer),
            other => Err(CelError::Type {
                expected: "bool",
                got: other.type_of().to_string(),
            }),
        }
    }

    /// Evaluates to a string.
    pub fn string(&self, variables: &[(&str, CelValue)]) -> Result<String, CelError> {
        match self.evaluate(variables)? {
            CelValue::String(answer) => Ok(answer.to_string()),
            other => Err(CelError::Type {
                expected: "string",
                got: other.type_of().to_string(),
            }),
        }
    }
}

/// An object of the API as CEL sees it: whole numbers are `int`.
pub fn value_of(json: &Value) -> CelValue {
    match json {
        Value::Null => CelValue::Null,
        Value::Bool(answer) => CelValue::Bool(*answer),
        Value::Number(number) => number.as_i64().map_or_else(
            || CelValue::Float(number.as_f64().unwrap_or_default()),
            CelValue::Int,
        ),
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(entries) => CelValue::List(Arc::new(entries.iter().map(value_of).collect())),
        Value::Object(fields) => CelValue::Map(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), value_of(value)))
                .collect::<std::collections::HashMap<String, CelValue>>()
                .into(),
        ),
    }
}

/// OCM's `hasConditions(status)`: there is a list of conditions and it is not empty.
fn has_conditions(status: CelValue) -> bool {
    let CelValue::Map(fields) = status else {
        return false;
    };
    let key = kube_cel::cel::objects::Key::from("conditions");
    matches!(fields.get(&key), Some(CelValue::List(entries)) if !entries.is_empty())
}

/// OCM's `text.parseJSON()`.
fn parse_json(This(text): This<Arc<String>>) -> Result<CelValue, ExecutionError> {
    serde_json::from_str(&text)
        .map(|json: Value| value_of(&json))
        .map_err(|error| ExecutionError::function_error("parseJSON", error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_over_an_object_evaluate() {
        let object = value_of(
            &json!({"status": {"n": 2, "conditions": [{"type": "Ready", "status": "True"}]}, "text": "{\"a\": 3}"}),
        );
        let cases = [
            ("object.status.n == 2", true),
            ("object.status.n > 2", false),
            ("hasConditions(object.status)", true),
            ("hasConditions(object)", false),
            (
                "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
                true,
            ),
            ("object.text.parseJSON().a == 3", true),
        ];
        for (source, expected) in cases {
            let answer = Expression::compile(source)
                .unwrap()
                .boolean(&[("object", object.clone())]);
            assert_eq!(answer.unwrap(), expected, "{source}");
        }
    }
}
