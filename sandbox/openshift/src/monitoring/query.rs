//! PromQL as far as the series are there: selectors of `ALERTS` and `ALERTS_FOR_STATE`, and constants.

use jiff::Timestamp;
use promql_parser::parser::{Expr, VectorSelector, parse};
use serde_json::{Value, json};

use super::alert::{Alert, Pairs};
use super::matcher::all_match;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QueryError {
    /// It is no PromQL.
    #[error("invalid parameter \"query\": {0}")]
    Unreadable(String),
    /// It is PromQL that the sandbox does not evaluate.
    #[error("the sandbox evaluates selectors of series and constants, not {0:?}")]
    Unsupported(String),
}

/// Evaluates an instant query: `data` of the answer.
pub(super) fn evaluate(query: &str, alerts: &[Alert], now: Timestamp) -> Result<Value, QueryError> {
    let expression = parse(query).map_err(QueryError::Unreadable)?;
    value(&expression, query, alerts, now)
}

/// The value of an expression that gives always the same one sample.
pub(super) fn constant(query: &str) -> Option<f64> {
    match parse(query).ok()? {
        Expr::Call(call) if call.func.name == "vector" => number(call.args.args.first()?),
        _ => None,
    }
}

fn number(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::NumberLiteral(literal) => Some(literal.val),
        Expr::Paren(paren) => number(&paren.expr),
        _ => None,
    }
}

fn value(expression: &Expr, query: &str, alerts: &[Alert], now: Timestamp) -> Result<Value, QueryError> {
    let unsupported = || QueryError::Unsupported(query.to_owned());
    let seconds = now.as_millisecond() as f64 / 1000.0;
    let sample = |metric: Value, value: f64| json!({"metric": metric, "value": [seconds, value.to_string()]});
    match expression {
        Expr::Paren(paren) => value(&paren.expr, query, alerts, now),
        Expr::NumberLiteral(literal) => {
            Ok(json!({"resultType": "scalar", "result": [seconds, literal.val.to_string()]}))
        }
        Expr::Call(call) if call.func.name == "vector" => {
            let number = call.args.args.first().and_then(|argument| number(argument));
            let number = number.ok_or_else(unsupported)?;
            Ok(json!({"resultType": "vector", "result": [sample(json!({}), number)]}))
        }
        Expr::VectorSelector(selector) if selector.offset.is_none() && selector.at.is_none() => {
            let series = alerts.iter().flat_map(|alert| series(alert, now));
            let selected = series.filter(|(labels, _)| selects(selector, labels));
            let result: Vec<Value> = selected
                .map(|(labels, value)| sample(json!(labels), value))
                .collect();
            Ok(json!({"resultType": "vector", "result": result}))
        }
        _ => Err(unsupported()),
    }
}

/// The two series of an alert.
fn series(alert: &Alert, now: Timestamp) -> [(Pairs, f64); 2] {
    let named = |name: &str| {
        let mut labels = alert.labels.clone();
        labels.insert("__name__".to_owned(), name.to_owned());
        labels
    };
    let mut state = named("ALERTS");
    state.insert("alertstate".to_owned(), alert.state(now).to_owned());
    let since = alert.active_at.as_second() as f64;
    [(state, 1.0), (named("ALERTS_FOR_STATE"), since)]
}

fn selects(selector: &VectorSelector, labels: &Pairs) -> bool {
    let is_named = selector
        .name
        .as_ref()
        .is_none_or(|name| labels.get("__name__") == Some(name));
    let alternatives = &selector.matchers.or_matchers;
    is_named
        && all_match(&selector.matchers.matchers, labels)
        && (alternatives.is_empty() || alternatives.iter().any(|matchers| all_match(matchers, labels)))
}
