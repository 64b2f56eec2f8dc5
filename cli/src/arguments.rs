//! The command line, parsed once into what the commands need.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use drydock_api::ClusterName;
use openshift_sandbox::cluster::Fault;

use kube_sandbox::pace::Pace;

use crate::cluster::{self, ClusterArguments};
use crate::completion::{CompletionArguments, Words};
use crate::dashboard::{self, DashboardArguments};
use crate::plan::PlanArguments;
use crate::schedule::{self, ScheduleArguments};
use crate::upgrades;

/// Upgrades fleets of OpenShift-style clusters from one place, safely.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-drydock",
    bin_name = "kubectl drydock",
    version,
    propagate_version = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Upgrade a simulated fleet and watch it: no cluster needed
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArguments),
    /// Start a hub and simulated clusters for your own kubectl, and wait
    #[command(after_help = SANDBOX_EXAMPLES)]
    Sandbox(SandboxArguments),
    /// Open a page in the browser that shows the fleet and its upgrades, and acts with your own rights
    #[command(after_help = dashboard::EXAMPLES)]
    Dashboard(DashboardArguments),
    /// Forecast an upgrade on the fleet as it is: when it ends, what may stop it, what it waits for, and what does not start
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArguments),
    /// Show how the update of one cluster proceeds, and which updates it may have, as `oc adm upgrade` does
    #[command(after_help = cluster::arguments::EXAMPLES)]
    Cluster(ClusterArguments),
    /// Show the maintenance schedules of a cluster: when each runs next and what would come of it; leave a maintenance out, or start one
    #[command(after_help = schedule::arguments::EXAMPLES)]
    Schedule(ScheduleArguments),
    /// Print a completion script for a shell or for kubectl
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completion(CompletionArguments),
    /// Answers kubectl, which completes a command line.
    #[command(name = "__complete", hide = true)]
    Complete(Words),
    /// What is done to the upgrades of a hub.
    #[command(flatten)]
    Upgrades(upgrades::Command),
}

const DEMO_EXAMPLES: &str = "\
Examples:
  # twelve clusters, one canary, three at a time
  kubectl drydock demo

  # a larger fleet, without waiting
  kubectl drydock demo --clusters 50 --canaries 2 --max-concurrency 10 --as-fast-as-possible

  # dev3 gets a cluster operator that becomes unavailable, dev5 a release that cannot be verified
  kubectl drydock demo --fault dev3=F2 --fault dev5=F5

  # for a script
  kubectl drydock demo --as-fast-as-possible --output json";

const SANDBOX_EXAMPLES: &str = "\
Examples:
  # five clusters; the first line printed is the path of a kubeconfig
  kubectl drydock sandbox --clusters 5

  # a page in the browser that shows the fleet
  kubectl drydock sandbox --dashboard

  # then, in another terminal
  export KUBECONFIG=<that path>
  kubectl get managedclusters
  kubectl apply -f manifests/samples/
  kubectl get mcu -w";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  # kubectl completes `kubectl drydock …` where it completes its own commands
  kubectl drydock completion kubectl > ~/bin/kubectl_complete-drydock
  chmod +x ~/bin/kubectl_complete-drydock

  # bash completes `kubectl-drydock …`
  source <(kubectl-drydock completion bash)";

const PLAN_EXAMPLES: &str = "\
Examples:
  # what applying this file would do; nothing is written
  kubectl drydock plan -f spring.yaml

  # an upgrade of the hub, from where it is; every cluster by itself
  kubectl drydock plan spring --clusters

  # how many clusters at a time it takes to be done by Monday morning, in 95 of 100 cases
  kubectl drydock plan -f spring.yaml --finish-by '2026-12-07T06:00[Europe/Berlin]' --confidence 0.95

  # strategies beside each other
  kubectl drydock plan -f spring.yaml --sweep maxConcurrency=10,50,10% --sweep soakTime=1h,24h
  kubectl drydock plan -f spring.yaml --sweep startWindows=nights.yaml,weekends.yaml

  # two specs beside each other
  kubectl drydock plan -f spring.yaml --compare bold.yaml

  # if 2 of 100 upgrades failed, or none; clusters of one site alike
  kubectl drydock plan -f spring.yaml --failure-rate 2% --group-by site
  kubectl drydock plan -f spring.yaml --no-failures

  # for a script: the exit code is 1 if the rollout completes in fewer than 9 of 10 runs
  kubectl drydock plan -f spring.yaml --runs 1000 --seed 7 -o json";

/// Flags of `demo`.
#[derive(Args, Debug)]
pub struct DemoArguments {
    /// The test environment the demo runs on.
    #[command(flatten)]
    pub env: TestEnvArguments,
    /// Clusters that go first: dev1, dev2, …
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub canaries: usize,
    /// Clusters in flight at the same time
    #[arg(long, default_value = "3", value_name = "N")]
    pub max_concurrency: NonZeroUsize,
    /// Do not slow virtual time down; the hub then processes at most a hundred clusters per virtual second
    #[arg(long, conflicts_with = "speed")]
    pub as_fast_as_possible: bool,
    /// What to print at the end
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Stay up after the end, for kubectl, until Ctrl-C
    #[arg(long)]
    pub keep: bool,
}

impl DemoArguments {
    /// How fast virtual time goes.
    pub fn pace(&self) -> Pace {
        if self.as_fast_as_possible {
            Pace::AsFastAsPossible
        } else {
            self.env.pace()
        }
    }

    /// How many virtual seconds pass while a frame is shown for one real second.
    pub fn frame_scale(&self) -> u32 {
        self.env.speed.get()
    }
}

/// Flags of `sandbox`.
#[derive(Args, Debug)]
pub struct SandboxArguments {
    /// The test environment to start.
    #[command(flatten)]
    pub env: TestEnvArguments,
}

/// Flags that say what test environment to make.
#[derive(Args, Debug)]
pub struct TestEnvArguments {
    /// Simulated clusters: dev1, dev2, …
    #[arg(long, default_value = "12", value_name = "N")]
    pub clusters: NonZeroUsize,
    /// The same seed gives the same run
    #[arg(long, default_value_t = 1, value_name = "S")]
    pub seed: u64,
    /// Virtual seconds per real second
    #[arg(long, default_value = "600", value_name = "X")]
    pub speed: NonZeroU32,
    /// Failure mode of a simulated cluster, such as dev3=F2 (docs/sandbox.md lists the modes); repeatable
    #[arg(long = "fault", value_name = "CLUSTER=MODE")]
    pub faults: Vec<ClusterFault>,
    /// Serve the fleet page, and print the link to it first
    #[arg(long)]
    pub dashboard: bool,
}

impl TestEnvArguments {
    /// How fast virtual time goes.
    pub fn pace(&self) -> Pace {
        Pace::Scaled(self.speed)
    }
}

/// What `demo` prints at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// One JSON object.
    Json,
}

/// `CLUSTER=MODE`: a cluster and the failure mode it gets.
#[derive(Clone, Debug)]
pub struct ClusterFault {
    /// The cluster.
    pub cluster: ClusterName,
    /// Its failure mode.
    pub fault: Fault,
}

impl FromStr for ClusterFault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (cluster, mode) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not CLUSTER=MODE, as in dev3=F2"))?;
        Ok(Self {
            cluster: ClusterName::from(cluster),
            fault: mode
                .parse()
                .map_err(|error| format!("the failure mode: {error}"))?,
        })
    }
}

#[cfg(test)]
mod docs;

/// Why somebody accepts something.
///
/// # Errors
/// If it says nothing, or is too long to be kept.
pub fn reason(text: &str) -> Result<String, String> {
    const LONGEST: usize = 1024;
    if text.trim().is_empty() || text.chars().count() > LONGEST {
        return Err(format!(
            "a reason has between 1 and {LONGEST} characters that say something"
        ));
    }
    Ok(text.to_owned())
}
