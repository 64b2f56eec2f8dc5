//! Where a finding stands (insights.md, section 1.5): what is about the control plane there, what is about pools under each of them, and what
//! is about a pool that does not exist with the control plane, so that nobody misses it.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{
    InformerInsights, InformerSummary, Insight, PoolReference, ScopeType, UpdateStatusStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{ObservedPool, Records};
use crate::finding::worst_first;
use crate::informer_name::InformerName;
use crate::merge::InformerRecord;

/// Findings where they stand.
#[derive(Debug, Default)]
pub(super) struct Placed {
    pub control_plane: Vec<InformerInsights>,
    /// One for each pool.
    pub pools: Vec<Vec<InformerInsights>>,
    /// Pools that do not exist, and about which there are findings; in order.
    pub unresolved: Vec<String>,
}

impl Placed {
    pub fn of(records: BTreeMap<InformerName, Vec<Insight>>, pools: &[ObservedPool]) -> Self {
        let mut placed = Self {
            pools: vec![Vec::new(); pools.len()],
            ..Self::default()
        };
        let mut unresolved = BTreeSet::new();
        for (name, insights) in records {
            let mut of_pools = vec![Vec::new(); pools.len()];
            let mut of_control_plane = Vec::new();
            for insight in insights {
                let (found, missing) = positions(&insight, pools);
                let is_missing = !missing.is_empty();
                unresolved.extend(missing);
                for position in &found {
                    if let Some(of_pool) = of_pools.get_mut(*position) {
                        of_pool.push(insight.clone());
                    }
                }
                if insight.scope.scope_type == ScopeType::ControlPlane || is_missing {
                    of_control_plane.push(insight);
                }
            }
            push(&mut placed.control_plane, &name, of_control_plane);
            for (known, of_pool) in placed.pools.iter_mut().zip(of_pools) {
                push(known, &name, of_pool);
            }
        }
        placed.unresolved = unresolved.into_iter().collect();
        placed
    }
}

fn push(informers: &mut Vec<InformerInsights>, name: &InformerName, insights: Vec<Insight>) {
    if !insights.is_empty() {
        let name = name.to_string();
        informers.push(InformerInsights { name, insights });
    }
}

/// The pools that a finding is about, and those of them that do not exist.
fn positions(insight: &Insight, pools: &[ObservedPool]) -> (Vec<usize>, Vec<String>) {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for named in &insight.scope.worker_pool {
        match pools.iter().position(|known| is_same(&known.pool, named)) {
            Some(position) => found.push(position),
            None => missing.push(words(named)),
        }
    }
    (found, missing)
}

/// A pool without a namespace may be named with an empty one.
fn is_same(one: &PoolReference, other: &PoolReference) -> bool {
    let namespace = |pool: &PoolReference| pool.namespace.clone().unwrap_or_default();
    one.kind == other.kind && one.name == other.name && namespace(one) == namespace(other)
}

fn words(pool: &PoolReference) -> String {
    match &pool.namespace {
        Some(namespace) => format!("{} {namespace}/{}", pool.kind, pool.name),
        None => format!("{} {}", pool.kind, pool.name),
    }
}

/// What a status says about each informer's findings, to go on from.
pub fn records(status: &UpdateStatusStatus) -> Records {
    let mut found: BTreeMap<&str, BTreeMap<&str, &Insight>> = BTreeMap::new();
    let of_pools = status.worker_pools.iter().flat_map(|pool| &pool.update_informers);
    for informer in status.control_plane.update_informers.iter().chain(of_pools) {
        let insights = informer
            .insights
            .iter()
            .map(|insight| (insight.uuid.as_str(), insight));
        found.entry(informer.name.as_str()).or_default().extend(insights);
    }
    let informers = status.informers.iter();
    informers
        .map(|summary| {
            let insights = found.remove(summary.name.as_str()).unwrap_or_default();
            (
                InformerName::recorded(&summary.name),
                record(summary, insights.into_values()),
            )
        })
        .collect()
}

fn record<'a>(summary: &InformerSummary, insights: impl Iterator<Item = &'a Insight>) -> InformerRecord {
    let mut insights: Vec<_> = insights.cloned().collect();
    worst_first(&mut insights);
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    InformerRecord {
        state: summary.state,
        message: summary.message.clone(),
        last_attempt: None,
        last_success: time(&summary.last_success),
        insights,
        dropped: summary
            .dropped
            .and_then(|dropped| usize::try_from(dropped).ok())
            .unwrap_or_default(),
    }
}
