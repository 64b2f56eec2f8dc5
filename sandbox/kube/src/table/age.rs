//! How long ago something was, as kubectl says it: one or two units, fewer the longer it is.

use jiff::Timestamp;
use serde_json::Value;

/// The time since `then`, or `<unknown>` if that is no time.
pub(super) fn since(then: &Value, now: Timestamp) -> Value {
    let Some(then) = then.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else {
        return Value::from("<unknown>");
    };
    Value::from(human(now.duration_since(then).as_secs()))
}

/// Seconds in words of people.
pub(super) fn human(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, 'd', hours % 24, 'h'),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two(years, 'y', days % 365, 'd'),
        () => format!("{years}y"),
    }
}
