//! Instants of specs, read as the API server accepts them: RFC 3339, with years and offsets that `jiff` has no value for. One that could not be
//! read would keep all objects of its kind from being read.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads an instant; one that lies beyond the last that there is a value for, at the end of the year 9999, is the last one.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map(Time).ok_or_else(|| {
        D::Error::custom(format_args!(
            "{text:?} is not a time such as 2026-01-31T22:00:00Z"
        ))
    })
}

/// The same where there may be none.
pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    #[derive(Deserialize)]
    struct Instant(#[serde(deserialize_with = "deserialize")] Time);
    Ok(Option::<Instant>::deserialize(deserializer)?.map(|Instant(time)| time))
}

/// The instant that a text names, as `date-time` of the API server's formats has it (`kube-openapi/pkg/validation/strfmt`).
fn parse(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    let (local, rest) = text.split_at_checked("2026-01-31T22:00:00".len())?;
    let local: DateTime = local.to_ascii_uppercase().parse().ok()?;
    let offset = offset(rest.trim_start_matches(|letter: char| !matches!(letter, 'Z' | 'z' | '+' | '-')))?;
    let utc = local
        .to_zoned(TimeZone::UTC)
        .map_or(Timestamp::MAX, |utc| utc.timestamp());
    Some(utc.saturating_sub(offset).unwrap_or(Timestamp::MAX))
}

/// How much earlier it is in UTC.
fn offset(text: &str) -> Option<SignedDuration> {
    if text.eq_ignore_ascii_case("z") {
        return Some(SignedDuration::ZERO);
    }
    let (sign, of_day) = text.split_at_checked(1)?;
    let (hours, minutes) = of_day.split_once(':')?;
    let part = |digits: &str| digits.parse::<u8>().ok().map(i64::from);
    let seconds = part(hours)? * 3600 + part(minutes)? * 60;
    Some(SignedDuration::from_secs(if sign == "-" {
        -seconds
    } else {
        seconds
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_that_the_api_server_accepts_is_read() {
        for (text, meant) in [
            ("2026-01-31T22:00:00Z", "2026-01-31T22:00:00Z"),
            ("2026-01-31t22:00:00.25z", "2026-01-31T22:00:00.25Z"),
            ("2026-01-31T22:00:00+05:30", "2026-01-31T16:30:00Z"),
            ("9999-12-30T22:00:00Z", "9999-12-30T22:00:00Z"),
            ("9999-12-30T22:00:01Z", "9999-12-30T22:00:00.999999999Z"),
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00.999999999Z"),
            ("9999-12-31T23:59:59.999-09:30", "9999-12-30T22:00:00.999999999Z"),
            ("2026-01-31T22:00:00+99:99", "2026-01-27T17:21:00Z"),
            ("2026-01-31T22:00:00-30:00", "2026-02-02T04:00:00Z"),
            ("0000-01-01T00:00:00+14:00", "-000001-12-31T10:00:00Z"),
        ] {
            assert_eq!(parse(text), Some(meant.parse().unwrap()), "{text}");
        }
        for text in [
            "",
            "tomorrow",
            "2026-01-31",
            "2026-02-30T22:00:00Z",
            "2026-01-31T22:00:00",
            "2026-01-31T22:00:00Zé",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
