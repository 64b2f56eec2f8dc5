//! Moments, for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A moment by the clocks of a zone, with its offset: `Tue 2026-12-01 22:00 +01:00`.
pub fn shown(time: Timestamp, zone: &TimeZone) -> String {
    let zoned = time.to_zoned(zone.clone());
    let clock = if zoned.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
    zoned.strftime(&format!("%a %Y-%m-%d {clock} %:z")).to_string()
}

/// The name of a zone; `Local` if it has none.
pub fn name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or(drydock_api::schedule::LOCAL)
}

/// A duration as a person writes it in a spec: `4h`, `1h30m`, `0s`.
pub fn length(duration: jiff::SignedDuration) -> String {
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.concat()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn moments_have_their_offset_and_seconds_only_where_there_are_some() {
        let zurich = TimeZone::get("Europe/Zurich").unwrap();
        for (time, text) in [
            ("2026-12-01T21:00:00Z", "Tue 2026-12-01 22:00 +01:00"),
            ("2026-07-07T20:00:01Z", "Tue 2026-07-07 22:00:01 +02:00"),
        ] {
            assert_eq!(shown(time.parse().unwrap(), &zurich), text);
        }
        for (seconds, text) in [(0, "0s"), (14_400, "4h"), (5_401, "1h30m1s"), (90_000, "25h")] {
            assert_eq!(length(SignedDuration::from_secs(seconds)), text);
        }
    }
}
