//! What goes to a terminal.

use std::io::{self, Write};

use anyhow::Context;
use drydock_api::is_printable;
use serde::Serialize;

use super::arguments::Format;

/// Writes a text of several lines to standard output. What a terminal would act on is written as it is in Rust.
///
/// # Errors
/// If it cannot be written.
pub fn text(text: &str) -> anyhow::Result<()> {
    write(&shown(text))
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .context("writing the output")
}

/// Writes a value for scripts.
///
/// # Errors
/// If it cannot be written.
pub fn value<T: Serialize>(value: &T, format: Format) -> anyhow::Result<()> {
    let written = match format {
        Format::Json => json(&serde_json::to_string_pretty(value).context("writing JSON")?),
        Format::Yaml => serde_saphyr::to_string(value).context("writing YAML")?,
    };
    write(&format!("{}\n", written.trim_end()))
}

/// What a terminal would act on is in the strings of JSON only, where it may be escaped.
fn json(written: &str) -> String {
    let mut units = [0; 2];
    let mut escaped = String::with_capacity(written.len());
    for letter in written.chars() {
        if letter == '\n' || is_printable(letter) {
            escaped.push(letter);
        } else {
            let units = letter.encode_utf16(&mut units).iter();
            escaped.extend(units.map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped
}

/// Says something beside the output.
#[expect(
    clippy::print_stderr,
    reason = "it is where programs say what they could not do"
)]
pub fn note(text: &str) {
    eprint!("{}", shown(text));
}

fn shown(text: &str) -> String {
    let is_kept = |letter: char| letter == '\n' || letter == '\t' || is_printable(letter);
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_kept(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_shown() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}b\n\tc"), "a\\u{1b}[2J\\u{202e}b\n\tc");
        let text = "a\u{1b}[2J\u{202e}\u{e0001}\u{9b}b";
        let written = json(&serde_json::to_string(text).unwrap());
        assert!(written.chars().all(is_printable), "{written}");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
