//! What a server can refuse of a cron expression and of a week. It knows no time zones, and no calendar: what passes is parsed again
//! where it is used.

const MINUTE: &str = "0*[1-5]?[0-9]";
const HOUR: &str = "0*(1?[0-9]|2[0-3])";
const DAY: &str = "0*([1-9]|[12][0-9]|3[01])";
const MONTH: &str = "(0*([1-9]|1[0-2])|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)";
const WEEKDAY: &str = "(0*[0-7]|sun|mon|tue|wed|thu|fri|sat)";
const SPACE: &str = "[[:space:]]+";
const ZONE: &str = "(?:(?:CRON_)?TZ=[^[:space:]]*[[:space:]]+)?";

/// CEL: has the expression the form that the original reads, five fields or a descriptor, behind an optional time zone?
pub(super) fn is_cron() -> String {
    let fields = [MINUTE, HOUR, DAY, MONTH, WEEKDAY].map(field).join(SPACE);
    let descriptors = "@(yearly|annually|monthly|weekly|daily|midnight|hourly)";
    let every = "@every [+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)";
    format!("self.matches('^[[:space:]]*{ZONE}({descriptors}|{every}|(?i:{fields}))[[:space:]]*$')")
}

/// A list of values, ranges and `*`, each with an optional step. The original drops empty items.
fn field(value: &str) -> String {
    let item = format!("([*?]|{value}(-{value})?)(/0*[1-9][0-9]*)?");
    format!(",*{item}(,+{item})*,*")
}

/// CEL: does a date of the expression come? Only days that no month of the expression has are seen here, and only if no weekday is given,
/// as a day of the week would come without them.
pub(super) fn comes() -> String {
    let never = |day: &str, month: &str| {
        let list = |value: &str| format!("{value}([,-]{value})*");
        let minute_and_hour = format!("[^[:space:]]+{SPACE}[^[:space:]]+");
        format!(
            "!self.matches('(?i)^[[:space:]]*{ZONE}{minute_and_hour}{SPACE}{}{SPACE}{}{SPACE}[*?][[:space:]]*$')",
            list(day),
            list(month)
        )
    };
    let february = never("0*3[01]", "(0*2|feb)");
    let short_months = never("0*31", "(0*[2469]|11|feb|apr|jun|sep|nov)");
    format!("{february} && {short_months}")
}

/// CEL: is it every week, odd or even weeks, or a week that some year has?
pub(super) const IS_WEEK: &str = "self == '' || self.matches('^(@odd|@even|0?[1-9]|[1-4][0-9]|5[0-3])$')";
