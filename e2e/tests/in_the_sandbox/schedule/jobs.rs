//! UpgradeConfigs create UpgradeJobs, and delete those that are no longer needed.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_job_is_created_when_its_version_is_pinned_and_not_before() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    create(client, "nights", weekly()).await;
    until(clock, "2026-01-06T17:59:59Z").await;
    assert!(job_names(client).await.is_empty());
    let ready = condition(client, "nights", "Ready").await.unwrap();
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("True", "Scheduled")
    );

    until(clock, "2026-01-06T18:00:01Z").await;
    let version = spoke.version().await.unwrap();
    let available = version.status.unwrap().available_updates;
    let highest = available
        .iter()
        .max_by_key(|release| semver::Version::parse(release.version.as_deref().unwrap()).unwrap())
        .unwrap();
    let names = job_names(client).await;
    let name = format!(
        "nights-{}-{}",
        highest.version.as_deref().unwrap().replace('.', "-"),
        at(TUESDAY).as_second()
    );
    assert_eq!(names, [name.as_str()]);
    let job = jobs(client).get(&name).await.unwrap();
    assert_eq!(job.spec.start_after.0, at(TUESDAY));
    assert_eq!(job.spec.start_before.0, at("2026-01-06T23:00:00Z"));
    let pinned = job.spec.desired_version.clone().unwrap();
    assert_eq!(
        (pinned.version, pinned.image),
        (highest.version.clone(), highest.image.clone())
    );
    assert_eq!(job.labels()["team"], "night");
    let owner = &job.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("UpgradeConfig", Some(true))
    );
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));
    assert_eq!(events(&spoke, "UpgradeJobCreated").await, 1);

    // There is no second one until the first has ended, and then one for each maintenance.
    until(clock, "2026-01-14T00:00:00Z").await;
    assert_eq!(job_names(client).await.len(), 1);
    end_job(client, &name, "Failed").await;
    until(clock, "2026-01-21T00:00:00Z").await;
    let names = job_names(client).await;
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(
        last_scheduled(client, "nights").await,
        Some(at("2026-01-20T22:00:00Z"))
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_used_is_a_condition_until_it_is_corrected_and_nothing_else() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let mut spec = weekly();
    spec["schedule"]["location"] = json!("Europe/Zurick");
    create(client, "nights", spec).await;
    tokio::time::sleep(MINUTE).await;
    let ready = condition(client, "nights", "Ready").await.unwrap();
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "InvalidLocation")
    );
    assert!(ready.message.contains("Europe/Zurick"), "{}", ready.message);
    until(clock, "2026-01-14T00:00:00Z").await;
    assert!(job_names(client).await.is_empty());
    assert_eq!(events(&spoke, "UpgradeConfigNotReady").await, 1);
    assert_eq!(condition(client, "nights", "Ready").await.unwrap(), ready);
    assert_eq!(
        spoke.metric(&["drydock_agent_reconcile_errors_total"]).unwrap(),
        Some(0.0)
    );

    change(
        client,
        "nights",
        json!({"schedule": {"location": "Europe/Zurich"}}),
    )
    .await;
    tokio::time::sleep(SECOND).await;
    let ready = condition(client, "nights", "Ready").await.unwrap();
    assert_eq!(ready.status, "True", "{}", ready.message);
    until(clock, "2026-01-20T21:30:00Z").await;
    assert_eq!(
        last_scheduled(client, "nights").await,
        Some(at("2026-01-20T21:00:00Z"))
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn succeeded_jobs_are_deleted_beyond_the_limit_and_failed_ones_are_kept() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let mut spec = weekly();
    spec["schedule"]["cron"] = json!("0 22 * * *");
    spec["successfulJobsHistoryLimit"] = json!(2);
    create(client, "nights", spec).await;
    for day in 5..=10 {
        until(clock, &format!("2026-01-{day:02}T23:30:00Z")).await;
        let how = if day == 6 { "Failed" } else { "Succeeded" };
        let names = job_names(client).await;
        let newest = names
            .iter()
            .max_by_key(|name| name.rsplit('-').next().unwrap().to_owned());
        end_job(client, newest.unwrap(), how).await;
    }
    tokio::time::sleep(MINUTE).await;
    let days: Vec<i64> = job_names(client)
        .await
        .iter()
        .map(|name| name.rsplit('-').next().unwrap().parse().unwrap())
        .collect();
    let mut days: Vec<i64> = days
        .into_iter()
        .map(|second| (second - at(TUESDAY).as_second()) / 86_400)
        .collect();
    days.sort_unstable();
    assert_eq!(days, [0, 3, 4]);

    // Deleting the UpgradeConfig deletes its UpgradeJobs.
    configs(client)
        .delete("nights", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(MINUTE).await;
    assert!(job_names(client).await.is_empty());
    spoke.fleet.shut_down().await.unwrap();
}

/// As `kubectl drydock schedule run-now` creates one.
#[tokio::test(start_paused = true)]
async fn a_job_beside_the_schedule_changes_nothing_for_it_and_is_deleted_with_the_config() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    create(client, "nights", weekly()).await;
    let config = configs(client).get("nights").await.unwrap();
    let beside = json!({
        "metadata": {"name": "beside", "ownerReferences": [{
            "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeConfig", "name": "nights", "uid": config.uid(),
        }]},
        "spec": {
            "startAfter": "2026-01-09T00:00:00Z", "startBefore": "2026-01-09T01:00:00Z",
            "config": {"upgradeTimeout": "1h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {}},
        },
    });
    let beside = serde_json::from_value(beside).unwrap();
    jobs(client)
        .create(&PostParams::default(), &beside)
        .await
        .unwrap();

    // Neither is it waited for, nor is its start the moment from which the next maintenance is looked for.
    until(clock, "2026-01-06T18:00:01Z").await;
    assert_eq!(job_names(client).await.len(), 2);
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));

    configs(client)
        .delete("nights", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(MINUTE).await;
    assert!(job_names(client).await.is_empty());
    spoke.fleet.shut_down().await.unwrap();
}

/// The maintenance is not lost without a word.
#[tokio::test(start_paused = true)]
async fn an_upgrade_job_of_somebody_else_with_the_same_name_is_named() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let version = spoke.version().await.unwrap();
    let available = version.status.unwrap().available_updates;
    let versions = available.iter().filter_map(|release| release.version.clone());
    let highest = versions.max_by_key(|version| semver::Version::parse(version).unwrap());
    let unix = at(TUESDAY).as_second();
    let name = format!("nights-{}-{unix}", highest.unwrap().replace('.', "-"));
    create_job(client, &name, job_at("2027-01-05T09:00:00Z")).await;
    create(client, "nights", weekly()).await;
    until(clock, "2026-01-06T18:05:00Z").await;
    let ready = condition(client, "nights", "Ready").await.unwrap();
    assert_eq!(ready.reason, "WriteRefused");
    assert!(
        ready.message.contains("there is another of this name"),
        "{}",
        ready.message
    );
    assert_eq!(last_scheduled(client, "nights").await, None);
    jobs(client)
        .delete(&name, &kube::api::DeleteParams::default())
        .await
        .unwrap();
    until(clock, "2026-01-06T18:50:00Z").await;
    let own = jobs(client).get(&name).await.unwrap();
    assert_eq!(own.owner_references()[0].name, "nights");
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));
    spoke.fleet.shut_down().await.unwrap();
}
