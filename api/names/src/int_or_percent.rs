//! A number of clusters, or a share of them.

use std::fmt;

/// A count, or a percentage from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOrPercent {
    /// A count.
    Count(u32),
    /// A percentage.
    Percent(u8),
}

/// Why a value is neither a count nor a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a whole number of at least 0 nor a percentage from 0% to 100%: write for example 3 or 25%"
)]
pub struct InvalidIntOrPercent(String);

impl IntOrPercent {
    /// How many of `total` this is; a share is rounded up, so that any share above zero of something is at least one.
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            Self::Percent(percent) => (total * usize::from(percent)).div_ceil(100),
        }
    }

    /// Is it nothing of anything?
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }
}

impl std::str::FromStr for IntOrPercent {
    type Err = InvalidIntOrPercent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidIntOrPercent(text.to_owned());
        let digits = text.strip_suffix('%').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        if digits.len() == text.len() {
            return digits.parse().map(Self::Count).map_err(|_| invalid());
        }
        match digits.parse() {
            Ok(percent @ 0..=100) => Ok(Self::Percent(percent)),
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(formatter, "{count}"),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}
