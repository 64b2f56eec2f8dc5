//! The formats of strings that the API server checks (`kube-openapi/pkg/validation/strfmt`); others pass.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// Whether `format` is one that is checked.
pub(super) fn is_checked(format: &str) -> bool {
    matches!(
        format,
        "byte"
            | "cidr"
            | "date"
            | "date-time"
            | "datetime"
            | "duration"
            | "email"
            | "hostname"
            | "ipv4"
            | "ipv6"
            | "mac"
            | "uri"
            | "uuid"
            | "uuid3"
            | "uuid4"
            | "uuid5"
            | "isbn"
            | "isbn10"
            | "isbn13"
            | "hexcolor"
            | "rgbcolor"
            | "creditcard"
            | "ssn"
            | "bsonobjectid"
            | "k8s-short-name"
            | "k8s-long-name"
    )
}

/// Whether `text` is of `format`.
pub(super) fn matches(format: &str, text: &str) -> bool {
    match format {
        "byte" => STANDARD.decode(text).is_ok(),
        "cidr" => is_cidr(text),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "uri" => is_request_uri(text),
        other => expression(other).is_none_or(|expression| expression.is_match(text)),
    }
}

const EXPRESSIONS: &[(&str, &str)] = &[
    ("bsonobjectid", r"^[0-9a-fA-F]{24}$"),
    ("email", r"^[^@\s<>]+@[^@\s<>]+$"),
    ("hexcolor", r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    (
        "hostname",
        r"^(?i)[a-z0-9\p{L}]([-a-z0-9\p{L}]{0,61}[a-z0-9\p{L}])?(\.[a-z0-9\p{L}]([-a-z0-9\p{L}]{0,61}[a-z0-9\p{L}])?)*\.?$",
    ),
    (
        "k8s-long-name",
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
    ("k8s-short-name", r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
    (
        "mac",
        r"^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}([:-][0-9a-fA-F]{2}[:-][0-9a-fA-F]{2})?$",
    ),
    (
        "rgbcolor",
        r"^rgb\(\s*(\d{1,2}|1\d{2}|2[0-4]\d|25[0-5])\s*(,\s*(\d{1,2}|1\d{2}|2[0-4]\d|25[0-5])\s*){2}\)$",
    ),
    ("ssn", r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
    (
        "uuid",
        r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid3",
        r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid4",
        r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    (
        "uuid5",
        r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
];

fn expression(format: &str) -> Option<&'static Regex> {
    static COMPILED: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
        let compiled = EXPRESSIONS
            .iter()
            .map(|(format, pattern)| Some((*format, Regex::new(pattern).ok()?)));
        compiled.flatten().collect()
    });
    COMPILED
        .iter()
        .find(|(name, _)| *name == format)
        .map(|(_, expression)| expression)
}

fn is_date_time(text: &str) -> bool {
    static EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^([0-9]{4}-[0-9]{2}-[0-9]{2})t([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$").ok()
    });
    let parts = EXPRESSION
        .as_ref()
        .and_then(|expression| expression.captures(text));
    parts.is_some_and(|parts| parts[1].parse::<jiff::civil::Date>().is_ok())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let limit = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    prefix.parse::<u8>().is_ok_and(|prefix| prefix <= limit)
}

/// Go's durations, and the worded ones that the library also reads (`3 days`).
fn is_duration(text: &str) -> bool {
    static GO: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$").ok());
    static WORDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(?i)(\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+$").ok()
    });
    [&GO, &WORDED]
        .into_iter()
        .any(|pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)))
}

fn is_request_uri(text: &str) -> bool {
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
        && !rest
            .chars()
            .any(|character| character.is_ascii_control() || character == ' ')
}

fn digits(text: &str) -> Vec<u32> {
    text.chars()
        .filter(|character| !matches!(character, '-' | ' '))
        .map(|c| c.to_digit(10).unwrap_or(99))
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let mut digits = digits(text);
    if let (10, true, Some(last)) = (digits.len(), text.ends_with(['X', 'x']), digits.last_mut()) {
        *last = 10;
    }
    let valid = digits.iter().take(9).all(|digit| *digit < 10);
    let sum: u32 = digits.iter().zip(1..).map(|(digit, weight)| digit * weight).sum();
    digits.len() == 10 && valid && sum.is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits(text);
    let sum: u32 = digits
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    digits.len() == 13 && digits.iter().all(|digit| *digit < 10) && sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits = digits(text);
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let weigh = |(index, digit): (usize, &u32)| if index % 2 == 1 { doubled(*digit) } else { *digit };
    (13..=19).contains(&digits.len())
        && digits.iter().all(|digit| *digit < 10)
        && digits.iter().rev().enumerate().map(weigh).sum::<u32>() % 10 == 0
}
