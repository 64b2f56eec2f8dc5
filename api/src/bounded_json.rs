//! JSON of users, read only so deep: a server stores what is nested deeper than a parser follows, and one object that cannot be read would
//! keep the whole list in which it stands from being read.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Levels of arrays and objects that are read. `serde_json` follows 128 of them, of which those above the value are some.
pub(crate) const DEEPEST: usize = 100;

/// Reads any value; nothing if it is nested deeper than [`DEEPEST`] levels.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let is_too_deep = Cell::new(false);
    let level = Level {
        below: DEEPEST,
        is_too_deep: &is_too_deep,
    };
    let value = level.deserialize(deserializer)?;
    Ok((!is_too_deep.get()).then_some(value))
}

#[derive(Clone, Copy)]
struct Level<'a> {
    /// Levels that may follow.
    below: usize,
    is_too_deep: &'a Cell<bool>,
}

impl Level<'_> {
    /// The level below; nothing where no other is read.
    fn next(self) -> Option<Self> {
        let below = self.below.checked_sub(1);
        self.is_too_deep.set(self.is_too_deep.get() || below.is_none());
        below.map(|below| Self { below, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Some(below) = self.next() else {
            // What is skipped may be of any depth.
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut read = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let Some(below) = self.next() else {
            while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut read = Map::new();
        while let Some(name) = fields.next_key()? {
            read.insert(name, fields.next_value_seed(below)?);
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Value> {
        deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap()
    }

    fn nested(levels: usize, open: &str, inner: &str, close: &str) -> String {
        [open.repeat(levels), inner.to_owned(), close.repeat(levels)].concat()
    }

    #[test]
    fn what_is_nested_as_deep_as_allowed_is_read_as_it_is() {
        for text in [
            r#"{"a":[1,-1,1.5,18446744073709551615,true,null,"é\n"],"b":{}}"#.to_owned(),
            nested(DEEPEST, "[", "1", "]"),
            nested(DEEPEST, r#"{"a":"#, "1", "}"),
        ] {
            assert_eq!(read(&text), Some(serde_json::from_str(&text).unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_nested_deeper_is_skipped_whole() {
        for levels in [DEEPEST + 1, 128, 129, 10_000] {
            for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
                assert_eq!(read(&nested(levels, open, "1", close)), None, "{levels} {open}");
                let beside = format!(r#"[{},"after"]"#, nested(levels, open, "1", close));
                let read: (crate::ocm::manifest_work::Manifest, String) =
                    serde_json::from_str(&beside).unwrap();
                assert_eq!(read.0.0, Value::Null);
                assert_eq!(read.1, "after", "{levels} {open}");
            }
        }
    }
}
