//! Sets of paths: what `fieldsV1` writes down.

use super::field_path::{Path, Step};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSet(Vec<Entry>);

/// A step from the root that is a member, or has members below it, or both; in the order of steps, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    step: Step,
    is_member: bool,
    below: PathSet,
}

impl PathSet {
    /// Adds a path; the root itself cannot be a member.
    pub fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [last] => self.put(last.clone(), true, Self::default()),
            [first, rest @ ..] => {
                let mut below = Self::default();
                below.insert(rest);
                self.put(first.clone(), false, below);
            }
        }
    }

    /// Adds the step from the root, if it `is_member`, and what lies below it.
    pub(super) fn put(&mut self, step: Step, is_member: bool, below: Self) {
        let entry = Entry {
            step,
            is_member,
            below,
        };
        if !entry.is_anything() {
            return;
        }
        // Who builds a set goes through it in its order.
        if self.0.last().is_none_or(|last| last.step < entry.step) {
            return self.0.push(entry);
        }
        match self.0.binary_search_by(|known| known.step.cmp(&entry.step)) {
            Ok(at) => self.0[at].absorb(&entry),
            Err(at) => self.0.insert(at, entry),
        }
    }

    /// Whether it holds no path.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the step from the root is a member.
    pub fn has_member(&self, step: &Step) -> bool {
        self.entry(step).is_some_and(|entry| entry.is_member)
    }

    /// Whether the path is in the set.
    pub fn has(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has(rest)),
        }
    }

    /// The paths below a step, if there are any.
    pub fn below(&self, step: &Step) -> Option<&Self> {
        let entry = self.entry(step)?;
        Some(&entry.below).filter(|below| !below.is_empty())
    }

    /// The paths of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.absorb(other);
        joined
    }

    /// Adds the paths of another set.
    pub fn absorb(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let mut ours = std::mem::take(&mut self.0).into_iter().peekable();
        self.0.reserve(ours.len() + other.0.len());
        for theirs in &other.0 {
            while let Some(earlier) = ours.next_if(|ours| ours.step < theirs.step) {
                self.0.push(earlier);
            }
            match ours.next_if(|ours| ours.step == theirs.step) {
                Some(mut both) => {
                    both.absorb(theirs);
                    self.0.push(both);
                }
                None => self.0.push(theirs.clone()),
            }
        }
        self.0.extend(ours);
        self.0.shrink_to_fit();
    }

    /// Whether a path is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.pairs(other).any(|pair| match pair {
            (ours, Some(theirs)) => {
                (ours.is_member && theirs.is_member) || ours.below.overlaps(&theirs.below)
            }
            (_, None) => false,
        })
    }

    /// Whether all paths of `other` are in this set.
    pub fn covers(&self, other: &Self) -> bool {
        other.pairs(self).all(|pair| match pair {
            (theirs, Some(ours)) => (ours.is_member || !theirs.is_member) && ours.below.covers(&theirs.below),
            (_, None) => false,
        })
    }

    /// The paths of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.with(other, |ours, theirs| {
            theirs.map(|theirs| Entry {
                step: ours.step.clone(),
                is_member: ours.is_member && theirs.is_member,
                below: ours.below.intersection(&theirs.below),
            })
        })
    }

    /// The paths that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.with(other, |ours, theirs| {
            let Some(theirs) = theirs else {
                return Some(ours.clone());
            };
            Some(Entry {
                step: ours.step.clone(),
                is_member: ours.is_member && !theirs.is_member,
                below: ours.below.difference(&theirs.below),
            })
        })
    }

    /// The paths that are neither in `other` nor below one of its members.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.with(other, |ours, theirs| match theirs {
            None => Some(ours.clone()),
            Some(theirs) if theirs.is_member => None,
            Some(theirs) => Some(Entry {
                step: ours.step.clone(),
                is_member: ours.is_member,
                below: ours.below.recursive_difference(&theirs.below),
            }),
        })
    }

    /// The steps from the root, whether they are members, and what lies below them.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&Step, bool, &Self)> {
        let steps = self.0.iter();
        steps.map(|entry| (&entry.step, entry.is_member, &entry.below))
    }

    /// All paths: members first, then what lies deeper.
    pub fn paths(&self) -> Vec<Path> {
        let members = self.0.iter().filter(|entry| entry.is_member);
        let mut found: Vec<Path> = members.map(|entry| vec![entry.step.clone()]).collect();
        for entry in &self.0 {
            found.extend(entry.below.paths().into_iter().map(|rest| {
                let mut path = vec![entry.step.clone()];
                path.extend(rest);
                path
            }));
        }
        found
    }

    /// No less than the length of the JSON of its `fieldsV1` if no character in it needs an escape.
    pub(super) fn length_without_escapes(&self) -> usize {
        /// `"f:":{".":{}},`
        const FRAME: usize = 16;
        let length = |entry: &Entry| {
            FRAME + entry.step.length_without_escapes() + entry.below.length_without_escapes()
        };
        2 + self.0.iter().map(length).sum::<usize>()
    }

    /// Reads the form of `fieldsV1`; `None` when it is malformed.
    pub fn decode(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields.as_object()? {
            if key == "." {
                continue;
            }
            let fields = below.as_object()?;
            let is_member = fields.is_empty() || fields.contains_key(".");
            set.put(Step::decode(key)?, is_member, Self::decode(below)?);
        }
        Some(set)
    }

    fn entry(&self, step: &Step) -> Option<&Entry> {
        let at = self.0.binary_search_by(|known| known.step.cmp(step)).ok()?;
        self.0.get(at)
    }

    /// Each entry with the other set's entry of the same step.
    fn pairs<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = (&'s Entry, Option<&'s Entry>)> {
        let mut theirs = other.0.iter().peekable();
        self.0.iter().map(move |ours| {
            while theirs.next_if(|theirs| theirs.step < ours.step).is_some() {}
            let same = theirs.next_if(|theirs| theirs.step.cmp(&ours.step) == Ordering::Equal);
            (ours, same)
        })
    }

    fn with(&self, other: &Self, kept: impl Fn(&Entry, Option<&Entry>) -> Option<Entry>) -> Self {
        let entries = self.pairs(other).filter_map(|(ours, theirs)| kept(ours, theirs));
        Self(entries.filter(Entry::is_anything).collect())
    }
}

impl Entry {
    fn is_anything(&self) -> bool {
        self.is_member || !self.below.is_empty()
    }

    fn absorb(&mut self, other: &Self) {
        self.is_member |= other.is_member;
        self.below.absorb(&other.below);
    }
}

/// The form of `fieldsV1`.
impl Serialize for PathSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let root = Fields {
            set: self,
            is_member: false,
        };
        root.serialize(serializer)
    }
}

/// What is written below a step; a dot in it says that the step is a member itself.
struct Fields<'s> {
    set: &'s PathSet,
    is_member: bool,
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        if self.is_member && !self.set.is_empty() {
            fields.serialize_entry(".", &Map::new())?;
        }
        for entry in &self.set.0 {
            let below = Fields {
                set: &entry.below,
                is_member: entry.is_member,
            };
            fields.serialize_entry(&entry.step.encode(), &below)?;
        }
        fields.end()
    }
}

impl FromIterator<Path> for PathSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::field_path::Literal;
    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        let name = prop_oneof![Just("a"), Just("b"), Just("c")];
        prop_oneof![
            name.clone().prop_map(Step::field),
            name.prop_map(|name| Step::Key([("k".to_owned(), Literal(name.into()))].into())),
            (0..3_i64).prop_map(|number| Step::Value(Literal(number.into()))),
        ]
    }

    fn paths() -> impl Strategy<Value = BTreeSet<Path>> {
        prop::collection::btree_set(prop::collection::vec(step(), 1..4), 0..8)
    }

    fn set(paths: &BTreeSet<Path>) -> PathSet {
        paths.iter().cloned().collect()
    }

    fn is_below(path: &Path, members: &BTreeSet<Path>) -> bool {
        members.iter().any(|member| path.starts_with(member))
    }

    proptest! {
        #[test]
        fn they_are_sets(one in paths(), other in paths()) {
            let (ours, theirs) = (set(&one), set(&other));
            let same = |result: PathSet, expected: BTreeSet<Path>| {
                assert_eq!(result, set(&expected));
                assert_eq!(result.paths().into_iter().collect::<BTreeSet<_>>(), expected);
                assert_eq!(PathSet::decode(&json!(result)), Some(result));
            };
            same(ours.union(&theirs), one.union(&other).cloned().collect());
            same(ours.intersection(&theirs), one.intersection(&other).cloned().collect());
            same(ours.difference(&theirs), one.difference(&other).cloned().collect());
            let kept = one.iter().filter(|path| !is_below(path, &other)).cloned().collect();
            same(ours.recursive_difference(&theirs), kept);
            prop_assert_eq!(ours.overlaps(&theirs), !one.is_disjoint(&other));
            prop_assert_eq!(ours.covers(&theirs), one.is_superset(&other));
            prop_assert!(one.iter().all(|path| ours.has(path)));
        }

        #[test]
        fn the_quick_length_is_never_less_than_the_text(paths in paths()) {
            let set = set(&paths);
            let text = json!(set).to_string();
            prop_assert!(set.length_without_escapes() >= text.len(), "{}", text);
        }
    }
}
