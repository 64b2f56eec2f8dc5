use super::*;

async fn status(cluster: &TestCluster) -> drydock_api::insights::UpdateStatusStatus {
    let status: UpdateStatus = cluster.get("cluster").await;
    status.status.unwrap_or_default()
}

async fn uids(cluster: &TestCluster) -> Vec<String> {
    let informers = status(cluster).await.control_plane.update_informers;
    let insights = informers.into_iter().flat_map(|informer| informer.insights);
    insights.map(|insight| insight.uid).collect()
}

async fn updating(behaviour: Behaviour) -> TestCluster {
    let mut cluster = TestCluster::new(true).await;
    cluster.informer("mco", behaviour).await;
    cluster.start().await;
    let idle = status(&cluster).await;
    assert!(
        idle.update.is_none() && idle.informers.is_empty(),
        "nobody is asked while nothing is updated"
    );
    cluster.set_version("Partial", "4.14.4").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster
}

#[tokio::test(start_paused = true)]
async fn findings_about_an_update_stay_until_the_informer_says_otherwise() {
    let mut cluster = updating(success(&[finding("cpu", "warning")])).await;
    let found = status(&cluster).await;
    assert_eq!(found.update.unwrap().target, "4.14.4");
    let active = find(&found.control_plane.conditions, condition::UPDATE_ACTIVE).unwrap();
    assert_eq!(
        (active.status.as_str(), active.reason.as_str()),
        ("True", "ControlPlaneUpdateActive")
    );
    let first = found.control_plane.update_informers[0].insights[0]
        .first_seen
        .clone();
    cluster.behave("mco", Behaviour::Silent);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(uids(&cluster).await, ["informer-unavailable", "cpu"]);
    assert_eq!(
        status(&cluster).await.informers[0].state,
        InformerState::Unavailable
    );
    cluster.start().await;
    cluster.behave("mco", success(&[finding("cpu", "error")]));
    tokio::time::sleep(MINUTE).await;
    let found = status(&cluster).await.control_plane.update_informers[0]
        .insights
        .clone();
    assert_eq!(
        (found.len(), &found[0].first_seen),
        (1, &first),
        "it survives a restart"
    );
    cluster.behave("mco", success(&[]));
    tokio::time::sleep(Duration::from_secs(45)).await;
    assert_eq!(uids(&cluster).await, ["cpu"], "it may have restarted");
    tokio::time::sleep(2 * MINUTE).await;
    assert!(uids(&cluster).await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn after_the_update_stays_what_is_unresolved_until_it_is() {
    let mut unresolved = finding("debt", "warning");
    unresolved["remediation"] = json!({"resolved": false});
    let mut cluster = updating(success(&[finding("cpu", "warning"), unresolved])).await;
    assert_eq!(uids(&cluster).await.len(), 2);
    cluster.set_version("Completed", "4.14.4").await;
    tokio::time::sleep(6 * MINUTE).await;
    assert_eq!(uids(&cluster).await, ["debt"]);
    cluster.behave("mco", success(&[]));
    tokio::time::sleep(12 * MINUTE).await;
    assert!(uids(&cluster).await.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_switched_off_is_gone_at_once() {
    let mut cluster = updating(success(&[finding("cpu", "warning")])).await;
    let off = json!({"spec": {"enabled": false}});
    cluster
        .change::<drydock_api::insights::UpdateInformer>("mco", off)
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(uids(&cluster).await.is_empty());
    assert_eq!(status(&cluster).await.informers[0].state, InformerState::Disabled);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn many_loud_informers_fit_into_the_status() {
    let mut cluster = TestCluster::new(true).await;
    let many: Vec<_> = (0..400)
        .map(|index| {
            let mut finding = finding(&format!("u{index}"), "warning");
            finding["impact"]["description"] = json!("x".repeat(3000));
            finding
        })
        .collect();
    for index in 0..5 {
        cluster.informer(&format!("loud-{index}"), success(&many)).await;
    }
    cluster.set_version("Partial", "4.14.4").await;
    cluster.start().await;
    tokio::time::sleep(2 * MINUTE).await;
    let found = status(&cluster).await;
    assert!(serde_json::to_vec(&found).unwrap().len() < 1 << 20);
    assert!(found.informers.iter().all(|informer| informer.dropped.is_some()));
    assert_eq!(
        find(&found.conditions, condition::COMPLETE).unwrap().reason,
        "Truncated"
    );
    cluster.stop().await;
}

/// However many do not answer, what the others and the agent itself say is of the last minute.
#[tokio::test(start_paused = true)]
async fn those_that_hang_keep_nobody_else_waiting() {
    let mut cluster = TestCluster::new(true).await;
    cluster.has_built_in = true;
    for number in 0..40 {
        cluster
            .informer(&format!("hangs-{number:02}"), Behaviour::Hangs)
            .await;
    }
    cluster.informer("prompt", success(&[])).await;
    cluster.set_version("Partial", "4.14.4").await;
    cluster.start().await;
    tokio::time::sleep(10 * MINUTE).await;
    let found = status(&cluster).await;
    let age = |name: &str| {
        let informer = found
            .informers
            .iter()
            .find(|informer| informer.name == name)
            .unwrap();
        let last = informer.last_success.as_ref().unwrap();
        cluster.clock.now().duration_since(last.0).as_secs()
    };
    for name in ["prompt", "drydock.cluster-version"] {
        assert!(age(name) <= 120, "{name} was asked {} s ago", age(name));
    }
    let hanging = found
        .informers
        .iter()
        .filter(|informer| informer.name.starts_with("hangs"));
    let is_reported =
        |informer: &&drydock_api::insights::InformerSummary| informer.state == InformerState::Unavailable;
    assert_eq!(
        hanging.filter(is_reported).count(),
        40,
        "each of them has its turn"
    );
    cluster.stop().await;
}

/// What operators had when one update was over says nothing of the next one, which may begin at once.
#[tokio::test(start_paused = true)]
async fn the_progress_of_an_update_begins_anew_with_the_next_one() {
    let mut cluster = TestCluster::new(true).await;
    cluster.operator("dns", "4.14.4").await;
    cluster.set_version("Partial", "4.14.4").await;
    cluster.start().await;
    assert_eq!(status(&cluster).await.control_plane.completion_percent, Some(100));
    cluster.set_version("Partial", "4.14.5").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(status(&cluster).await.control_plane.completion_percent, Some(0));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_itself_has_found_about_an_update_ends_with_it() {
    let mut cluster = TestCluster::new(true).await;
    cluster.has_built_in = true;
    cluster.set_version("Partial", "4.14.4").await;
    cluster.start().await;
    assert_eq!(
        uids(&cluster).await,
        ["failing"],
        "ClusterVersion does not say whether it fails"
    );
    let before = status(&cluster).await;
    assert!(
        before.informers.iter().all(|informer| informer.message.is_none()),
        "{:?}",
        before.informers
    );
    tokio::time::sleep(2 * MINUTE).await;
    let later = status(&cluster).await;
    assert_eq!(later.control_plane, before.control_plane);
    cluster.set_version("Completed", "4.14.4").await;
    tokio::time::sleep(MINUTE).await;
    assert!(status(&cluster).await.informers.is_empty());
    cluster.stop().await;
}
