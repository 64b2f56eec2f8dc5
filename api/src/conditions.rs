//! Conditions: our own are set so that `lastTransitionTime` moves only when the status does; foreign ones are read.

use jiff::Timestamp;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Fields, Nullable, instant};

/// The status `True`.
pub const TRUE: &str = "True";
/// The status `False`.
pub const FALSE: &str = "False";
/// The status `Unknown`.
pub const UNKNOWN: &str = "Unknown";

/// A condition of a foreign object. Times are text: what cannot be parsed must not blind a watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ForeignCondition {
    /// What the condition is about.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, as one CamelCase word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the status last changed (RFC 3339).
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub last_transition_time: Nullable<String>,
    /// The `metadata.generation` that the condition is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A condition of ours as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
    message: String,
    #[serde(deserialize_with = "instant::deserialize")]
    last_transition_time: Time,
    #[serde(default)]
    observed_generation: Option<i64>,
}

/// Reads conditions of ours, with times as in [`instant`].
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let read = Vec::<ReadCondition>::deserialize(deserializer)?;
    Ok(read
        .into_iter()
        .map(|read| Condition {
            type_: read.type_,
            status: read.status,
            reason: read.reason,
            message: read.message,
            last_transition_time: read.last_transition_time,
            observed_generation: read.observed_generation,
        })
        .collect())
}

/// The same where there may be none.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Condition>>, D::Error> {
    #[derive(Deserialize)]
    struct Conditions(#[serde(deserialize_with = "deserialize")] Vec<Condition>);
    Ok(Option::<Conditions>::deserialize(deserializer)?.map(|Conditions(all)| all))
}

/// What conditions of all kinds have in common.
pub trait AnyCondition {
    /// The condition's type.
    fn type_(&self) -> &str;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// Why, as one word; empty if it does not say.
    fn reason(&self) -> &str;
    /// Why, for people; empty if it does not say.
    fn message(&self) -> &str;
    /// The generation that it is about, if it says.
    fn observed_generation(&self) -> Option<i64>;

    /// Is the status `True`?
    fn is_true(&self) -> bool {
        self.status() == TRUE
    }

    /// Is the status `False`?
    fn is_false(&self) -> bool {
        self.status() == FALSE
    }
}

impl AnyCondition for Condition {
    fn type_(&self) -> &str {
        &self.type_
    }
    fn status(&self) -> &str {
        &self.status
    }
    fn reason(&self) -> &str {
        &self.reason
    }
    fn message(&self) -> &str {
        &self.message
    }
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
}

impl AnyCondition for ForeignCondition {
    fn type_(&self) -> &str {
        &self.type_
    }
    fn status(&self) -> &str {
        &self.status
    }
    fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }
    fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
}

/// The condition of a type, if there is one.
pub fn find<'a, C: AnyCondition>(conditions: &'a [C], type_: &str) -> Option<&'a C> {
    conditions.iter().find(|condition| condition.type_() == type_)
}

/// Is there a condition of this type, and is it `True`?
pub fn is_true<C: AnyCondition>(conditions: &[C], type_: &str) -> bool {
    find(conditions, type_).is_some_and(C::is_true)
}

/// Is there a condition of this type, and is it `False`?
pub fn is_false<C: AnyCondition>(conditions: &[C], type_: &str) -> bool {
    find(conditions, type_).is_some_and(C::is_false)
}

/// What a condition of ours should say; the time is [`set`]'s business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredCondition<'a> {
    /// The condition's type.
    pub type_: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// Why, as one CamelCase word.
    pub reason: &'a str,
    /// Why, and what to do, for people.
    pub message: &'a str,
    /// The `metadata.generation` that it is about.
    pub observed_generation: Option<i64>,
}

/// Sets a condition in a list kept in order of first appearance. `lastTransitionTime` becomes `now` only if the
/// status changes or the condition is new. Says whether anything changed.
pub fn set(conditions: &mut Vec<Condition>, wanted: &DesiredCondition<'_>, now: Timestamp) -> bool {
    let index = conditions
        .iter()
        .position(|condition| condition.type_ == wanted.type_);
    let since = index
        .and_then(|index| conditions.get(index))
        .filter(|present| present.status == wanted.status)
        .map_or(Time(now), |present| present.last_transition_time.clone());
    let next = Condition {
        type_: wanted.type_.to_owned(),
        status: wanted.status.to_owned(),
        reason: wanted.reason.to_owned(),
        message: wanted.message.to_owned(),
        observed_generation: wanted.observed_generation,
        last_transition_time: since,
    };
    match index.and_then(|index| conditions.get_mut(index)) {
        Some(present) if *present == next => false,
        Some(present) => {
            *present = next;
            true
        }
        None => {
            conditions.push(next);
            true
        }
    }
}
