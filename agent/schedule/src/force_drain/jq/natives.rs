//! What a program may use: what is defined in jq, and what is built in.

use std::cmp::Ordering;

use jaq_core::load;
use jaq_core::load::parse::Def;
use jaq_core::native::{self, Filter as Named, Fun, v};
use jaq_core::{Cv, Exn, RunPtr, ValXs};
use jaq_json::{Num, Val};

use super::{Budget, Jq, regex};

/// Spends one unit.
pub(super) const SPEND: &str = "__spend";
/// Spends what the input weighs.
pub(super) const CHARGE: &str = "__charge";
/// Multiplies.
pub(super) const MULTIPLY: &str = "__multiply";

/// Definitions that need what is not here, or are defined otherwise: a terminal.
const WITHOUT_NATIVES: [&str; 3] = ["stderr", "debug", "halt_error"];
/// Definitions that assign at places which the program gives: those nest as deep as it likes.
const ASSIGNING: [&str; 6] = ["setpath", "delpaths", "del", "pick", "walk", "combinations"];
/// What of the pod says nothing, or takes more than its input weighs: environment, clock, the process' own zone, terminal, times as long as
/// their format wants.
const LEFT_OUT: [&str; 7] = [
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "strftime",
    "debug_empty",
    "stderr_empty",
];
/// What gojq has and the library does not.
const LIBRARY: &str = include_str!("library.jq");

/// What is defined in jq.
pub(super) fn definitions<'s>() -> impl Iterator<Item = Def<&'s str>> {
    let all = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let kept = all.filter(|definition| {
        !WITHOUT_NATIVES.contains(&definition.name) && !ASSIGNING.contains(&definition.name)
    });
    let own = load::parse(LIBRARY, |parser| parser.defs());
    kept.chain(own.into_iter().flatten()).map(for_program)
}

/// A definition, for as long as the program that is compiled with it.
fn for_program<'s>(definition: Def<&'static str>) -> Def<&'s str> {
    definition
}

/// What is built in.
pub(super) fn functions() -> impl Iterator<Item = Fun<Jq>> {
    let core = jaq_core::funs::<Jq>().filter(|(name, ..)| *name != "range");
    let is_kept = |name: &&str| !LEFT_OUT.contains(name) && !regex::NAMES.contains(name);
    let more = jaq_std::extra_funs::<Jq>().filter(move |(name, ..)| is_kept(name));
    core.chain(jaq_std::base_funs())
        .chain(more)
        .chain(jaq_json::funs())
        .chain(own())
}

fn own() -> impl Iterator<Item = Fun<Jq>> {
    let own: [Named<RunPtr<Jq>>; 4] = [
        (SPEND, v(0), |cv| {
            once(cv.0.data().budget.take(1).map(|()| Val::Null))
        }),
        (CHARGE, v(0), |cv| once(charge(&cv))),
        (MULTIPLY, v(2), multiply),
        ("range", v(3), range),
    ];
    own.into_iter().chain(regex::functions()).map(native::run::<Jq>)
}

fn once(result: Result<Val, Exn<'_, Val>>) -> ValXs<'_, Val> {
    Box::new(std::iter::once(result))
}

fn charge<'a>((context, input): &Cv<'a, Jq>) -> Result<Val, Exn<'a, Val>> {
    let budget = context.data().budget;
    let paid = budget.take(weight(input, budget.left()));
    paid.map(|()| Val::Null)
}

/// A text times a number is that many texts.
fn multiply(mut cv: Cv<'_, Jq>) -> ValXs<'_, Val> {
    let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
    let cost = match (&left, &right) {
        (Val::TStr(text) | Val::BStr(text), Val::Num(times))
        | (Val::Num(times), Val::TStr(text) | Val::BStr(text)) => text.len().saturating_mul(times_of(times)),
        _ => 0,
    };
    let paid = cv.0.data().budget.take(cost);
    once(paid.and_then(|()| (left * right).map_err(Exn::from)))
}

fn times_of(number: &Num) -> usize {
    match number {
        Num::Int(times) => usize::try_from(*times).unwrap_or_default(),
        Num::BigInt(_) => usize::MAX,
        Num::Float(_) | Num::Dec(_) => 0,
    }
}

/// All numbers from one to another: each is paid for.
fn range(mut cv: Cv<'_, Jq>) -> ValXs<'_, Val> {
    let (by, to, from) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
    let budget: &Budget = cv.0.data().budget;
    let zero = Val::from(0_isize);
    let mut next = Some(from);
    Box::new(std::iter::from_fn(move || {
        let number = next.take()?;
        let goes_on = match by.cmp(&zero) {
            Ordering::Greater => number < to,
            Ordering::Less => number > to,
            Ordering::Equal => number != to,
        };
        if !goes_on {
            return None;
        }
        if let Err(exhausted) = budget.take(1) {
            return Some(Err(exhausted));
        }
        match number.clone() + by.clone() {
            Ok(following) => {
                next = Some(following);
                Some(Ok(number))
            }
            Err(error) => Some(Err(Exn::from(error))),
        }
    }))
}

/// What a value weighs, up to a bit more than a limit: its parts, and one for so many bytes. A value that is there twice counts twice, as
/// it is walked through twice.
fn weight(value: &Val, limit: usize) -> usize {
    const BYTES: usize = 16;
    let mut total = 1_usize;
    match value {
        Val::TStr(text) | Val::BStr(text) => total += text.len() / BYTES,
        Val::Num(Num::BigInt(number)) => {
            total = total.saturating_add(usize::try_from(number.bits() / 64).unwrap_or(usize::MAX));
        }
        Val::Arr(items) => {
            for item in items.iter() {
                if total > limit {
                    break;
                }
                total += weight(item, limit - total);
            }
        }
        Val::Obj(fields) => {
            for (key, field) in fields.iter() {
                if total > limit {
                    break;
                }
                total += weight(key, limit - total) + weight(field, limit - total);
            }
        }
        Val::Null | Val::Bool(_) | Val::Num(_) => {}
    }
    total
}
