//! Clusters that do not have the kinds of maintenance schedules, or get them later.

use drydock_agent::{SchedulePart, ScheduleSettings};
use kube::api::DeleteParams;
use kube_sandbox::server::Verb;

use super::bare::{Bare, definitions};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_cluster_without_the_kinds_is_asked_for_them_now_and_then_and_for_nothing_else() {
    let bare = Bare::start(ScheduleSettings::default()).await;
    tokio::time::sleep(HOUR).await;
    bare.server.reset_requests();
    tokio::time::sleep(HOUR).await;
    let asked = bare.asked();
    let (verb, resource, count) = &asked[0];
    assert_eq!((*verb, resource.as_str()), (Verb::Get, ""), "{asked:?}");
    assert!(*count <= 31, "{asked:?}");
    assert_eq!(asked.len(), 1, "{asked:?}");
    bare.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_installed_later_are_acted_on_and_those_that_go_are_let_go() {
    let bare = Bare::start(ScheduleSettings::default()).await;
    let client = &bare.client;
    tokio::time::sleep(HOUR).await;
    bare.install().await;
    create(client, "nights", weekly()).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(condition(client, "nights", "Ready").await.unwrap().status, "True");
    until(&bare.clock, "2026-01-06T18:00:01Z").await;
    let noop = format!("nights-noop-{}", at(TUESDAY).as_second());
    assert_eq!(job_names(client).await, [noop], "no update is available");

    bare.server.reset_requests();
    tokio::time::sleep(HOUR).await;
    assert_eq!(bare.asked(), [], "all kinds are there: nothing is asked for");

    for definition in definitions() {
        bare.definitions()
            .delete(&definition.name_any(), &DeleteParams::default())
            .await
            .unwrap();
    }
    tokio::time::sleep(DAY).await;
    bare.server.reset_requests();
    tokio::time::sleep(HOUR).await;
    let asked = bare.asked();
    assert!(
        asked.iter().all(|(_, resource, _)| resource.is_empty()),
        "{asked:?}"
    );
    assert!(
        asked.iter().map(|(_, _, count)| count).sum::<u64>() <= 31,
        "{asked:?}"
    );
    bare.install().await;
    create(client, "nights", weekly()).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(condition(client, "nights", "Ready").await.unwrap().status, "True");
    bare.stop().await;
}

#[tokio::test(start_paused = true)]
async fn parts_that_are_off_are_left_alone() {
    let off = [
        SchedulePart::UpgradeConfigs,
        SchedulePart::UpgradeJobs,
        SchedulePart::NodeForceDrains,
        SchedulePart::ClusterVersion,
    ];
    let bare = Bare::start(ScheduleSettings {
        off: off.into(),
        ..ScheduleSettings::default()
    })
    .await;
    bare.install().await;
    bare.server.reset_requests();
    create(&bare.client, "nights", weekly()).await;
    until(&bare.clock, "2026-01-07T00:00:00Z").await;
    assert!(
        configs(&bare.client)
            .get("nights")
            .await
            .unwrap()
            .status
            .is_none()
    );
    assert!(job_names(&bare.client).await.is_empty());
    assert_eq!(bare.asked(), []);
    bare.stop().await;
}
