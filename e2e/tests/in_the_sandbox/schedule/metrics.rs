//! What is scraped about maintenance schedules.

use super::*;

#[tokio::test(start_paused = true)]
async fn objects_are_scraped_as_they_are_and_those_that_are_missing_break_nothing() {
    let spoke = spoke().await;
    let client = &spoke.client;
    tokio::time::sleep(MINUTE).await;
    let page = spoke.fleet.metrics(drydock_e2e::spoke::NAME).unwrap();
    assert!(
        !page.contains("openshift_upgrade_controller_upgrade"),
        "there are no objects yet"
    );

    create(client, "nights", weekly()).await;
    holidays(client, "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z").await;
    let id = spoke.version().await.unwrap().spec.cluster_id.unwrap();
    overlays::manage(
        &spoke,
        "version",
        json!({"clusterID": id, "channel": "stable-4.14"}),
    )
    .await;
    tokio::time::sleep(MINUTE).await;
    let page = spoke.fleet.metrics(drydock_e2e::spoke::NAME).unwrap();
    let ours: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("openshift_upgrade_controller_"))
        .map(|line| {
            line.replace("namespace=\"openshift-managed-upgrade-operator\"", "ns")
                .replace(&id, "ID")
        })
        .collect();
    for line in [
        "upgradeconfig_info{cron=\"0 22 * * 2\",location=\"UTC\",ns,suspended=\"false\",upgradeconfig=\"nights\"} 1",
        "upgradeconfig_pin_version_window_seconds{ns,upgradeconfig=\"nights\"} 14400",
        "upgradeconfig_next_possible_schedule_timestamp_seconds{n=\"0\",ns,timestamp=\"2026-01-06T22:00:00Z\",upgradeconfig=\"nights\"} 1767736800",
        "upgradesuspensionwindow_info{ns,reason=\"nobody is there\",upgradesuspensionwindow=\"holidays\"} 1",
        "upgradesuspensionwindow_start_timestamp_seconds{ns,upgradesuspensionwindow=\"holidays\"} 1769904000",
        "upgradesuspensionwindow_end_timestamp_seconds{ns,upgradesuspensionwindow=\"holidays\"} 1769990400",
        "upgradesuspensionwindow_matching_config{config=\"nights\",ns,upgradesuspensionwindow=\"holidays\"} 1",
        "cluster_version_info{baseline_capability_set=\"\",channel=\"stable-4.14\",cluster_id=\"ID\",cluster_version=\"version\",ns,upstream=\"\"} 1",
        "cluster_version_overlay_timestamp_seconds{baseline_capability_set=\"\",channel=\"stable-4.15\",cluster_id=\"ID\",cluster_version=\"version\",from=\"2026-01-10T00:00:00Z\",ns,upstream=\"\"} 1768003200",
    ] {
        assert!(ours.iter().any(|known| known == line), "{line}: {ours:#?}");
    }
    let times = ours.iter().filter(|line| line.starts_with("upgradeconfig_next"));
    assert_eq!(times.count(), 10);

    configs(client)
        .delete("nights", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(MINUTE).await;
    let page = spoke.fleet.metrics(drydock_e2e::spoke::NAME).unwrap();
    assert!(!page.contains("nights"), "{page}");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_scraped_with_its_cluster_pools_nodes_and_machines() {
    let spoke = super::upgrades::faulty(&[]).await;
    let client = &spoke.client;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    let value = |name: &str, parts: &[&str]| {
        let name = format!("openshift_upgrade_controller_{name}");
        spoke.metric(&[&[name.as_str()], parts].concat()).unwrap()
    };
    tokio::time::sleep(MINUTE).await;
    let one = "upgradejob=\"one\"";
    assert_eq!(value("upgradejob_state", &[one, "state=\"pending\""]), Some(1.0));
    assert_eq!(value("cluster_upgrading", &[]), Some(0.0));
    until(&spoke.fleet.clock, "2026-01-05T09:50:00Z").await;
    assert_eq!(value("upgradejob_state", &[one, "state=\"active\""]), Some(1.0));
    assert_eq!(value("upgradejob_state", &[one, "state=\"pending\""]), None);
    assert_eq!(value("cluster_upgrading", &[]), Some(1.0));
    assert_eq!(
        value("machine_config_pools_paused", &["pool=\"worker\""]),
        Some(0.0)
    );
    assert_eq!(value("node_draining", &["node="]).map(|_| ()), Some(()));
    assert_eq!(value("machine_info", &["phase=\"Running\""]), Some(1.0));
    super::upgrades::ended(client, "one").await;
    assert_eq!(
        value(
            "upgradejob_state",
            &[one, "reason=\"Succeeded\"", "state=\"succeeded\""]
        ),
        Some(1.0)
    );
    spoke.fleet.shut_down().await.unwrap();
}
