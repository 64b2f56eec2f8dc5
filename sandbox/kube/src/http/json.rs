//! JSON bodies, with the fields that come more than once: the last one counts, and the client is warned.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads JSON text; gives the paths of fields that it has more than once.
///
/// # Errors
/// If it is not JSON.
pub(super) fn read(text: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let place = Place {
        path: String::new(),
        duplicates: &mut duplicates,
    };
    let value = place.deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, duplicates))
}

struct Place<'d> {
    path: String,
    duplicates: &'d mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let place = Place {
                path: format!("{}[{}]", self.path, list.len()),
                duplicates: self.duplicates,
            };
            match items.next_element_seed(place)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut warned = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let path = if self.path.is_empty() {
                name.clone()
            } else {
                format!("{}.{name}", self.path)
            };
            if map.contains_key(&name) && warned.insert(name.clone()) {
                self.duplicates.push(path.clone());
            }
            let place = Place {
                path,
                duplicates: self.duplicates,
            };
            let value = fields.next_value_seed(place)?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_come_twice_are_named_and_the_last_counts() {
        let text = br#"{"a": 1, "b": [{"c": 1, "c": 2, "c": 3}], "a": -2.5}"#;
        let (value, duplicates) = read(text).unwrap();
        assert_eq!(value, json!({"a": -2.5, "b": [{"c": 3}]}));
        assert_eq!(duplicates, ["b[0].c", "a"]);
        assert!(read(b"{} {}").is_err());
    }
}
