//! The series about update insights, computed from the objects when they are scraped (insights.md, section 1.8: gauges per informer and
//! type). Nothing of them names an object of the cluster: how many there are is bounded by the informers.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{Insight, UpdateInformer, UpdatePlan, UpdateStatus, condition};
use drydock_api::metrics::{Family, FamilyKind, Sample};
use kube::ResourceExt;

/// Findings of the update that is under way.
pub const INSIGHTS: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_insights",
    help: "How many findings UpdateStatus has of an informer, by their type and level.",
    labels: &["informer", "type", "level"],
};
/// Findings that did not fit in.
pub const DROPPED: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_insights_dropped",
    help: "How many findings of an informer do not fit into UpdateStatus.",
    labels: &["informer"],
};
/// How an informer answered.
pub const ANSWER: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_informer_answer",
    help: "1 for how an informer answered last about the update that is under way.",
    labels: &["informer", "state"],
};
/// When its findings were confirmed.
pub const LAST_SUCCESS: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_informer_last_success_timestamp_seconds",
    help: "When all findings of an informer were last confirmed, in seconds since 1970.",
    labels: &["informer"],
};
/// Whether it can be reached.
pub const ONLINE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_informer_online",
    help: "1 if an UpdateInformer is Online, 0 if it is not, -1 if that is not known.",
    labels: &["informer", "reason"],
};
/// Findings of a planned update.
pub const PLAN_INSIGHTS: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_plan_unaccepted_insights",
    help: "How many findings of an UpdatePlan nobody has accepted, by their level.",
    labels: &["target", "level"],
};
/// Whether it should be started.
pub const PLAN_VERDICT: Family = Family {
    kind: FamilyKind::Gauge,
    name: "drydock_update_plan_verdict",
    help: "1 for what an UpdatePlan comes to: Go, Caution or Stop.",
    labels: &["target", "verdict"],
};

/// All families.
pub const FAMILIES: &[&Family] = &[
    &INSIGHTS,
    &DROPPED,
    &ANSWER,
    &LAST_SUCCESS,
    &ONLINE,
    &PLAN_INSIGHTS,
    &PLAN_VERDICT,
];

fn count(number: i64) -> f64 {
    number as f64
}

/// The samples of the update that is under way. A finding about several pools counts once.
pub fn of_status(object: &UpdateStatus) -> Vec<Sample> {
    let Some(status) = &object.status else {
        return Vec::new();
    };
    let pools = status.worker_pools.iter().flat_map(|pool| &pool.update_informers);
    let parts = status.control_plane.update_informers.iter().chain(pools);
    let found = parts.flat_map(|part| part.insights.iter().map(move |found| (part.name.as_str(), found)));
    let mut known = BTreeSet::new();
    let mut counts: BTreeMap<[&str; 3], i64> = BTreeMap::new();
    for (informer, found) in found {
        let Insight { uuid, impact, .. } = found;
        if known.insert(uuid) {
            *counts
                .entry([informer, impact.impact_type.as_str(), impact.level.as_str()])
                .or_default() += 1;
        }
    }
    let mut samples: Vec<Sample> = counts
        .into_iter()
        .map(|(labels, number)| Sample::new(&INSIGHTS, &labels, count(number)))
        .collect();
    for informer in &status.informers {
        let name = informer.name.as_str();
        samples.push(Sample::new(&ANSWER, &[name, informer.state.as_str()], 1.0));
        if let Some(confirmed) = &informer.last_success {
            let since = count(confirmed.0.as_second());
            samples.push(Sample::new(&LAST_SUCCESS, &[name], since));
        }
        if let Some(dropped) = informer.dropped {
            samples.push(Sample::new(&DROPPED, &[name], count(dropped)));
        }
    }
    samples
}

/// The sample of an informer that has been asked whether it is there.
pub fn of_informer(informer: &UpdateInformer) -> Vec<Sample> {
    let conditions = informer.status.iter().flat_map(|status| &status.conditions);
    let online = conditions.filter(|known| known.type_ == condition::ONLINE);
    let name = informer.name_any();
    online
        .map(|online| {
            let value = match online.status.as_str() {
                "True" => 1.0,
                "False" => 0.0,
                _ => -1.0,
            };
            Sample::new(&ONLINE, &[&name, &online.reason], value)
        })
        .collect()
}

/// The samples of a planned update.
pub fn of_plan(plan: &UpdatePlan) -> Vec<Sample> {
    let Some(status) = &plan.status else {
        return Vec::new();
    };
    let target = plan.spec.target_release.as_str();
    let mut samples = Vec::new();
    if let Some(counts) = &status.counts {
        let levels = &counts.unaccepted_by_level;
        for (level, number) in [
            ("Critical", levels.critical),
            ("Error", levels.error),
            ("Unknown", levels.unknown),
            ("Warning", levels.warning),
        ] {
            samples.push(Sample::new(&PLAN_INSIGHTS, &[target, level], count(number)));
        }
    }
    let verdict = status.verdict.map(drydock_api::insights::Verdict::as_str);
    samples.extend(verdict.map(|verdict| Sample::new(&PLAN_VERDICT, &[target, verdict], 1.0)));
    samples
}

#[cfg(test)]
mod tests;
