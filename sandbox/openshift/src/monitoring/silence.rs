//! Silences: made, found, changed and expired, as Alertmanager does.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use promql_parser::label::Matcher;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::alert::Pairs;
use super::matcher;
use kube_sandbox::fingerprint::fingerprint;

/// How long an expired silence is remembered.
const RETENTION: SignedDuration = SignedDuration::from_hours(120);

/// One matcher as on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMatcher {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) is_regex: bool,
    #[serde(default = "yes")]
    pub(super) is_equal: bool,
}

fn yes() -> bool {
    true
}

/// A silence as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wanted {
    #[serde(default)]
    id: Option<String>,
    matchers: Vec<WireMatcher>,
    starts_at: Timestamp,
    ends_at: Timestamp,
    created_by: String,
    comment: String,
}

/// Why a silence is not set or expired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SilenceError {
    /// It cannot be set.
    #[error("Failed to create silence: {0}")]
    Invalid(String),
    /// There is none with this id.
    #[error("silence {0} not found")]
    NotFound(String),
    /// It has expired before.
    #[error("silence {0} already expired")]
    Expired(String),
}

/// A silence.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    id: String,
    wire: Vec<WireMatcher>,
    matchers: Vec<Matcher>,
    starts_at: Timestamp,
    ends_at: Timestamp,
    updated_at: Timestamp,
    created_by: String,
    comment: String,
}

impl Silence {
    fn state(&self, now: Timestamp) -> &'static str {
        if self.ends_at <= now {
            "expired"
        } else if self.starts_at > now {
            "pending"
        } else {
            "active"
        }
    }

    /// Whether it silences an alert with these labels now.
    fn covers(&self, labels: &Pairs, now: Timestamp) -> bool {
        self.state(now) == "active" && matcher::all_match(&self.matchers, labels)
    }

    /// What it matches, by name.
    fn matched(&self) -> Pairs {
        let pairs = self.wire.iter();
        pairs
            .map(|matcher| (matcher.name.clone(), matcher.value.clone()))
            .collect()
    }

    pub(super) fn wire(&self, now: Timestamp) -> Value {
        json!({
            "id": self.id,
            "status": {"state": self.state(now)},
            "updatedAt": millis(self.updated_at),
            "comment": self.comment,
            "createdBy": self.created_by,
            "endsAt": millis(self.ends_at),
            "matchers": self.wire,
            "startsAt": millis(self.starts_at),
        })
    }
}

/// A moment with three digits of a second.
pub(super) fn millis(moment: Timestamp) -> String {
    format!("{moment:.3}")
}

/// All silences of one Alertmanager.
#[derive(Debug)]
pub(super) struct Silences {
    name: String,
    made: u64,
    all: BTreeMap<String, Silence>,
}

impl Silences {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            made: 0,
            all: BTreeMap::new(),
        }
    }

    /// Sets a silence and says under which id: that of the one it changes if only its end or its words differ.
    pub(super) fn set(&mut self, wanted: Wanted, now: Timestamp) -> Result<String, SilenceError> {
        let matchers = readable(&wanted, now).map_err(SilenceError::Invalid)?;
        self.all.retain(|_, silence| silence.ends_at + RETENTION > now);
        let before = match wanted.id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => Some(
                self.all
                    .get_mut(id)
                    .ok_or_else(|| SilenceError::NotFound(id.to_owned()))?,
            ),
            None => None,
        };
        if let Some(before) = before {
            let same_start = before.starts_at == wanted.starts_at || before.state(now) == "pending";
            let is_change = before.wire == wanted.matchers && same_start && before.state(now) != "expired";
            if is_change {
                before.ends_at = wanted.ends_at;
                before.comment = wanted.comment;
                before.created_by = wanted.created_by;
                before.updated_at = now;
                return Ok(before.id.clone());
            }
            before.ends_at = before.ends_at.min(now);
            before.updated_at = now;
        }
        let id = self.new_id();
        let silence = Silence {
            id: id.clone(),
            wire: wanted.matchers,
            matchers,
            starts_at: wanted.starts_at.max(now),
            ends_at: wanted.ends_at,
            updated_at: now,
            created_by: wanted.created_by,
            comment: wanted.comment,
        };
        self.all.insert(id.clone(), silence);
        Ok(id)
    }

    /// Lets a silence end now.
    pub(super) fn expire(&mut self, id: &str, now: Timestamp) -> Result<(), SilenceError> {
        let silence = self
            .all
            .get_mut(id)
            .ok_or_else(|| SilenceError::NotFound(id.to_owned()))?;
        if silence.state(now) == "expired" {
            return Err(SilenceError::Expired(id.to_owned()));
        }
        silence.starts_at = silence.starts_at.min(now);
        silence.ends_at = now;
        silence.updated_at = now;
        Ok(())
    }

    pub(super) fn get(&self, id: &str) -> Option<&Silence> {
        self.all.get(id)
    }

    /// Those whose matchers these filters select: active ones by their end, then pending, then expired ones, the latest first.
    pub(super) fn list(&self, filters: &[Matcher], now: Timestamp) -> Vec<Value> {
        let mut found: Vec<&Silence> = self
            .all
            .values()
            .filter(|silence| {
                let matched = silence.matched();
                filters.iter().all(|filter| {
                    matched
                        .get(&filter.name)
                        .is_some_and(|value| filter.is_match(value))
                })
            })
            .collect();
        found.sort_by_key(|silence| match silence.state(now) {
            "active" => (0, silence.ends_at.as_millisecond()),
            "pending" => (1, silence.starts_at.as_millisecond()),
            _ => (2, -silence.ends_at.as_millisecond()),
        });
        found.into_iter().map(|silence| silence.wire(now)).collect()
    }

    /// The ids of the silences that cover an alert with these labels.
    pub(super) fn covering(&self, labels: &Pairs, now: Timestamp) -> Vec<String> {
        let covering = self.all.values().filter(|silence| silence.covers(labels, now));
        covering.map(|silence| silence.id.clone()).collect()
    }

    /// A UUID that is the same in every run.
    fn new_id(&mut self) -> String {
        self.made += 1;
        let half = |part: u8| {
            let bytes = self.name.bytes().chain(self.made.to_le_bytes()).chain([part]);
            format!("{:016x}", fingerprint(bytes))
        };
        let (first, second) = (half(0), half(1));
        format!(
            "{}-{}-4{}-8{}-{}",
            &first[..8],
            &first[8..12],
            &first[13..],
            &second[1..4],
            &second[4..]
        )
    }
}

fn readable(wanted: &Wanted, now: Timestamp) -> Result<Vec<Matcher>, String> {
    if wanted.starts_at >= wanted.ends_at {
        return Err("start time must be before end time".to_owned());
    }
    if wanted.ends_at <= now {
        return Err("end time can't be in the past".to_owned());
    }
    let matchers = wanted
        .matchers
        .iter()
        .map(|given| {
            if given.name.is_empty() {
                return Err("invalid label matcher: invalid label name \"\"".to_owned());
            }
            matcher::of_silence(&given.name, &given.value, given.is_regex, given.is_equal)
                .map_err(|error| format!("invalid label matcher: {error}"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if matchers.iter().all(|matcher| matcher.is_match("")) {
        return Err("invalid silence: at least one matcher must not match the empty string".to_owned());
    }
    Ok(matchers)
}
