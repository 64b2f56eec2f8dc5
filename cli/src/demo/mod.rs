//! `kubectl drydock demo`: one object upgrades a simulated fleet, and the terminal shows it.

mod outcome;
mod progress;
mod sample;
mod screen;

use std::io::IsTerminal;

use anyhow::{Context, bail};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_hub::LiveFleet;
use drydock_objects::{status, upgrade};
use drydock_rollout::UpgradeKey;
use drydock_runtime::shutdown;
use futures::{Stream, StreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio_util::sync::CancellationToken;

use crate::arguments::{DemoArguments, Output};
use crate::upgrades::table;
use crate::{dashboard, local_fleet};
use drydock_sandbox::local_fleet::{EPOCH, LocalFleet};
use outcome::DemoOutcome;
use progress::Progress;
use screen::Screen;

/// The longest that a rollout of the demo may take in virtual time: after it the demo reports that something hangs.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 30);
/// How often the bars move, in real time.
const FRAME: std::time::Duration = std::time::Duration::from_millis(100);

/// How a demo ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every cluster complete.
    Complete,
    /// At least one cluster failed, or the rollout stopped.
    Failed,
    /// The user ended it.
    Interrupted,
}

/// Runs the demo to its end and prints the outcome.
///
/// # Errors
/// If a part of the sandbox cannot start or stops early.
#[expect(clippy::print_stderr, reason = "standard output is for the result")]
pub async fn run(arguments: &DemoArguments) -> anyhow::Result<End> {
    let signal = shutdown::on_signals()?;
    let wall = Wall::start();
    let starting = async {
        let mut local = local_fleet::start(&arguments.env, arguments.pace(), EPOCH).await?;
        let page = dashboard::of_local_fleet(&mut local, &arguments.env, arguments.pace()).await?;
        let served = if arguments.keep {
            Some(local_fleet::serve(&mut local).await?)
        } else {
            None
        };
        anyhow::Ok((local, page, served))
    };
    let Some(started) = signal.run_until_cancelled(Box::pin(starting)).await else {
        return Ok(End::Interrupted);
    };
    let (mut local, page, served) = started?;
    if let Some(served) = &served {
        eprintln!(
            "kubectl --kubeconfig {} get mcu -A -w",
            served.kubeconfig.display()
        );
    }
    let begun = local.clock.now();
    let Some(progress) = follow(&mut local, arguments, &signal).await? else {
        local.shut_down().await?;
        return Ok(End::Interrupted);
    };
    let outcome = DemoOutcome::new(progress.clusters(), begun, local.clock.now(), wall.elapsed());
    match arguments.output {
        Output::Table => table::print(&outcome.table(rows()))?,
        Output::Json => table::print(&outcome.json().context("writing the outcome as JSON")?)?,
    }
    if let Some(served) = &served {
        eprintln!(
            "still up: export KUBECONFIG={}; Ctrl-C ends it",
            served.kubeconfig.display()
        );
        // Whatever the pace was, from now on somebody looks.
        local.keep_pace(arguments.env.pace());
        signal.cancelled().await;
    } else if page.is_some_and(|page| page.viewers() > 0) {
        eprintln!("the fleet page is open and stays up; Ctrl-C ends it");
        local.keep_pace(arguments.env.pace());
        signal.cancelled().await;
    }
    local.shut_down().await?;
    Ok(if outcome.complete() {
        End::Complete
    } else {
        End::Failed
    })
}

/// How many clusters the last table names: as many as there are, unless a person reads it.
fn rows() -> usize {
    const ON_A_TERMINAL: usize = 40;
    if std::io::stdout().is_terminal() {
        ON_A_TERMINAL
    } else {
        usize::MAX
    }
}

/// Applies the upgrade and follows it to its end; `None` if the user ended it before.
async fn follow(
    local: &mut LocalFleet,
    arguments: &DemoArguments,
    signal: &CancellationToken,
) -> anyhow::Result<Option<Progress>> {
    let clusters = arguments.env.clusters.get();
    let live = local.watch(local_fleet::unattended_pace(clusters))?;
    let client = local.client("kubectl-drydock")?;
    let wanted = sample::upgrade(
        arguments.env.clusters,
        arguments.canaries,
        arguments.max_concurrency,
    )?;
    let namespace = wanted.namespace().unwrap_or_else(|| "default".to_owned());
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), &namespace);
    let created = api
        .create(&PostParams::default(), &wanted)
        .await
        .context("creating the ManagedClustersUpgrade")?;
    let mut watch = Watch {
        key: upgrade::key(&created),
        progress: Progress::default(),
        screen: Screen::new(clusters)?,
        begun: local.clock.now(),
        fleet: live.clone(),
    };
    let mut changes = std::pin::pin!(live.changes());
    let mut events = std::pin::pin!(events(client, &created));
    let mut frames = tokio::time::interval(FRAME * arguments.frame_scale());
    loop {
        tokio::select! {
            biased;
            () = signal.cancelled() => return Ok(None),
            Some(event) = events.next() => watch.screen.event(&event),
            Some(()) = changes.next() => {
                if watch.look(local.clock.now()) {
                    break;
                }
            }
            _ = frames.tick() => watch.frame(local.clock.now())?,
        }
    }
    watch.screen.clear();
    Ok(Some(watch.progress))
}

/// What the hub reports about an upgrade.
fn events(client: Client, upgrade: &ManagedClustersUpgrade) -> impl Stream<Item = String> + use<> {
    let about = watcher::Config::default().fields(&format!("involvedObject.name={}", upgrade.name_any()));
    let api: Api<Event> = Api::namespaced(client, &upgrade.namespace().unwrap_or_default());
    let events = watcher(api, about).default_backoff().applied_objects();
    events.filter_map(|event| std::future::ready(event.ok().and_then(|event| event.message)))
}

/// The fleet on the screen.
struct Watch {
    key: UpgradeKey,
    fleet: LiveFleet,
    progress: Progress,
    screen: Screen,
    begun: Timestamp,
}

impl Watch {
    /// Shows what is new; true when the rollout is over.
    fn look(&mut self, now: Timestamp) -> bool {
        let Some((_, clusters)) = self.fleet.look(&self.key) else {
            return false;
        };
        for changed in self.progress.update(clusters) {
            self.screen.changed(changed, now.duration_since(self.begun));
        }
        let upgrade = self.fleet.upgrade(&self.key);
        upgrade.is_some_and(|upgrade| status::is_over(&upgrade))
    }

    fn frame(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let at = now.duration_since(self.begun);
        if at > LONGEST {
            bail!(
                "the rollout has not ended after {} h of virtual time",
                LONGEST.as_hours()
            );
        }
        self.screen.refresh(&self.progress, at)
    }
}

/// Real time, for the one figure that is about the machine.
struct Wall(std::time::Instant);

impl Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "the wall duration is what the user waited for"
    )]
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}
