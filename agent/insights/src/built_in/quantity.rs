//! Quantities as Kubernetes writes them: `500m`, `2`, `1.5Gi`, `12e6`.

/// What stands behind the number, and what it multiplies with: a numerator and a denominator, for thousandths.
const SUFFIXES: [(&str, u128, u128); 16] = [
    ("Ki", 1000 << 10, 1),
    ("Mi", 1000 << 20, 1),
    ("Gi", 1000 << 30, 1),
    ("Ti", 1000 << 40, 1),
    ("Pi", 1000 << 50, 1),
    ("Ei", 1000 << 60, 1),
    ("n", 1, 1_000_000),
    ("u", 1, 1000),
    ("m", 1, 1),
    ("k", 1_000_000, 1),
    ("M", 1_000_000_000, 1),
    ("G", 1_000_000_000_000, 1),
    ("T", 1_000_000_000_000_000, 1),
    ("P", 1_000_000_000_000_000_000, 1),
    ("E", 1_000_000_000_000_000_000_000, 1),
    ("", 1000, 1),
];
/// The most digits that are read: quantities are smaller.
const DIGITS: usize = 18;

/// A quantity in thousandths, rounded up as Kubernetes does; nothing if it is none or negative.
pub(super) fn thousandths(text: &str) -> Option<u128> {
    let text = text.trim().trim_start_matches('+');
    let (number, multiply, divide) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) if exponent.parse::<i32>().is_ok() => {
            let exponent = exponent.parse::<i32>().ok()?;
            let power = 10_u128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 {
                (number, 1000, power)
            } else {
                (number, power.checked_mul(1000)?, 1)
            }
        }
        _ => SUFFIXES
            .into_iter()
            .find_map(|(suffix, multiply, divide)| Some((text.strip_suffix(suffix)?, multiply, divide)))?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || digits.len() > DIGITS {
        return None;
    }
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let value = digits.parse::<u128>().ok()?.checked_mul(multiply)?;
    Some(value.div_ceil(divide.checked_mul(scale)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, meant) in [
            ("0", Some(0)),
            ("2", Some(2000)),
            ("+2", Some(2000)),
            ("500m", Some(500)),
            ("1.5", Some(1500)),
            (".5", Some(500)),
            ("1n", Some(1)),
            ("2500u", Some(3)),
            ("1Ki", Some(1_024_000)),
            ("1.5Gi", Some(1_610_612_736_000)),
            ("12e6", Some(12_000_000_000)),
            ("5E-2", Some(50)),
            ("2E", Some(2_000_000_000_000_000_000_000)),
            ("3k", Some(3_000_000)),
            ("", None),
            ("m", None),
            ("-1", None),
            ("1.2.3", None),
            ("1e99", None),
            ("9999999999999999999", None),
            ("4 Gi", None),
        ] {
            assert_eq!(thousandths(text), meant, "{text:?}");
        }
    }
}
