//! How long clusters take, for upgrades that start them only if they fit: computed by the model of the forecast, which the rows carry into
//! the decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_forecast::{FailureRate, GroupBy, Model, PastUpgrade};
use drydock_rollout::{ClusterName, ExpectedDuration, Spec};
use jiff::{SignedDuration, Timestamp};

use super::Fleet;
use super::followed::Followed;

/// They are computed again after this time: more is on record then, and the rollout itself has shown how fast it is.
const RENEWAL: SignedDuration = SignedDuration::from_mins(10);

/// How long the clusters of one upgrade take.
#[derive(Clone, Debug, Default)]
pub(super) struct Expectations {
    durations: BTreeMap<ClusterName, ExpectedDuration>,
    /// For what they were computed, if they were.
    made: Option<Made>,
    /// Clusters have been selected since.
    pub is_incomplete: bool,
}

#[derive(Clone, Debug)]
struct Made {
    at: Timestamp,
    spec: Arc<Spec>,
}

impl Expectations {
    /// How long a cluster takes, if that was computed.
    pub fn of(&self, name: &ClusterName) -> Option<ExpectedDuration> {
        self.durations.get(name).copied()
    }

    /// How many are known.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.durations.len()
    }
}

impl Fleet {
    /// Tells the deciders how long clusters take, where that decides whether they start.
    pub(super) fn expect_durations(&mut self, now: Timestamp) {
        let keys: Vec<_> = self
            .upgrades
            .iter()
            .filter(|(_, followed)| followed.is_expectation_due(now))
            .map(|(key, _)| key.clone())
            .collect();
        if keys.is_empty() {
            return;
        }
        let past = self.past_upgrades(&GroupBy::ProviderAndSize);
        for key in keys {
            if let Some(followed) = self.upgrades.get_mut(&key) {
                followed.expect_durations(&past, now);
            }
        }
    }
}

impl Followed {
    fn is_expectation_due(&self, now: Timestamp) -> bool {
        let rollout = self.decider.rollout();
        let Ok(spec) = &rollout.spec else { return false };
        let times = &spec.strategy.start_times;
        if !spec.strategy.start_only_if_it_fits || times.is_always() || rollout.upgrade.deleting {
            return false;
        }
        let is_old = |made: &Made| now.duration_since(made.at) >= RENEWAL || made.spec != *spec;
        self.expectations.is_incomplete || self.expectations.made.as_ref().is_none_or(is_old)
    }

    fn expect_durations(&mut self, past: &[PastUpgrade], now: Timestamp) {
        // Where there is nothing to forecast, nothing starts.
        let Ok(forecast_input) = self.decider.forecast_input(now) else {
            return;
        };
        let group_by = GroupBy::ProviderAndSize;
        let model = Model::new(&forecast_input, past, &group_by, FailureRate::Recorded);
        self.expectations = Expectations {
            durations: model.expected(&forecast_input),
            made: Some(Made {
                at: now,
                spec: forecast_input.spec,
            }),
            is_incomplete: false,
        };
        let rows = self.decider.rows().iter();
        let changed: Vec<_> = rows
            .filter_map(|(name, row)| {
                let expected = self.expectations.of(name);
                let mut row = (row.expected != expected).then(|| row.clone())?;
                row.expected = expected;
                Some((name.clone(), row))
            })
            .collect();
        for (name, row) in changed {
            self.decider.set_row(name, Some(*row));
        }
    }
}
