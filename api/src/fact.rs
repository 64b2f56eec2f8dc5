//! What decisions look at: a fact is a value that was read, or why it was not.

use std::fmt;

/// A value that was read, or why it was not.
pub type Fact<T> = Result<T, Unread>;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Nobody has asked for it in this pass.
    NotAsked,
    /// It was asked for and could not be read; in words for people.
    Failed(String),
}

impl fmt::Display for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => formatter.write_str("it has not been asked for"),
            Self::Failed(why) => formatter.write_str(why),
        }
    }
}
