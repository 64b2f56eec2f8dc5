//! Times of conditions, and durations as Go rounds and `oc` prints them.

use drydock_api::GoDuration;
use drydock_api::conditions::ForeignCondition;
use jiff::{SignedDuration, Timestamp};
use serde::Serializer;

/// A second.
pub const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// A minute.
pub const MINUTE: SignedDuration = SignedDuration::from_mins(1);
/// Beyond it, durations are shown in minutes.
const LONG: SignedDuration = SignedDuration::from_mins(10);

/// When a condition last changed; nothing if it does not say, or what it says is no time.
pub fn transition(condition: &ForeignCondition) -> Option<Timestamp> {
    moment(condition.last_transition_time.value().map(String::as_str))
}

/// A moment of a text.
pub fn moment(text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| text.parse().ok())
}

/// Rounds as Go does: half away from zero.
pub fn round(duration: SignedDuration, unit: SignedDuration) -> SignedDuration {
    let (nanos, unit) = (duration.as_nanos(), unit.as_nanos());
    let half = if nanos < 0 { -unit / 2 } else { unit / 2 };
    from_nanos((nanos + half) / unit * unit)
}

/// Cuts off what is less than a unit.
pub fn truncate(duration: SignedDuration, unit: SignedDuration) -> SignedDuration {
    let (nanos, unit) = (duration.as_nanos(), unit.as_nanos());
    from_nanos(nanos / unit * unit)
}

fn from_nanos(nanos: i128) -> SignedDuration {
    SignedDuration::try_from_nanos_i128(nanos).unwrap_or(SignedDuration::ZERO)
}

/// Rounds to minutes if it is longer than ten of them, else to seconds (insights.md, section 2.5).
pub fn round_by_length(duration: SignedDuration) -> SignedDuration {
    round(duration, if duration > LONG { MINUTE } else { SECOND })
}

/// A duration as `oc` prints it (insights.md, section 2.4): `now`, `1h`, `14m`, `1h0m17s`.
///
/// What is less than a second keeps its digits and loses its unit, as it does in `oc`: `368.975µs` becomes `6m8s`. Whoever does not want
/// that passes whole seconds.
pub fn short(duration: SignedDuration) -> String {
    let text = GoDuration::from(duration).to_string();
    if text == "0s" {
        return "now".to_owned();
    }
    if let Some(hours) = text.strip_suffix("h0m0s") {
        return format!("{hours}h");
    }
    if let Some(minutes) = text.strip_suffix("m0s") {
        return format!("{minutes}m");
    }
    let Some((whole, _)) = text.split_once('.') else {
        return text;
    };
    match format!("{whole}s").parse::<GoDuration>() {
        Ok(seconds) => short(seconds.signed()),
        Err(_) => text,
    }
}

/// Writes a duration in Go's form.
///
/// # Errors
/// If the serializer fails.
pub fn serialize<S: Serializer>(duration: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&GoDuration::from(*duration))
}

/// Writes a duration in Go's form, or nothing.
///
/// # Errors
/// If the serializer fails.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub fn serialize_optional<S: Serializer>(
    duration: &Option<SignedDuration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => serialize(duration, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(text: &str) -> SignedDuration {
        text.parse::<GoDuration>().unwrap().signed()
    }

    #[test]
    fn durations_are_printed_as_oc_prints_them() {
        for (duration, printed) in [
            ("0s", "now"),
            ("6s", "6s"),
            ("1m29s", "1m29s"),
            ("14m", "14m"),
            ("14m0.5s", "14m"),
            ("1h", "1h"),
            ("1h1m", "1h1m"),
            ("1h0m17s", "1h0m17s"),
            ("24h8m54s", "24h8m54s"),
            ("10h", "10h"),
            ("20m24.000368975s", "20m24s"),
            ("-2m13s", "-2m13s"),
            ("368.975µs", "6m8s"),
        ] {
            assert_eq!(short(go(duration)), printed, "{duration}");
        }
    }

    #[test]
    fn durations_are_rounded_half_away_from_zero() {
        for (duration, rounded) in [
            ("29s", "0s"),
            ("30s", "1m"),
            ("-29s", "0s"),
            ("-30s", "-1m"),
            ("34m48s", "35m"),
        ] {
            assert_eq!(round(go(duration), MINUTE), go(rounded), "{duration}");
        }
        assert_eq!(truncate(go("-1m59s"), MINUTE), go("-1m"));
        assert_eq!(
            round_by_length(go("10m")),
            go("10m"),
            "ten minutes are not longer than ten"
        );
        assert_eq!(round_by_length(go("10m37s")), go("11m"));
        assert_eq!(round_by_length(go("5m33.4s")), go("5m33s"));
    }
}
