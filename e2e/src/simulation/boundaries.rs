//! The hub killed at every single one of its writes, once just before it and once just after: the end is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::STATE_LABEL;
use drydock_runtime::Clock;
use jiff::Timestamp;
use kube_sandbox::access::{Access, Selection};
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Verb};
use ocm_sandbox::kinds::MANIFEST_WORK;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::fleet::Fleet;
use super::rules::{self, HubInputs, Rules};
use super::scenario::Scenario;
use super::{LOOK, draw, upgrades};
use crate::hub_fleet::{UPGRADE, is_true};
use crate::local_fleet::{hub_settings, program_client};

/// By when the rollout has ended, however often the hub is killed.
const TIMEOUT: Duration = Duration::from_hours(48);

/// When the hub is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// At which of its writes, counted from 1.
    pub at: u64,
    /// After the write took place, or before.
    pub after: bool,
}

/// How a rollout ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The works that are left with their states, and what the upgrade's status says.
    pub facts: Vec<String>,
    /// How many writes the hub made.
    pub writes: u64,
}

struct Killer {
    kill: Option<Kill>,
    writes: AtomicU64,
    dead: AtomicBool,
    struck: Notify,
}

impl Killer {
    fn verdict(&self, asked: &RequestInfo<'_>) -> FaultAction {
        if asked.identity.name() != "replica" {
            return FaultAction::Pass;
        }
        if self.dead.load(Ordering::Relaxed) {
            return FaultAction::Unreachable;
        }
        if matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch) {
            return FaultAction::Pass;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        match self.kill {
            Some(kill) if kill.at == number => {
                self.dead.store(true, Ordering::Relaxed);
                self.struck.notify_one();
                if kill.after {
                    FaultAction::DropAfterWrite
                } else {
                    FaultAction::Unreachable
                }
            }
            _ => FaultAction::Pass,
        }
    }
}

/// Runs a small rollout with every kind of work to its end.
///
/// # Errors
/// If a rule is broken, or it does not come to an end.
pub async fn run(kill: Option<Kill>) -> anyhow::Result<End> {
    let scenario = Scenario::small();
    let fleet = Fleet::start(&scenario, 1).await?;
    let (server, clock) = (fleet.hub.clone(), fleet.clock.clone());
    let rules = Rules::new(fleet.spokes());
    let mut parts = JoinSet::new();
    parts.spawn(rules::watch(
        Access::memory(&server, "rules"),
        clock.clone(),
        rules.clone(),
    ));
    rules.set_inputs(HubInputs::read(&fleet.user, |_| None).await?, Timestamp::MIN);
    let killer = Arc::new(Killer {
        kill,
        writes: AtomicU64::new(0),
        dead: AtomicBool::new(false),
        struck: Notify::new(),
    });
    let strikes = Arc::clone(&killer);
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        strikes.verdict(asked)
    })));
    for (which, spec) in &scenario.upgrades {
        fleet.user.create(&UPGRADE, draw::upgrade(which, spec)).await?;
    }
    let mut hub = JoinSet::new();
    start(&mut hub, &server, &clock)?;
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        tokio::select! {
            () = killer.struck.notified() => {
                hub.shutdown().await;
                killer.dead.store(false, Ordering::Relaxed);
                start(&mut hub, &server, &clock)?;
                continue;
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        if let Some(broken) = rules.broken() {
            bail!("{broken}\n{}", rules.history());
        }
        let all = upgrades(&fleet).await?;
        let upgrade = all.first().context("there is an upgrade")?;
        let is_complete = upgrade
            .status
            .as_ref()
            .is_some_and(|status| is_true(status, "Complete"));
        if is_complete && rules.waits_for_work(upgrade, clock.now()).is_none() {
            if let Some(lost) = rules.lost() {
                bail!("{lost}\n{}", rules.history());
            }
            let facts = facts(&server, upgrade).await?;
            return Ok(End {
                facts,
                writes: killer.writes.load(Ordering::Relaxed),
            });
        }
        ensure!(
            tokio::time::Instant::now() < deadline,
            "it does not come to an end: {:#?}\n{}",
            upgrade.status,
            rules.history()
        );
    }
}

fn start(
    hub: &mut JoinSet<Result<(), drydock_hub::Error>>,
    server: &ApiServer,
    clock: &Clock,
) -> anyhow::Result<()> {
    let client = program_client(server, "replica")?;
    hub.spawn(drydock_hub::run(
        hub_settings(),
        client,
        clock.clone(),
        CancellationToken::new(),
    ));
    Ok(())
}

async fn facts(server: &ApiServer, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<Vec<String>> {
    let works = Access::memory(server, "rules")
        .list(&MANIFEST_WORK, &Selection::everything())
        .await?;
    let mut facts: Vec<String> = works
        .iter()
        .map(|work| {
            let (namespace, state) = (work.namespace().unwrap_or_default(), work.label(STATE_LABEL));
            format!("{namespace}/{}: {}", work.name(), state.unwrap_or("no state"))
        })
        .collect();
    let status = upgrade.status.clone().unwrap_or_default();
    facts.push(format!("{:?}", status.clusters_summery));
    facts.push(format!("{:?}", status.canary_clusters_summery));
    for condition in status.conditions.iter().flatten() {
        facts.push(format!(
            "{} {} {}",
            condition.type_, condition.status, condition.reason
        ));
    }
    facts.sort();
    Ok(facts)
}
