//! Texts that say something.

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

/// The pattern of Braille without a dot: Unicode does not take it for ignorable, and it shows nothing.
const EMPTY_BRAILLE: char = '\u{2800}';

/// Whether anything of a text can be seen.
pub(crate) fn is_visible(text: &str) -> bool {
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    let shows_nothing = |one: char| {
        one.is_whitespace() || one.is_control() || one == EMPTY_BRAILLE || ignorable.contains(one)
    };
    !text.chars().all(shows_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_nothing_says_nothing() {
        for (text, expected) in [
            ("", false),
            (" \t\n", false),
            ("\u{200b}", false),
            (" \u{2060}\u{feff} \u{ad}", false),
            ("\u{3164}\u{2800}\u{e0041}\u{fe0f}", false),
            ("\0\u{7f}", false),
            ("ok", true),
            ("\u{200b}x", true),
            ("è nota", true),
            ("理由", true),
            ("👩\u{200d}💻", true),
        ] {
            assert_eq!(is_visible(text), expected, "{text:?}");
        }
    }
}
