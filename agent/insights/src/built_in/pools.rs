//! What MachineConfigPools say (insights.md, section 2.5, thresholds of insights).

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::MachineConfigPool;
use jiff::Timestamp;
use kube::ResourceExt;

use super::draft::{Draft, object};
use crate::cluster::is_settled;
use crate::finding::Finding;

pub(super) fn findings(pools: &[MachineConfigPool], now: Timestamp) -> Vec<Finding> {
    let of_pool = |pool| {
        let drafts = [degraded(pool), paused(pool)].into_iter().flatten();
        drafts.map(|draft| draft.finding(now).in_pool(&pool.name_any()))
    };
    pools.iter().flat_map(of_pool).collect()
}

fn degraded(pool: &MachineConfigPool) -> Option<Draft> {
    let status = pool.status.as_ref()?;
    let degraded = find(&status.conditions, "Degraded").filter(|degraded| degraded.is_true())?;
    let name = pool.name_any();
    let count = status.degraded_machine_count.unwrap_or_default();
    Some(Draft {
        description: degraded.message().to_owned(),
        ..draft(
            "pool-degraded",
            &name,
            Level::Error,
            format!("Nodes of pool {name} cannot be configured: {count}"),
            format!("Look at what the condition Degraded of MachineConfigPool {name} names"),
        )
    })
}

/// A paused pool whose nodes are behind stalls an update silently, and lets certificates run out.
fn paused(pool: &MachineConfigPool) -> Option<Draft> {
    let count = pool.status.as_ref()?.machine_count.unwrap_or_default();
    if pool.spec.paused != Some(true) || count == 0 || is_settled(pool) {
        return None;
    }
    let name = pool.name_any();
    Some(draft(
        "pool-paused",
        &name,
        Level::Warning,
        format!("Pool {name} is paused, and its nodes are behind"),
        format!(
            "Unpause it: oc patch machineconfigpool {name} --type merge -p '{{\"spec\":{{\"paused\":false}}}}'"
        ),
    ))
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
