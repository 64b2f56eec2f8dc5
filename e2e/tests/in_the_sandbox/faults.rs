//! Calm under faults: requests that fail or lose their answer, watches that break, clusters that go wrong.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use drydock_api::names::{HUB_MANAGER, STATE_LABEL};
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use kube::ResourceExt;
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Status, Verb};
use openshift_sandbox::cluster::Fault;

const HOUR: Duration = Duration::from_hours(1);

/// Every few requests of our programs fail, each time in another way.
fn inject_faults(server: &ApiServer) {
    let asked_so_far = AtomicU64::new(0);
    server.set_fault_hook(Some(Arc::new(move |asked| {
        if !asked.identity.name().starts_with("drydock-") {
            return FaultAction::Pass;
        }
        let number = asked_so_far.fetch_add(1, Ordering::Relaxed);
        let is_write = !matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch);
        match number % 23 {
            3 => FaultAction::Refuse(Status::internal("etcdserver: request timed out")),
            7 if is_write => FaultAction::DropAfterWrite,
            11 => FaultAction::Refuse(Status::too_many_requests("please try again later", 1)),
            13 => FaultAction::Delay(Duration::from_secs(20)),
            17 => FaultAction::Unreachable,
            _ => FaultAction::Pass,
        }
    })));
}

#[tokio::test(start_paused = true)]
async fn failing_requests_lost_answers_and_broken_watches_change_nothing_about_the_end() {
    let settings = fleet::three_clusters(21);
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let mut ends = Vec::new();
    for faulty in [false, true] {
        let mut fleet = local_fleet::without_hub(settings.clone()).await.unwrap();
        if faulty {
            inject_faults(fleet.hub_server().unwrap());
            for cluster in fleet.env.cluster_names() {
                inject_faults(fleet.env.spoke(&cluster).unwrap());
            }
        }
        fleet.start_hub(drydock_e2e::local_fleet::hub_settings()).unwrap();
        let hub = fleet.user().unwrap();
        fleet::start(&hub, &upgrade).await.unwrap();
        let server = fleet.hub_server().unwrap().clone();
        let breaks = tokio::spawn(async move {
            // Watches break, and what they would resume from is gone.
            if !faulty {
                return;
            }
            loop {
                tokio::time::sleep(Duration::from_mins(11)).await;
                server.cut_watches(|_, _| true);
                server.compact();
            }
        });
        fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
            fleet::is_true(upgrade, "Complete")
        })
        .await
        .unwrap();
        fleet::until_tidy(&hub, 3, HOUR).await.unwrap();
        ends.push(fleet::end_state(&hub).await.unwrap());
        breaks.abort();
        fleet.shut_down().await.unwrap();
    }
    assert_eq!(ends[0], ends[1]);
}

#[tokio::test(start_paused = true)]
async fn clusters_that_go_wrong_end_as_failed_or_recover_and_the_others_are_upgraded() {
    let faults = BTreeMap::from([
        (2, (Fault::OperatorUnavailable, "Failed")),
        (3, (Fault::SignatureNotVerified, "Failed")),
        (4, (Fault::UnknownUpdate, "Failed")),
        (5, (Fault::ControlPlaneUnreachable, "Complete")),
    ]);
    for with_agent in [false, true] {
        let mut settings = drydock_sandbox::test_env::TestEnvSettings::demo(6, 21);
        for (index, cluster) in settings.clusters.iter_mut().enumerate() {
            cluster.agent = with_agent;
            cluster
                .faults
                .extend(faults.get(&(index + 1)).map(|(fault, _)| *fault));
        }
        let fleet = local_fleet::start(settings.clone()).await.unwrap();
        let hub = fleet.user().unwrap();
        fleet::start(&hub, &fleet::upgrade(&settings.clusters).unwrap())
            .await
            .unwrap();
        tokio::time::sleep(12 * HOUR).await;
        let works = fleet::works(&hub).await.unwrap();
        for number in 1..=6 {
            let name = format!("dev{number}");
            let ends: Vec<&String> = works
                .iter()
                .filter(|work| work.namespace().as_deref() == Some(&name))
                .filter_map(|work| work.labels().get(STATE_LABEL))
                .collect();
            let expected = faults.get(&number).map_or("Complete", |(_, end)| end);
            assert_eq!(ends, [expected], "{name}, agent: {with_agent}");
        }
        fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_starts_while_its_api_server_is_away_asks_less_and_less_often() {
    let mut fleet = local_fleet::without_hub(fleet::three_clusters(5)).await.unwrap();
    let server = fleet.hub_server().unwrap().clone();
    let asked = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&asked);
    server.set_fault_hook(Some(Arc::new(move |request: &RequestInfo<'_>| {
        if request.identity.name() != HUB_MANAGER {
            return FaultAction::Pass;
        }
        counting.fetch_add(1, Ordering::Relaxed);
        FaultAction::Unreachable
    })));
    fleet.start_hub(drydock_e2e::local_fleet::hub_settings()).unwrap();
    tokio::time::sleep(2 * HOUR).await;
    let requests = asked.load(Ordering::Relaxed);
    assert!(requests < 9_000, "{requests} requests in two hours");
    server.set_fault_hook(None);
    fleet.shut_down().await.unwrap();
}
