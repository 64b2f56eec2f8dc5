//! The differences that are known, each with its reason.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use super::Difference;

/// A difference that is known.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDifference {
    /// The case, or several: what its name begins with.
    pub case: String,
    /// The places in its answers: a regular expression on `step pointer`.
    pub at: String,
    /// Why it remains; `sandbox/kube/README.md` says the same.
    pub reason: String,
}

/// All known differences.
#[derive(Debug)]
pub struct Known(Vec<(KnownDifference, regex::Regex)>);

impl Known {
    /// Reads them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let all: Vec<KnownDifference> =
            serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
        let compiled: Result<Vec<_>, regex::Error> = all
            .into_iter()
            .map(|known| regex::Regex::new(&known.at).map(|at| (known, at)))
            .collect();
        Ok(Self(compiled.context("reading the places of known differences")?))
    }

    /// The one that covers a difference, by its number.
    pub fn covering(&self, case: &str, difference: &Difference) -> Option<usize> {
        let place = format!("{} {}", difference.step, difference.pointer);
        self.0
            .iter()
            .position(|(known, at)| case.starts_with(&known.case) && at.is_match(&place))
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &KnownDifference> {
        self.0.iter().map(|(known, _)| known)
    }
}
