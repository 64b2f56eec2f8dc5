//! Maintenances that are left out.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_suspended_schedule_leaves_each_maintenance_out_once() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let mut spec = weekly();
    spec["schedule"]["suspend"] = json!(true);
    create(client, "nights", spec).await;
    until(clock, "2026-01-06T18:30:00Z").await;
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));
    assert_eq!(events(&spoke, "UpgradeConfigSuspended").await, 1);
    let suspended = condition(client, "nights", "Suspended").await.unwrap();
    assert_eq!(suspended.status, "True");

    // It has been decided: lifting the suspension while an UpgradeJob could still be created creates none.
    change(client, "nights", json!({"schedule": {"suspend": false}})).await;
    until(clock, "2026-01-13T17:00:00Z").await;
    assert!(job_names(client).await.is_empty());
    assert_eq!(events(&spoke, "UpgradeConfigSuspended").await, 1);
    until(clock, "2026-01-13T18:30:00Z").await;
    assert_eq!(job_names(client).await.len(), 1);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_window_leaves_out_the_maintenances_that_are_decided_in_it_and_says_what_it_affects() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    create(client, "nights", weekly()).await;
    holidays(client, "2026-01-06T00:00:00Z", "2026-01-07T00:00:00Z").await;
    tokio::time::sleep(MINUTE).await;
    let window = windows(client).get("holidays").await.unwrap();
    let status = window.status.unwrap();
    let names: Vec<String> = status
        .matching_configs
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["nights"]);
    assert_eq!(status.matching_jobs.unwrap(), []);
    assert_eq!(status.conditions.unwrap()[0].status, "True");
    let suspended = condition(client, "nights", "Suspended").await.unwrap();
    assert_eq!(suspended.status, "False");

    until(clock, "2026-01-06T23:00:00Z").await;
    assert!(job_names(client).await.is_empty());
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));
    assert_eq!(
        events(&spoke, "UpgradeConfigSuspendedBySuspensionWindow").await,
        1
    );
    let suspended = condition(client, "nights", "Suspended").await.unwrap();
    assert_eq!(suspended.status, "True");
    assert!(
        suspended.message.contains("nobody is there"),
        "{}",
        suspended.message
    );
    until(clock, "2026-01-07T00:00:02Z").await;
    assert_eq!(
        condition(client, "nights", "Suspended").await.unwrap().status,
        "False"
    );

    // A second UpgradeConfig is selected as soon as it is there; the original does not look again.
    create(client, "days", weekly()).await;
    tokio::time::sleep(SECOND).await;
    let status = windows(client).get("holidays").await.unwrap().status.unwrap();
    assert_eq!(status.matching_configs.unwrap().len(), 2);
    until(clock, "2026-01-13T18:30:00Z").await;
    assert_eq!(job_names(client).await.len(), 2);
    spoke.fleet.shut_down().await.unwrap();
}
