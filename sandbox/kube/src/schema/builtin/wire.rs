//! Built-in kinds as protobuf: which number a field has (the `protobuf` tags of `k8s.io/api` 1.36), of which type it is
//! (as in JSON), and what Go makes of a zero.
//!
//! `wire_fields.txt` has a line for each structure: its name, then `field=number`, with `*` where a zero is something else
//! than nothing, and `+Structure=number` for a structure whose fields stand among those of the outer one in JSON.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde_json::{Map, Value};

use super::definitions;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const PREFIXES: [&str; 2] = ["io.k8s.api.", "io.k8s.apimachinery.pkg.apis."];

/// Types that are no objects in JSON, or any.
const WRITTEN_OTHERWISE: [&str; 6] = [
    "Time",
    "MicroTime",
    "Quantity",
    "IntOrString",
    "RawExtension",
    "FieldsV1",
];

/// Why bytes are no object.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They are not as protobuf writes a message.
    #[error(transparent)]
    Message(#[from] prost::DecodeError),
    /// A length that is more than there is.
    #[error("{0} bytes should follow, and do not")]
    Short(u64),
    /// A field has not the form of its type.
    #[error("field {0} has another type on the wire")]
    Type(String),
    /// A text is none, or a document is not JSON.
    #[error("field {0} cannot be read")]
    Content(String),
    /// No kind of this name can be read.
    #[error("{0} cannot be read from protobuf")]
    Kind(String),
}

/// What is at a number of a structure.
enum Field {
    Named { name: &'static str, zero_counts: bool },
    Inlined(&'static str),
}

static STRUCTURES: LazyLock<HashMap<&str, BTreeMap<u32, Field>>> = LazyLock::new(|| {
    let lines = include_str!("wire_fields.txt").lines();
    lines.filter_map(structure).collect()
});

fn structure(line: &'static str) -> Option<(&'static str, BTreeMap<u32, Field>)> {
    let (name, fields) = line.split_once(' ').unwrap_or((line, ""));
    let fields = fields.split_whitespace().map(|field| {
        let (name, number) = field.split_once('=')?;
        let zero_counts = number.ends_with('*');
        let field = match name.strip_prefix('+') {
            Some(inlined) => Field::Inlined(inlined),
            None => Field::Named { name, zero_counts },
        };
        Some((number.trim_end_matches('*').parse().ok()?, field))
    });
    Some((name, fields.collect::<Option<_>>()?))
}

/// An object and what it says that it is, as the envelope of Kubernetes has them (`runtime.Unknown`, after four bytes).
///
/// # Errors
/// [`WireError::Kind`] for a kind that is not built in; the others for bytes that are no such object.
pub fn decode(body: &[u8]) -> Result<Value, WireError> {
    let Some(mut envelope) = body.strip_prefix(b"k8s\0") else {
        return Err(WireError::Type("of the envelope".to_owned()));
    };
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while envelope.has_remaining() {
        match Token::read(&mut envelope, "of the envelope")? {
            (1, Token::Bytes(mut types)) => {
                while types.has_remaining() {
                    match Token::read(&mut types, "of the type")? {
                        (1, Token::Bytes(text)) => api_version = text_of(text, "apiVersion")?,
                        (2, Token::Bytes(text)) => kind = text_of(text, "kind")?,
                        _ => {}
                    }
                }
            }
            (2, Token::Bytes(object)) => raw = object,
            _ => {}
        }
    }
    let definition = definition_of(&api_version, &kind);
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.as_str().into());
    let Some(schema) = definitions().get(&definition) else {
        return Err(WireError::Kind(kind));
    };
    message(structure_of(&definition), schema, raw, &mut object)?;
    Ok(object.into())
}

/// The definition of a kind: the package of a group is called by the first word of its name.
fn definition_of(api_version: &str, kind: &str) -> String {
    if kind == "DeleteOptions" {
        return format!("{META}.DeleteOptions");
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    format!("io.k8s.api.{package}.{version}.{kind}")
}

fn structure_of(definition: &str) -> &str {
    let without = PREFIXES.iter().find_map(|prefix| definition.strip_prefix(prefix));
    without.unwrap_or(definition)
}

/// A value on the wire.
#[derive(Clone, Copy)]
enum Token<'b> {
    Number(u64),
    Double(f64),
    Bytes(&'b [u8]),
    Nothing,
}

impl<'b> Token<'b> {
    fn read(bytes: &mut &'b [u8], what: &str) -> Result<(u32, Self), WireError> {
        let (number, wire_type) = decode_key(bytes)?;
        let token = match wire_type {
            WireType::Varint => Self::Number(decode_varint(bytes)?),
            WireType::SixtyFourBit => Self::Double(
                bytes
                    .try_get_f64_le()
                    .map_err(|_| WireError::Content(what.to_owned()))?,
            ),
            WireType::LengthDelimited => {
                let length = decode_varint(bytes)?;
                let content = usize::try_from(length)
                    .ok()
                    .and_then(|length| bytes.split_at_checked(length));
                let (content, rest) = content.ok_or(WireError::Short(length))?;
                *bytes = rest;
                Self::Bytes(content)
            }
            WireType::StartGroup | WireType::EndGroup | WireType::ThirtyTwoBit => {
                skip_field(wire_type, number, bytes, DecodeContext::default())?;
                Self::Nothing
            }
        };
        Ok((number, token))
    }
}

/// Reads the fields of a structure into an object; what nobody knows is left out, as Go does it.
fn message(
    structure: &str,
    schema: &Value,
    mut bytes: &[u8],
    object: &mut Map<String, Value>,
) -> Result<(), WireError> {
    let Some(fields) = STRUCTURES.get(structure) else {
        return Err(WireError::Kind(structure.to_owned()));
    };
    while bytes.has_remaining() {
        let (number, token) = Token::read(&mut bytes, structure)?;
        match (fields.get(&number), token) {
            (Some(Field::Inlined(inner)), Token::Bytes(content)) => message(inner, schema, content, object)?,
            (Some(Field::Inlined(inner)), _) => return Err(WireError::Type((*inner).to_owned())),
            (Some(Field::Named { name, zero_counts }), token) => {
                if let Some(schema) = schema["properties"].get(*name) {
                    Place { name, schema }.take(token, object, *zero_counts)?;
                }
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// A field, and what its schema says of it.
#[derive(Clone, Copy)]
struct Place<'s> {
    name: &'s str,
    schema: &'s Value,
}

impl<'s> Place<'s> {
    fn below(self, schema: &'s Value) -> Self {
        Self { schema, ..self }
    }

    /// Sets the field, adds an item to it or an entry.
    fn take(
        self,
        token: Token<'_>,
        object: &mut Map<String, Value>,
        zero_counts: bool,
    ) -> Result<(), WireError> {
        if self.schema["type"] == "array" {
            let item = self.below(&self.schema["items"]).value(token)?;
            let list = object
                .entry(self.name)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = list {
                list.push(item);
            }
            return Ok(());
        }
        let values = &self.schema["additionalProperties"];
        if values.is_object() {
            let (key, value) = self.below(values).entry(token)?;
            let map = object
                .entry(self.name)
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(map) = map {
                map.insert(key, value);
            }
            return Ok(());
        }
        let value = self.value(token)?;
        if zero_counts || !is_zero(&value) {
            object.insert(self.name.to_owned(), value);
        }
        Ok(())
    }

    /// An entry of a map: a message of a key and a value.
    fn entry(self, token: Token<'_>) -> Result<(String, Value), WireError> {
        let Token::Bytes(mut bytes) = token else {
            return Err(self.mistyped());
        };
        let (mut key, mut value) = (String::new(), None);
        while bytes.has_remaining() {
            match Token::read(&mut bytes, self.name)? {
                (1, Token::Bytes(text)) => key = text_of(text, self.name)?,
                (2, token) => value = Some(self.value(token)?),
                _ => {}
            }
        }
        Ok((key, value.unwrap_or_default()))
    }

    fn value(self, token: Token<'_>) -> Result<Value, WireError> {
        if let Some(definition) = reference(self.schema) {
            let Token::Bytes(bytes) = token else {
                return Err(self.mistyped());
            };
            return self.referred(definition, bytes);
        }
        match (self.schema["type"].as_str(), token) {
            (Some("string"), Token::Bytes(bytes)) if self.schema["format"] == "byte" => {
                Ok(STANDARD.encode(bytes).into())
            }
            (Some("string"), Token::Bytes(bytes)) => Ok(text_of(bytes, self.name)?.into()),
            (Some("integer"), Token::Number(number)) => Ok(number.cast_signed().into()),
            (Some("boolean"), Token::Number(number)) => Ok((number != 0).into()),
            (Some("number"), Token::Double(number)) => Ok(number.into()),
            // Lists that are values of a map are messages with their items.
            (Some("array"), Token::Bytes(mut bytes)) => {
                let mut items = Vec::new();
                while bytes.has_remaining() {
                    let (_, token) = Token::read(&mut bytes, self.name)?;
                    items.push(self.below(&self.schema["items"]).value(token)?);
                }
                Ok(items.into())
            }
            _ => Err(self.mistyped()),
        }
    }

    /// A value of a type that has a name. Some are written in JSON in another way than as the message that they are.
    fn referred(self, definition: &str, mut bytes: &[u8]) -> Result<Value, WireError> {
        let name = definition.rsplit('.').next().unwrap_or_default();
        if !WRITTEN_OTHERWISE.contains(&name) {
            let mut object = Map::new();
            let schema = definitions().get(definition).unwrap_or(&Value::Null);
            message(structure_of(definition), schema, bytes, &mut object)?;
            return Ok(object.into());
        }
        let mut fields = BTreeMap::new();
        while bytes.has_remaining() {
            let (number, token) = Token::read(&mut bytes, self.name)?;
            fields.insert(number, token);
        }
        let number = |at: u32| match fields.get(&at) {
            Some(Token::Number(number)) => number.cast_signed(),
            _ => 0,
        };
        let content = |at: u32| match fields.get(&at) {
            Some(Token::Bytes(bytes)) => *bytes,
            _ => &[],
        };
        match name {
            "Time" | "MicroTime" if fields.is_empty() => Ok(Value::Null),
            "Time" | "MicroTime" => {
                let nanos = i32::try_from(number(2)).unwrap_or_default();
                let time =
                    Timestamp::new(number(1), nanos).map_err(|_| WireError::Content(self.name.to_owned()))?;
                let form = if name == "Time" {
                    "%Y-%m-%dT%H:%M:%SZ"
                } else {
                    "%Y-%m-%dT%H:%M:%S.%6fZ"
                };
                Ok(time.strftime(form).to_string().into())
            }
            "IntOrString" if number(1) == 0 => Ok(number(2).into()),
            "IntOrString" => Ok(text_of(content(3), self.name)?.into()),
            "Quantity" => Ok(text_of(content(1), self.name)?.into()),
            _ => serde_json::from_slice(content(1)).map_err(|_| WireError::Content(self.name.to_owned())),
        }
    }

    fn mistyped(self) -> WireError {
        WireError::Type(self.name.to_owned())
    }
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    let direct = schema["$ref"].as_str();
    direct
        .or_else(|| schema["allOf"][0]["$ref"].as_str())?
        .rsplit('/')
        .next()
}

fn text_of(bytes: &[u8], field: &str) -> Result<String, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|_| WireError::Content(field.to_owned()))?;
    Ok(text.to_owned())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [&[number << 3 | 2, length], content].concat()
    }

    /// An object in its envelope.
    fn enveloped(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), field(1, &types), field(2, object)].concat()
    }

    fn secret() -> Vec<u8> {
        let created = field(8, &[1 << 3, 10]);
        let label = field(11, &[field(1, b"a"), field(2, b"b")].concat());
        let metadata = [field(1, b"s"), field(2, b""), created, label].concat();
        let entry = [field(1, b"k"), field(2, b"v")].concat();
        let immutable = vec![5 << 3, 0];
        let unknown = field(15, b"from another version");
        let object = [field(1, &metadata), field(2, &entry), immutable, unknown].concat();
        enveloped("v1", "Secret", &object)
    }

    #[test]
    fn zeros_stay_only_where_they_say_something() {
        assert_eq!(
            decode(&secret()).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "s", "creationTimestamp": "1970-01-01T00:00:10Z", "labels": {"a": "b"}},
                "data": {"k": "dg=="}, "immutable": false,
            })
        );
    }

    #[test]
    fn what_has_no_form_in_protobuf_is_called_by_its_name() {
        for (api_version, kind) in [("example.com/v1", "Thing"), ("v1", "Nothing"), ("v1", "")] {
            let refused = decode(&enveloped(api_version, kind, b"")).unwrap_err();
            assert!(matches!(refused, WireError::Kind(_)), "{refused}");
        }
    }

    #[test]
    fn a_body_that_ends_early_is_not_taken_for_the_whole() {
        let whole = secret();
        let read = decode(&whole).unwrap();
        for end in 0..whole.len() {
            assert_ne!(decode(&whole[..end]).ok().as_ref(), Some(&read), "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(bytes: Vec<u8>, at in 0..50_usize, other: u8) {
            let pod = enveloped("v1", "Pod", &bytes[..bytes.len().min(100)]);
            let _ = decode(&pod);
            let mut secret = secret();
            let at = at % secret.len();
            secret[at] = other;
            let _ = decode(&secret);
        }
    }

    /// Each field of each structure that a built-in kind is made of has its number.
    #[test]
    fn no_field_is_without_a_number() {
        let mut structures = 0;
        for (definition, schema) in definitions() {
            let is_ours = definition.starts_with("io.k8s.api.") || definition.starts_with(META);
            let name = definition.rsplit('.').next().unwrap();
            if !is_ours || WRITTEN_OTHERWISE.contains(&name) {
                continue;
            }
            structures += 1;
            let fields = names_in(structure_of(definition));
            for name in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
                let is_type = name == "apiVersion" || name == "kind";
                assert!(is_type || fields.contains(&name.as_str()), "{definition} {name}");
            }
        }
        assert!(structures > 200, "{structures}");
    }

    fn names_in(structure: &str) -> Vec<&'static str> {
        let fields = STRUCTURES[structure].values();
        fields
            .flat_map(|field| match field {
                Field::Named { name, .. } => vec![*name],
                Field::Inlined(inner) => names_in(inner),
            })
            .collect()
    }
}
