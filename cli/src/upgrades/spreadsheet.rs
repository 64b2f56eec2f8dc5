//! `history -o csv`: a file for spreadsheets.

use anyhow::Context;
use jiff::Timestamp;
use serde::Serialize;

use super::accuracy::Accuracy;
use super::history::Attempt;
use super::table;

/// One line of the file for spreadsheets.
#[derive(Default, Serialize)]
struct Line {
    ended_at: String,
    upgrade: String,
    upgrade_deleted: bool,
    target: String,
    rollout_since: String,
    started_by: String,
    cluster: String,
    canary: bool,
    outcome: String,
    reason: String,
    message: String,
    from: String,
    to: String,
    started_at: String,
    pre_action_seconds: Option<i64>,
    upgrade_seconds: Option<i64>,
    operators_seconds: Option<i64>,
    post_action_seconds: Option<i64>,
    retry: String,
    forecast_p10: String,
    forecast_p50: String,
    forecast_p90: String,
    rollout_ended: String,
    forecast_error_seconds: Option<i64>,
    forecast_within_band: Option<bool>,
}

fn line(attempt: &Attempt) -> Line {
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let text = |text: &str| inert(&table::printable(text));
    let forecast = attempt.forecast.as_ref();
    let expected =
        |which: fn(&Accuracy) -> Timestamp| moment(forecast.map(|forecast| which(&forecast.times)));
    Line {
        ended_at: moment(attempt.ended_at),
        upgrade: text(&attempt.upgrade),
        upgrade_deleted: attempt.upgrade_deleted,
        target: text(&attempt.target),
        rollout_since: moment(attempt.rollout_since),
        started_by: text(attempt.started_by.as_deref().unwrap_or_default()),
        cluster: text(&attempt.cluster),
        canary: attempt.canary,
        outcome: text(&attempt.outcome),
        reason: text(&attempt.reason),
        message: text(&attempt.message),
        from: text(attempt.from.as_deref().unwrap_or_default()),
        to: text(&attempt.to),
        started_at: moment(attempt.started_at),
        pre_action_seconds: attempt.stages.pre_action,
        upgrade_seconds: attempt.stages.upgrade,
        operators_seconds: attempt.stages.operators,
        post_action_seconds: attempt.stages.post_action,
        retry: text(attempt.retry.as_deref().unwrap_or_default()),
        forecast_p10: expected(|times| times.p10),
        forecast_p50: expected(|times| times.p50),
        forecast_p90: expected(|times| times.p90),
        rollout_ended: expected(|times| times.ended),
        forecast_error_seconds: forecast.map(|forecast| forecast.error_seconds),
        forecast_within_band: forecast.map(|forecast| forecast.within_band),
    }
}

/// The attempts as lines of a file, the names of the columns first.
///
/// # Errors
/// If a line cannot be written, which plain data rules out.
pub fn csv(attempts: &[Attempt]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for attempt in attempts {
        writer.serialize(line(attempt)).context("writing CSV")?;
    }
    if attempts.is_empty() {
        // The names of the columns come with the first line.
        writer.serialize(Line::default()).context("writing CSV")?;
    }
    let bytes = writer.into_inner().context("writing CSV")?;
    let mut text = String::from_utf8(bytes).context("writing CSV")?;
    if attempts.is_empty() {
        // Who reads the file goes by them, also where nothing follows.
        text.truncate(text.find('\n').map_or(text.len(), |end| end + 1));
    }
    Ok(text)
}

/// A text that a spreadsheet does not take for a formula: not at its beginning, also after blanks and quotes, nor after what separates cells in
/// the spreadsheets of other countries. Wide signs count as narrow ones.
fn inert(text: &str) -> String {
    const SIGNS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let mut inert = String::with_capacity(text.len());
    let mut begins_cell = true;
    for (place, char) in text.char_indices() {
        let is_before = |sign: char| sign.is_whitespace() || sign == '"';
        let is_formula = || text[place..].trim_start_matches(is_before).starts_with(SIGNS);
        if begins_cell && (is_formula() || place == 0 && matches!(char, '\t' | '\r')) {
            inert.push('\'');
        }
        inert.push(char);
        begins_cell = matches!(char, ';' | '\t' | '\n' | '\r');
    }
    inert
}

#[cfg(test)]
mod tests {
    use drydock_api::mcu::{RecordEntry, RecordedUpgrade};

    use super::*;

    #[test]
    fn no_text_is_a_formula() {
        for (text, expected) in [
            ("=1", "'=1"),
            (" \u{a0}@x", "' \u{a0}@x"),
            ("a;=1; +2", "a;'=1;' +2"),
            ("＝1", "'＝1"),
            ("x;\"=1", "x;'\"=1"),
            ("a-b = c", "a-b = c"),
            ("", ""),
        ] {
            assert_eq!(inert(text), expected);
        }
    }

    #[test]
    fn the_file_for_spreadsheets_has_its_header_and_the_retry_of_each_attempt() {
        let header = csv(&[]).unwrap();
        assert!(
            header.starts_with("ended_at,upgrade,") && header.ends_with(",retry,forecast_p10,forecast_p50,forecast_p90,rollout_ended,forecast_error_seconds,forecast_within_band\n"),
            "{header:?}"
        );
        assert_eq!(header.lines().count(), 1);
        let entry = RecordEntry {
            cluster: "dev1".to_owned(),
            retry: Some("=again".to_owned()),
            ..RecordEntry::default()
        };
        let file = csv(&[Attempt::of(&RecordedUpgrade::default(), &entry, None)]).unwrap();
        let line = file.strip_prefix(header.as_str()).unwrap();
        assert!(
            line.contains(",dev1,") && line.ends_with(",'=again,,,,,,\n"),
            "{line:?}"
        );
    }
}
