//! Conditions as OpenShift's operators keep them: the time changes only with the status.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConditionStatus {
    True,
    False,
    Unknown,
}

impl ConditionStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a condition says, without its type and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionValue {
    pub(super) status: ConditionStatus,
    pub(super) reason: Cow<'static, str>,
    pub(super) message: Cow<'static, str>,
}

impl ConditionValue {
    pub(super) fn new(
        status: ConditionStatus,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// A status with neither reason nor message.
    pub(super) fn bare(status: ConditionStatus) -> Self {
        Self::new(status, "", "")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: &'static str,
    value: ConditionValue,
    since: Timestamp,
}

/// A list of conditions in the order in which they were first set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions(Vec<Entry>);

impl Conditions {
    /// Sets a condition; its time moves only if its status changes.
    pub(super) fn set(&mut self, kind: &'static str, value: ConditionValue, now: Timestamp) {
        match self.0.iter_mut().find(|entry| entry.kind == kind) {
            Some(entry) => {
                if entry.value.status != value.status {
                    entry.since = now;
                }
                entry.value = value;
            }
            None => self.0.push(Entry {
                kind,
                value,
                since: now,
            }),
        }
    }

    /// Removes a condition.
    pub(super) fn remove(&mut self, kind: &str) {
        self.0.retain(|entry| entry.kind != kind);
    }

    /// As on the wire; ClusterVersion and ClusterOperator leave empty texts out.
    pub(super) fn sparse(&self) -> Value {
        let entries = self.0.iter().map(|entry| {
            let mut value = Map::new();
            value.insert("lastTransitionTime".into(), wire_time(entry.since));
            if !entry.value.message.is_empty() {
                value.insert("message".into(), json!(entry.value.message));
            }
            if !entry.value.reason.is_empty() {
                value.insert("reason".into(), json!(entry.value.reason));
            }
            value.insert("status".into(), json!(entry.value.status.as_str()));
            value.insert("type".into(), json!(entry.kind));
            Value::Object(value)
        });
        Value::Array(entries.collect())
    }

    /// As on the wire; MachineConfigPool keeps empty texts.
    pub(super) fn full(&self) -> Value {
        let entries = self.0.iter().map(|entry| {
            json!({
                "lastTransitionTime": wire_time(entry.since),
                "message": entry.value.message,
                "reason": entry.value.reason,
                "status": entry.value.status.as_str(),
                "type": entry.kind,
            })
        });
        Value::Array(entries.collect())
    }
}

/// A moment as Kubernetes writes it: whole seconds, UTC.
pub(super) fn wire_time(moment: Timestamp) -> Value {
    let whole = Timestamp::from_second(moment.as_second()).unwrap_or(moment);
    Value::String(whole.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_moves_only_with_its_status() {
        let early = Timestamp::from_second(1_000_000).unwrap();
        let late = Timestamp::from_second(2_000_000).unwrap();
        let mut conditions = Conditions::default();
        conditions.set(
            "Progressing",
            ConditionValue::new(ConditionStatus::True, "", "one"),
            early,
        );
        conditions.set(
            "Progressing",
            ConditionValue::new(ConditionStatus::True, "", "two"),
            late,
        );
        assert_eq!(conditions.0[0].since, early);
        conditions.set(
            "Progressing",
            ConditionValue::new(ConditionStatus::False, "", "three"),
            late,
        );
        assert_eq!(conditions.0[0].since, late);
    }

    #[test]
    fn wire_times_have_whole_seconds() {
        let moment = Timestamp::from_millisecond(1_699_022_635_750).unwrap();
        assert_eq!(wire_time(moment), json!("2023-11-03T14:43:55Z"));
    }
}
