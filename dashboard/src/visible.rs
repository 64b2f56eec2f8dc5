//! Texts that say something.

/// Characters that show nothing, beside blanks and control characters: those that Unicode takes for ignorable (`Default_Ignorable_Code_Point`
/// of `DerivedCoreProperties.txt`), marks of interlinear annotation, and the empty pattern of Braille.
const INVISIBLE: [(char, char); 17] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
];
/// Tags and variation selectors, a plane of their own.
const TAGS: (char, char) = ('\u{e0000}', '\u{e0fff}');

/// Whether anything of a text can be seen.
pub(crate) fn is_visible(text: &str) -> bool {
    let shows_nothing = |one: char| {
        let mut ranges = INVISIBLE.iter().chain([&TAGS]);
        one.is_whitespace() || one.is_control() || ranges.any(|(from, to)| (*from..=*to).contains(&one))
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
