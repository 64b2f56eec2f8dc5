//! Freezes: calendars, and what they hold back.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_frozen_is_said_to_hold_back_the_rollout() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canary = json!({"matchLabels": {"name": "dev1"}});
    let freeze = |from: &str, to: &str| json!({"from": from, "to": to, "reason": "payroll", "clusterSelector": canary});
    // The second freeze begins before the first one ends.
    let strategy = json!({
        "canaryClusters": {"clusterSelector": canary},
        "freezes": [freeze("2026-01-05T00:00:00Z", "2026-01-05T12:00:00Z"),
            freeze("2026-01-05T11:00:00Z", "2026-01-05T15:30:00Z")],
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Frozen"));
    assert_eq!(
        message,
        "frozen: payroll; the next cluster may start at 2026-01-05T15:30:00Z"
    );
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let begun = starts(&hub).await;
    assert!(
        begun
            .values()
            .all(|start| *start >= "2026-01-05T15:30:00Z".parse().unwrap()),
        "{begun:?}"
    );
    fleet.shut_down().await.unwrap();
}

/// Writes the calendar of freezes, or another one.
async fn write_calendar(hub: &Client, labels: &Value, text: &str) {
    let maps: Api<ConfigMap> = Api::namespaced(hub.clone(), "default");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "holidays", "labels": labels},
        "data": {"calendar.ics": text},
    });
    let parameters = PatchParams::apply("user").force();
    maps.patch("holidays", &parameters, &Patch::Apply(map))
        .await
        .unwrap();
}

fn calendar(event: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n")
}

#[tokio::test(start_paused = true)]
async fn a_calendar_freezes_the_fleet_and_one_that_cannot_be_read_does_too_until_it_is_corrected() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({
        "canaryClusters": null, "maxConcurrency": 1,
        "freezeCalendar": {"configMap": {"name": "holidays", "key": "calendar.ics"}, "timeZone": "Europe/Zurich"},
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let halted = async |why: &str| {
        tokio::time::sleep(HOUR).await;
        let (status, reason, message) = condition(&read(&hub).await, "InProgress");
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "FreezeCalendarUnreadable")
        );
        assert!(message.contains(why), "{message}");
        assert!(starts(&hub).await.is_empty());
    };
    halted("there is no ConfigMap default/holidays with the label drydock.dev/freeze-calendar").await;
    let days = "DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=DAILY;COUNT=6\r\nSUMMARY:New Year\r\n";
    write_calendar(&hub, &json!({}), &calendar(days)).await;
    halted("there is no ConfigMap default/holidays").await;
    let label = json!({"drydock.dev/freeze-calendar": ""});
    write_calendar(
        &hub,
        &label,
        &calendar("DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=HOURLY\r\n"),
    )
    .await;
    halted(
        "ConfigMap default/holidays, key calendar.ics: event \"1\": RRULE: FREQ=\"HOURLY\" is not understood",
    )
    .await;

    write_calendar(&hub, &label, &calendar(days)).await;
    tokio::time::sleep(HOUR).await;
    let (_, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(reason, "Frozen");
    // Six days of Zurich.
    assert_eq!(
        message,
        "frozen: New Year; the next cluster may start at 2026-01-06T23:00:00Z"
    );
    fleet::until(&hub, "one is under way", 240 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").0 == "True"
    })
    .await
    .unwrap();

    // What has begun goes on, and nothing else begins.
    let always = "DTSTART;VALUE=DATE:20260101\r\nDURATION:P1D\r\nRRULE:FREQ=DAILY\r\nSUMMARY:Audit\r\n";
    tokio::time::sleep(HOUR / 6).await;
    write_calendar(&hub, &label, &calendar(always)).await;
    tokio::time::sleep(24 * HOUR).await;
    assert_eq!(complete(&read(&hub).await), 1);
    write_calendar(&hub, &label, &calendar(days)).await;
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_calendar_that_cannot_be_read_is_reported_while_canaries_soak() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let label = json!({"drydock.dev/freeze-calendar": ""});
    let days = calendar("DTSTART;VALUE=DATE:20251224\r\n");
    write_calendar(&hub, &label, &days).await;
    let strategy = json!({
        "canaryClusters": {"clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "48h"},
        "freezeCalendar": {"configMap": {"name": "holidays", "key": "calendar.ics"}},
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let until = async |reason: &str| {
        fleet::until(&hub, reason, 6 * HOUR, |upgrade| {
            upgrade.status.is_some() && condition(upgrade, "InProgress").1 == reason
        })
        .await
        .unwrap();
    };
    until("CanarySoaking").await;
    write_calendar(&hub, &label, "nothing that is a calendar").await;
    until("FreezeCalendarUnreadable").await;
    write_calendar(&hub, &label, &days).await;
    until("CanarySoaking").await;
    assert_eq!(starts(&hub).await.len(), 1);
    fleet.shut_down().await.unwrap();
}
