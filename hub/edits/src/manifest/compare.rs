//! Two states of an object beside each other, field by field: nothing that differs may be left out, or look the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Change, Changes};

/// How many letters are shown of each value.
pub(super) const SHOWN: usize = 1000;
/// So many letters are shown that are the same, before what differs in values that are longer than that.
pub(super) const BEFORE: usize = 100;

/// What has been found to differ.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub changes: Changes,
    most: usize,
}

impl Comparison {
    /// How many changes are listed.
    pub fn listed(&self) -> usize {
        self.changes.listed.len()
    }

    /// Adds what differs at a path; what is not there is none. So many changes are listed at most, with those from before.
    pub fn compare(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, most: usize) {
        self.most = most;
        self.add(path, before, after);
    }

    /// Adds what differs at a path, each field and each element of a list by itself.
    fn add(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        if before == after {
            return;
        }
        if let Some(keys) = keys(before, after) {
            for key in keys {
                let of = |value: Option<&'_ Value>| value.and_then(|value| value.get(key)).cloned();
                let (old, new) = (of(before), of(after));
                self.add(&format!("{path}{}", step(key)), old.as_ref(), new.as_ref());
            }
            return;
        }
        let Some((old, new)) = elements(before, after) else {
            self.list(path.to_owned(), before, after);
            return;
        };
        if let Some((gone, come)) = gone_and_come(old, new) {
            for index in gone {
                self.list(format!("{path}[{index}]"), old.get(index), None);
            }
            for index in come {
                self.list(format!("{path}[{index}]"), None, new.get(index));
            }
            return;
        }
        for index in 0..old.len().max(new.len()) {
            self.add(&format!("{path}[{index}]"), old.get(index), new.get(index));
        }
    }

    fn list(&mut self, field: String, before: Option<&Value>, after: Option<&Value>) {
        if self.listed() >= self.most {
            self.changes.more += 1;
            return;
        }
        let (before, after) = (before.map(text), after.map(text));
        let same = match (&before, &after) {
            (Some(before), Some(after)) => {
                let pairs = before.chars().zip(after.chars());
                pairs.take_while(|(before, after)| before == after).count()
            }
            _ => 0,
        };
        self.changes.listed.push(Change {
            field,
            before: before.map(|text| cut(&text, same)),
            after: after.map(|text| cut(&text, same)),
        });
    }
}

/// The keys of two objects, or of one where the other is not set. What is made empty is said as a whole, for an empty object is something else
/// than none: an empty selector selects everything.
fn keys<'a>(before: Option<&'a Value>, after: Option<&'a Value>) -> Option<BTreeSet<&'a str>> {
    let of = |value: &'a Value| value.as_object().map(|fields| fields.keys().map(String::as_str));
    let keys: BTreeSet<&str> = match (before, after) {
        (Some(old), Some(new)) if !is_empty(new) => of(old)?.chain(of(new)?).collect(),
        (Some(fields), None) | (None, Some(fields)) => of(fields)?.collect(),
        _ => return None,
    };
    Some(keys).filter(|keys| !keys.is_empty())
}

/// The elements of two lists, or of one where the other is not set; not of one that is made empty.
fn elements<'a>(before: Option<&'a Value>, after: Option<&'a Value>) -> Option<(&'a [Value], &'a [Value])> {
    let of = |value: &'a Value| value.as_array().map(Vec::as_slice);
    match (before, after) {
        (Some(old), Some(new)) if !is_empty(new) => Some((of(old)?, of(new)?)),
        (None, Some(new)) if !is_empty(new) => Some((&[], of(new)?)),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        _ => false,
    }
}

/// Where texts or numbers stood that a list has no more, and where those stand that it had not; nothing if it has others, or another order of
/// those that remain: then each place is compared.
fn gone_and_come(old: &[Value], new: &[Value]) -> Option<(Vec<usize>, Vec<usize>)> {
    let is_nested = |element: &Value| element.is_object() || element.is_array();
    if old.iter().chain(new).any(is_nested) {
        return None;
    }
    let (gone, come) = (surplus(old, new), surplus(new, old));
    let rest = |list: &'_ [Value], without: &BTreeSet<usize>| -> Vec<Value> {
        let kept = list
            .iter()
            .enumerate()
            .filter(|(index, _)| !without.contains(index));
        kept.map(|(_, element)| element.clone()).collect()
    };
    (rest(old, &gone) == rest(new, &come)).then(|| (gone.into_iter().collect(), come.into_iter().collect()))
}

/// Where a list has elements that another has not, or not so often: the last of each.
fn surplus(list: &[Value], other: &[Value]) -> BTreeSet<usize> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for element in other {
        *left.entry(element.to_string()).or_default() += 1;
    }
    let mut surplus = BTreeSet::new();
    for (index, element) in list.iter().enumerate() {
        match left.get_mut(&element.to_string()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => {
                surplus.insert(index);
            }
        }
    }
    surplus
}

/// A key as a part of a path; one that has a dot in it cannot be taken for two.
fn step(key: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if key.chars().all(is_plain) {
        format!(".{key}")
    } else {
        format!("[{}]", json!(key))
    }
}

/// A text as it is, unless it could be taken for something else, such as a number; all else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && serde_json::from_str::<Value>(text).is_err() => {
            text.clone()
        }
        other => other.to_string(),
    }
}

/// A text, or of a long one what is about its first letter that differs.
fn cut(text: &str, same: usize) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let begin = same.saturating_sub(BEFORE);
    let shown: String = text.chars().skip(begin).take(SHOWN).collect();
    let begins = if begin > 0 { "…" } else { "" };
    let ends = if text.chars().count() > begin + SHOWN {
        "…"
    } else {
        ""
    };
    format!("{begins}{shown}{ends}")
}
