//! Quantities in their canonical form (`k8s.io/apimachinery/pkg/api/resource`): `0.5` is `500m`, `1024Mi` is `1Gi`.

use crate::schema::node::Node;
use serde_json::Value;

/// Rewrites every quantity in `value`.
pub(super) fn make_canonical(node: &Node, value: &mut Value) {
    if node.int_or_string
        && node
            .definition
            .as_deref()
            .is_some_and(|name| name.ends_with(".Quantity"))
    {
        let text = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        *value = canonical(&text).unwrap_or(text).into();
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = node.field(name) {
                    make_canonical(schema, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for item in items {
                    make_canonical(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const DECIMAL: &[(&str, u32)] = &[
    ("E", 27),
    ("P", 24),
    ("T", 21),
    ("G", 18),
    ("M", 15),
    ("k", 12),
    ("", 9),
    ("m", 6),
    ("u", 3),
    ("n", 0),
];
const BINARY: &[(&str, u32)] = &[
    ("Ei", 60),
    ("Pi", 50),
    ("Ti", 40),
    ("Gi", 30),
    ("Mi", 20),
    ("Ki", 10),
];

/// The canonical form; `None` for what is kept as it is (exponents, and what is too large or too fine).
fn canonical(text: &str) -> Option<String> {
    let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let binary = BINARY.iter().find(|(name, _)| *name == suffix);
    let nanos_each = match binary {
        Some((_, power)) => (1_u128 << power) * 1_000_000_000,
        None => 10_u128.pow(DECIMAL.iter().find(|(name, _)| *name == suffix)?.1),
    };
    let nanos = digits.checked_mul(nanos_each)?.div_ceil(divisor);
    let sign = if negative { "-" } else { "" };
    if nanos == 0 {
        return Some("0".to_owned());
    }
    let binary_units = BINARY
        .iter()
        .filter(|_| binary.is_some())
        .map(|(name, power)| (*name, (1_u128 << power) * 1_000_000_000));
    let decimal_limit = if binary.is_some() { 9 } else { 27 };
    let decimal = DECIMAL.iter().filter(|(_, power)| *power <= decimal_limit);
    let mut units = binary_units.chain(decimal.map(|(name, power)| (*name, 10_u128.pow(*power))));
    let (name, size) = units.find(|(_, size)| nanos.is_multiple_of(*size))?;
    Some(format!("{sign}{}{name}", nanos / size))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn a_quantity_has_one_form() {
        let cases = [
            ("0.5", "500m"),
            ("1", "1"),
            ("1000", "1k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0", "0"),
            ("0.5Ki", "512"),
            ("-2000m", "-2"),
            ("100m", "100m"),
            ("1500M", "1500M"),
            ("0.0000000001", "1n"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(canonical("1e3"), None);
    }
}
