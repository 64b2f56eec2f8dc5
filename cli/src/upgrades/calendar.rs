//! `calendar`: upgrades and freezes for people's calendars (RFC 5545).

use std::io::Write as _;

use anyhow::Context;
use drydock_api::conditions;
use drydock_api::mcu::{Freeze, ManagedClustersUpgrade, condition};
use icalendar::{Calendar, Component as _, Event};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::ResourceExt;

use super::arguments::CalendarArguments;
use super::hub::Hub;
use super::{status, table};

/// Writes the calendar.
///
/// # Errors
/// If the hub cannot be read, or the file cannot be written.
pub async fn run(hub: &Hub, arguments: &CalendarArguments) -> anyhow::Result<()> {
    let upgrades = status::upgrades(hub, arguments.name.as_deref(), arguments.all_namespaces).await?;
    for upgrade in upgrades
        .iter()
        .filter(|upgrade| !has_ended(upgrade) && is_unknown(upgrade))
    {
        eprintln!(
            "{}: when it starts and ends is not known: see kubectl drydock plan",
            name(upgrade)
        );
    }
    let calendar = calendar(&upgrades, hub.now());
    if calendar.components.is_empty() {
        eprintln!("no upgrade is under way or waits: the calendar is empty");
    }
    let text = calendar.to_string();
    let Some(path) = &arguments.output else {
        let mut output = std::io::stdout().lock();
        return output
            .write_all(text.as_bytes())
            .context("writing to standard output");
    };
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// The upgrades that have not ended, and their freezes, as they are known now.
fn calendar(upgrades: &[ManagedClustersUpgrade], now: Timestamp) -> Calendar {
    let mut calendar = Calendar::new();
    calendar.name("Upgrades of clusters");
    for upgrade in upgrades.iter().filter(|upgrade| !has_ended(upgrade)) {
        if !is_unknown(upgrade) {
            calendar.push(rollout(upgrade, now));
        }
        let strategy = upgrade.spec.upgrade_strategy.as_ref();
        let freezes = strategy
            .and_then(|strategy| strategy.freezes.as_deref())
            .unwrap_or_default();
        for (index, freeze) in freezes.iter().enumerate() {
            if let Some(event) = frozen(upgrade, index, freeze, now) {
                calendar.push(event);
            }
        }
    }
    calendar
}

fn has_ended(upgrade: &ManagedClustersUpgrade) -> bool {
    let conditions = upgrade
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let is_complete = conditions::is_true(conditions.unwrap_or_default(), condition::COMPLETE);
    is_complete || upgrade.metadata.deletion_timestamp.is_some()
}

/// It has not started, and no end is in sight.
fn is_unknown(upgrade: &ManagedClustersUpgrade) -> bool {
    let status = upgrade.status.as_ref();
    status.is_none_or(|status| {
        let has_end = status
            .forecast
            .as_ref()
            .is_some_and(|forecast| forecast.p50.is_some());
        status.start_time.is_none() && !has_end
    })
}

/// From its start, or now, to when half of the simulated rollouts have ended.
fn rollout(upgrade: &ManagedClustersUpgrade, now: Timestamp) -> Event {
    let status = upgrade.status.clone().unwrap_or_default();
    let forecast = status.forecast.unwrap_or_default();
    let start = status.start_time.map_or(now, |time| time.0);
    let (name, target) = (name(upgrade), table::printable(&status::target(upgrade)));
    let conditions = status.conditions.unwrap_or_default();
    let progress = conditions::find(&conditions, condition::IN_PROGRESS);
    let mut lines: Vec<String> = progress
        .map(|found| table::printable(&found.message))
        .into_iter()
        .collect();
    let mut event = event(upgrade, "rollout", now);
    event.add_property("DTSTART", moment(start));
    match (forecast.p50, forecast.p90) {
        (Some(half), Some(most)) => {
            event.add_property("DTEND", moment(half.0.max(start)));
            lines.push(format!(
                "Half of the simulated rollouts end by {}, nine in ten by {}.",
                half.0, most.0
            ));
        }
        _ => lines.push("When it ends is not known: see kubectl drydock plan.".to_owned()),
    }
    event
        .summary(&format!("Upgrade {name} to {target}"))
        .description(&lines.join("\n"));
    event.done()
}

fn frozen(upgrade: &ManagedClustersUpgrade, index: usize, freeze: &Freeze, now: Timestamp) -> Option<Event> {
    let (from, to): (Timestamp, Timestamp) = (freeze.from.parse().ok()?, freeze.to.parse().ok()?);
    let reason = table::printable(&freeze.reason);
    let whom = match freeze.cluster_selector {
        Some(_) => "Some clusters of",
        None => "All clusters of",
    };
    let mut event = event(upgrade, &format!("freeze-{index}"), now);
    event
        .add_property("DTSTART", moment(from))
        .add_property("DTEND", moment(to))
        .summary(&format!("{whom} {} are not started: {reason}", name(upgrade)));
    Some(event.done())
}

/// An event that stays the same one, however often it is written.
fn event(upgrade: &ManagedClustersUpgrade, what: &str, now: Timestamp) -> Event {
    let uid = upgrade.uid().unwrap_or_default();
    let mut event = Event::new();
    event
        .uid(&format!("{uid}-{what}@drydock.dev"))
        .add_property("DTSTAMP", moment(now))
        .add_property("TRANSP", "TRANSPARENT");
    event.done()
}

fn name(upgrade: &ManagedClustersUpgrade) -> String {
    let namespace = upgrade.namespace().unwrap_or_default();
    table::printable(&format!("{namespace}/{}", upgrade.name_any()))
}

fn moment(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC)
        .strftime("%Y%m%dT%H%M%SZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use drydock_objects::freeze_calendar;
    use drydock_rollout::FreezeCalendar;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-11-25T08:00:00Z";

    fn upgrade(name: &str, status: &serde_json::Value) -> ManagedClustersUpgrade {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "fleet", "uid": format!("uid-{name}")},
            "spec": {
                "clusterSelector": {}, "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
                "upgradeStrategy": {"freezes": [{
                    "from": "2026-12-19T00:00:00+01:00", "to": "2027-01-04T00:00:00+01:00",
                    "reason": "Christmas; stock, taking\u{202e} in the warehouses of all regions, from Basel to Zurich and back",
                }]},
            },
            "status": status,
        }))
        .unwrap()
    }

    fn written(upgrades: &[ManagedClustersUpgrade]) -> String {
        calendar(upgrades, NOW.parse().unwrap()).to_string()
    }

    #[test]
    fn upgrades_that_have_not_ended_are_events_with_their_forecasts() {
        let running = upgrade(
            "spring",
            &json!({
                "startTime": "2026-11-25T06:00:00Z",
                "forecast": {"p50": "2026-11-26T10:00:00Z", "p90": "2026-11-27T10:00:00Z"},
            }),
        );
        let ended = json!({"conditions": [{
            "type": "Complete", "status": "True", "reason": "Complete", "message": "",
            "lastTransitionTime": NOW,
        }]});
        let waits = json!({"forecast": {"p50": "2026-11-28T10:00:00Z", "p90": "2026-11-29T10:00:00Z"}});
        let text = written(&[
            running,
            upgrade("waits", &waits),
            upgrade("stuck", &json!({})),
            upgrade("ended", &ended),
        ]);
        for line in [
            "UID:uid-spring-rollout@drydock.dev\r\n",
            "DTSTART:20261125T060000Z\r\n",
            "DTEND:20261126T100000Z\r\n",
            "SUMMARY:Upgrade fleet/spring to 4.14.12\r\n",
            "UID:uid-waits-rollout@drydock.dev\r\n",
            "DTSTART:20261125T080000Z\r\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(
            !text.contains("uid-ended") && !text.contains("uid-stuck-rollout"),
            "{text}"
        );
        assert!(text.contains("uid-stuck-freeze-0"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 75), "{text}");
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }

    #[test]
    fn freezes_are_read_again_as_they_were_written() {
        let text = written(&[upgrade("waits", &json!({}))]);
        let events: Vec<&str> = text.split("BEGIN:VEVENT").collect();
        let freeze = events.iter().find(|event| event.contains("-freeze-0@")).unwrap();
        let end = freeze.find("END:VEVENT").unwrap();
        let alone = format!(
            "BEGIN:VCALENDAR\r\nBEGIN:VEVENT{}END:VEVENT\r\nEND:VCALENDAR\r\n",
            &freeze[..end]
        );
        let FreezeCalendar::Read(freezes) = freeze_calendar::parse(&alone, &TimeZone::UTC).unwrap() else {
            panic!("{alone}");
        };
        assert_eq!(freezes[0].from.to_string(), "2026-12-18T23:00:00Z");
        assert_eq!(freezes[0].to.to_string(), "2027-01-03T23:00:00Z");
        assert!(
            freezes[0].reason.ends_with(
                "Christmas; stock, taking in the warehouses of all regions, from Basel to Zurich and back"
            ),
            "{}",
            freezes[0].reason
        );
    }
}
