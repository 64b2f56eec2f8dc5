//! Characters that a terminal would act on.

use std::fmt::Write;

/// A text of a line: control characters as they are written in Rust.
pub fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// A text that may have several lines, and tabs.
pub fn lines(text: &str) -> String {
    escaped(text, |letter| letter == '\n' || letter == '\t')
}

/// A text of several lines, each but the first behind this indent.
pub fn indented(text: &str, indent: &str) -> String {
    lines(text).replace('\n', &format!("\n{indent}"))
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && !is_kept(letter) {
            // Writing to a text does not fail.
            let _ = write!(shown, "{}", letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_acted_on() {
        let text = "a\u{1b}[31m\tb\r\nc\u{7f}";
        assert_eq!(line(text), r"a\u{1b}[31m\tb\r\nc\u{7f}");
        assert_eq!(lines(text), "a\\u{1b}[31m\tb\\r\nc\\u{7f}");
        assert_eq!(indented("a\nb\nc", "  "), "a\n  b\n  c");
        assert_eq!(line("größer → 1"), "größer → 1");
    }
}
