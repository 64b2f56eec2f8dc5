//! How long the upgrade of a cluster is expected to take, for who starts only what fits into its window.

use std::fmt;

use jiff::SignedDuration;

/// In these steps, in seconds: clusters whose durations differ by less are alike.
const STEP: u32 = 300;

/// How long the upgrade of a cluster takes at most, in nine of ten cases, with its actions and operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpectedDuration {
    seconds: u32,
    /// Too little is on record to say it: published or assumed figures count as well.
    is_assumed: bool,
}

impl ExpectedDuration {
    /// The p90 of a forecast, rounded up to five minutes. `is_assumed`: too little is on record to say it.
    pub fn new(p90: SignedDuration, is_assumed: bool) -> Self {
        let seconds = u32::try_from(p90.as_secs().max(0)).unwrap_or(u32::MAX);
        Self {
            seconds: seconds.div_ceil(STEP).saturating_mul(STEP),
            is_assumed,
        }
    }

    /// The same, where it takes no longer than that.
    #[must_use]
    pub fn at_most(self, longest: SignedDuration) -> Self {
        Self {
            seconds: u32::try_from(longest.as_secs().max(0))
                .map_or(self.seconds, |longest| self.seconds.min(longest)),
            ..self
        }
    }

    /// How long.
    pub fn duration(self) -> SignedDuration {
        SignedDuration::from_secs(self.seconds.into())
    }
}

impl fmt::Display for ExpectedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", in_words(self.duration()))?;
        f.write_str(if self.is_assumed {
            " (p90, assumed: few are on record)"
        } else {
            " (p90 of the forecast)"
        })
    }
}

/// A duration in hours and minutes.
pub(crate) fn in_words(duration: SignedDuration) -> String {
    let minutes = (duration.as_secs() + 59) / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_rounded_up_to_five_minutes_and_says_what_it_is_based_on() {
        for (seconds, is_assumed, said) in [
            (0, false, "0m (p90 of the forecast)"),
            (1, false, "5m (p90 of the forecast)"),
            (3600, false, "1h (p90 of the forecast)"),
            (9001, true, "2h35m (p90, assumed: few are on record)"),
        ] {
            let expected = ExpectedDuration::new(SignedDuration::from_secs(seconds), is_assumed);
            assert_eq!(expected.to_string(), said);
        }
        let hour = ExpectedDuration::new(SignedDuration::from_hours(1), false);
        let bounded = hour.at_most(SignedDuration::from_mins(7));
        assert_eq!(bounded.duration(), SignedDuration::from_mins(7));
        assert_eq!(hour.at_most(SignedDuration::MAX), hour);
    }
}
