//! Regular expressions. What one costs depends on it as much as on the text: each is compiled once a run, is paid for by its size, and so is
//! each byte that it is matched with.

use std::cell::RefCell;
use std::rc::Rc;

use jaq_core::native::{Filter as Named, v};
use jaq_core::{Cv, Error, Exn, RunPtr, ValR, ValT as _, ValX, ValXs};
use jaq_json::Val;
use jaq_std::ValT as _;
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{Budget, Jq};

/// A size up to which an expression costs so much.
struct Size {
    /// Of the compiled expression, in bytes.
    up_to: usize,
    compiling: usize,
    per_byte: usize,
}

/// The sizes, the smallest first. A larger one is refused.
const SIZES: [Size; 5] = [
    Size::new(16 << 10, 300, 1),
    Size::new(64 << 10, 1500, 4),
    Size::new(256 << 10, 6000, 16),
    Size::new(1 << 20, 25_000, 64),
    Size::new(4 << 20, 100_000, 256),
];

impl Size {
    const fn new(up_to: usize, compiling: usize, per_byte: usize) -> Self {
        Self {
            up_to,
            compiling,
            per_byte,
        }
    }
}

/// What a match costs, however short the text is.
const MATCHING: usize = 20;
/// How many bytes that are passed over cost as much as one that is matched.
const BYTES_AHEAD: usize = 16;
/// How many expressions are kept.
const KEPT: usize = 16;

/// The names of what is here.
pub(super) const NAMES: [&str; 3] = ["matches", "split_matches", "split_"];

/// The expressions that a run has compiled.
#[derive(Default)]
pub(super) struct Expressions(RefCell<Vec<Rc<Expression>>>);

struct Expression {
    pattern: String,
    flags: String,
    regex: Regex,
    per_byte: usize,
    is_global: bool,
    ignores_empty: bool,
}

impl Expressions {
    fn get<'a>(&self, pattern: &str, flags: &str, budget: &Budget) -> Result<Rc<Expression>, Exn<'a, Val>> {
        let mut kept = self.0.borrow_mut();
        let known = kept
            .iter()
            .find(|known| known.pattern == pattern && known.flags == flags);
        if let Some(known) = known {
            return Ok(Rc::clone(known));
        }
        let made = Rc::new(Expression::compile(pattern, flags, budget)?);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Rc::clone(&made));
        Ok(made)
    }
}

impl Expression {
    fn compile<'a>(pattern: &str, flags: &str, budget: &Budget) -> Result<Self, Exn<'a, Val>> {
        let has = |flag: char| flags.contains(flag);
        if let Some(unknown) = flags.chars().find(|flag| !"gnimslxp".contains(*flag)) {
            return Err(failed(format_args!("invalid regex flag: {unknown}")));
        }
        budget.take(pattern.len())?;
        for size in SIZES {
            budget.take(size.compiling)?;
            let regex = RegexBuilder::new(pattern)
                .case_insensitive(has('i'))
                .multi_line(has('m') || has('p'))
                .dot_matches_new_line(has('s') || has('p'))
                .swap_greed(has('l'))
                .ignore_whitespace(has('x'))
                .size_limit(size.up_to)
                .dfa_size_limit(size.up_to)
                .build();
            match regex {
                Ok(regex) => {
                    return Ok(Self {
                        pattern: pattern.to_owned(),
                        flags: flags.to_owned(),
                        regex,
                        per_byte: size.per_byte,
                        is_global: has('g'),
                        ignores_empty: has('n'),
                    });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => return Err(failed(format_args!("invalid regex: {error}"))),
            }
        }
        Err(failed(format_args!("the regex is too large: repeat less")))
    }
}

fn failed<'a>(why: std::fmt::Arguments<'_>) -> Exn<'a, Val> {
    Exn::from(Error::str(why))
}

/// `matches`, `split_matches` and `split_`, which the definitions of `test`, `capture`, `sub` and all others use.
pub(super) fn functions() -> [Named<RunPtr<Jq>>; 3] {
    [
        (NAMES[0], v(2), |cv| once(parts(cv, Wanted::MATCHES))),
        (NAMES[1], v(2), |cv| once(parts(cv, Wanted::BOTH))),
        (NAMES[2], v(2), |cv| once(parts(cv, Wanted::BETWEEN))),
    ]
}

fn once(result: ValX<'_, Val>) -> ValXs<'_, Val> {
    Box::new(std::iter::once(result))
}

/// What is asked for: the texts between matches, the matches, or both.
#[derive(Clone, Copy)]
struct Wanted {
    between: bool,
    matches: bool,
}

impl Wanted {
    const MATCHES: Self = Self {
        between: false,
        matches: true,
    };
    const BETWEEN: Self = Self {
        between: true,
        matches: false,
    };
    const BOTH: Self = Self {
        between: true,
        matches: true,
    };
}

fn parts(mut cv: Cv<'_, Jq>, wanted: Wanted) -> ValX<'_, Val> {
    let (flags, pattern) = (cv.0.pop_var(), cv.0.pop_var());
    let run = cv.0.data();
    let expression = run
        .expressions
        .get(string(&pattern)?, string(&flags)?, run.budget)?;
    let text = cv.1.try_as_utf8_bytes()?;
    let cost = text.len().saturating_mul(expression.per_byte);
    run.budget.take(cost.saturating_add(MATCHING))?;
    let mut found: Vec<ValR<Val>> = Vec::new();
    let mut position = Position::default();
    let mut end = 0;
    for captures in expression.regex.captures_iter(text) {
        let whole = captures.get_match();
        // The next one may be looked for to the end of the text.
        let rest = text.len() - whole.end();
        run.budget.take(expression.per_byte * rest / BYTES_AHEAD)?;
        if expression.ignores_empty && whole.is_empty() {
            continue;
        }
        if wanted.between {
            found.push(Ok(cv.1.as_sub_str(&text[end..whole.start()])));
            end = whole.end();
        }
        if wanted.matches {
            let groups = groups(&expression.regex, &captures, text, &mut position, &cv.1);
            found.push(groups.into_iter().collect());
        }
        if !expression.is_global {
            break;
        }
    }
    if wanted.between {
        found.push(Ok(cv.1.as_sub_str(&text[end..])));
    }
    let all: ValR<Val> = found.into_iter().collect();
    all.map_err(Exn::from)
}

fn string<'a>(value: &Val) -> Result<&str, Exn<'a, Val>> {
    let bytes = value.try_as_utf8_bytes()?;
    std::str::from_utf8(bytes).map_err(|_| failed(format_args!("a regex must be valid UTF-8")))
}

/// The match and its groups, as jq has them.
fn groups(
    regex: &Regex,
    captures: &Captures<'_>,
    text: &[u8],
    position: &mut Position,
    input: &Val,
) -> Vec<ValR<Val>> {
    let named = captures.iter().zip(regex.capture_names());
    let found = named.filter_map(|(group, name)| {
        let group = group?;
        let text_of = |text: &str| Val::from(text.to_owned());
        let number = |number: usize| Val::from(isize::try_from(number).unwrap_or(isize::MAX));
        let mut fields = vec![
            (text_of("offset"), number(position.of(text, group.start()))),
            (text_of("length"), number(characters(group.as_bytes()))),
            (text_of("string"), input.as_sub_str(group.as_bytes())),
        ];
        fields.extend(name.map(|name| (text_of("name"), text_of(name))));
        Some(Val::from_map(fields))
    });
    found.collect()
}

fn characters(bytes: &[u8]) -> usize {
    String::from_utf8_lossy(bytes).chars().count()
}

/// Counts the characters before a byte; going on from the one before where it can.
#[derive(Default)]
struct Position {
    byte: usize,
    character: usize,
}

impl Position {
    fn of(&mut self, text: &[u8], byte: usize) -> usize {
        if byte < self.byte {
            *self = Self::default();
        }
        self.character += characters(&text[self.byte..byte]);
        self.byte = byte;
        self.character
    }
}
