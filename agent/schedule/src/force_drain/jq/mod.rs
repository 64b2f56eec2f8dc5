//! The jq program that selects pods. It runs in a budget that is counted, not measured: each step costs one unit, and each value that is
//! made or handed on what it weighs. So it ends after some tenths of a second at most, has little memory, and comes to the same on every
//! machine; the original stops it after five seconds.
//!
//! What the budget cannot bound is refused: definitions that call themselves, and assignments, which a selector does not need. There is
//! no input but the pod: no clock, no environment, no modules.

mod metering;
mod natives;
mod regex;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;

use jaq_core::data::HasLut;
use jaq_core::load::parse::{Def, Term};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, DataT, Exn, Filter, Lut, Vars};
use jaq_json::Val;
use serde_json::Value;

use self::regex::Expressions;

/// The budget of a run. A pod of a thousand values, each matched with a regular expression, takes a twentieth of it.
const BUDGET: usize = 1_000_000;
/// The budget of all runs of a pass: some seconds. A thousand pods, each looked at in the usual way, take a twentieth of it.
const PASS_BUDGET: usize = 20 * BUDGET;
/// The longest program, in bytes: a longer one could be nested deeper than the stack reaches.
const LONGEST_PROGRAM: usize = 8 * 1024;
/// What is reserved for the stack. Programs, and values, are gone through as deep as they are nested.
const STACK: usize = 512 * 1024 * 1024;
/// The name under which the program is compiled.
const MAIN: &str = "__main";

/// Why a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProgram {
    /// It is not jq.
    #[error("the program is not valid jq: check its syntax")]
    Syntax,
    /// It uses something that there is not.
    #[error("the program uses {0}, which is not supported here")]
    Unknown(String),
    /// It might never end.
    #[error("the program defines {0} by itself: use recurse, until or range")]
    Recursive(String),
    /// It is too long.
    #[error(
        "the program is longer than {LONGEST_PROGRAM} bytes: select by labels or namespaces where you can"
    )]
    TooLong,
    /// There is no stack to read it on.
    #[error("there is no memory to read the program in: it is tried again when the object changes")]
    NoStack,
    /// It assigns.
    #[error("the program assigns: a selector cannot change the pod")]
    Assigns,
}

/// What a program says of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// It put out true.
    Yes,
    /// It did not.
    No,
    /// It stopped before it could, for this reason.
    Stopped(String),
}

/// A jq program.
pub struct Program {
    filter: Filter<Jq>,
}

/// What programs may still do in a pass, over all pods. Where it is used up, the others are left alone.
pub struct StepsLeft(usize);

impl Default for StepsLeft {
    fn default() -> Self {
        Self(PASS_BUDGET)
    }
}

/// The values and the data of a run.
struct Jq;

/// The data of a run.
#[derive(Clone)]
struct Run<'a> {
    lut: &'a Lut<Jq>,
    budget: &'a Budget,
    expressions: &'a Expressions,
}

impl DataT for Jq {
    type V<'a> = Val;
    type Data<'a> = Run<'a>;
}

impl<'a> HasLut<'a, Jq> for Run<'a> {
    fn lut(&self) -> &'a Lut<Jq> {
        self.lut
    }
}

/// What is left of the budget.
struct Budget(Cell<usize>);

impl Budget {
    /// Takes so much. An error cannot be caught by the program.
    fn take(&self, cost: usize) -> Result<(), Exn<'static, Val>> {
        let left = self.0.get().saturating_sub(cost);
        self.0.set(left);
        if left == 0 { Err(Exn::halt(1)) } else { Ok(()) }
    }

    fn left(&self) -> usize {
        self.0.get()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Program")
    }
}

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn compile(code: &str) -> Result<Self, InvalidProgram> {
        if code.len() > LONGEST_PROGRAM {
            return Err(InvalidProgram::TooLong);
        }
        on_large_stack(|| Self::compile_here(code)).unwrap_or(Err(InvalidProgram::NoStack))
    }

    fn compile_here(code: &str) -> Result<Self, InvalidProgram> {
        let body: Term<&str> = load::parse(code, |parser| parser.term()).ok_or(InvalidProgram::Syntax)?;
        metering::check(&body)?;
        let main = Def {
            name: MAIN,
            args: Vec::new(),
            body,
        };
        let library = natives::definitions();
        let definitions = library.chain([main]).map(metering::metered_definition);
        let arena = Arena::default();
        let program = File { code: MAIN, path: () };
        let modules = Loader::new(definitions)
            .load(&arena, program)
            .map_err(|_| InvalidProgram::Syntax)?;
        let filter = Compiler::default()
            .with_funs(natives::functions())
            .compile(modules)
            .map_err(|errors| {
                let mut names = errors
                    .iter()
                    .flat_map(|(_, unknown)| unknown)
                    .map(|(name, _)| *name);
                InvalidProgram::Unknown(names.next().unwrap_or_default().to_owned())
            })?;
        Ok(Self { filter })
    }

    /// Runs the program for a pod: any true selects it. What else it puts out is passed over, and what happens after a true does not
    /// count.
    pub fn run(&self, pod: &Value, steps: &mut StepsLeft) -> Selected {
        if steps.0 == 0 {
            return Selected::Stopped("other pods have taken all the steps of this pass".to_owned());
        }
        let stopped = || Selected::Stopped("there is no memory to run the program in".to_owned());
        on_large_stack(|| self.run_here(pod, steps)).unwrap_or_else(stopped)
    }

    fn run_here(&self, pod: &Value, steps: &mut StepsLeft) -> Selected {
        let pod = match jaq_json::read::parse_single(pod.to_string().as_bytes()) {
            Ok(pod) => pod,
            Err(error) => return Selected::Stopped(format!("the pod cannot be read: {error}")),
        };
        let budget = Budget(Cell::new(BUDGET));
        let expressions = Expressions::default();
        let run = Run {
            lut: &self.filter.lut,
            budget: &budget,
            expressions: &expressions,
        };
        let context = Ctx::<Jq>::new(run, Vars::new([]));
        let selected = self.first_true(context, pod, &budget);
        steps.0 = steps.0.saturating_sub(BUDGET - budget.left());
        selected
    }

    fn first_true(&self, context: Ctx<'_, Jq>, pod: Val, budget: &Budget) -> Selected {
        for output in self.filter.id.run((context, pod)) {
            match output {
                Ok(Val::Bool(true)) => return Selected::Yes,
                Ok(_) => {}
                Err(_) if budget.left() == 0 => {
                    return Selected::Stopped(format!("the program did not end within {BUDGET} steps"));
                }
                Err(error) => return Selected::Stopped(describe(error)),
            }
        }
        Selected::No
    }
}

/// Does something where much stack is left; nothing if there is no such place.
fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

fn describe(error: Exn<'_, Val>) -> String {
    const LONGEST: usize = 200;
    match error.get_err() {
        Ok(error) => {
            let text = format!("the program failed: {error}");
            text.chars().take(LONGEST).collect()
        }
        Err(_) => "the program halted".to_owned(),
    }
}
