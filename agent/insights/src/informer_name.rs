//! The names of informers.

use std::fmt;

use drydock_api::selector::is_dns_label;
use thiserror::Error;

/// What the names of the agent's own informers begin with. The dot keeps them apart from UpdateInformers, whose names are DNS labels.
const BUILT_IN: &str = "drydock.";

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
        if is_dns_label(text) {
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
