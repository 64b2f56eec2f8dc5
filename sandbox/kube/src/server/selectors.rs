//! Label and field selectors.

use serde_json::Value;

use super::Status;
use crate::object;
use crate::store::Object;

/// A label selector, as in `app=web,tier in (a,b),!old`. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Missing,
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses the text form.
    ///
    /// # Errors
    /// 400 with what could not be read.
    pub fn parse(text: &str) -> Result<Self, Status> {
        let unreadable = |why: &str| {
            Status::bad_request(format!(
                "unable to parse requirement: {why} in label selector {text:?}"
            ))
        };
        let mut requirements = Vec::new();
        for term in split_terms(text) {
            let term = term.trim();
            if term.is_empty() {
                continue;
            }
            requirements.push(parse_requirement(term).map_err(|why| unreadable(&why))?);
        }
        Ok(Self(requirements))
    }

    /// Reads the object form, `matchLabels` and `matchExpressions`. A missing selector selects nothing.
    ///
    /// # Errors
    /// 400 for an operator that does not exist.
    pub fn from_value(selector: Option<&Value>) -> Result<Option<Self>, Status> {
        let Some(selector) = selector.filter(|selector| selector.is_object()) else {
            return Ok(None);
        };
        let labels = object::strings(&selector["matchLabels"]).into_iter();
        let mut requirements: Vec<Requirement> = labels
            .map(|(key, value)| Requirement {
                key,
                test: Test::In(vec![value]),
            })
            .collect();
        for expression in object::list(&selector["matchExpressions"]) {
            requirements.push(Requirement {
                key: expression["key"].as_str().unwrap_or_default().to_owned(),
                test: Test::of(expression).map_err(Status::bad_request)?,
            });
        }
        Ok(Some(Self(requirements)))
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it selects an object with these labels.
    pub fn matches(&self, labels: Option<&Value>) -> bool {
        self.selects(|key| labels?.get(key)?.as_str())
    }

    /// Whether it selects what has such a value, or none, at each key.
    pub fn selects<'v>(&self, value_of: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.0.iter().all(
            |requirement| match (&requirement.test, value_of(&requirement.key)) {
                (Test::In(values), Some(value)) => values.iter().any(|wanted| wanted == value),
                (Test::NotIn(values), Some(value)) => values.iter().all(|wanted| wanted != value),
                (Test::Exists, Some(_)) | (Test::NotIn(_) | Test::Missing, None) => true,
                (Test::Above(limit), Some(value)) => value.parse::<i64>().is_ok_and(|value| value > *limit),
                (Test::Below(limit), Some(value)) => value.parse::<i64>().is_ok_and(|value| value < *limit),
                (Test::Missing, Some(_)) | (_, None) => false,
            },
        )
    }
}

impl Test {
    /// Reads one of `matchExpressions`; what is wrong with it is said in apimachinery's words.
    fn of(expression: &Value) -> Result<Self, String> {
        let values = object::string_list(&expression["values"]);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => {
                let why = "for 'in', 'notin' operators, values set can't be empty";
                Err(format!("values: Invalid value: []: {why}"))
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "values set must be empty for exists and does not exist";
                Err(format!("values: Invalid value: {values:?}: {why}"))
            }
            "In" => Ok(Self::In(values)),
            "NotIn" => Ok(Self::NotIn(values)),
            "Exists" => Ok(Self::Exists),
            "DoesNotExist" => Ok(Self::Missing),
            other => Err(format!("{other:?} is not a valid label selector operator")),
        }
    }
}

/// Splits at commas outside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_requirement(term: &str) -> Result<Requirement, String> {
    let requirement = |key: &str, test: Test| {
        let key = key.trim();
        if is_qualified_name(key) {
            Ok(Requirement {
                key: key.to_owned(),
                test,
            })
        } else {
            Err(format!("invalid label key {key:?}"))
        }
    };
    if let Some(key) = term.strip_prefix('!') {
        return requirement(key, Test::Missing);
    }
    if let Some((left, values)) = term.split_once('(') {
        let values = values
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| format!("found '{term}', expected: ')'"))?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        return match left.split_whitespace().collect::<Vec<_>>().as_slice() {
            [key, "in"] => requirement(key, Test::In(checked(values)?)),
            [key, "notin"] => requirement(key, Test::NotIn(checked(values)?)),
            _ => Err(format!("found '{left}', expected: in, notin")),
        };
    }
    for (sign, negative) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = term.split_once(sign) {
            let values = checked(vec![value.trim().to_owned()])?;
            let test = if negative {
                Test::NotIn(values)
            } else {
                Test::In(values)
            };
            return requirement(key, test);
        }
    }
    for (sign, test) in [(">", Test::Above as fn(i64) -> Test), ("<", Test::Below)] {
        if let Some((key, value)) = term.split_once(sign) {
            let limit = value
                .trim()
                .parse()
                .map_err(|_| format!("for 'Gt', 'Lt' operators, the value must be an integer: {value:?}"))?;
            return requirement(key, test(limit));
        }
    }
    requirement(term, Test::Exists)
}

fn checked(values: Vec<String>) -> Result<Vec<String>, String> {
    match values.iter().find(|value| !is_label_value(value)) {
        Some(value) => Err(format!("invalid label value: {value:?}")),
        None => Ok(values),
    }
}

/// Whether a text may be the value of a label.
pub(super) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name_part(value)
}

/// Whether a text may be the key of a label or annotation: `[prefix/]name`.
pub(super) fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= 253
                && prefix.split('.').all(|part| {
                    !part.is_empty()
                        && part
                            .bytes()
                            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                })
                && is_name_part(name)
        }
        None => is_name_part(key),
    }
}

fn is_name_part(name: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// A field selector, as in `metadata.name=a,status.phase!=Failed`. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<FieldTest>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTest {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses the text form.
    ///
    /// # Errors
    /// 400 if a term has no operator.
    pub fn parse(text: &str) -> Result<Self, Status> {
        let mut tests = Vec::new();
        for term in text.split(',').filter(|term| !term.is_empty()) {
            let parsed = [("!=", false), ("==", true), ("=", true)]
                .iter()
                .find_map(|(sign, equal)| Some((term.split_once(sign)?, *equal)));
            let Some(((field, value), equal)) = parsed else {
                return Err(Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                )));
            };
            tests.push(FieldTest {
                field: field.to_owned(),
                value: value.to_owned(),
                equal,
            });
        }
        Ok(Self(tests))
    }

    /// The one object of this name.
    pub fn name(name: &str) -> Self {
        Self(vec![FieldTest {
            field: "metadata.name".to_owned(),
            value: name.to_owned(),
            equal: true,
        }])
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name that a selected object must have, if the selector says it.
    pub fn required_name(&self) -> Option<&str> {
        self.required("metadata.name")
    }

    /// The namespace that a selected object must have, if the selector says it.
    pub fn required_namespace(&self) -> Option<&str> {
        self.required("metadata.namespace")
    }

    fn required(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|test| test.equal && test.field == field)
            .map(|test| test.value.as_str())
    }

    /// Fails for a field that this kind cannot be selected by.
    ///
    /// # Errors
    /// 400, worded as the real server does.
    pub fn check(&self, kind: &super::ServedKind) -> Result<(), Status> {
        let known = selectable(kind);
        match self
            .0
            .iter()
            .find(|test| !GENERAL.contains(&test.field.as_str()) && !known.contains(&test.field.as_str()))
        {
            None => Ok(()),
            Some(test) => Err(Status::bad_request(format!(
                "field label not supported: {}",
                test.field
            ))),
        }
    }

    /// Whether it selects the object.
    pub fn matches(&self, object: &Object) -> bool {
        self.0
            .iter()
            .all(|test| (field_text(object, &test.field) == test.value) == test.equal)
    }
}

const GENERAL: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The fields by which objects of a kind can be selected, besides name and namespace.
fn selectable(kind: &super::ServedKind) -> Vec<&str> {
    if kind.origin == super::Origin::Custom {
        return kind.selectable_fields.iter().map(String::as_str).collect();
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => vec![
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "Namespace") => vec!["status.phase", "name"],
        ("", "Node") => vec!["spec.unschedulable"],
        ("", "Secret") => vec!["type"],
        ("", "Service") => vec!["spec.clusterIP", "spec.type"],
        ("batch", "Job") => vec!["status.successful"],
        ("", "Event") => vec![
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => vec![
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        _ => Vec::new(),
    }
}

/// The text of a field; absent fields are empty, except where the real server puts a default.
fn field_text(object: &Object, field: &str) -> String {
    let pointer = match field {
        "name" => "metadata.name".to_owned(),
        "source" => {
            let component = text_at(object, "source.component");
            return if component.is_empty() {
                text_at(object, "reportingComponent")
            } else {
                component
            };
        }
        "reportingController" => "reportingComponent".to_owned(),
        "status.successful" => {
            let count = text_at(object, "status.succeeded");
            return if count.is_empty() { "0".to_owned() } else { count };
        }
        "spec.unschedulable" | "spec.hostNetwork" => {
            let value = text_at(object, field);
            return if value.is_empty() {
                "false".to_owned()
            } else {
                value
            };
        }
        // Events are stored in the core group's form.
        other => other.replacen("regarding.", "involvedObject.", 1),
    };
    text_at(object, &pointer)
}

fn text_at(object: &Object, path: &str) -> String {
    let mut at: &Value = object.value();
    for part in path.split('.') {
        match at.get(part) {
            Some(next) => at = next,
            None => return String::new(),
        }
    }
    match at {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The labels of an object, for [`LabelSelector::matches`].
pub(super) fn labels_of(object: &Object) -> Option<&Value> {
    object.get("metadata")?.get("labels")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_label_selector_selects_as_its_text_says() {
        let labels = json!({"app": "web", "tier": "a", "size": "5"});
        let table = [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (web, db),tier=a", true),
            ("app notin (web)", false),
            ("other notin (web)", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("size>4", true),
            ("size<4", false),
            ("other>4", false),
        ];
        for (text, expected) in table {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selector.matches(Some(&labels)), expected, "{text}");
        }
    }

    #[test]
    fn the_object_form_selects_as_its_expressions_say() {
        let labels = json!({"name": "dev1"});
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let table = [
            (json!({}), true),
            (json!({"matchLabels": {"name": "dev1"}}), true),
            (json!({"matchLabels": {"name": "dev2"}}), false),
            (expression("name", "In", &["dev1", "x"]), true),
            (expression("other", "NotIn", &["x"]), true),
            (expression("other", "Exists", &[]), false),
            (expression("other", "DoesNotExist", &[]), true),
        ];
        for (selector, expected) in table {
            let parsed = LabelSelector::from_value(Some(&selector)).unwrap().unwrap();
            assert_eq!(parsed.matches(Some(&labels)), expected, "{selector}");
        }
        let unknown = LabelSelector::from_value(Some(&expression("a", "Near", &[]))).unwrap_err();
        assert_eq!(unknown.message, "\"Near\" is not a valid label selector operator");
    }

    #[test]
    fn a_malformed_label_selector_is_a_bad_request() {
        for text in ["a=b c", "=", "a in (b", "a of (b)", "a>x", "-a=b"] {
            assert_eq!(LabelSelector::parse(text).unwrap_err().code, 400, "{text}");
        }
    }

    #[test]
    fn a_field_selector_reads_nested_fields_and_defaults() {
        let node = Object::new(json!({"metadata": {"name": "n1"}, "spec": {}}), 1);
        let table = [
            ("metadata.name=n1", true),
            ("metadata.name!=n1", false),
            ("spec.unschedulable=false", true),
            ("metadata.name=n1,spec.unschedulable=true", false),
        ];
        for (text, expected) in table {
            assert_eq!(
                FieldSelector::parse(text).unwrap().matches(&node),
                expected,
                "{text}"
            );
        }
    }
}
