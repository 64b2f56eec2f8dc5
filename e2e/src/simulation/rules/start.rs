//! The rules for the start of a cluster, and for when its upgrade follows on its action. A work names the generation of the spec by which
//! it was made, so it is compared with exactly that.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_rollout::{Enforcement, Goal, Labels, Revision, Selector, Spec};
use jiff::{SignedDuration, Timestamp};
use ocm_sandbox::spokes::version_of;
use semver::Version;

use super::attempt::Attempt;
use super::hub_inputs::HubInputs;
use super::{ObservedUpgrade, RuleState, SpecVersion};
use crate::simulation::draw::is_frozen_by_calendar;
use crate::simulation::happening::SKEW;

/// One start that is checked.
pub(super) struct Start<'a> {
    pub(super) seen: &'a RuleState,
    pub(super) cluster: &'a str,
    pub(super) attempt: &'a Attempt,
    pub(super) upgrade: &'a ObservedUpgrade,
    asked: &'a SpecVersion,
    pub(super) spec: &'a Spec,
    pub(super) now: Timestamp,
}

pub(super) fn breaks(is_met: bool, rule: impl FnOnce() -> String) -> Option<String> {
    (!is_met).then(rule)
}

/// By how much moments that different clocks have written may differ.
pub(super) fn off() -> SignedDuration {
    SignedDuration::try_from(SKEW * 2).unwrap_or(SignedDuration::MAX)
}

/// The version of the release that a goal asks for; that of an image is known by its digest.
fn release_of(goal: &Goal) -> Option<Version> {
    let target = goal.target.as_ref()?;
    let by_image = || version_of(target.image.as_deref()?)?.parse().ok();
    target.version.clone().or_else(by_image)
}

/// Whether a cluster with any of these labels may be started that takes this long at least, and must end in time: by the windows and
/// freezes themselves, not as the hub puts them together.
fn is_open(spec: &Spec, labels: &[Labels], needs: SignedDuration, now: Timestamp) -> bool {
    openings(spec, labels, needs, now).contains(&true)
}

/// The same for each of the labels, and for the moments that the hub may take for the present.
fn openings(spec: &Spec, labels: &[Labels], needs: SignedDuration, now: Timestamp) -> Vec<bool> {
    let times = &spec.strategy.start_times;
    let opens = |labels: &Labels, moment: Timestamp| {
        let selects =
            |selector: &Option<Selector>| selector.as_ref().map(|selector| selector.matches(labels));
        let mut freezes = times.freezes().iter();
        let is_frozen = freezes.any(|freeze| {
            let in_time = moment + needs < freeze.from || moment >= freeze.to;
            !in_time && selects(&freeze.selector) != Some(false)
        });
        let half_hours = 0..=needs.as_mins() / 30;
        let mut until_its_end = half_hours.map(|number| moment + SignedDuration::from_mins(30 * number));
        let is_frozen = is_frozen || times.calendar().is_some() && until_its_end.any(is_frozen_by_calendar);
        let windows = times.windows();
        let is_selected = windows
            .iter()
            .any(|window| selects(&window.selector) == Some(true));
        let wanted = if is_selected { Some(true) } else { None };
        let mut own = windows
            .iter()
            .filter(|window| selects(&window.selector) == wanted)
            .peekable();
        let is_always = own.peek().is_none();
        let fits = |closes: Timestamp| moment + needs < closes;
        !is_frozen && (is_always || own.any(|window| window.window.closes(moment).is_some_and(fits)))
    };
    let moments = [now - off(), now, now + off()];
    let opens = &opens;
    let each = labels
        .iter()
        .flat_map(|labels| moments.iter().map(move |moment| opens(labels, *moment)));
    each.collect()
}

impl RuleState {
    /// The labels that the hub may believe a cluster to have.
    fn labels(&self, cluster: &str, now: Timestamp) -> Vec<Labels> {
        let seen = self.inputs.believed(now);
        let labels = seen.map(|around| {
            let labels = around.clusters.get(cluster).map(|seen| seen.labels.clone());
            let labels = labels.and_then(|labels| serde_json::from_value(labels).ok());
            Labels::from(&labels.unwrap_or_else(BTreeMap::<String, String>::new))
        });
        let labels: Vec<Labels> = labels.collect();
        if labels.is_empty() {
            vec![Labels::default()]
        } else {
            labels
        }
    }

    /// The version that a cluster really runs, if that is known.
    fn runs(&self, cluster: &str) -> Option<Version> {
        let spokes = self.spokes.as_ref()?;
        spokes.with(cluster, |cluster, _| cluster.version().parse().ok())
    }

    /// The version that a cluster runs or is on its way to, if that is known.
    pub(super) fn goes_to(&self, cluster: &str) -> Option<Version> {
        let spokes = self.spokes.as_ref()?;
        spokes.with(cluster, |cluster, _| {
            let version = cluster.object("ClusterVersion", "", "version")?;
            version["status"]["history"][0]["version"].as_str()?.parse().ok()
        })
    }

    /// The rule that the start of an attempt breaks.
    pub(super) fn breaks_by_start(&self, cluster: &str, index: usize, now: Timestamp) -> Option<String> {
        let start = match self.start(cluster, index, now)? {
            Ok(start) => start,
            Err(broken) => return Some(broken),
        };
        let rules = [
            Start::by_pause,
            Start::by_selection,
            Start::by_owner,
            Start::by_claim,
            Start::by_repetition,
            Start::by_limit,
            Start::by_soak,
            Start::by_budget,
            Start::by_window,
            Start::by_fit,
            Start::by_pre_checks,
        ];
        let broken = rules.iter().find_map(|rule| rule(&start))?;
        Some(start.who(&broken))
    }

    /// The same of canaries. It is known a moment later: of the works of two upgrades that are made at once either may come first, and one of them
    /// may take the canary that the other would wait for.
    pub(super) fn breaks_by_canaries(&self, cluster: &str, index: usize, now: Timestamp) -> Option<String> {
        let start = self.start(cluster, index, now)?.ok()?;
        Some(start.who(&start.by_canaries()?))
    }

    /// A start, with what its upgrade asked for; or why there can be none.
    fn start<'s>(
        &'s self,
        cluster: &'s str,
        index: usize,
        now: Timestamp,
    ) -> Option<Result<Start<'s>, String>> {
        let attempt = self.attempts.get(cluster)?.get(index)?;
        let who = format!("{cluster}: {} starts it", attempt.key);
        let Some(upgrade) = self.upgrades.get(&attempt.uid) else {
            return Some(Err(format!("{who}, which nobody has created")));
        };
        let Some(asked) = upgrade.at(attempt.revision.generation) else {
            return Some(Err(format!("{who} for a generation that never was")));
        };
        let Some(spec) = &asked.spec else {
            return Some(Err(format!("{who} by an invalid spec")));
        };
        Some(Ok(Start {
            seen: self,
            cluster,
            attempt,
            upgrade,
            asked,
            spec,
            now,
        }))
    }

    /// The rule that the upgrade of a cluster breaks whose attempt has begun before, or begins with it.
    pub(super) fn breaks_by_upgrade(
        &self,
        cluster: &str,
        index: usize,
        revision: &Revision,
        now: Timestamp,
    ) -> Option<String> {
        let attempt = self.attempts.get(cluster)?.get(index)?;
        let upgrade = self.upgrades.get(&attempt.uid)?;
        let who = format!("{cluster}: {} upgrades it", attempt.key);
        let specs: Vec<&Arc<Spec>> = upgrade
            .specs
            .believed(now)
            .filter_map(|asked| asked.spec.as_ref())
            .collect();
        // The operators follow on the platform whatever the hour is.
        let follows = attempt.works.contains_key("cluster") && attempt.works.contains_key("operators");
        let is_platform = attempt.works.contains_key("cluster") && !follows;
        let opens = specs.is_empty()
            || specs
                .iter()
                .any(|spec| is_open(spec, &self.labels(cluster, now), SignedDuration::ZERO, now));
        let versions = || {
            self.inputs
                .believed(now)
                .filter_map(|around| around.clusters.get(cluster)?.version.as_ref())
        };
        let target = revision
            .goal
            .version()
            .filter(|_| revision.enforcement == Enforcement::Enforced);
        let is_older =
            target.is_some_and(|target| versions().count() > 0 && versions().all(|version| version > target));
        breaks(follows || opens, || format!("{who} outside of the start windows"))
            .or_else(|| {
                breaks(!is_platform || !is_older, || {
                    format!("{who} to an older version than it runs")
                })
            })
            .or_else(|| {
                self.breaks_by_pre_action(cluster, attempt)
                    .map(|broken| format!("{who}, {broken}"))
            })
    }

    /// The Job of the pre-upgrade action of this very attempt has succeeded.
    fn breaks_by_pre_action(&self, cluster: &str, attempt: &Attempt) -> Option<String> {
        let job = attempt.job.as_ref().filter(|_| !attempt.exempt)?;
        let spokes = self.spokes.as_ref()?;
        let found = spokes.with(cluster, |cluster, _| {
            cluster.object("Job", "default", "backup").cloned()
        });
        // One whose work is gone may be gone, too.
        let found = found.filter(|_| attempt.works.contains_key("pre"))?;
        let is_ours =
            found["metadata"]["annotations"][drydock_api::names::ATTEMPT_ANNOTATION] == job.as_str();
        breaks(is_ours && found["status"]["succeeded"] == 1, || {
            format!("and the Job of its pre-upgrade action has not succeeded: {found}")
        })
    }
}

impl Start<'_> {
    pub(super) fn around(&self) -> impl Iterator<Item = &Arc<HubInputs>> {
        self.seen.inputs.believed(self.now)
    }

    fn selects(&self, around: &HubInputs, cluster: &str) -> bool {
        around.selects(&self.upgrade.namespace, &self.asked.written, cluster)
    }

    fn is_canary(&self, around: &HubInputs, cluster: &str) -> bool {
        around.is_canary(&self.asked.written, cluster)
    }

    fn most_selected(&self) -> usize {
        let selected = self.around().map(|around| {
            around
                .selected(&self.upgrade.namespace, &self.asked.written)
                .len()
        });
        selected.max().unwrap_or_default()
    }

    pub(super) fn own<'a>(&'a self, attempts: &'a [Attempt]) -> impl DoubleEndedIterator<Item = &'a Attempt> {
        attempts.iter().filter(|attempt| attempt.key == self.attempt.key)
    }

    fn is_for_goal(&self, attempt: &Attempt) -> bool {
        attempt.revision.goal.is_same(&self.spec.goal)
    }

    fn is_retried_since(&self, moment: Timestamp) -> bool {
        self.upgrade.retries.since(moment).next().is_some()
    }

    /// Whether a later rollout of another upgrade has had the cluster.
    fn later_claim<'a>(&self, attempts: &'a [Attempt]) -> Option<&'a Attempt> {
        attempts.iter().find(|other| {
            other.key != self.attempt.key
                && !other.exempt
                && other.revision.rollout_since > self.attempt.revision.rollout_since
        })
    }

    /// Whether the cluster may have been left to another upgrade: of two that began at the same moment either may have it.
    fn may_be_left(&self, attempts: &[Attempt]) -> bool {
        attempts.iter().any(|other| {
            other.key != self.attempt.key
                && other.revision.rollout_since >= self.attempt.revision.rollout_since
        })
    }

    /// What starts, and the rule that it breaks.
    fn who(&self, broken: &str) -> String {
        format!("{}: {} starts it, {broken}", self.cluster, self.attempt.key)
    }

    fn by_pause(&self) -> Option<String> {
        breaks(self.asked.written["paused"] != true, || {
            "and is paused".to_owned()
        })
    }

    fn by_selection(&self) -> Option<String> {
        let mut around = self.around();
        breaks(around.any(|around| self.selects(around, self.cluster)), || {
            "and does not select it".to_owned()
        })
        .or_else(|| {
            let mut around = self
                .around()
                .filter_map(|around| around.clusters.get(self.cluster));
            breaks(around.any(|cluster| cluster.accepted), || {
                "and it is not accepted".to_owned()
            })
        })
    }

    /// One owner of a cluster at any write.
    fn by_owner(&self) -> Option<String> {
        let attempts = self.seen.attempts.get(self.cluster)?;
        let other = attempts
            .iter()
            .find(|other| other.key != self.attempt.key && self.seen.is_in_flight(self.cluster, other));
        other.map(|other| format!("and {} is at work on it", other.key))
    }

    /// What a later rollout has claimed, an earlier one takes back only when a user retries.
    fn by_claim(&self) -> Option<String> {
        let attempts = self.seen.attempts.get(self.cluster)?;
        let later = self.later_claim(attempts)?;
        // An attempt whose first work was refused left no work: then it counts from when the upgrade was created. That a retry was
        // asked for before the claim, and carried out after it, the hub cannot know.
        let before = self.own(attempts).rev().nth(1).map(|own| own.begun);
        let created = self.upgrade.since + SignedDuration::from_nanos(1);
        let is_retried = self.is_retried_since(before.unwrap_or(created).min(later.begun));
        breaks(is_retried, || {
            format!(
                "in its rollout of {}, which {} has claimed later, in its of {}",
                self.attempt.revision.rollout_since, later.key, later.revision.rollout_since
            )
        })
    }

    /// Whether the upgrade has had another goal since a moment.
    fn had_another_goal(&self, since: Timestamp) -> bool {
        let mut specs = self
            .upgrade
            .specs
            .since(since)
            .filter_map(|asked| asked.spec.as_ref());
        specs.any(|spec| !spec.goal.is_same(&self.spec.goal))
    }

    /// A cluster that has ended is not started over for the same goal, unless a user retries, or gives the upgrade another goal and then
    /// this one again.
    fn by_repetition(&self) -> Option<String> {
        let attempts = self.seen.attempts.get(self.cluster)?;
        let before = attempts
            .iter()
            .rev()
            .find(|attempt| attempt.started != self.attempt.started)?;
        let is_repeated = before.uid == self.attempt.uid
            && !before.exempt
            && self.is_for_goal(before)
            && !self.had_another_goal(before.begun);
        let must_rest = before.has_ended("Complete")
            || before.has_ended("Failed") && !self.is_retried_since(before.begun);
        breaks(!is_repeated || !must_rest, || {
            "which has ended there for the same goal, without a retry".to_owned()
        })
    }

    fn by_limit(&self) -> Option<String> {
        let running = self.seen.clusters_in_flight(&self.attempt.key);
        let running = running
            .filter(|(cluster, attempt)| !self.may_wait_between(cluster, attempt))
            .count();
        let limit = self.spec.strategy.slots(self.most_selected());
        breaks(running <= limit, || {
            format!("{running} clusters in flight, {limit} may be")
        })
    }

    /// Whether a cluster may have given its slot up: its action may be done, and its start times closed.
    fn may_wait_between(&self, cluster: &str, attempt: &Attempt) -> bool {
        let labels = self.seen.labels(cluster, self.now);
        let openings = openings(self.spec, &labels, SignedDuration::ZERO, self.now);
        attempt.works.keys().all(|kind| kind == "pre") && openings.contains(&false)
    }

    /// Whether the cluster is surely a canary that the others wait for.
    fn is_awaited(&self, cluster: &str) -> bool {
        let mut around = self.around();
        let attempts = self.seen.attempts.get(cluster).map_or(&[][..], Vec::as_slice);
        around.all(|around| {
            let is_there = around
                .clusters
                .get(cluster)
                .is_some_and(|seen| seen.available && seen.accepted);
            is_there && self.selects(around, cluster) && self.is_canary(around, cluster)
        }) && !self.may_be_left(attempts)
            && attempts.iter().all(|attempt| !attempt.exempt)
    }

    fn has_passed(&self, cluster: &str) -> bool {
        let attempts = self.seen.attempts.get(cluster).map_or(&[][..], Vec::as_slice);
        let by_attempt = self
            .own(attempts)
            .any(|attempt| attempt.has_ended("Complete") && self.is_for_goal(attempt));
        let target = self.spec.goal.version();
        let known = self
            .around()
            .filter_map(|around| around.clusters.get(cluster)?.version.clone());
        // A cluster needs nothing that has come to the platform of this goal for another one, which asked for operators too.
        let came = attempts.iter().filter(|attempt| attempt.has_ended("Complete"));
        let came = came.filter_map(|attempt| release_of(&attempt.revision.goal));
        let mut versions = known.chain(self.seen.runs(cluster)).chain(came);
        let by_version = self.spec.goal.operators.is_none()
            && versions.any(|version| target.is_some_and(|target| version >= *target));
        // What a cluster runs is not known here if its works are only answered: one that was not started may need nothing.
        let mut of_this = attempts.iter().filter(|attempt| attempt.uid == self.attempt.uid);
        let may_be_there = self.seen.spokes.is_none() && of_this.next().is_none();
        by_attempt || by_version || may_be_there
    }

    fn canaries(&self) -> Vec<&String> {
        let latest = self.seen.inputs.latest();
        let names = latest.into_iter().flat_map(|around| around.clusters.keys());
        names.filter(|name| self.is_awaited(name)).collect()
    }

    fn is_maybe_canary(&self) -> bool {
        self.spec.strategy.canaries.is_none()
            || self.around().any(|around| self.is_canary(around, self.cluster))
    }

    fn by_canaries(&self) -> Option<String> {
        if self.is_maybe_canary() {
            return None;
        }
        let awaited = self.canaries().into_iter().find(|name| !self.has_passed(name));
        awaited.map(|name| format!("and the canary {name} is not complete"))
    }

    /// Nothing else starts before the canaries have soaked; the first start after that says that they have.
    fn by_soak(&self) -> Option<String> {
        if self.is_maybe_canary() {
            return None;
        }
        let ended = self.canaries().into_iter().filter_map(|name| {
            let attempts = self.seen.attempts.get(name)?;
            // Whatever the goal was for which this upgrade has upgraded it: an edit of the goal shortens no soak.
            let mut passed = attempts.iter().rev();
            let passed =
                passed.find(|attempt| attempt.uid == self.attempt.uid && attempt.has_ended("Complete"));
            passed?.outcome.as_ref().map(|(_, ended)| *ended)
        });
        let ended = ended.max()?;
        let others = self.seen.attempts.values().flatten();
        let mut others =
            others.filter(|other| other.key == self.attempt.key && other.started != self.attempt.started);
        if others.any(|other| other.begun > ended && self.is_for_goal(other)) {
            return None;
        }
        let soaked = ended + self.spec.strategy.soak;
        breaks(self.now + off() >= soaked, || {
            format!("and its canaries must soak until {soaked}")
        })
    }

    fn by_budget(&self) -> Option<String> {
        let budget = self.spec.strategy.failure_budget(self.most_selected())?;
        let failed = self.seen.attempts.iter().filter(|(cluster, attempts)| {
            let last = self.own(attempts).next_back();
            let has_failed = last.is_some_and(|last| {
                last.has_ended("Failed")
                    && !last.exempt
                    && last.uid == self.attempt.uid
                    && self.is_for_goal(last)
                    && !self.is_retried_since(last.begun)
            });
            let mut around = self.around();
            let counts =
                around.all(|around| self.selects(around, cluster) && !self.is_canary(around, cluster));
            has_failed && counts && !self.may_be_left(attempts)
        });
        let failed = failed.count();
        breaks(failed < budget, || {
            format!("{failed} clusters have failed and {budget} spend its budget")
        })
    }

    fn by_window(&self) -> Option<String> {
        let labels = self.seen.labels(self.cluster, self.now);
        breaks(
            is_open(self.spec, &labels, SignedDuration::ZERO, self.now),
            || "outside of its start windows".to_owned(),
        )
    }

    /// What starts only if it fits has time left: how much, the hub computes, but never less than this.
    fn by_fit(&self) -> Option<String> {
        if !self.spec.strategy.start_only_if_it_fits {
            return None;
        }
        let labels = self.seen.labels(self.cluster, self.now);
        let needs = self.least_expected();
        breaks(is_open(self.spec, &labels, needs, self.now), || {
            format!(
                "which cannot end before its window closes or a freeze begins: it takes {needs:#} at least"
            )
        })
    }

    /// The least that any upgrade is expected to take. While little is on record, published figures keep the platform's from being
    /// expected to take less than twenty minutes.
    fn least_expected(&self) -> SignedDuration {
        let all = self.seen.attempts.values().flatten();
        let ended = all.filter(|attempt| attempt.outcome.is_some()).count();
        let of_cluster = self.seen.attempts.get(self.cluster).map_or(0, Vec::len);
        let target = self.spec.goal.version();
        let mut versions = self
            .around()
            .filter_map(|around| around.clusters.get(self.cluster)?.version.as_ref());
        let may_be_there =
            target.is_none_or(|target| versions.any(|version| version >= target)) || of_cluster > 1;
        SignedDuration::from_mins(if ended > 8 || may_be_there { 5 } else { 20 })
    }
}
