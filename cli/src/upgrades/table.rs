//! Tables as kubectl prints them, and the forms for scripts.

use std::io::{IsTerminal, Write};

use anyhow::Context;
use comfy_table::{Cell, Color, ContentArrangement, Table, presets};
use drydock_api::is_printable;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::arguments::Output;

/// A table without lines; each row on one line where there is no terminal, so that it can be piped.
pub fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(header.iter().copied());
    if table.width().is_some() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// The state of a cluster, coloured where a person looks at it.
pub fn state(state: &str) -> Cell {
    let cell = Cell::new(printable(state));
    if !is_coloured() {
        return cell;
    }
    match state {
        "Failed" => cell.fg(Color::Red),
        "Complete" => cell.fg(Color::Green),
        "NotStarted" => cell,
        _ => cell.fg(Color::Yellow),
    }
}

/// On a terminal, unless `NO_COLOR` is set to something (no-color.org).
fn is_coloured() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The text of a table, without the space around its edges.
pub fn text(table: &Table) -> String {
    let lines = table
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// JSON or YAML of a value; nothing for a table.
///
/// # Errors
/// If the value cannot be written, which plain data rules out.
pub fn for_scripts<T: Serialize>(value: &T, output: Output) -> anyhow::Result<Option<String>> {
    Ok(match output {
        Output::Table | Output::Wide => None,
        Output::Json => Some(serde_json::to_string_pretty(value).context("writing JSON")?),
        Output::Yaml => Some(serde_saphyr::to_string(value).context("writing YAML")?),
    })
}

/// `yes`, or nothing.
pub fn yes(is_true: bool) -> &'static str {
    if is_true { "yes" } else { "" }
}

/// A moment, if there is one.
pub fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), |at| at.to_string())
}

/// `2h13m`, `5m`, `40s`.
pub fn short(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) if hours < 48 => format!("{hours}h{minutes:02}m"),
        (hours, _) => format!("{}d{}h", hours / 24, hours % 24),
    }
}

/// What may go to a terminal: what clusters say is theirs, so what a terminal acts on is left out.
pub fn printable(text: &str) -> String {
    text.chars().filter(|letter| is_printable(*letter)).collect()
}

/// Prints a line, or many. Who does not read on (`| head`) is not waited for.
///
/// # Errors
/// If it cannot be written, for example to a disk that is full.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("writing to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_a_text_is_left_out() {
        for (said, printed) in [
            ("done\u{1b}[2J\nnow", "done[2Jnow"),
            ("runs \u{202e}21.41.4\u{2069}", "runs 21.41.4"),
            ("a\u{200b}b\u{feff}c\u{e0041}", "abc"),
            ("ça marche – 4.14.12 ✓", "ça marche – 4.14.12 ✓"),
        ] {
            assert_eq!(printable(said), printed);
        }
    }
}
