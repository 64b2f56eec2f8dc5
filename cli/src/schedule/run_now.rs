//! `schedule run-now`: a maintenance beside the schedule, by an UpgradeJob from the template of an UpgradeConfig. The schedule does not see it
//! (see [`manual_job`]): its maintenances come as they would have come, and wait for the lock of the cluster if this one still runs.

use anyhow::{Context, bail};
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::{DesiredVersion, UpgradeConfig, UpgradeJob};
use drydock_schedule::config::{LeftOut, Settings, asked_by, manual_job, outlook};
use drydock_schedule::job::lock::{self, LockState};
use drydock_schedule::job::simulation::{Outcome, Simulation, simulate};
use drydock_schedule::suspension::{Affects, Suspensions};
use drydock_schedule::version;
use jiff::Timestamp;
use kube::ResourceExt;

use super::arguments::RunNowArguments;
use super::cluster::{ObservedCluster, Scope};
use super::outlook::has_ended;
use super::would::Would;
use super::{times, versions, write};
use crate::server::Server;
use crate::upgrades::table::{self, printable};

/// Starts a maintenance.
///
/// # Errors
/// If another UpgradeJob of the UpgradeConfig has not ended, another upgrade has the lock of the cluster, a suspension is in force, the version is
/// not available, or the server refuses.
pub async fn run(arguments: &RunNowArguments) -> anyhow::Result<()> {
    let server = Server::connect(&arguments.connection).await?;
    let scope = Scope::Namespace(server.namespace.clone());
    let cluster = ObservedCluster::read(&server, scope, &arguments.local_zone.zone).await?;
    let config = cluster.config(&arguments.config)?;
    let manual = Manual::of(&cluster, config, arguments)?;
    write::create(&server.client, &manual.job, arguments.dry_run).await?;
    let said = manual.said(&cluster, config, arguments.dry_run);
    let said: Vec<String> = said.iter().map(|line| printable(line)).collect();
    table::print(&said.join("\n"))
}

/// A maintenance beside the schedule.
pub struct Manual {
    /// Its UpgradeJob.
    pub job: UpgradeJob,
    settings: Settings,
    simulation: Simulation,
}

impl Manual {
    /// Prepares it.
    ///
    /// # Errors
    /// If it must not start.
    pub fn of(
        cluster: &ObservedCluster,
        config: &UpgradeConfig,
        arguments: &RunNowArguments,
    ) -> anyhow::Result<Self> {
        let name = config.name_any();
        if config.metadata.deletion_timestamp.is_some() {
            bail!("UpgradeConfig {name} is being deleted, and its UpgradeJobs with it");
        }
        let settings = Settings::parse(&config.spec, &cluster.local_zone)
            .with_context(|| format!("UpgradeConfig {name} must be corrected first"))?;
        no_other_job(cluster, config)?;
        let version = release(cluster, arguments.version.as_deref())?;
        let start = start(cluster.now, arguments)?;
        let job = manual_job(config, &settings, start, version);
        if job.spec.start_before.0 <= cluster.now {
            bail!(
                "maxUpgradeStartDelay of {name} is 0: an UpgradeJob could not start in time; add --start-in 1m"
            );
        }
        not_suspended(cluster, config, &job, &settings, arguments.ignore_suspension)?;
        not_locked(cluster, &job)?;
        let simulation = simulate(cluster.observe(job.clone(), cluster.now.max(start)));
        Ok(Self {
            job,
            settings,
            simulation,
        })
    }

    /// What is done, for people.
    pub fn said(&self, cluster: &ObservedCluster, config: &UpgradeConfig, dry_run: bool) -> Vec<String> {
        let zone = self.settings.calendar.location();
        let spec = &self.job.spec;
        let (name, namespace) = (self.job.name_any(), self.job.namespace().unwrap_or_default());
        let (is, dry) = if dry_run {
            ("would be", " (dry run: nothing was written)")
        } else {
            ("is", "")
        };
        let what = spec.desired_version.as_ref().map_or(
            "runs hooks only, as no update is available".to_owned(),
            |release| format!("upgrades to {}", versions::name(release)),
        );
        let mut lines = vec![
            format!("UpgradeJob {name} {is} created in {namespace}{dry}"),
            format!(
                "  it {what}; starts at {}, or until {}",
                times::shown(spec.start_after.0, zone),
                times::shown(spec.start_before.0, zone)
            ),
            format!("  as things are, it would {}", self.would()),
        ];
        if !self.simulation.hooks.is_empty() {
            let hooks: Vec<&str> = self.simulation.hooks.iter().map(String::as_str).collect();
            lines.push(format!("  hooks before that: {}", hooks.join(", ")));
        }
        if let Some(next) = next_of_schedule(cluster, config) {
            lines.push(format!(
                "  the schedule goes on as before, with the maintenance at {}",
                times::shown(next, zone)
            ));
        }
        if !dry_run {
            lines.push("Watch it:".to_owned());
            lines.push(format!(
                "  kubectl get upgradejobs.managedupgrade.appuio.io {name} -n {namespace} -w"
            ));
            lines.push(format!(
                "  kubectl drydock schedule --explain {} -n {namespace}",
                config.name_any()
            ));
        }
        lines
    }

    fn would(&self) -> String {
        if let Outcome::AsksFor(release) = &self.simulation.outcome {
            return format!("ask the cluster for {}", versions::name(release));
        }
        let has_none = self.job.spec.desired_version.is_none();
        Would::simulated(&self.simulation, has_none.then_some("no update is available")).to_string()
    }
}

fn start(now: Timestamp, arguments: &RunNowArguments) -> anyhow::Result<Timestamp> {
    let start = now
        .checked_add(arguments.start_in)
        .context("adding --start-in to the present")?;
    // On the wire times have whole seconds.
    Timestamp::from_second(start.as_second()).context("rounding the start to seconds")
}

/// There is at most one UpgradeJob of an UpgradeConfig that has not ended, whoever has created it.
fn no_other_job(cluster: &ObservedCluster, config: &UpgradeConfig) -> anyhow::Result<()> {
    let jobs = match &cluster.jobs {
        Ok(jobs) => jobs,
        Err(why) => bail!("UpgradeJobs cannot be read: {}", printable(&why.to_string())),
    };
    if let Some(job) = asked_by(config, jobs).find(|job| !has_ended(job)) {
        bail!(
            "UpgradeJob {} of {} has not ended (it starts at {}): wait for its end, or see kubectl drydock schedule --explain {} -n {}",
            job.name_any(),
            config.name_any(),
            job.spec.start_after.0,
            config.name_any(),
            config.namespace().unwrap_or_default()
        );
    }
    Ok(())
}

/// The release: as the schedule would pin it, or the one that is wanted, if it is available.
fn release(cluster: &ObservedCluster, wanted: Option<&str>) -> anyhow::Result<Option<DesiredVersion>> {
    let cluster_version = cluster_version(cluster)?;
    let available = cluster.available_updates().unwrap_or_default();
    let Some(wanted) = wanted else {
        return Ok(version::highest(available));
    };
    let found = available.iter().find(|release| versions::of(release) == wanted);
    if let Some(found) = found {
        return Ok(Some(version::pinned(found)));
    }
    let status = cluster_version.status.iter();
    let mut conditional = status.flat_map(|status| &status.conditional_updates);
    if let Some(update) = conditional.find(|update| versions::of(&update.release) == wanted) {
        bail!("{}", printable(&versions::conditional(update)));
    }
    let names: Vec<&str> = version::ordered(available)
        .into_iter()
        .map(versions::of)
        .collect();
    let names = if names.is_empty() {
        "nothing is".to_owned()
    } else {
        format!("these are: {}", names.join(", "))
    };
    bail!("{wanted} is not available for the cluster; {}", printable(&names))
}

fn cluster_version(cluster: &ObservedCluster) -> anyhow::Result<&ClusterVersion> {
    match &cluster.cluster_version {
        Ok(version) if version.status.is_some() => Ok(version),
        Ok(_) => bail!("ClusterVersion has no status: which updates are available is not known"),
        Err(why) => bail!("ClusterVersion cannot be read: {}", printable(&why.to_string())),
    }
}

/// Neither is the schedule suspended, now or at the start, unless that does not matter; nor would the UpgradeJob be skipped.
fn not_suspended(
    cluster: &ObservedCluster,
    config: &UpgradeConfig,
    job: &UpgradeJob,
    settings: &Settings,
    ignores: bool,
) -> anyhow::Result<()> {
    let windows = match &cluster.windows {
        Ok(windows) => windows,
        Err(why) => bail!(
            "UpgradeSuspensionWindows cannot be read: {}",
            printable(&why.to_string())
        ),
    };
    let start = job.spec.start_after.0;
    if let Some(window) = Suspensions::of(&job.metadata, Affects::Jobs, windows).at(cluster.now.max(start)) {
        bail!(
            "the UpgradeJob would be skipped: {}. Start it later (--start-in), or delete the window",
            printable(&window.to_string())
        );
    }
    if ignores {
        return Ok(());
    }
    let of_config = Suspensions::of(&config.metadata, Affects::Configs, windows);
    let window = of_config.at(cluster.now).or_else(|| of_config.at(start));
    let by = if settings.suspend {
        Some(LeftOut::BySchedule)
    } else {
        window.map(LeftOut::ByWindow)
    };
    match by {
        Some(by) => bail!(
            "maintenances of {} are left out: {}. Add --ignore-suspension to start one nevertheless",
            config.name_any(),
            printable(&by.to_string())
        ),
        None => Ok(()),
    }
}

/// No other upgrade has the lock of the cluster.
fn not_locked(cluster: &ObservedCluster, job: &UpgradeJob) -> anyhow::Result<()> {
    let version = cluster_version(cluster)?;
    match lock::assess(version, &lock::key(job), &cluster.holder) {
        LockState::Free | LockState::Ours | LockState::Stale(_) => Ok(()),
        LockState::Held(by) => bail!(
            "the cluster is being upgraded: {} has its lock; wait until that has ended",
            printable(&by)
        ),
        LockState::Ask(holder) => bail!(
            "the cluster is being upgraded: UpgradeJob {} has its lock, and what has become of it is not known",
            printable(&holder.to_string())
        ),
    }
}

fn next_of_schedule(cluster: &ObservedCluster, config: &UpgradeConfig) -> Option<Timestamp> {
    let outlook = outlook(&cluster.observed(config), cluster.now, 1).ok()?;
    Some(outlook.maintenances.first()?.start)
}
