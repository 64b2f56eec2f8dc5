//! `kubectl drydock demo`: one object upgrades a simulated fleet, and the terminal shows it.

mod follow;
mod outcome;
mod sample;
mod screen;

use anyhow::{Context, bail};
use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_runtime::shutdown;
use jiff::{SignedDuration, Timestamp};
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use tokio_util::sync::CancellationToken;

use crate::arguments::{DemoArguments, Output};
use crate::progress::Fleet;
use crate::yard::Yard;
use follow::{Follower, Seen};
use outcome::Outcome;
use screen::Screen;

/// No rollout of the demo takes so long in virtual time: beyond, something hangs and the demo says so.
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
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the outcome is the command's result"
)]
pub async fn run(arguments: &DemoArguments) -> anyhow::Result<End> {
    let signal = shutdown::on_signals()?;
    let wall = Wall::start();
    let mut yard = Yard::start(&arguments.bed, arguments.pace()).await?;
    let served = if arguments.keep {
        Some(yard.serve().await?)
    } else {
        None
    };
    if let Some(served) = &served {
        eprintln!(
            "kubectl --kubeconfig {} get mcu -A -w",
            served.kubeconfig.display()
        );
    }
    let begun = yard.clock.now();
    let Some(fleet) = upgrade(&yard, arguments, &signal).await? else {
        yard.shut_down().await?;
        return Ok(End::Interrupted);
    };
    let outcome = Outcome::new(&fleet, begun, yard.clock.now(), wall.elapsed());
    match arguments.output {
        Output::Table => println!("{}", outcome.table()),
        Output::Json => println!("{}", outcome.json().context("writing the outcome as JSON")?),
    }
    if let Some(served) = &served {
        eprintln!(
            "still up: export KUBECONFIG={}; Ctrl-C ends it",
            served.kubeconfig.display()
        );
        // Whatever the pace was, from now on somebody looks.
        yard.hold(arguments.bed.pace());
        signal.cancelled().await;
    }
    yard.shut_down().await?;
    Ok(if outcome.complete() {
        End::Complete
    } else {
        End::Failed
    })
}

/// Applies the upgrade and follows it to its end; `None` if the user ended it before.
async fn upgrade(
    yard: &Yard,
    arguments: &DemoArguments,
    signal: &CancellationToken,
) -> anyhow::Result<Option<Fleet>> {
    let client = yard.client()?;
    let wanted = sample::upgrade(
        arguments.bed.clusters,
        arguments.canaries,
        arguments.max_concurrency,
    )?;
    let namespace = wanted.namespace().unwrap_or_else(|| "default".to_owned());
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(client.clone(), &namespace);
    let created = api
        .create(&PostParams::default(), &wanted)
        .await
        .context("creating the ManagedClustersUpgrade")?;
    let mut follower = Follower::start(client, &created)?;
    let names = sample::names(arguments.bed.clusters.get());
    let fleet = Fleet::new(
        names
            .iter()
            .enumerate()
            .map(|(index, name)| (ClusterName::from(name.as_str()), index < arguments.canaries)),
    );
    let mut watch = Watch {
        fleet,
        screen: Screen::new(names.len())?,
        begun: yard.clock.now(),
    };
    let mut frames = tokio::time::interval(FRAME * arguments.frame_scale());
    loop {
        tokio::select! {
            biased;
            () = signal.cancelled() => return Ok(None),
            seen = follower.next() => {
                let seen = seen.context("the demo's watches ended")?;
                if watch.take(seen, yard.clock.now()) {
                    break;
                }
            }
            _ = frames.tick() => watch.frame(yard.clock.now())?,
        }
    }
    watch.screen.clear();
    Ok(Some(watch.fleet))
}

/// The fleet on the screen.
struct Watch {
    fleet: Fleet,
    screen: Screen,
    begun: Timestamp,
}

impl Watch {
    /// Takes in what was seen; true when the rollout is over.
    fn take(&mut self, seen: Seen, now: Timestamp) -> bool {
        match seen {
            Seen::Work(cluster, work) => {
                let changed = self.fleet.saw_work(&cluster, &work);
                if let (true, Some(progress)) = (changed, self.fleet.get(&cluster)) {
                    self.screen
                        .changed(&cluster, progress, now.duration_since(self.begun));
                }
                false
            }
            Seen::Upgrade(upgrade) => {
                let Some(status) = &upgrade.status else {
                    return false;
                };
                self.fleet.saw_status(status);
                follow::is_over(&upgrade)
            }
            Seen::Event(text) => {
                self.screen.event(&text);
                false
            }
        }
    }

    fn frame(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let at = now.duration_since(self.begun);
        if at > LONGEST {
            bail!(
                "the rollout has not ended after {} h of virtual time",
                LONGEST.as_hours()
            );
        }
        self.screen.refresh(&self.fleet, at)
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
