//! One alert.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Labels or annotations.
pub(super) type Pairs = BTreeMap<String, String>;

/// An alert whose expression is true.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alert {
    /// `alertname`, `severity` and the others.
    pub(super) labels: Pairs,
    pub(super) annotations: Pairs,
    /// Since when the expression is true.
    pub(super) active_at: Timestamp,
    /// How long it must be true before the alert fires (`for` of the rule).
    pub(super) pending_for: SignedDuration,
    /// What the expression gives.
    pub(super) value: f64,
}

impl Alert {
    /// Whether it fires, and is not only pending.
    pub(super) fn is_firing(&self, now: Timestamp) -> bool {
        self.active_at + self.pending_for <= now
    }

    pub(super) fn state(&self, now: Timestamp) -> &'static str {
        if self.is_firing(now) { "firing" } else { "pending" }
    }

    /// As Prometheus lists it.
    pub(super) fn wire(&self, now: Timestamp) -> Value {
        json!({
            "labels": self.labels,
            "annotations": self.annotations,
            "state": self.state(now),
            "activeAt": self.active_at.to_string(),
            "value": exponent(self.value),
        })
    }
}

/// A number as Go writes it with an exponent of at least two digits.
fn exponent(value: f64) -> String {
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, power)) => match power.strip_prefix('-') {
            Some(power) => format!("{digits}e-{power:0>2}"),
            None => format!("{digits}e+{power:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_an_exponent_of_two_digits() {
        for (value, expected) in [
            (1.0, "1e+00"),
            (0.0, "0e+00"),
            (100.0, "1e+02"),
            (0.25, "2.5e-01"),
        ] {
            assert_eq!(exponent(value), expected);
        }
    }
}
