//! The rules for what pre-checks find: nothing starts past it that nobody has accepted, and nothing waits for what somebody has.

use drydock_rollout::PreChecksMode;
use jiff::{SignedDuration, Timestamp};
use ocm_sandbox::spokes::{PlanAnswer, PlanLevel};

use super::start::{Start, breaks, off};
use super::{ObservedUpgrade, Rules};

/// How long after an answer the hub may still start by it: it learns late that time has passed, and its write may take.
const LATE: SignedDuration = SignedDuration::from_mins(25);

impl ObservedUpgrade {
    /// Its namespace and name.
    fn name(&self) -> (&str, &str) {
        let name = self.key.strip_prefix(&self.namespace).unwrap_or(&self.key);
        (&self.namespace, name.trim_start_matches('/'))
    }
}

impl Start<'_> {
    /// Where an answer is required, the agent of the cluster has said not long ago that nothing is in the way. One that is where it should be or
    /// on its way there, or has been started before, is not asked.
    pub(super) fn by_pre_checks(&self) -> Option<String> {
        let policy = &self.spec.pre_checks;
        let version = self
            .spec
            .goal
            .version()
            .filter(|_| policy.mode == PreChecksMode::Require)?;
        let is_first = self.own(self.seen.attempts.get(self.cluster)?).count() == 1;
        let is_below = self
            .seen
            .goes_to(self.cluster)
            .is_some_and(|newest| newest < *version);
        if !is_first || !is_below || self.attempt.exempt {
            return None;
        }
        let spokes = self.seen.spokes.as_ref()?;
        let answers = spokes.with(self.cluster, |cluster, _| cluster.answers().map(<[_]>::to_vec))?;
        let oldest = self.now - policy.max_age - LATE;
        let target = version.to_string();
        let mut of_target = answers.iter().filter(|answer| answer.version == target);
        // It goes by the newest answer, of which it may not have heard yet.
        let unheard = of_target
            .clone()
            .filter(|answer| answer.at >= self.now - LATE)
            .count();
        let newest = of_target.clone().count().saturating_sub(unheard + 1);
        let mut lets = of_target
            .by_ref()
            .skip(newest)
            .filter(|answer| answer.at >= oldest);
        let is_accepted = |answer: &PlanAnswer| {
            answer
                .found
                .is_none_or(|level| self.is_accepted(&target, level, answer.at))
        };
        breaks(lets.any(|answer| !answer.stops && is_accepted(answer)), || {
            format!("and its agent has not let it start, or nobody has accepted what it found: {answers:?}")
        })
    }

    /// Whether somebody has accepted what was found on the cluster at a moment, as far as the hub knows.
    fn is_accepted(&self, target: &str, level: PlanLevel, at: Timestamp) -> bool {
        let upgrade = self.upgrade.name();
        self.around()
            .any(|around| around.accepts(upgrade, target, self.cluster, (level, at), off()))
    }
}

impl Rules {
    /// Whether a cluster that an upgrade holds for findings has none that is not accepted, by what its agent has said last and users have
    /// written.
    pub(super) fn is_held_for_nothing(&self, key: &str, cluster: &str, now: Timestamp) -> bool {
        let seen = self.state();
        let upgrade = seen
            .upgrades
            .values()
            .find(|upgrade| upgrade.live && upgrade.key == key);
        let spec = upgrade.and_then(|upgrade| upgrade.specs.latest()?.spec.as_ref());
        let target = spec.and_then(|spec| spec.goal.version()).map(ToString::to_string);
        let (Some(upgrade), Some(target), Some(spokes)) = (upgrade, target, &seen.spokes) else {
            return false;
        };
        let last = spokes.with(cluster, |cluster, _| {
            let mut answers = cluster.answers()?.iter().rev();
            answers.find(|answer| answer.version == target).cloned()
        });
        let Some(last) = last else { return false };
        let accepts = |level: PlanLevel| {
            let around = seen.inputs.latest();
            around.is_some_and(|around| {
                around.accepts(
                    upgrade.name(),
                    &target,
                    cluster,
                    (level, now),
                    SignedDuration::ZERO,
                )
            })
        };
        last.found.is_none_or(accepts)
    }
}
