//! Matching of labels as both services do it.

use promql_parser::label::{MatchOp, Matcher};
use regex::Regex;

use super::alert::Pairs;

/// Whether all matchers match; an absent label is an empty one.
pub(super) fn all_match(matchers: &[Matcher], labels: &Pairs) -> bool {
    matchers.iter().all(|matcher| {
        let value = labels.get(&matcher.name).map_or("", String::as_str);
        matcher.is_match(value)
    })
}

/// The matcher of a silence.
///
/// # Errors
/// If the regular expression cannot be read.
pub(super) fn of_silence(
    name: &str,
    value: &str,
    is_regex: bool,
    is_equal: bool,
) -> Result<Matcher, regex::Error> {
    let op = if is_regex {
        let regex = Regex::new(&format!("^(?:{value})$"))?;
        if is_equal {
            MatchOp::Re(regex)
        } else {
            MatchOp::NotRe(regex)
        }
    } else if is_equal {
        MatchOp::Equal
    } else {
        MatchOp::NotEqual
    };
    Ok(Matcher::new(op, name, value))
}
