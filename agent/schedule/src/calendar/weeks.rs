//! Weeks by ISO 8601 (Maintenance schedules, sections 2.2 and 11).

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::{Span, ToSpan};

/// Years have week 53 at least every seventh year.
const WEEKS_SEARCHED: i64 = 8 * 53;

/// The weeks in which maintenances start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsoWeeks {
    /// Every week.
    All,
    /// Weeks with an odd number. Week 53 and the week 1 that follows both are.
    Odd,
    /// Weeks with an even number. Between week 52 and week 2 there are three weeks where the year has 53.
    Even,
    /// The week with this number.
    Number(i8),
}

impl IsoWeeks {
    /// Reads `isoWeek`; nothing if it is none of `@odd`, `@even` and the numbers from 1 to 53.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::All),
            "@odd" => Some(Self::Odd),
            "@even" => Some(Self::Even),
            _ if text.len() <= 2 && text.bytes().all(|letter| letter.is_ascii_digit()) => {
                let number = text.parse().ok()?;
                (1..=53).contains(&number).then_some(Self::Number(number))
            }
            _ => None,
        }
    }

    /// Is this one of the weeks?
    pub(super) fn contains(self, week: ISOWeekDate) -> bool {
        match self {
            Self::All => true,
            Self::Odd => week.week() % 2 == 1,
            Self::Even => week.week() % 2 == 0,
            Self::Number(number) => week.week() == number,
        }
    }

    /// The Monday of the next of the weeks after the week of a date.
    pub(super) fn next_monday(self, date: Date) -> Option<Date> {
        let week = date.iso_week_date();
        let monday = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday)
            .ok()?
            .date();
        (1..=WEEKS_SEARCHED)
            .map_while(|weeks| monday.checked_add(week_span(weeks)).ok())
            .find(|monday| self.contains(monday.iso_week_date()))
    }
}

fn week_span(weeks: i64) -> Span {
    (weeks * 7).days()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn weeks_that_some_year_has_are_read() {
        assert_eq!(IsoWeeks::parse(""), Some(IsoWeeks::All));
        assert_eq!(IsoWeeks::parse("07"), Some(IsoWeeks::Number(7)));
        assert_eq!(IsoWeeks::parse("53"), Some(IsoWeeks::Number(53)));
        for refused in ["0", "00", "54", "99", "007", "-1", "+1", "odd", "@Odd"] {
            assert_eq!(IsoWeeks::parse(refused), None, "{refused}");
        }
    }

    #[test]
    fn the_next_week_is_found_across_the_years() {
        for (weeks, from, monday) in [
            (IsoWeeks::All, "2026-11-25", "2026-11-30"),
            (IsoWeeks::Odd, "2026-11-25", "2026-11-30"),
            (IsoWeeks::Even, "2026-11-25", "2026-12-07"),
            // 2026 has 53 weeks.
            (IsoWeeks::Odd, "2026-12-29", "2027-01-04"),
            (IsoWeeks::Even, "2026-12-22", "2027-01-11"),
            (IsoWeeks::Number(7), "2026-02-15", "2027-02-15"),
            (IsoWeeks::Number(53), "2093-12-29", "2099-12-28"),
        ] {
            let found = weeks.next_monday(date(from));
            assert_eq!(found, Some(date(monday)), "{weeks:?} from {from}");
        }
    }
}
