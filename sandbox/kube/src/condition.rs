//! Conditions, and how they change: as apimachinery's `SetStatusCondition` does it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a condition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known.
    Unknown,
}

/// One condition of an object's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about; one of a type in a list.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub status: Status,
    /// The generation it was computed for; 0 is left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When `status` last changed.
    #[serde(default)]
    pub last_transition_time: String,
    /// The reason, for programs.
    #[serde(default)]
    pub reason: String,
    /// The reason, for people.
    #[serde(default)]
    pub message: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Condition {
    /// A condition that has not been set on an object yet.
    pub fn new(kind: &str, status: Status, reason: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            status,
            observed_generation: 0,
            last_transition_time: String::new(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    /// The same, computed for a generation.
    pub fn observed(mut self, generation: i64) -> Self {
        self.observed_generation = generation;
        self
    }
}

/// A moment as the API writes it: whole seconds, UTC.
pub fn format_time(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Sets `new` in the list: its transition time moves only if its status does.
pub fn set(list: &mut Vec<Condition>, mut new: Condition, now: Timestamp) {
    match list.iter_mut().find(|present| present.kind == new.kind) {
        None => {
            new.last_transition_time = format_time(now);
            list.push(new);
        }
        Some(present) => {
            if present.status == new.status {
                new.last_transition_time.clone_from(&present.last_transition_time);
            } else {
                new.last_transition_time = format_time(now);
            }
            *present = new;
        }
    }
}

/// The condition of a type.
pub fn find<'a>(list: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    list.iter().find(|condition| condition.kind == kind)
}

/// True if the condition of this type is there and True.
pub fn is_true(list: &[Condition], kind: &str) -> bool {
    find(list, kind).is_some_and(|condition| condition.status == Status::True)
}

/// The conditions below a status; entries that are none are left out.
pub fn parse(conditions: &Value) -> Vec<Condition> {
    super::object::list(conditions)
        .iter()
        .filter_map(|entry| Condition::deserialize(entry).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_time_moves_only_with_the_status() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let mut list = Vec::new();
        set(&mut list, Condition::new("A", Status::False, "X", "x"), start);
        set(&mut list, Condition::new("A", Status::False, "Y", "y"), later);
        assert_eq!(list[0].last_transition_time, "2026-01-01T00:00:00Z");
        assert_eq!(list[0].reason, "Y");
        set(&mut list, Condition::new("A", Status::True, "Y", "y"), later);
        assert_eq!(list[0].last_transition_time, "2026-01-01T00:01:00Z");
    }
}
