//! The names of informers.

use std::fmt;

use thiserror::Error;

/// What the names of the agent's own informers begin with. The dot keeps them apart from UpdateInformers, whose names are DNS labels.
const BUILT_IN: &str = "drydock.";
/// The most characters of a DNS label.
const LONGEST: usize = 63;

/// The name of an informer: of an UpdateInformer, or of one of the agent's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InformerName(String);

/// Why a text is not the name of an UpdateInformer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a DNS label: lower-case letters, digits and hyphens, at most 63")]
pub struct InvalidInformerName(String);

impl InformerName {
    /// The name of an UpdateInformer.
    ///
    /// # Errors
    /// If it is not a DNS label (insights.md, section 1.2).
    pub fn parse(text: &str) -> Result<Self, InvalidInformerName> {
        if is_label(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidInformerName(text.to_owned()))
        }
    }

    /// The name of an informer of the agent's own.
    pub fn built_in(subject: &str) -> Self {
        Self(format!("{BUILT_IN}{subject}"))
    }

    /// A name as it stands in a status.
    pub fn recorded(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InformerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Is a text a DNS label?
pub(crate) fn is_label(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    bytes.len() <= LONGEST
        && is_letter(*first)
        && is_letter(*last)
        && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
}
