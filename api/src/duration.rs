//! Durations as Go writes them: `2h`, `1h30m`, `90s`, `1.5h`.

use std::fmt;

use jiff::SignedDuration;

/// A duration read and written as Go's `time.Duration` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(SignedDuration);

/// Why a text is not a Go duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: write numbers with units, for example 2h, 1h30m or 90s")]
pub struct InvalidDuration(String);

const NANOS_PER_SECOND: i128 = 1_000_000_000;

impl GoDuration {
    /// A duration of this many hours.
    pub const fn from_hours(hours: i64) -> Self {
        Self(SignedDuration::from_hours(hours))
    }

    /// A duration of this many minutes.
    pub const fn from_mins(minutes: i64) -> Self {
        Self(SignedDuration::from_mins(minutes))
    }

    /// A duration of this many seconds.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(SignedDuration::from_secs(seconds))
    }

    /// The signed duration, to be added to a timestamp.
    pub const fn signed(self) -> SignedDuration {
        self.0
    }

    /// The duration as one to wait for; what is negative becomes zero.
    pub fn unsigned(self) -> std::time::Duration {
        self.0.try_into().unwrap_or_default()
    }
}

impl From<SignedDuration> for GoDuration {
    fn from(duration: SignedDuration) -> Self {
        Self(duration)
    }
}

impl From<GoDuration> for SignedDuration {
    fn from(duration: GoDuration) -> Self {
        duration.0
    }
}

impl std::str::FromStr for GoDuration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text)
            .map(|nanos| Self(SignedDuration::from_nanos(nanos)))
            .ok_or_else(|| InvalidDuration(text.to_owned()))
    }
}

/// Nanoseconds of a text, or nothing if it is not a duration or too long for 64 bits (about 292 years).
fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = parse_part(rest)?;
        total = total.checked_add(nanos)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// One number and its unit, in nanoseconds, and what follows.
fn parse_part(text: &str) -> Option<(i128, &str)> {
    let (whole, rest) = leading_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => leading_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest
        .find(|letter: char| letter == '.' || letter.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, after) = rest.split_at(end);
    let scale = nanos_of_unit(unit)?;
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some((
        whole
            .checked_mul(scale)?
            .checked_add(fraction_of(fraction, scale))?,
        after,
    ))
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The part of `scale` that decimal digits behind a point stand for, rounded down.
fn fraction_of(digits: &str, scale: i128) -> i128 {
    let (mut sum, mut unit) = (0, scale);
    for digit in digits.bytes().take(18) {
        // Scaled by 10^18 so that no digit is lost before the end.
        sum = sum * 10 + i128::from(digit - b'0') * scale;
        unit *= 10;
    }
    if unit == scale { 0 } else { sum / (unit / scale) }
}

fn nanos_of_unit(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3_600 * NANOS_PER_SECOND,
        _ => return None,
    })
}

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos == 0 {
            return formatter.pad("0s");
        }
        let sign = if nanos < 0 { "-" } else { "" };
        formatter.pad(&format!("{sign}{}", print_magnitude(nanos.unsigned_abs())))
    }
}

/// Go's form: the largest unit below a second alone, else hours, minutes and seconds from the first that is not zero.
fn print_magnitude(nanos: u128) -> String {
    if nanos < 1_000 {
        return format!("{nanos}ns");
    }
    if nanos < 1_000_000 {
        return format!("{}µs", decimal(nanos, 1_000));
    }
    if nanos < 1_000_000_000 {
        return format!("{}ms", decimal(nanos, 1_000_000));
    }
    let seconds = nanos / 1_000_000_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let rest = decimal(nanos % 60_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

fn decimal(value: u128, unit: u128) -> String {
    let (whole, part) = (value / unit, value % unit);
    if part == 0 {
        return whole.to_string();
    }
    let digits = format!("{:0>width$}", part, width = unit.ilog10() as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}
