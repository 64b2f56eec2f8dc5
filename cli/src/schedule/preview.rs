//! The next times of a schedule that is given on the command line.

use anyhow::bail;
use clap::Args;
use drydock_api::schedule::{LOCAL, Schedule};
use drydock_schedule::calendar::Calendar;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::upgrades::arguments::Output;
use crate::upgrades::table;

/// What is not regular is looked for so far ahead: clocks change twice in it, and a year ends.
const LOOKED_AHEAD: SignedDuration = SignedDuration::from_hours(24 * 366);
/// A schedule of every minute has more times in a year than anybody wants to be warned of.
const MOST_TIMES: usize = 10_000;

/// Flags of `schedule test`.
#[derive(Args, Debug)]
pub struct PreviewArguments {
    /// Five cron fields (minute, hour, day of month, month, day of week), or @weekly, @daily, @every 36h
    #[arg(value_name = "CRON")]
    cron: String,
    /// Only in these ISO weeks: @odd, @even or a number from 1 to 53
    #[arg(long, value_name = "WEEK")]
    iso_week: Option<String>,
    /// The time zone of the schedule, by its IANA name; default: that of this machine
    #[arg(long, default_value = LOCAL, value_name = "ZONE")]
    location: String,
    /// How many times to print, from 1 to 1000
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000), value_name = "N")]
    count: u16,
    /// Times after this one, such as 2027-03-26T00:00:00Z; default: now
    #[arg(long, value_name = "TIME")]
    after: Option<Timestamp>,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// The next times of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Preview {
    /// The zone in which weeks are counted.
    location: String,
    times: Vec<Occurrence>,
    /// Where the schedule is not regular within a year.
    irregularities: Vec<String>,
    /// Where its weeks are not regular the next time, if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    later: Option<String>,
}

/// One time of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Occurrence {
    time: Timestamp,
    /// In the schedule's zone.
    local: String,
    /// In the zone of who asks.
    yours: String,
    iso_week: String,
}

/// Prints the next times.
///
/// # Errors
/// If the schedule cannot be read, or the output cannot be written.
pub fn run(arguments: &PreviewArguments, now: Timestamp, yours: &TimeZone) -> anyhow::Result<()> {
    let preview = preview(arguments, now, yours)?;
    let text = table::for_scripts(&preview, arguments.output)?;
    table::print(&text.unwrap_or_else(|| render(&preview, yours)))
}

fn preview(arguments: &PreviewArguments, now: Timestamp, yours: &TimeZone) -> anyhow::Result<Preview> {
    let schedule = Schedule {
        cron: arguments.cron.clone(),
        iso_week: arguments.iso_week.clone(),
        location: arguments.location.clone(),
        suspend: None,
    };
    let calendar = Calendar::parse(&schedule, yours)?;
    let after = arguments.after.unwrap_or(now);
    let location = calendar.location();
    let shown = |time: Timestamp, zone: &TimeZone| {
        let zoned = time.to_zoned(zone.clone());
        zoned.strftime("%a %Y-%m-%d %H:%M %Z").to_string()
    };
    let occurrence = |time: Timestamp| {
        let week = location.to_datetime(time).date().iso_week_date();
        Occurrence {
            time,
            local: shown(time, location),
            yours: shown(time, yours),
            iso_week: format!("{}-W{:02}", week.year(), week.week()),
        }
    };
    let times = calendar.times(after, after);
    let times: Vec<Occurrence> = times.take(usize::from(arguments.count)).map(occurrence).collect();
    if times.is_empty() {
        bail!("{:?} has no times after {after}", arguments.cron);
    }
    let within = |time: &Timestamp| time.duration_since(after) <= LOOKED_AHEAD;
    let in_a_year = calendar
        .times(after, after)
        .take(MOST_TIMES)
        .take_while(within)
        .count();
    let irregularities = calendar.irregularities(after, after, in_a_year);
    let later = calendar.next_irregular_weeks(after, after);
    let later = later.filter(|later| !irregularities.contains(later));
    Ok(Preview {
        location: location.iana_name().unwrap_or(LOCAL).to_owned(),
        times,
        irregularities: irregularities.iter().map(ToString::to_string).collect(),
        later: later.map(|later| later.to_string()),
    })
}

fn render(preview: &Preview, yours: &TimeZone) -> String {
    let is_same = [Some(&*preview.location), Some("UTC"), Some("Etc/UTC")].contains(&yours.iana_name())
        || preview.location == LOCAL;
    let mut header = vec!["UTC", "WEEK", &preview.location];
    if !is_same {
        header.push(yours.iana_name().unwrap_or("HERE"));
    }
    let mut table = table::plain(&header);
    for occurrence in &preview.times {
        let mut row = vec![
            occurrence.time.to_string(),
            occurrence.iso_week.clone(),
            occurrence.local.clone(),
        ];
        if !is_same {
            row.push(occurrence.yours.clone());
        }
        table.add_row(row);
    }
    let mut lines = vec![table::text(&table)];
    if !preview.irregularities.is_empty() {
        lines.extend([String::new(), "Not regular within a year:".to_owned()]);
        lines.extend(preview.irregularities.iter().map(|said| format!("  {said}")));
    }
    if let Some(later) = &preview.later {
        lines.extend([
            String::new(),
            "Not regular later:".to_owned(),
            format!("  {later}"),
        ]);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: PreviewArguments,
    }

    fn said(words: &[&str]) -> anyhow::Result<String> {
        let line = Line::try_parse_from([&["test"], words].concat())?;
        let now = Timestamp::from_str("2026-11-25T08:00:00Z")?;
        let yours = TimeZone::get("America/New_York")?;
        Ok(render(&preview(&line.arguments, now, &yours)?, &yours))
    }

    #[test]
    fn the_next_times_are_shown_there_and_here_with_what_is_not_regular() {
        let odd = [
            "0 22 * * 2",
            "--iso-week",
            "@odd",
            "--location",
            "Europe/Zurich",
            "--count",
            "4",
        ];
        assert_eq!(
            said(&odd).unwrap(),
            "\
UTC                   WEEK      Europe/Zurich              America/New_York
2026-12-01T21:00:00Z  2026-W49  Tue 2026-12-01 22:00 CET   Tue 2026-12-01 16:00 EST
2026-12-15T21:00:00Z  2026-W51  Tue 2026-12-15 22:00 CET   Tue 2026-12-15 16:00 EST
2026-12-29T21:00:00Z  2026-W53  Tue 2026-12-29 22:00 CET   Tue 2026-12-29 16:00 EST
2027-01-05T21:00:00Z  2027-W01  Tue 2027-01-05 22:00 CET   Tue 2027-01-05 16:00 EST

Not regular within a year:
  weeks 53 and 1 are both odd: there are maintenances in two weeks in a row, at 2026-12-29T21:00:00Z and 2027-01-05T21:00:00Z"
                .replace("CET   ", "CET  ")
                .replace("Zurich              ", "Zurich             ")
        );
        let early = [
            "30 2 * * *",
            "--location",
            "Europe/Zurich",
            "--after",
            "2027-03-27T12:00:00Z",
            "--count",
            "1",
        ];
        let shown = said(&early).unwrap();
        assert!(shown.contains("Sun 2027-03-28 03:00 CEST"), "{shown}");
        assert!(shown.contains("the clocks skip 2027-03-28T02:30:00"), "{shown}");
        assert!(
            shown.contains("the clocks show 2027-10-31T02:30:00 twice"),
            "{shown}"
        );
    }

    #[test]
    fn a_week_53_is_said_however_far_it_is() {
        let week = |week, after| {
            said(&[
                "0 22 * * 2",
                "--iso-week",
                week,
                "--location",
                "UTC",
                "--count",
                "1",
                "--after",
                after,
            ])
            .unwrap()
        };
        for (parity, after, said) in [
            (
                "@even",
                "2026-12-01T00:00:00Z",
                "year:\n  weeks 53 and 1 are both odd: between 2026-12-22T22:00:00Z and 2027-01-12T22:00:00Z there are three weeks",
            ),
            (
                "@odd",
                "2027-03-01T00:00:00Z",
                "later:\n  weeks 53 and 1 are both odd: there are maintenances in two weeks in a row, at 2032-12-28T22:00:00Z and 2033-01-04T22:00:00Z",
            ),
        ] {
            let shown = week(parity, after);
            assert!(
                shown.ends_with(&format!(
                    "Not regular {}{said}",
                    if said.starts_with("year") { "within a " } else { "" }
                )),
                "{shown}"
            );
        }
    }

    #[test]
    fn in_ones_own_zone_times_are_shown_once() {
        let shown = said(&["@weekly", "--count", "1"]).unwrap();
        assert!(
            shown.starts_with("UTC                   WEEK      America/New_York\n"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for (words, why) in [
            (&["0 22 30 2 *"][..], "never occurs"),
            (&["0 22 * * 2", "--iso-week", "54"], "1 to 53"),
            (&["0 22 * * 2", "--location", "Mars/Olympus"], "Mars/Olympus"),
            (&["0 22 * *"], "five fields"),
            (&["0 22 * * 2", "--count", "0"], "0 is not in 1..=1000"),
        ] {
            let refused = said(words).unwrap_err().to_string();
            assert!(refused.contains(why), "{words:?}: {refused}");
        }
    }
}
