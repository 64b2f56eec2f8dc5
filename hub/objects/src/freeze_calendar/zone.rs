//! The names of time zones in calendars: those of IANA, and those of Windows, which calendars from Outlook and Exchange have.

use icu_time::zone::WindowsParser;
use icu_time::zone::iana::IanaParserExtended;
use jiff::tz::TimeZone;

/// The time zone of this name.
pub(super) fn named(name: &str) -> Option<TimeZone> {
    let name = name.trim_matches('"').trim_start_matches('/');
    TimeZone::get(name).ok().or_else(|| of_windows(name))
}

/// That of the region which Windows' name stands for by default (CLDR, windowsZones).
fn of_windows(name: &str) -> Option<TimeZone> {
    let known = WindowsParser::new().parse(name, None)?;
    let parser = IanaParserExtended::new();
    let zone = parser.iter().find(|zone| zone.time_zone == known)?;
    TimeZone::get(zone.canonical).ok()
}
