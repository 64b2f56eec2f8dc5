//! What MachineConfigPools say (insights.md, section 2.5, thresholds of insights).

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::MachineConfigPool;
use jiff::Timestamp;
use kube::ResourceExt;

use super::Question;
use super::draft::{Draft, object};
use crate::cluster::is_settled;
use crate::finding::Finding;

pub(super) fn findings(pools: &[MachineConfigPool], question: Question<'_>, now: Timestamp) -> Vec<Finding> {
    let of_pool = |pool| {
        let drafts = [
            degraded(pool, question),
            paused(pool, question),
            updating(pool, question),
            unknown(pool, question),
        ];
        let drafts = drafts.into_iter().flatten();
        drafts.map(|draft| draft.finding(now).in_pool(&pool.name_any()))
    };
    pools.iter().flat_map(of_pool).collect()
}

fn degraded(pool: &MachineConfigPool, question: Question<'_>) -> Option<Draft> {
    let status = pool.status.as_ref()?;
    // Degraded sums up the others, a moment later.
    let degraded = ["Degraded", "RenderDegraded", "NodeDegraded"]
        .into_iter()
        .filter_map(|type_| find(&status.conditions, type_))
        .find(|condition| condition.is_true());
    let name = pool.name_any();
    let summary = match (degraded, status.degraded_machine_count.unwrap_or_default()) {
        (Some(degraded), 0) => format!("Pool {name} is degraded: {}", degraded.reason()),
        (Some(_), count) => format!("Nodes of pool {name} cannot be configured: {count}"),
        (None, count) if question.is_plan() && count > 0 => {
            format!("Nodes of pool {name} cannot be configured: {count}")
        }
        (None, _) => return None,
    };
    Some(Draft {
        description: degraded
            .map(|degraded| degraded.message().to_owned())
            .unwrap_or_default(),
        ..draft(
            "pool-degraded",
            &name,
            Level::Error,
            summary,
            format!("Look at what the condition Degraded of MachineConfigPool {name} names"),
        )
    })
}

/// A paused pool whose nodes are behind stalls an update silently, and lets certificates run out. One whose nodes are not is where the next
/// update stalls.
fn paused(pool: &MachineConfigPool, question: Question<'_>) -> Option<Draft> {
    let count = pool.status.as_ref()?.machine_count.unwrap_or_default();
    let is_behind = !is_settled(pool);
    if pool.spec.paused != Some(true) || count == 0 || (!is_behind && question == Question::Status) {
        return None;
    }
    let name = pool.name_any();
    let summary = if is_behind {
        format!("Pool {name} is paused, and its nodes are behind")
    } else {
        format!("Pool {name} is paused: its nodes would stay behind")
    };
    let action = format!(
        "Unpause it: oc patch machineconfigpool {name} --type merge -p '{{\"spec\":{{\"paused\":false}}}}'"
    );
    Some(Draft {
        verify: format!("kubectl get machineconfigpool {name} -o jsonpath='{{.spec.paused}}'"),
        ..draft("pool-paused", &name, Level::Warning, summary, action)
    })
}

/// The nodes of a pool are not where they should be: the next update begins before the one before it has ended.
fn updating(pool: &MachineConfigPool, question: Question<'_>) -> Option<Draft> {
    let status = pool.status.as_ref()?;
    let count = status.machine_count.unwrap_or_default();
    let says_so = find(&status.conditions, "Updating").is_some_and(AnyCondition::is_true);
    let is_updating = !is_settled(pool) || says_so;
    if !question.is_plan() || pool.spec.paused == Some(true) || count == 0 || !is_updating {
        return None;
    }
    let name = pool.name_any();
    let updated = status.updated_machine_count.unwrap_or_default();
    Some(draft(
        "pool-updating",
        &name,
        Level::Warning,
        format!("Pool {name} is still being updated: {updated} of {count} nodes are"),
        format!("Wait until MachineConfigPool {name} is updated"),
    ))
}

/// Nobody has looked at the pool yet, or it is not looked at any more.
fn unknown(pool: &MachineConfigPool, question: Question<'_>) -> Option<Draft> {
    let is_silent = pool.status.as_ref().is_none_or(|status| {
        let degraded = find(&status.conditions, "Degraded");
        let is_unknown = degraded.is_some_and(|degraded| !degraded.is_true() && !degraded.is_false());
        status.machine_count.is_none() || is_unknown
    });
    let name = pool.name_any();
    (is_silent && question.is_plan()).then(|| {
        draft(
            "pool-unknown",
            &name,
            Level::Unknown,
            format!("Pool {name} does not say how its nodes are"),
            "See whether the machine config operator runs".to_owned(),
        )
    })
}

fn draft(uid: &'static str, name: &str, level: Level, summary: String, action: String) -> Draft {
    Draft {
        uid,
        level,
        impact_type: ImpactType::UpdateStalled,
        summary,
        description: String::new(),
        action,
        verify: format!("kubectl get machineconfigpool {name}"),
        reference: None,
        resources: vec![object(
            "machineconfiguration.openshift.io",
            "MachineConfigPool",
            name,
        )],
    }
}
