//! `schedule skip`: one maintenance is left out, by an UpgradeSuspensionWindow that lasts just as long as it takes. Agent and original
//! both respect it, and whoever looks sees who left the maintenance out, and why.

use anyhow::{Context, bail};
use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use drydock_runtime::pages::list_all;
use drydock_schedule::config::{asked_by, outlook};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::arguments::SkipArguments;
use super::choice::Choice;
use super::cluster::{ObservedCluster, Scope};
use super::hits::{self, Hit};
use super::outlook::{current_job, has_started};
use super::target::Target;
use super::{times, write};
use crate::server::Server;
use crate::upgrades::table;

/// How many maintenances ahead one may be left out.
const MOST_AHEAD: usize = 1_000;

/// Leaves a maintenance out.
///
/// # Errors
/// If there is no such maintenance, it has started, others would be left out as well, or the server refuses.
pub async fn run(arguments: &SkipArguments) -> anyhow::Result<()> {
    let server = Server::connect(&arguments.connection).await?;
    let scope = Scope::Namespace(server.namespace.clone());
    let cluster = ObservedCluster::read(&server, scope, &arguments.local_zone.zone).await?;
    let config = cluster.config(&arguments.config)?;
    let skip = match Skip::of(&cluster, config, arguments)? {
        Found::Skip(skip) => *skip,
        Found::Already(said) => return table::print(&table::printable(&said)),
    };
    skip.check(arguments)?;
    skip.write(&server.client, arguments.dry_run).await?;
    let said = skip.said(arguments.dry_run);
    let said: Vec<String> = said.iter().map(|line| table::printable(line)).collect();
    table::print(&said.join("\n"))?;
    if arguments.dry_run {
        return Ok(());
    }
    skip.check_written(&server.client).await
}

/// What was found of the maintenance to leave out.
pub enum Found<'a> {
    /// It is left out anyway; in words.
    Already(String),
    /// How it is left out.
    Skip(Box<Skip<'a>>),
}

/// How a maintenance is left out.
pub struct Skip<'a> {
    config: &'a UpgradeConfig,
    target: Target<'a>,
    zone: TimeZone,
    choice: Choice,
    /// The window that leaves it out.
    pub window: UpgradeSuspensionWindow,
    /// What else is left out.
    others: Vec<Hit>,
    /// The maintenance after it.
    following: Option<Timestamp>,
}

impl<'a> Skip<'a> {
    /// Finds out how.
    ///
    /// # Errors
    /// If there is no such maintenance, or it has started.
    pub fn of(
        cluster: &'a ObservedCluster,
        config: &'a UpgradeConfig,
        arguments: &SkipArguments,
    ) -> anyhow::Result<Found<'a>> {
        if let Err(why) = &cluster.jobs {
            bail!(
                "UpgradeJobs cannot be read: {}",
                table::printable(&why.to_string())
            );
        }
        if let Err(why) = &cluster.windows {
            bail!(
                "UpgradeSuspensionWindows cannot be read: {}",
                table::printable(&why.to_string())
            );
        }
        if config.metadata.deletion_timestamp.is_some() {
            bail!(
                "UpgradeConfig {} is being deleted, and its UpgradeJobs with it",
                config.name_any()
            );
        }
        let observed = cluster.observed(config);
        let outlook = outlook(&observed, cluster.now, MOST_AHEAD)
            .with_context(|| format!("UpgradeConfig {} has no maintenance", config.name_any()))?;
        let zone = outlook.settings.calendar.location().clone();
        let current = current_job(cluster, config);
        let target = Target::find(&outlook, current, arguments.at, cluster.now)?;
        let start = target.start();
        let shown = times::shown(start, &zone);
        if let Some(by) = target.left_out_by(cluster, &outlook) {
            let name = config.name_any();
            return Ok(Found::Already(format!(
                "{name}: the maintenance at {shown} is left out already: {by}"
            )));
        }
        let object = match target {
            Target::Job(job) => &job.metadata,
            Target::Maintenance { .. } => &config.metadata,
        };
        let Some(choice) = Choice::of(object, arguments.label) else {
            bail!(
                "{} has no labels, and an UpgradeSuspensionWindow selects by labels: add --label, which sets {} on it",
                target.described(config),
                drydock_api::names::NAME_LABEL
            );
        };
        let following = outlook.maintenances.iter().map(|planned| planned.start);
        let following = following.into_iter().find(|next| *next > start);
        let window = target.window(config, following, &choice, &arguments.reason);
        let mut others = hits::of(cluster, &window);
        others.retain(|hit| hit.config != config.name_any() || hit.start != start);
        Ok(Found::Skip(Box::new(Self {
            config,
            target,
            zone,
            choice,
            window,
            others,
            following,
        })))
    }

    /// Others are not left out by mistake.
    pub fn check(&self, arguments: &SkipArguments) -> anyhow::Result<()> {
        if self.others.is_empty() || arguments.yes || arguments.dry_run {
            return Ok(());
        }
        bail!(
            "a window for {} leaves out others as well: {}. Give --yes if that is meant, or --label to select {} alone",
            self.choice.shown(),
            self.listed_others(),
            self.target.described(self.config)
        )
    }

    fn listed_others(&self) -> String {
        let others: Vec<String> = self.others.iter().map(ToString::to_string).collect();
        others.join(", ")
    }

    async fn write(&self, client: &Client, dry_run: bool) -> anyhow::Result<()> {
        if let Some((key, value)) = &self.choice.new_label {
            match self.target {
                Target::Job(job) => write::label(client, job, key, value, dry_run).await?,
                Target::Maintenance { .. } => write::label(client, self.config, key, value, dry_run).await?,
            }
        }
        write::create(client, &self.window, dry_run).await
    }

    /// An UpgradeJob that was created or has started while the window was written is not affected by it.
    async fn check_written(&self, client: &Client) -> anyhow::Result<()> {
        let namespace = self.config.namespace().unwrap_or_default();
        let api: Api<UpgradeJob> = Api::namespaced(client.clone(), &namespace);
        let jobs = list_all(&api, ListParams::default())
            .await
            .context("looking whether the UpgradeJob was created or has started meanwhile")?;
        let start = self.target.start();
        let mut of_start = asked_by(self.config, &jobs).filter(|job| job.spec.start_after.0 == start);
        match self.target {
            Target::Maintenance { .. } => match of_start.next() {
                Some(job) => bail!(
                    "UpgradeJob {} was created before the window was, which does not affect it: run the command again",
                    job.name_any()
                ),
                None => Ok(()),
            },
            Target::Job(_) => match of_start.find(|job| has_started(job)) {
                Some(job) => bail!(
                    "UpgradeJob {} started before the window was created, which does not affect it",
                    job.name_any()
                ),
                None => Ok(()),
            },
        }
    }

    /// What is done, for people.
    pub fn said(&self, dry_run: bool) -> Vec<String> {
        let shown = |time| times::shown(time, &self.zone);
        let (name, namespace) = (
            self.window.name_any(),
            self.window.namespace().unwrap_or_default(),
        );
        let spec = &self.window.spec;
        let (from, until) = (spec.start.0, spec.end.0);
        let (is, dry) = if dry_run {
            ("would be", " (dry run: nothing was written)")
        } else {
            ("is", "")
        };
        let mut lines = vec![format!(
            "{}: the maintenance at {} {is} left out{dry}",
            self.config.name_any(),
            shown(self.target.start())
        )];
        if let Some((key, value)) = &self.choice.new_label {
            lines.push(format!(
                "  label {key}={value} is set on {}",
                self.target.described(self.config)
            ));
        }
        let what = match self.target {
            Target::Job(job) => format!("when UpgradeJob {} would start", job.name_any()),
            Target::Maintenance { .. } => "when its UpgradeJob would be created".to_owned(),
        };
        lines.push(format!(
            "  UpgradeSuspensionWindow {name} selects {} from {from} until {until}, {what}",
            self.choice.shown()
        ));
        if !self.others.is_empty() {
            lines.push(format!("  also left out: {}", self.listed_others()));
        }
        if let Target::Maintenance { span, .. } = self.target
            && span.overlaps
        {
            lines.push(
                "  while another UpgradeJob runs until after that, the UpgradeJob may still be created afterwards, and by openshift-upgrade-controller in any case: maxSchedulingDelay reaches into the next maintenance"
                    .to_owned(),
            );
        }
        if let Some(following) = self.following {
            lines.push(format!("  the maintenance after it is at {}", shown(following)));
        }
        if !dry_run {
            lines.push(format!("Undo it before {}:", shown(from)));
            lines.push(format!(
                "  kubectl delete upgradesuspensionwindows.managedupgrade.appuio.io {name} -n {namespace}"
            ));
        }
        lines
    }
}
