//! Two states of an object beside each other, field by field: nothing that differs may be left out, or look the same.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

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
                self.row(path, Some("{…}".to_owned()), Some("{}".to_owned()));
                self.fields(path, before, after);
            }
            (Kind::Elements(false), Kind::Elements(true)) => {
                self.row(path, Some("[…]".to_owned()), Some("[]".to_owned()));
                self.elements(path, before, after);
            }
            (Kind::Fields(_), Kind::Fields(_))
            | (Kind::Fields(false), Kind::Absent)
            | (Kind::Absent, Kind::Fields(false)) => self.fields(path, before, after),
            (Kind::Elements(_), Kind::Elements(_))
            | (Kind::Elements(false), Kind::Absent)
            | (Kind::Absent, Kind::Elements(false)) => self.elements(path, before, after),
            (Kind::Text, Kind::Text) => self.lines(path, before, after),
            _ => self.list(path, before.map(Shown::of), after.map(Shown::of)),
        }
    }

    fn fields(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let fields = [before, after].into_iter().flatten().filter_map(Value::as_object);
        let keys: BTreeSet<&String> = fields.flat_map(Map::keys).collect();
        for key in keys {
            let path = format!("{path}{}", step(key));
            self.add(&path, field(before, key), field(after, key));
        }
    }

    fn elements(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let (old, new) = (list(before), list(after));
        let words = |list: &[Value]| list.iter().map(Value::to_string).collect::<Vec<_>>();
        let (old_words, new_words) = (words(old), words(new));
        let pairs = if is_reordered(&old_words, &new_words) {
            (0..old.len()).map(|index| (Some(index), Some(index))).collect()
        } else {
            pairs(&old_words, &new_words)
        };
        for (gone, come) in pairs {
            let path = format!("{path}[{}]", place(gone, come, 0));
            let (before, after) = (
                gone.and_then(|gone| old.get(gone)),
                come.and_then(|come| new.get(come)),
            );
            self.add(&path, before, after);
        }
    }

    /// Adds which lines of a text go, come or become others; of one line all of it.
    fn lines(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let of = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).unwrap_or_default();
            text.split('\n').map(str::to_owned).collect::<Vec<_>>()
        };
        let (old, new) = (of(before), of(after));
        if old.len() == 1 && new.len() == 1 {
            self.list(path, before.map(Shown::of), after.map(Shown::of));
            return;
        }
        for (gone, come) in pairs(&old, &new) {
            let line = |list: &[String], index: Option<usize>| {
                index
                    .and_then(|index| list.get(index))
                    .map(|line| Shown::Text(line.clone()))
            };
            let path = format!("{path} line {}", place(gone, come, 1));
            self.list(&path, line(&old, gone), line(&new, come));
        }
    }

    /// Adds a value; of a long one each part of it that differs.
    fn list(&mut self, path: &str, before: Option<Shown>, after: Option<Shown>) {
        let letters = |shown: &Option<Shown>| shown.as_ref().map(Shown::letters);
        let (old, new) = (letters(&before), letters(&after));
        let parts = parts(
            old.as_deref().unwrap_or_default(),
            new.as_deref().unwrap_or_default(),
        );
        if parts.len() == 1 {
            self.row(
                path,
                before.map(|shown| shown.words()),
                after.map(|shown| shown.words()),
            );
            return;
        }
        let cut = parts.into_iter().map(|range| {
            let part = |letters: &Option<Vec<char>>| part_of(letters.as_deref()?, &range);
            (range.start + 1, part(&old), part(&new))
        });
        let cut: Vec<(usize, Option<String>, Option<String>)> = cut.collect();
        // A text is another value than the list that it spells.
        let is_of_one_kind = matches!(
            (&before, &after),
            (Some(Shown::Text(_)), Some(Shown::Text(_))) | (Some(Shown::Json(_)), Some(Shown::Json(_)))
        );
        // Parts of a text with quotes and of one without would differ where the texts do not, and look the same where they do.
        let mut all = cut.iter().flat_map(|(_, gone, come)| gone.iter().chain(come));
        let is_quoted = all.any(|part| !is_plain(part));
        let words = |shown: &Option<Shown>, part: Option<String>| {
            let part = part?;
            Some(match shown.as_ref()? {
                Shown::Text(_) if is_quoted => quoted(&part),
                Shown::Text(_) => part,
                Shown::Json(_) => part.chars().map(escaped).collect(),
            })
        };
        for (letter, gone, come) in cut {
            if !is_of_one_kind || gone != come {
                let field = format!("{path} from letter {letter}");
                self.row(&field, words(&before, gone), words(&after, come));
            }
        }
    }

    fn row(&mut self, path: &str, before: Option<String>, after: Option<String>) {
        if self.listed() >= self.most {
            self.changes.more += 1;
            return;
        }
        let field = shortened(path);
        self.changes.listed.push(Change { field, before, after });
    }
}

fn field<'a>(of: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    of?.get(key)
}

fn list(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
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

/// So many elements of two lists, without those that are the same at both ends, are brought into line with each other: what that costs grows with
/// the square of what differs. Of more than that each place is compared.
const ALIGNED: usize = 20_000;

/// Whether two lists have the same in another order: then each place says what it has become.
fn is_reordered(old: &[String], new: &[String]) -> bool {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    old.len() == new.len() && sorted(old) == sorted(new)
}

/// Where two lists differ: the place in the old one, in the new one, or both where one element has become another.
fn pairs(old: &[String], new: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
    let is_same = |(old, new): &(&String, &String)| old == new;
    let begin = old.iter().zip(new).take_while(is_same).count();
    let (rest, other) = (&old[begin..], &new[begin..]);
    let end = rest
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(is_same)
        .count();
    let (rest, other) = (&rest[..rest.len() - end], &other[..other.len() - end]);
    let operations = if rest.len() + other.len() > ALIGNED {
        let (old_len, new_len) = (rest.len(), other.len());
        vec![DiffOp::Replace {
            old_index: 0,
            old_len,
            new_index: 0,
            new_len,
        }]
    } else {
        capture_diff_slices(Algorithm::Myers, rest, other)
    };
    let mut pairs = Vec::new();
    for operation in operations
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
    {
        let (gone, come) = (operation.old_range(), operation.new_range());
        for index in 0..gone.len().max(come.len()) {
            let at = |range: &Range<usize>| (index < range.len()).then(|| begin + range.start + index);
            let pair = (at(&gone), at(&come));
            let is_changed = pair.0.is_none()
                || pair.1.is_none()
                || pair.0.map(|index| &old[index]) != pair.1.map(|index| &new[index]);
            pairs.extend(is_changed.then_some(pair));
        }
    }
    pairs
}

/// The longest path that is shown whole, in letters.
const PATH: usize = 1000;

/// A path; of a long one its begin and its end.
fn shortened(path: &str) -> String {
    let letters: Vec<char> = path.chars().collect();
    if letters.len() <= PATH {
        return path.to_owned();
    }
    let part = |letters: &[char]| letters.iter().collect::<String>();
    let (begin, end) = (&letters[..PATH / 2], &letters[letters.len() - PATH / 2..]);
    format!("{}…{}", part(begin), part(end))
}

/// A key as a part of a path; one that has a dot in it cannot be taken for two.
fn step(key: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if !key.is_empty() && key.chars().all(is_plain) {
        format!(".{key}")
    } else {
        format!("[{}]", quoted(key))
    }
}

/// A value, as a person reads it.
#[derive(Clone, Debug)]
enum Shown {
    /// As it is, unless it could be taken for something else, such as a number.
    Text(String),
    /// All else.
    Json(String),
}

impl Shown {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            other => Self::Json(other.to_string()),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Text(text) => visible(text),
            Self::Json(json) => json.chars().map(escaped).collect(),
        }
    }

    fn letters(&self) -> Vec<char> {
        let (Self::Text(text) | Self::Json(text)) = self;
        text.chars().collect()
    }
}

/// The parts of two values, at the same places of both: each is as long as is shown at most, with its escapes.
fn parts(old: &[char], new: &[char]) -> Vec<Range<usize>> {
    let end = old.len().max(new.len());
    let mut begins = vec![0];
    let mut shown = [0, 0];
    for place in 0..end {
        let letter = |letters: &[char]| {
            letters
                .get(place)
                .map_or(0, |sign| quoted_letter(*sign).chars().count())
        };
        let next = [letter(old), letter(new)];
        if shown[0] + next[0] > SHOWN || shown[1] + next[1] > SHOWN {
            begins.push(place);
            shown = [0, 0];
        }
        shown = [shown[0] + next[0], shown[1] + next[1]];
    }
    let ends = begins.iter().skip(1).copied().chain([end]);
    begins
        .iter()
        .copied()
        .zip(ends)
        .map(|(begin, end)| begin..end)
        .collect()
}

/// What a value has of a part; none if it ends before.
fn part_of(letters: &[char], range: &Range<usize>) -> Option<String> {
    let end = range.end.min(letters.len());
    (range.start < end || range.start == 0).then(|| letters[range.start..end].iter().collect())
}

/// Where an element stood, and where it stands: `2` if it has become another in its place, `2 → 3` in another place, `2 →` if it goes,
/// `→ 3` if it comes.
fn place(gone: Option<usize>, come: Option<usize>, first: usize) -> String {
    let number = |index: usize| (index + first).to_string();
    match (gone, come) {
        (Some(gone), Some(come)) if gone == come => number(come),
        (Some(gone), Some(come)) => format!("{} → {}", number(gone), number(come)),
        (Some(gone), None) => format!("{} →", number(gone)),
        (None, come) => format!("→ {}", number(come.unwrap_or_default())),
    }
}

/// Words of a page that shows changes, which a text could be taken for.
const WORDS: [&str; 3] = ["not set", "{…}", "[…]"];

/// A text as it is; in quotes, with escapes, if it could be taken for something else, or has what cannot be seen.
pub(super) fn visible(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn is_plain(text: &str) -> bool {
    text.chars().all(is_visible)
        && text.trim() == text
        && !text.contains("  ")
        && !text.starts_with(['"', '{', '['])
        && !text.is_empty()
        && !WORDS.contains(&text)
        && serde_json::from_str::<Value>(text).is_err()
}

fn quoted(text: &str) -> String {
    let letters = text.chars().map(quoted_letter);
    format!("\"{}\"", letters.collect::<String>())
}

/// A letter within quotes.
fn quoted_letter(sign: char) -> String {
    match sign {
        '"' | '\\' => format!("\\{sign}"),
        sign => escaped(sign),
    }
}

/// A letter that shows, or the escape of one that does not.
fn escaped(sign: char) -> String {
    if is_visible(sign) {
        return sign.to_string();
    }
    let known = sign.escape_debug().to_string();
    if known == sign.to_string() {
        sign.escape_unicode().to_string()
    } else {
        known
    }
}

/// Whether a letter shows, in its place: not what is blank, or turns the order of others.
fn is_visible(sign: char) -> bool {
    // Fillers that are letters by name, an empty Braille cell, a place for an object, and a note without a head.
    let is_blank = matches!(
        sign,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fffc}' | '\u{1d159}'
    );
    let is_from_right = matches!(sign, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    let is_known = matches!(sign, '"' | '\'' | '\\') || sign.escape_debug().eq([sign]);
    is_known && !is_blank && !is_from_right
}
