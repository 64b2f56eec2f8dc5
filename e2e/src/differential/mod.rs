//! The same requests to two API servers, and where their answers differ. Cases are scripts of requests ([`Script`]); an
//! answer is written down without what no two servers share: UIDs, versions, times ([`normal`]).

mod answer;
mod compare;
mod known;
mod normal;
mod pair;
mod path;
mod run;
mod script;
mod target;

pub use answer::Answer;
pub use compare::{Difference, compare};
pub use known::{Known, KnownDifference};
pub use pair::Pair;
pub use run::run;
pub use script::{Request, Script, Step};
pub use target::Target;
