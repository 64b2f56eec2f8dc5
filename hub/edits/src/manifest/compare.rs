//! Two states of an object beside each other, field by field: nothing that differs may be left out, or look the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Change, Changes};

/// How many letters are shown of each value: of a longer one what differs is listed in parts of this size.
pub(super) const SHOWN: usize = 1000;

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

    /// Adds what differs of the fields of two objects; who is not there has none. So many changes are listed at most, with those from before.
    pub fn of_fields(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, most: usize) {
        self.most = most;
        self.fields(path, before, after);
    }

    /// Adds what differs at a path; what is not there is none.
    pub fn of_value(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>, most: usize) {
        self.most = most;
        self.add(path, before, after);
    }

    /// Adds what differs at a path, each field and each element of a list by itself. What is made empty is said beside what goes, for an empty
    /// object is something else than none: an empty selector selects everything.
    fn add(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        if before == after {
            return;
        }
        let kind = |value: Option<&Value>| match value {
            Some(Value::Object(fields)) => Kind::Fields(fields.is_empty()),
            Some(Value::Array(elements)) => Kind::Elements(elements.is_empty()),
            Some(Value::String(_)) => Kind::Text,
            Some(_) => Kind::Other,
            None => Kind::Absent,
        };
        match (kind(before), kind(after)) {
            (Kind::Fields(false), Kind::Fields(true)) => {
                self.row(path.to_owned(), Some("{…}".to_owned()), Some("{}".to_owned()));
                self.fields(path, before, after);
            }
            (Kind::Elements(false), Kind::Elements(true)) => {
                self.row(path.to_owned(), Some("[…]".to_owned()), Some("[]".to_owned()));
                self.elements(path, before, after);
            }
            (Kind::Fields(_), Kind::Fields(_))
            | (Kind::Fields(false), Kind::Absent)
            | (Kind::Absent, Kind::Fields(false)) => self.fields(path, before, after),
            (Kind::Elements(_), Kind::Elements(_))
            | (Kind::Elements(false), Kind::Absent)
            | (Kind::Absent, Kind::Elements(false)) => self.elements(path, before, after),
            (Kind::Text, Kind::Text) => self.lines(path, before, after),
            _ => self.list(path, before.map(text), after.map(text)),
        }
    }

    fn fields(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let of = |value: Option<&Value>| {
            let fields = value.and_then(Value::as_object);
            fields
                .into_iter()
                .flatten()
                .map(|(key, _)| key.clone())
                .collect::<BTreeSet<_>>()
        };
        for key in of(before).union(&of(after)) {
            let at = |value: Option<&Value>| value.and_then(|value| value.get(key)).cloned();
            self.add(
                &format!("{path}{}", step(key)),
                at(before).as_ref(),
                at(after).as_ref(),
            );
        }
    }

    fn elements(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let of = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let (old, new) = (of(before), of(after));
        let is_nested = |element: &Value| element.is_object() || element.is_array();
        let words = |list: &[Value]| list.iter().map(Value::to_string).collect::<Vec<_>>();
        let moved = if old.iter().chain(&new).any(is_nested) {
            None
        } else {
            gone_and_come(&words(&old), &words(&new))
        };
        let Some((gone, come)) = moved else {
            for index in 0..old.len().max(new.len()) {
                self.add(&format!("{path}[{index}]"), old.get(index), new.get(index));
            }
            return;
        };
        for index in gone {
            self.list(&format!("{path}[{index}]"), old.get(index).map(text), None);
        }
        for index in come {
            self.list(&format!("{path}[{index}]"), None, new.get(index).map(text));
        }
    }

    /// Adds which lines of a text go and come; of one line all of it.
    fn lines(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let of = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).unwrap_or_default();
            text.split('\n').map(str::to_owned).collect::<Vec<_>>()
        };
        let (old, new) = (of(before), of(after));
        if old.len() == 1 && new.len() == 1 {
            self.list(path, before.map(text), after.map(text));
            return;
        }
        let at = |index: usize| format!("{path} line {}", index + 1);
        let line = |list: &[String], index: usize| list.get(index).map(|line| visible(line));
        let Some((gone, come)) = gone_and_come(&old, &new) else {
            for index in (0..old.len().max(new.len())).filter(|index| old.get(*index) != new.get(*index)) {
                self.list(&at(index), line(&old, index), line(&new, index));
            }
            return;
        };
        for index in gone {
            self.list(&at(index), line(&old, index), None);
        }
        for index in come {
            self.list(&at(index), None, line(&new, index));
        }
    }

    /// Adds a value; of a long one each part of it that differs.
    fn list(&mut self, path: &str, before: Option<String>, after: Option<String>) {
        let parts = |text: &Option<String>| {
            let letters: Vec<char> = text.iter().flat_map(|text| text.chars()).collect();
            letters
                .chunks(SHOWN)
                .map(|part| part.iter().collect())
                .collect::<Vec<String>>()
        };
        let (old, new) = (parts(&before), parts(&after));
        let count = old.len().max(new.len());
        if count <= 1 {
            self.row(path.to_owned(), before, after);
            return;
        }
        for index in (0..count).filter(|index| old.get(*index) != new.get(*index)) {
            let field = format!("{path} from letter {}", index * SHOWN + 1);
            self.row(field, old.get(index).cloned(), new.get(index).cloned());
        }
    }

    fn row(&mut self, field: String, before: Option<String>, after: Option<String>) {
        if self.listed() >= self.most {
            self.changes.more += 1;
            return;
        }
        self.changes.listed.push(Change { field, before, after });
    }
}

/// What a value is to a comparison, and whether it is empty.
#[derive(Clone, Copy)]
enum Kind {
    Fields(bool),
    Elements(bool),
    Text,
    Other,
    Absent,
}

/// Where a list has what is no more, and where it has what was not; nothing if it has another order of what remains: then each place is compared.
fn gone_and_come(old: &[String], new: &[String]) -> Option<(Vec<usize>, Vec<usize>)> {
    let (gone, come) = (surplus(old, new), surplus(new, old));
    let rest = |list: &[String], without: &BTreeSet<usize>| {
        let kept = list
            .iter()
            .enumerate()
            .filter(|(index, _)| !without.contains(index));
        kept.map(|(_, element)| element.clone()).collect::<Vec<_>>()
    };
    (rest(old, &gone) == rest(new, &come)).then(|| (gone.into_iter().collect(), come.into_iter().collect()))
}

/// Where a list has elements that another has not, or not so often: the last of each.
fn surplus(list: &[String], other: &[String]) -> BTreeSet<usize> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for element in other {
        *left.entry(element).or_default() += 1;
    }
    let mut surplus = BTreeSet::new();
    for (index, element) in list.iter().enumerate() {
        match left.get_mut(element.as_str()) {
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
    if !key.is_empty() && key.chars().all(is_plain) {
        format!(".{key}")
    } else {
        format!("[{key:?}]")
    }
}

/// A text as it is, unless it could be taken for something else, such as a number; all else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text),
        other => {
            let json = other.to_string();
            json.chars()
                .flat_map(|sign| {
                    if is_visible(sign) {
                        vec![sign]
                    } else {
                        sign.escape_debug().collect()
                    }
                })
                .collect()
        }
    }
}

/// A text as it is; in quotes, with escapes, if it could be taken for something else, or has what cannot be seen.
fn visible(text: &str) -> String {
    let is_plain = text.chars().all(is_visible)
        && text.trim() == text
        && !text.contains("  ")
        && !text.starts_with('"')
        && !text.is_empty()
        && serde_json::from_str::<Value>(text).is_err();
    if is_plain {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}

/// Whether a letter shows, and takes the place of no other.
fn is_visible(sign: char) -> bool {
    matches!(sign, '"' | '\'' | '\\') || sign.escape_debug().eq([sign])
}
