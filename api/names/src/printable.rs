//! Text of strangers, as it may be shown.

/// Whether a terminal shows a character and does nothing else: it is neither a control character nor a format character (Unicode's
/// general categories Cc, Cf, Zl and Zp), which may turn the direction of a text or hide a part of it.
pub fn is_printable(letter: char) -> bool {
    let is_format = matches!(
        letter,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    );
    !letter.is_control() && !is_format
}

/// A text on one line: control characters become spaces, format characters go.
pub fn on_one_line(text: &str) -> impl Iterator<Item = char> {
    let spaced = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    spaced.filter(|letter| is_printable(*letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_hides_a_text_is_not_printable() {
        for letter in [
            '\u{1b}',
            '\n',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{200b}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert!(!is_printable(letter), "{letter:?}");
        }
        assert_eq!(on_one_line("a\nb\u{202e}c").collect::<String>(), "a bc");
        for letter in ['a', ' ', 'é', '東', '🚢', '<'] {
            assert!(is_printable(letter), "{letter:?}");
        }
    }
}
