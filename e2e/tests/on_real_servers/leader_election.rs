//! Two replicas of the hub as processes on a real API server: one is killed, another is stopped past its lease and resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::names::{KIND_LABEL, WorkKind};
use drydock_api::ocm::ManifestWork;
use drydock_e2e::fleet;
use drydock_e2e::process::Process;
use drydock_e2e::real::RealFleet;
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;

const HOURS: Duration = Duration::from_hours(1);

/// Waits until this replica holds the lease.
async fn leads(hub: &Client, replica: &str) {
    let leases: Api<Lease> = Api::namespaced(hub.clone(), "drydock");
    let deadline = Instant::now() + 24 * HOURS;
    loop {
        let lease = leases.get_opt("drydock-hub").await.unwrap();
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        if holder.as_deref() == Some(replica) {
            return;
        }
        assert!(Instant::now() < deadline, "{replica} does not lead: {holder:?}");
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
}

/// Waits until a process has ended by itself.
async fn ends(process: &mut Process) -> String {
    let deadline = Instant::now() + 24 * HOURS;
    loop {
        if let Some(status) = process.ended() {
            assert!(!status.success(), "it lost its lease");
            return process.log();
        }
        assert!(Instant::now() < deadline, "it continues:\n{}", process.log_end());
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
}

async fn complete_clusters(hub: &Client, count: i64) {
    fleet::until(hub, "clusters complete", 48 * HOURS, |upgrade| {
        let summary = upgrade.status.as_ref().and_then(|status| status.clusters_summery);
        summary.is_some_and(|summary| summary.complete >= count)
    })
    .await
    .unwrap();
}

/// The works that were ever made for clusters' upgrades.
#[derive(Clone, Default)]
struct Made(Arc<Mutex<BTreeSet<(String, String)>>>);

impl Made {
    /// Notes them from now on.
    fn of(hub: &Client) -> Self {
        let made = Self::default();
        let (noted, works) = (made.clone(), Api::<ManifestWork>::all(hub.clone()));
        let settings =
            watcher::Config::default().labels(&format!("{KIND_LABEL}={}", WorkKind::Cluster.as_str()));
        tokio::spawn(async move {
            let mut works = std::pin::pin!(watcher(works, settings).default_backoff().applied_objects());
            while let Some(work) = works.next().await {
                if let Ok(work) = work {
                    let cluster = work.namespace().unwrap_or_default();
                    noted
                        .0
                        .lock()
                        .unwrap()
                        .insert((cluster, work.uid().unwrap_or_default()));
                }
            }
        });
        made
    }

    /// How many of them, by cluster.
    fn upgrades(&self) -> BTreeMap<String, usize> {
        let mut upgrades = BTreeMap::new();
        for (cluster, _) in self.0.lock().unwrap().iter() {
            *upgrades.entry(cluster.clone()).or_default() += 1;
        }
        upgrades
    }
}

/// How often Events report that a cluster was started.
async fn reported_starts(hub: &Client) -> BTreeMap<String, i32> {
    let mut starts: BTreeMap<String, i32> = BTreeMap::new();
    let events: Api<Event> = Api::namespaced(hub.clone(), "default");
    for event in events.list(&ListParams::default().limit(500)).await.unwrap() {
        if event.reason.as_deref() == Some("ClusterStarted") {
            let cluster = event.related.unwrap().name.unwrap();
            let times = event.series.and_then(|series| series.count).unwrap_or(1);
            *starts.entry(cluster).or_default() += times;
        }
    }
    starts
}

#[tokio::test]
async fn a_killed_and_a_stopped_leader_are_followed_and_no_cluster_starts_twice() {
    let mut settings = fleet::three_clusters(5);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    let mut upgrade = fleet::upgrade(&settings.clusters).unwrap();
    // One after the other, so that there is something to start after each change.
    let strategy = upgrade.spec.upgrade_strategy.as_mut().unwrap();
    strategy.max_concurrency = Some(1.into());
    let real = RealFleet::start(settings).await.unwrap();
    let hub = real.user().await.unwrap();
    let made = Made::of(&hub);
    let mut first = real.start_replica("replica-a").unwrap();
    leads(&hub, "replica-a").await;
    let mut second = real.start_replica("replica-b").unwrap();
    fleet::start(&hub, &upgrade).await.unwrap();
    fleet::until(&hub, "started", 24 * HOURS, |upgrade| {
        fleet::is_true(upgrade, "InProgress")
    })
    .await
    .unwrap();
    first.kill();
    leads(&hub, "replica-b").await;
    complete_clusters(&hub, 1).await;

    let third = real.start_replica("replica-c").unwrap();
    second.signal("STOP").unwrap();
    leads(&hub, "replica-c").await;
    second.signal("CONT").unwrap();
    let log = ends(&mut second).await;
    assert!(log.contains("the lease drydock/drydock-hub"), "{log}");
    complete_clusters(&hub, 3).await;
    leads(&hub, "replica-c").await;

    let once = |names: &[&str]| -> BTreeMap<String, usize> {
        names.iter().map(|name| ((*name).to_owned(), 1)).collect()
    };
    assert_eq!(
        made.upgrades(),
        once(&["dev1", "dev2", "dev3"]),
        "{}",
        third.log_end()
    );
    // Of what the first two did an Event may be missing, because they were killed and stopped; the third one's is there.
    let starts = reported_starts(&hub).await;
    assert!(starts.values().all(|times| *times == 1), "{starts:?}");
    assert_eq!(starts.get("dev3"), Some(&1), "{starts:?}\n{}", third.log_end());
    drop(third);
    real.shut_down().await;
}
