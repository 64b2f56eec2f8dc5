//! The local fleet that the demo's and the sandbox's arguments ask for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use drydock_api::ClusterName;
use drydock_sandbox::local_fleet::{LocalFleet, LocalFleetSettings};
use drydock_sandbox::test_env::TestEnvSettings;
use jiff::Timestamp;
use kube_sandbox::pace::Pace;
use openshift_sandbox::cluster::Fault;
use tempfile::TempDir;

use crate::arguments::TestEnvArguments;
use crate::kubeconfig;

/// Starts the clusters that were asked for with an agent on each that has one, and the hub controller; virtual time begins at `epoch`.
///
/// # Errors
/// If a fault names a cluster that is not there, or a part cannot start.
pub async fn start(arguments: &TestEnvArguments, pace: Pace, epoch: Timestamp) -> anyhow::Result<LocalFleet> {
    let settings = LocalFleetSettings {
        epoch,
        ..LocalFleetSettings::new(settings(arguments)?)
    };
    let clusters = settings.env.clusters.len();
    let mut fleet = LocalFleet::start(settings)
        .await
        .context("starting the sandbox")?;
    fleet
        .start_hub(drydock_hub::Settings {
            pace: match pace {
                Pace::AsFastAsPossible => unattended_pace(clusters),
                Pace::Scaled(_) => drydock_hub::Pace::default(),
            },
            ..drydock_hub::Settings::default()
        })
        .context("starting the hub controller")?;
    fleet.keep_pace(pace);
    Ok(fleet)
}

/// A local fleet that listens for kubectl.
pub struct Served {
    /// The path of the kubeconfig.
    pub kubeconfig: PathBuf,
    /// Where the update graph is.
    pub update_graph: String,
    /// Where the clusters' Prometheus and Alertmanager are, each below its name.
    pub monitoring: String,
    _folder: TempDir,
}

/// Lets kubectl in, and writes the kubeconfig for it.
///
/// # Errors
/// If a port or the kubeconfig cannot be had.
pub async fn serve(fleet: &mut LocalFleet) -> anyhow::Result<Served> {
    let addresses = fleet.serve().await.context("letting kubectl in")?;
    let folder = tempfile::Builder::new()
        .prefix("drydock-")
        .tempdir()
        .context("making a folder for the kubeconfig")?;
    Ok(Served {
        kubeconfig: kubeconfig::write(folder.path(), &addresses)?,
        update_graph: addresses.update_graph,
        monitoring: addresses.monitoring,
        _folder: folder,
    })
}

/// The demo's fleet with these faults.
fn settings(arguments: &TestEnvArguments) -> anyhow::Result<TestEnvSettings> {
    let mut settings = TestEnvSettings::demo(arguments.clusters.get(), arguments.seed);
    let mut faults: BTreeMap<&ClusterName, Vec<Fault>> = BTreeMap::new();
    for given in &arguments.faults {
        faults.entry(&given.cluster).or_default().push(given.fault);
    }
    for (name, faults) in faults {
        let Some(cluster) = settings
            .clusters
            .iter_mut()
            .find(|cluster| cluster.name == name.as_str())
        else {
            bail!(
                "--fault {name}=…: there is no such cluster; they are {}",
                range(arguments.clusters)
            );
        };
        cluster.faults.extend(faults);
    }
    Ok(settings)
}

fn range(clusters: NonZeroUsize) -> String {
    if clusters.get() == 1 {
        "dev1".to_owned()
    } else {
        format!("dev1 to dev{clusters}")
    }
}

/// The pace of a fleet that nobody waits for: a hundred clusters a second, because each look writes a status. That is how much later than
/// on duty one cluster may follow another.
pub fn unattended_pace(clusters: usize) -> drydock_hub::Pace {
    let seconds = u64::try_from(clusters / 100).unwrap_or(u64::MAX).max(1);
    drydock_hub::Pace(std::time::Duration::from_secs(seconds))
}
