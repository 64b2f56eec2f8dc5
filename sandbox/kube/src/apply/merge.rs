//! Comparing and merging two objects under their schema.

use super::field_path::Step;
use super::path_set::PathSet;
use super::reset::ResetFields;
use super::shape::{Items, ListShape, MapShape, Shape, Type, shape};
use crate::schema::Node;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How a new object differs from an old one.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub removed: PathSet,
    pub modified: PathSet,
    pub added: PathSet,
}

/// How one value differs from another: by itself, and in what lies below it.
#[derive(Default)]
struct Difference {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Comparison {
    /// Compares two objects that fit the schema, but for the fields that the endpoint resets.
    pub(super) fn of(node: &Node, old: &Value, new: &Value, reset: &ResetFields) -> Self {
        let mut comparison = Self::default();
        if let Shape::Map(map) = shape(Type::root(node), new) {
            comparison.fields(&map, fields(Some(old)), fields(Some(new)), |name| {
                !reset.has(name)
            });
        }
        comparison
    }

    fn fields(
        &mut self,
        map: &MapShape<'_>,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        counts: impl Fn(&str) -> bool,
    ) {
        for name in names(old, new).filter(|name| counts(name)) {
            let Some(place) = map.field(name) else { continue };
            let difference = values(place, get(old, name), get(new, name));
            self.note(|| Step::field(name), difference);
        }
    }

    /// Takes in how the value at a step differs. The step is made only where something does: nearly all values are the same.
    fn note(&mut self, step: impl FnOnce() -> Step, difference: Difference) {
        let below = &difference.below;
        let is_nothing = !(difference.removed || difference.modified || difference.added)
            && below.removed.is_empty()
            && below.modified.is_empty()
            && below.added.is_empty();
        if is_nothing {
            return;
        }
        let Difference {
            removed,
            modified,
            added,
            below,
        } = difference;
        let step = step();
        self.removed.put(step.clone(), removed, below.removed);
        self.modified.put(step.clone(), modified, below.modified);
        self.added.put(step, added, below.added);
    }
}

fn values(place: Type<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    let mut difference = Difference::default();
    let old_shape = old.map(|old| shape(place, old));
    let new_shape = new.map(|new| shape(place, new));
    match (old_shape, new_shape) {
        (None, None) => return difference,
        (Some(old_shape), None) => difference.shaped(&old_shape, old, None),
        (None, Some(new_shape)) => difference.shaped(&new_shape, None, new),
        (Some(old_shape), Some(new_shape)) => {
            if !old_shape.same_form(&new_shape) {
                difference.shaped(&old_shape, old, new);
            }
            difference.shaped(&new_shape, old, new);
        }
    }
    difference.added |= old.is_none();
    difference.removed |= old.is_some() && new.is_none();
    difference
}

impl Difference {
    fn shaped(&mut self, form: &Shape<'_>, old: Option<&Value>, new: Option<&Value>) {
        match form {
            Shape::Scalar(_) => self.leaf(old, new),
            Shape::Map(map) => {
                let (old_fields, new_fields) = (fields(old), fields(new));
                if map.whole || (is_empty_map(old_fields) && is_empty_map(new_fields)) {
                    return self.leaf(old, new);
                }
                self.below.fields(map, old_fields, new_fields, |_| true);
            }
            Shape::List(list) => {
                let (old_items, new_items) = (items(old), items(new));
                if matches!(list.items, Items::Whole) || (old_items.is_empty() && new_items.is_empty()) {
                    return self.leaf(old, new);
                }
                if old_items != new_items {
                    self.items(list, old_items, new_items);
                }
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.added = true,
            (_, None) => self.removed = true,
            (Some(old), Some(new)) => self.modified |= !same(old, new),
        }
    }

    fn items(&mut self, list: &ListShape<'_>, old: &[Value], new: &[Value]) {
        let (old, new) = (grouped(list, old), grouped(list, new));
        let steps: BTreeSet<&Step> = old.keys().chain(new.keys()).collect();
        let none = Vec::new();
        for step in steps {
            let (before, after) = (old.get(step).unwrap_or(&none), new.get(step).unwrap_or(&none));
            let (first_before, first_after) = (before.first().copied(), after.first().copied());
            let difference = match (before.as_slice(), after.as_slice()) {
                ([] | [_], [] | [_]) => values(list.element, first_before, first_after),
                ([_, _, ..], [_, _, ..]) => Difference {
                    modified: before != after,
                    ..Difference::default()
                },
                ([_, _, ..], _) => Difference {
                    removed: true,
                    ..values(list.element, None, first_after)
                },
                (_, _) => Difference {
                    added: true,
                    ..values(list.element, first_before, None)
                },
            };
            self.below.note(|| step.clone(), difference);
        }
    }
}

fn grouped<'v>(list: &ListShape<'_>, items: &'v [Value]) -> BTreeMap<Step, Vec<&'v Value>> {
    let mut groups: BTreeMap<Step, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(step) = list.step(item) {
            groups.entry(step).or_default().push(item);
        }
    }
    groups
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn get<'v>(fields: Option<&'v Map<String, Value>>, name: &str) -> Option<&'v Value> {
    fields.and_then(|fields| fields.get(name))
}

fn is_empty_map(fields: Option<&Map<String, Value>>) -> bool {
    fields.is_none_or(Map::is_empty)
}

/// The names of the fields of either, each once.
fn names<'v>(
    left: Option<&'v Map<String, Value>>,
    right: Option<&'v Map<String, Value>>,
) -> impl Iterator<Item = &'v String> {
    let is_new = move |name: &&String| left.is_none_or(|left| !left.contains_key(*name));
    let of_left = left.into_iter().flat_map(Map::keys);
    of_left.chain(right.into_iter().flat_map(Map::keys).filter(is_new))
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Equality in which `1` and `1.0` are the same number.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

/// The live object with the applied one laid over it; nothing is removed.
pub(super) fn merged(node: &Node, live: &Value, applied: &Value) -> Value {
    merge_values(Type::root(node), Some(live), Some(applied)).unwrap_or(Value::Null)
}

fn merge_values(place: Type<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let form = shape(place, applied.or(live)?);
    match form {
        Shape::Scalar(_) => applied.or(live).cloned(),
        Shape::Map(map) => merge_maps(&map, live, applied),
        Shape::List(list) => {
            let (live_items, applied_items) = (items(live), items(applied));
            if matches!(list.items, Items::Whole) || (live_items.is_empty() && applied_items.is_empty()) {
                return applied.or(live).cloned();
            }
            let merged = merge_items(&list, live_items, applied_items);
            (!merged.is_empty()).then_some(Value::Array(merged))
        }
    }
}

fn merge_maps(map: &MapShape<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let (live_fields, applied_fields) = (fields(live), fields(applied));
    if map.whole || (is_empty_map(live_fields) && is_empty_map(applied_fields)) {
        return applied.or(live).cloned();
    }
    let merged: Map<String, Value> = names(live_fields, applied_fields)
        .filter_map(|name| {
            let place = map.field(name).unwrap_or(Type::Deduced);
            let value = merge_values(place, get(live_fields, name), get(applied_fields, name))?;
            Some((name.clone(), value))
        })
        .collect();
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Items in the order of the applied list; live ones between them stay where they are.
fn merge_items(list: &ListShape<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let keyed = |items: &[Value]| -> Vec<(Step, Value)> {
        items
            .iter()
            .filter_map(|item| Some((list.step(item).ok()?, item.clone())))
            .collect()
    };
    let (live, applied) = (keyed(live), keyed(applied));
    let applied_at: BTreeMap<&Step, &Value> = applied.iter().map(|(step, item)| (step, item)).collect();
    let live_at = unique(&live);
    let mut shared = applied
        .iter()
        .map(|(step, _)| step)
        .filter(|step| live_at.contains_key(step));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&Step> = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut at_live, mut at_applied) = (0, 0);
    while at_live < live.len() || at_applied < applied.len() {
        if let (Some((step, _)), Some((wanted, item))) = (live.get(at_live), applied.get(at_applied)) {
            if step == wanted {
                done.insert(step);
                merged.extend(merge_values(list.element, live_at.get(step).copied(), Some(item)));
                (at_live, at_applied) = (at_live + 1, at_applied + 1);
                next_shared = shared.next();
                continue;
            }
            if applied_at.contains_key(step) && next_shared.is_some_and(|next| next != step) {
                at_live += 1;
                continue;
            }
        }
        if let Some((step, item)) = live.get(at_live) {
            if !applied_at.contains_key(step) {
                merged.extend(merge_values(list.element, Some(item), None));
                at_live += 1;
                continue;
            }
            if done.contains(step) {
                at_live += 1;
            }
        }
        if let Some((step, item)) = applied.get(at_applied) {
            done.insert(step);
            merged.extend(merge_values(list.element, live_at.get(step).copied(), Some(item)));
            at_applied += 1;
            if next_shared == Some(step) {
                next_shared = shared.next();
            }
        }
    }
    merged
}

/// Items by their step; of items that occur twice the value is not merged with.
fn unique(items: &[(Step, Value)]) -> BTreeMap<&Step, &Value> {
    static TWICE: Value = Value::Null;
    let mut found: BTreeMap<&Step, &Value> = BTreeMap::new();
    for (step, item) in items {
        found
            .entry(step)
            .and_modify(|value| *value = &TWICE)
            .or_insert(item);
    }
    found
}
