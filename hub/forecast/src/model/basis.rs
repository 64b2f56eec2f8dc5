//! What a forecast is based on, in words.

use std::fmt;

use super::past::Stream;

/// What a forecast is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// Upgrades on record of each stream that the rollout has.
    pub recorded: Vec<(Stream, usize)>,
    /// Upgrades on record whose stream is not known.
    pub unknown: usize,
    /// Upgrades of clusters of the rollout itself that are done.
    pub of_this_rollout: usize,
    /// Published figures count as well: too few upgrades are on record.
    pub published: bool,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self
            .recorded
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(stream, count)| format!("{count} {stream} upgrades of this fleet"))
            .collect();
        if self.unknown > 0 {
            parts.push(format!("{} upgrades of this fleet", self.unknown));
        }
        if self.of_this_rollout > 0 {
            parts.push(format!("{} of this rollout", self.of_this_rollout));
        }
        if self.published {
            parts.push("published durations of OpenShift updates".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}
