//! Two replicas of the hub: one acts, and another takes over when it is gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_hub::Settings;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::leader::{Election, Leadership, LeaseSettings, leader_only_writes};
use kube::Client;
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Verb};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

/// One replica, by the name that its requests have.
struct Replica {
    task: JoinHandle<Result<(), drydock_hub::Error>>,
    stop: CancellationToken,
    leadership: Leadership,
}

fn metrics() -> RequestMetrics {
    RequestMetrics::register(&prometheus::Registry::new()).unwrap()
}

impl Replica {
    fn start(fleet: &LocalFleet, name: &str) -> Self {
        let server = fleet.hub_server().unwrap();
        let (leadership, stop) = (Leadership::default(), CancellationToken::new());
        let own: Client = client::from_service(server.service(name), "default", &metrics());
        let lease = LeaseSettings::new("default", "drydock-hub", name);
        let election = Election::new(own, lease, fleet.clock.clone(), leadership.clone());
        let transport = leader_only_writes(server.service(name), leadership.clone());
        let guarded = client::from_service(transport, "default", &metrics());
        let settings = Settings {
            election: Some(Arc::new(election)),
            ..Settings::default()
        };
        let run = drydock_hub::run(settings, guarded, fleet.clock.clone(), stop.clone());
        Self {
            task: tokio::spawn(run),
            stop,
            leadership,
        }
    }

    async fn leads(&self) {
        while !self.leadership.holds() {
            tokio::time::sleep(SECOND).await;
        }
    }
}

/// Writes that were served: when, by whom, what.
type Writes = Arc<Mutex<Vec<(Instant, String, String)>>>;

/// Notes what the replicas write; `cut` says whose requests do not come through.
fn watch(server: &ApiServer, cut: impl Fn(&str) -> bool + Send + Sync + 'static) -> Writes {
    let writes = Writes::default();
    let seen = Arc::clone(&writes);
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        let who = asked.identity.name();
        if cut(who) {
            return FaultAction::Unreachable;
        }
        let reads = matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch);
        if who.starts_with("replica") && !reads {
            let kind = asked.kind.map_or("", |kind| kind.kind.as_str());
            let what = format!(
                "{:?} {kind} {}/{}",
                asked.verb,
                asked.namespace.unwrap_or(""),
                asked.name
            );
            seen.lock().unwrap().push((Instant::now(), who.to_owned(), what));
        }
        FaultAction::Pass
    })));
    writes
}

/// Begins an upgrade of three clusters and waits until one is on its way.
async fn begin(fleet: &LocalFleet) -> Client {
    let hub = fleet.user().unwrap();
    let settings = fleet::three_clusters(9);
    fleet::start(&hub, &fleet::upgrade(&settings.clusters).unwrap())
        .await
        .unwrap();
    fleet::until(&hub, "started", HOUR, |upgrade| {
        fleet::is_true(upgrade, "InProgress")
    })
    .await
    .unwrap();
    hub
}

async fn complete(hub: &Client) {
    let done = fleet::until(hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
}

/// Each cluster got its three works (before, upgrade, after), each once, whoever made it.
fn each_work_was_made_once(writes: &Writes) {
    let writes = writes.lock().unwrap();
    let made = |cluster: &str| {
        let what = format!("Create ManifestWork {cluster}/");
        writes.iter().filter(|(_, _, wrote)| *wrote == what).count()
    };
    assert_eq!(["dev1", "dev2", "dev3"].map(made), [3; 3], "{writes:?}");
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_is_killed_the_other_continues_after_the_lease() {
    let fleet = local_fleet::without_hub(fleet::three_clusters(9)).await.unwrap();
    let writes = watch(fleet.hub_server().unwrap(), |_| false);
    let first = Replica::start(&fleet, "replica-a");
    first.leads().await;
    let second = Replica::start(&fleet, "replica-b");
    let hub = begin(&fleet).await;
    assert!(!second.leadership.holds());
    first.task.abort();
    let killed = Instant::now();
    second.leads().await;
    let took = killed.elapsed();
    assert!(took >= 10 * SECOND && took <= 20 * SECOND, "{took:?}");
    complete(&hub).await;
    each_work_was_made_once(&writes);
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_ends_and_writes_nothing_once_the_other_leads() {
    let fleet = local_fleet::without_hub(fleet::three_clusters(9)).await.unwrap();
    let from = Arc::new(Mutex::new(None::<Instant>));
    let cut_from = Arc::clone(&from);
    let writes = watch(fleet.hub_server().unwrap(), move |who| {
        let since = *cut_from.lock().unwrap();
        who == "replica-a" && since.is_some_and(|since| since.elapsed() < 60 * SECOND)
    });
    let first = Replica::start(&fleet, "replica-a");
    first.leads().await;
    let second = Replica::start(&fleet, "replica-b");
    let hub = begin(&fleet).await;
    let cut = Instant::now();
    *from.lock().unwrap() = Some(cut);
    let ended = first.task.await.unwrap().unwrap_err().to_string();
    assert!(ended.contains("could not be renewed"), "{ended}");
    assert!(!first.leadership.holds());
    assert!(
        cut.elapsed() <= 13 * SECOND,
        "before another may begin: {:?}",
        cut.elapsed()
    );
    second.leads().await;
    complete(&hub).await;
    each_work_was_made_once(&writes);
    let writes = writes.lock().unwrap().clone();
    let by = |who: &'static str| writes.iter().filter(move |(_, writer, _)| writer == who);
    let last = by("replica-a").map(|(at, ..)| *at).max().unwrap();
    let first_after = by("replica-b").map(|(at, ..)| *at).min().unwrap();
    assert!(last < first_after, "one writes after the other, never both");
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_shut_down_gives_the_lease_back() {
    let fleet = local_fleet::without_hub(fleet::three_clusters(9)).await.unwrap();
    let first = Replica::start(&fleet, "replica-a");
    first.leads().await;
    let second = Replica::start(&fleet, "replica-b");
    tokio::time::sleep(10 * SECOND).await;
    first.stop.cancel();
    first.task.await.unwrap().unwrap();
    let given = Instant::now();
    second.leads().await;
    assert!(given.elapsed() <= 4 * SECOND, "{:?}", given.elapsed());
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
    fleet.shut_down().await.unwrap();
}
