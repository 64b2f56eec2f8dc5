//! Condition rules: conditions that CEL computes from an object on the spoke.

use serde_json::Value;

use super::{
    super::cel::{self, CelError, Expression},
    feedback,
};
use kube_sandbox::{
    condition::{Condition, Status},
    object,
};

/// The reasons of conditions that rules computed begin with this.
pub const REASON_PREFIX: &str = "ConditionRule";

/// A rule, well-known or the user's own.
struct Rule {
    condition: String,
    expressions: Vec<String>,
    message: String,
    message_expression: String,
}

/// The conditions that the rules of a manifest's configuration give for its object.
pub fn evaluate(object: &Value, configuration: Option<&Value>) -> Vec<Condition> {
    let rules = configuration.map_or(&[][..], |config| object::list(&config["conditionRules"]));
    if rules.is_empty() {
        return Vec::new();
    }
    let variable = cel::value_of(object);
    rules
        .iter()
        .filter_map(|rule| match rule["type"].as_str() {
            Some("CEL") => Some(condition(&Rule::parse(rule), &variable)),
            Some("WellKnownConditions") => {
                Rule::well_known(rule, object).map(|known| condition(&known, &variable))
            }
            other => Some(Condition::new(
                rule["condition"].as_str().unwrap_or_default(),
                Status::Unknown,
                "ConditionRuleInvalid",
                format!("unrecognized condition rule type {}", other.unwrap_or_default()),
            )),
        })
        .collect()
}

impl Rule {
    fn parse(rule: &Value) -> Self {
        let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
        Self {
            condition: text("condition"),
            expressions: object::string_list(&rule["celExpressions"]),
            message: text("message"),
            message_expression: text("messageExpression"),
        }
    }

    /// OCM's own rule for a kind: `Complete` of Jobs, which a failed Job satisfies too, and of Pods.
    fn well_known(rule: &Value, object: &Value) -> Option<Self> {
        let mut own = Self::parse(rule);
        if own.condition != "Complete" {
            return None;
        }
        let (expression, message) = match feedback::describe_kind(object).as_str() {
            "batch/v1, Kind=Job" => (
                "hasConditions(object.status) ? object.status.conditions.filter(c, c.type == 'Complete' || c.type == \
                 'Failed').exists(c, c.status == 'True') : false",
                "result ? \"Job is finished\" : \"Job is not finished\"",
            ),
            "/v1, Kind=Pod" => (
                "object.status.phase in ['Succeeded', 'Failed']",
                "\"Pod is in phase \" + object.status.phase",
            ),
            _ => return None,
        };
        own.expressions = vec![expression.to_owned()];
        if own.message_expression.is_empty() {
            message.clone_into(&mut own.message_expression);
        }
        Some(own)
    }
}

fn condition(rule: &Rule, object: &cel::CelValue) -> Condition {
    match is_met(rule, object) {
        Ok(result) => {
            let status = if result { Status::True } else { Status::False };
            Condition::new(
                &rule.condition,
                status,
                "ConditionRuleEvaluated",
                message(rule, object, result),
            )
        }
        Err(error) => Condition::new(
            &rule.condition,
            Status::False,
            "ConditionRuleExpressionError",
            error.to_string(),
        ),
    }
}

/// All expressions must be true; the first that is not ends it.
fn is_met(rule: &Rule, object: &cel::CelValue) -> Result<bool, CelError> {
    for source in &rule.expressions {
        if !Expression::compile(source)?.boolean(&[("object", object.clone())])? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The message expression, else the static message (which is shown even when False), else a sentence.
fn message(rule: &Rule, object: &cel::CelValue, result: bool) -> String {
    if !rule.message_expression.is_empty() {
        let variables = [
            ("object", object.clone()),
            ("result", cel::CelValue::Bool(result)),
        ];
        let text = Expression::compile(&rule.message_expression)
            .and_then(|expression| expression.string(&variables));
        match text {
            Ok(text) if text.is_empty() => {}
            Ok(text) => return text,
            Err(error) => return error.to_string(),
        }
    }
    if !rule.message.is_empty() {
        return rule.message.clone();
    }
    let negation = if result { "" } else { "not " };
    format!("Manifest is {negation}{}", rule.condition)
}
