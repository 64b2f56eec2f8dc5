//! Programs are changed before they are compiled, so that they pay for what they do. A payment comes before a term, not after it, because
//! a call at the end of a definition must stay there: so recursion takes no stack.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};

use super::InvalidProgram;
use super::natives::{CHARGE, MULTIPLY, SPEND};

/// The variable to which a payment is bound; a program cannot name it otherwise than to read null.
const PAID: &str = "$__paid";

/// A definition that pays.
pub(super) fn metered_definition(mut definition: Def<&str>) -> Def<&str> {
    definition.body = metered(definition.body);
    definition
}

/// A term that pays.
fn metered<'s>(term: Term<&'s str>) -> Term<&'s str> {
    let boxed = |term: Box<Term<&'s str>>| Box::new(metered(*term));
    let list = |terms: Vec<Term<&'s str>>| terms.into_iter().map(metered).collect();
    let paying = match term {
        Term::Id | Term::Num(_) | Term::Break(_) => return term,
        Term::Recurse => return after(CHARGE, term),
        Term::Call(name, arguments) => return after(CHARGE, Term::Call(name, list(arguments))),
        Term::Var(_) => charged(term),
        Term::Str(format, parts) => {
            let part = |part| match part {
                StrPart::Term(term) => StrPart::Term(metered(term)),
                StrPart::Str(_) | StrPart::Char(_) => part,
            };
            charged(Term::Str(format, parts.into_iter().map(part).collect()))
        }
        Term::Arr(items) => charged(Term::Arr(items.map(boxed))),
        Term::Obj(fields) => {
            let field = |(key, value)| match value {
                Some(value) => (metered(key), Some(metered(value))),
                // The key alone, such as `{$name}`, is a form of its own.
                None => (key, None),
            };
            charged(Term::Obj(fields.into_iter().map(field).collect()))
        }
        Term::BinOp(left, BinaryOp::Math(Math::Mul), right) => {
            charged(Term::Call(MULTIPLY, vec![metered(*left), metered(*right)]))
        }
        Term::BinOp(left, operator @ BinaryOp::Math(_), right) => {
            charged(Term::BinOp(boxed(left), operator, boxed(right)))
        }
        Term::BinOp(left, operator, right) => Term::BinOp(boxed(left), operator, boxed(right)),
        Term::Neg(term) => Term::Neg(boxed(term)),
        Term::Label(label, term) => Term::Label(label, boxed(term)),
        Term::Fold(name, over, pattern, terms) => Term::Fold(name, boxed(over), pattern, list(terms)),
        Term::TryCatch(term, catch) => Term::TryCatch(boxed(term), catch.map(boxed)),
        Term::IfThenElse(branches, otherwise) => {
            let branch = |(condition, then)| (metered(condition), metered(then));
            Term::IfThenElse(branches.into_iter().map(branch).collect(), otherwise.map(boxed))
        }
        Term::Def(definitions, term) => {
            let definitions = definitions.into_iter().map(metered_definition);
            Term::Def(definitions.collect(), boxed(term))
        }
        Term::Path(term, path) => Term::Path(boxed(term), metered_path(path)),
    };
    after(SPEND, paying)
}

fn metered_path(path: Path<Term<&str>>) -> Path<Term<&str>> {
    let part = |part| match part {
        Part::Index(index) => Part::Index(metered(index)),
        Part::Range(from, to) => Part::Range(from.map(metered), to.map(metered)),
    };
    let parts = path.0.into_iter();
    Path(parts.map(|(one, optional)| (part(one), optional)).collect())
}

/// A term before which something is paid. Its input and its paths stay what they are.
fn after<'s>(payment: &'static str, term: Term<&'s str>) -> Term<&'s str> {
    let payment = Term::Call(payment, Vec::new());
    Term::BinOp(
        Box::new(payment),
        BinaryOp::Pipe(Some(Pattern::Var(PAID))),
        Box::new(term),
    )
}

/// A term whose results are paid for.
fn charged(term: Term<&str>) -> Term<&str> {
    Term::BinOp(
        Box::new(term),
        BinaryOp::Pipe(None),
        Box::new(after(CHARGE, Term::Id)),
    )
}

/// Is there nothing in the program that the budget cannot bound?
pub(super) fn check(program: &Term<&str>) -> Result<(), InvalidProgram> {
    Checker::default().term(program)
}

/// Goes through a program with the definitions that it is inside of.
#[derive(Default)]
struct Checker {
    open: Vec<(String, usize)>,
}

impl Checker {
    fn terms<'a, 's: 'a>(
        &mut self,
        terms: impl IntoIterator<Item = &'a Term<&'s str>>,
    ) -> Result<(), InvalidProgram> {
        terms.into_iter().try_for_each(|term| self.term(term))
    }

    fn term(&mut self, term: &Term<&str>) -> Result<(), InvalidProgram> {
        match term {
            Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => Ok(()),
            Term::Call(name, arguments) => {
                let is_open = |(open, arity): &(String, usize)| open == name && *arity == arguments.len();
                if self.open.iter().any(is_open) {
                    return Err(InvalidProgram::Recursive((*name).to_owned()));
                }
                self.terms(arguments)
            }
            Term::Str(_, parts) => self.terms(parts.iter().filter_map(|part| match part {
                StrPart::Term(term) => Some(term),
                StrPart::Str(_) | StrPart::Char(_) => None,
            })),
            Term::Arr(items) => self.terms(items.as_deref()),
            Term::Obj(fields) => self.terms(
                fields
                    .iter()
                    .flat_map(|(key, value)| std::iter::once(key).chain(value)),
            ),
            Term::BinOp(_, operator, _) if assigns(operator) => Err(InvalidProgram::Assigns),
            Term::BinOp(left, operator, right) => {
                if let BinaryOp::Pipe(Some(pattern)) = operator {
                    self.pattern(pattern)?;
                }
                self.terms([left.as_ref(), right.as_ref()])
            }
            Term::Neg(term) | Term::Label(_, term) => self.term(term),
            Term::Fold(_, over, pattern, terms) => {
                self.pattern(pattern)?;
                self.term(over)?;
                self.terms(terms)
            }
            Term::TryCatch(term, catch) => {
                self.term(term)?;
                self.terms(catch.as_deref())
            }
            Term::IfThenElse(branches, otherwise) => {
                self.terms(branches.iter().flat_map(|(condition, then)| [condition, then]))?;
                self.terms(otherwise.as_deref())
            }
            Term::Def(definitions, term) => {
                for definition in definitions {
                    reserved(std::iter::once(&definition.name).chain(&definition.args))?;
                    let name = (definition.name.to_owned(), definition.args.len());
                    self.open.push(name);
                    self.term(&definition.body)?;
                    self.open.pop();
                }
                self.term(term)
            }
            Term::Path(term, path) => {
                self.term(term)?;
                self.terms(
                    path.0
                        .iter()
                        .flat_map(|(part, _)| match part {
                            Part::Index(index) => [Some(index), None],
                            Part::Range(from, to) => [from.as_ref(), to.as_ref()],
                        })
                        .flatten(),
                )
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern<&str>) -> Result<(), InvalidProgram> {
        match pattern {
            Pattern::Var(_) => Ok(()),
            Pattern::Arr(items) => items.iter().try_for_each(|item| self.pattern(item)),
            Pattern::Obj(fields) => fields.iter().try_for_each(|(key, value)| {
                self.term(key)?;
                self.pattern(value)
            }),
        }
    }
}

/// The names of payments are not for programs to define.
fn reserved<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> Result<(), InvalidProgram> {
    let mut names = names.into_iter().filter(|name| name.starts_with("__"));
    names
        .next()
        .map_or(Ok(()), |name| Err(InvalidProgram::Unknown((*name).to_owned())))
}

fn assigns(operator: &BinaryOp<&str>) -> bool {
    matches!(
        operator,
        BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt
    )
}
