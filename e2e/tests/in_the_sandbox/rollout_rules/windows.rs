//! Windows and closed start times.

use super::*;

#[tokio::test(start_paused = true)]
async fn clusters_start_only_while_a_window_is_open() {
    let settings = clusters(4);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Virtual time begins on 2026-01-05 at 08:00 UTC, a Monday.
    let windows = json!([{"cron": "0 22 * * 1-5", "duration": "2h", "timeZone": "Europe/Berlin"}]);
    let strategy = json!({"startWindows": windows, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "AwaitingStartWindow")
    );
    assert!(message.contains("2026-01-05T21:00:00Z"), "{message}");
    let done = fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    for (cluster, start) in starts(&hub).await {
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        assert!((21..23).contains(&hour), "{cluster} started at {start}");
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closed_start_times_of_some_clusters_hold_back_no_others() {
    let mut settings = clusters(5);
    for (number, cluster) in settings.clusters.iter_mut().enumerate() {
        let region = ["eu", "us"][number % 2];
        cluster.labels.insert("region".to_owned(), region.to_owned());
    }
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Virtual time begins on 2026-01-05 at 08:00 UTC. Canaries are not in the way: there are none.
    let of = |region: &str| json!({"matchLabels": {"region": region}});
    let strategy = json!({
        "canaryClusters": null, "maxConcurrency": 1,
        "startWindows": [
            {"cron": "0 22 * * *", "duration": "4h", "clusterSelector": of("eu")},
            {"cron": "0 8 * * *", "duration": "12h", "clusterSelector": of("us")},
        ],
        "freezes": [{"from": "2026-01-05T00:00:00Z", "to": "2026-01-06T12:00:00Z", "reason": "stocktaking",
            "clusterSelector": of("eu")}],
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let of_us = settings
        .clusters
        .iter()
        .filter(|cluster| cluster.labels["region"] == "us")
        .count();
    fleet::until(&hub, "those of us complete", 20 * HOUR, |upgrade| {
        complete(upgrade) == of_us
    })
    .await
    .unwrap();
    tokio::time::sleep(HOUR).await;
    // All that is left is frozen: a halt, which says so.
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Frozen"));
    // The freeze ends at noon, and the windows of these clusters open at 22:00.
    let says = "frozen: stocktaking; the next cluster may start at 2026-01-06T22:00:00Z";
    assert_eq!(message, says);
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    for (cluster, start) in starts(&hub).await {
        let is_us = settings
            .clusters
            .iter()
            .any(|known| known.name == *cluster && known.labels["region"] == "us");
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        if is_us {
            assert!((8..20).contains(&hour), "{cluster} started at {start}");
        } else {
            assert!(!(2..22).contains(&hour), "{cluster} started at {start}");
            assert!(
                start >= "2026-01-06T22:00:00Z".parse().unwrap(),
                "{cluster} started at {start}"
            );
        }
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clusters_start_only_while_enough_is_left_of_their_window() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Nothing is on record: by published figures, more than one upgrade in ten takes longer than an hour.
    let window = |duration: &str| {
        json!({
            "canaryClusters": null, "maxConcurrency": 1, "startOnlyIfItFits": true,
            "startWindows": [{"cron": "0 8 * * *", "duration": duration}],
        })
    };
    fleet::start(&hub, &upgrade(&settings, &window("1h")))
        .await
        .unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let found = read(&hub).await;
    let (status, reason, message) = condition(&found, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotStarted"));
    let (_, rest) = message.split_once("it never starts: it takes ").unwrap();
    assert!(
        rest.contains("p90, assumed")
            && rest.ends_with("longer than 1h; lengthen one, or unset startOnlyIfItFits"),
        "{message}"
    );
    let entries = found.status.unwrap().clusters.unwrap();
    assert_eq!(entries.len(), 3);
    assert!(
        entries
            .iter()
            .all(|entry| entry.reason.as_deref() == Some("NeverFits")),
        "{entries:?}"
    );

    let patch = json!({"spec": {"upgradeStrategy": window("4h")}});
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let begun = starts(&hub).await;
    assert_eq!(begun.len(), 3);
    for (cluster, start) in begun {
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        assert!((8..11).contains(&hour), "{cluster} started at {start}");
    }
    fleet.shut_down().await.unwrap();
}
