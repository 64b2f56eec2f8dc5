//! What informers answer, checked: nothing of an answer is believed, and what is kept of it is bounded (insights.md, section 1.3).

mod discovery;
mod insight;
mod response;
#[cfg(test)]
mod tests;

use drydock_api::is_printable;
use thiserror::Error;

use crate::finding::Finding;

pub use discovery::{Discovery, SelfReport, discovery};
pub use response::response;

/// How far an informer's clock may be ahead of ours, in minutes.
pub const MAX_SKEW_MINUTES: i64 = 5;

/// The uid under which the agent says that an informer cannot tell.
pub(crate) const FAILURE: &str = "informer-failure";
/// The uid under which the agent says that an informer does not answer.
pub(crate) const UNAVAILABLE: &str = "informer-unavailable";
/// The uid under which the agent says that an informer calls itself degraded.
pub(crate) const DEGRADED: &str = "informer-degraded";
/// What the uids begin with under which the agent says that findings do not fit in.
pub(crate) const TRUNCATED: &str = "insights-truncated";
/// What the uids begin with that the agent itself uses for an informer, which may not.
pub const RESERVED_UIDS: [&str; 4] = [FAILURE, UNAVAILABLE, DEGRADED, TRUNCATED];

/// What an informer answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Everything that it knows: what it no longer reports is resolved.
    Success(Vec<Finding>),
    /// It cannot tell.
    Failure {
        /// Why.
        message: String,
        /// What it knows all the same.
        findings: Vec<Finding>,
    },
    /// It is still looking.
    Wait {
        /// Why.
        message: String,
    },
}

/// Why an answer is not taken. All of it is refused for one bad finding: a finding that is left out would count as resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidResponse {
    /// It is not the JSON that it should be.
    #[error("it is not JSON of the expected shape: {0}")]
    Json(String),
    /// It is another kind of response.
    #[error("its kind is {found:?}, not {expected}")]
    Kind {
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// How the call went is not said in words that are known.
    #[error("status.response is {0:?}: it must be Success, Failure or Wait")]
    Response(String),
    /// It does not say what was found, which is not nothing.
    #[error("status.response is Success, and spec.insights is missing: it must be a list, if an empty one")]
    NoInsights,
    /// Two findings have one identity.
    #[error("two insights have uid {0:?} and the same scope")]
    Duplicate(String),
    /// A finding is not as it should be.
    #[error("spec.insights[{index}].{field}: {why}")]
    Insight {
        /// Which, from zero.
        index: usize,
        /// Which field of it.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// The text that is said about an informer's own words: bounded, and without what a terminal would obey, or what turns or hides a text.
pub(crate) fn sanitized(text: &str, longest: usize) -> String {
    let readable = |letter: char| {
        if letter == '\n' || is_printable(letter) {
            letter
        } else {
            ' '
        }
    };
    text.chars().take(longest).map(readable).collect()
}

/// The same on one line: a headline, or a message, that had several could look like what others say.
pub(crate) fn on_one_line(text: &str, longest: usize) -> String {
    sanitized(text, longest).replace('\n', " ")
}
