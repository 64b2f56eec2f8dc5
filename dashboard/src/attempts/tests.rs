use drydock_api::mcu::RecordedUpgrade;
use serde_json::{Value, json};

use super::*;

fn page(
    rollout: &str,
    entries: &[(&str, &str)],
    forecast: Option<RecordedForecast>,
) -> ManagedClustersUpgradeRecord {
    let mut record = ManagedClustersUpgradeRecord::default();
    record.metadata.namespace = Some("default".to_owned());
    record.spec.upgrade = RecordedUpgrade {
        name: "spring".to_owned(),
        rollout_since: rollout.to_owned(),
        forecast,
        ..RecordedUpgrade::default()
    };
    let entry = |(cluster, completed): &(&str, &str)| RecordEntry {
        cluster: (*cluster).to_owned(),
        completed: (*completed).to_owned(),
        ..RecordEntry::default()
    };
    record.spec.entries = entries.iter().map(entry).collect();
    record
}

const END: &str = "2026-03-01T12:00:00Z";

/// One page of a rollout has the forecast, for all of its attempts and for no other rollout's.
#[test]
fn an_attempt_says_of_which_rollout_it_is_and_how_good_its_forecast_was() {
    let moment = || "2026-03-01T11:00:00Z".to_owned();
    let forecast = RecordedForecast {
        p10: moment(),
        p50: moment(),
        p90: moment(),
        ended: END.to_owned(),
        error_seconds: 3600,
        within_band: false,
    };
    let (first, second) = ("2026-03-01T10:00:00Z", "2026-03-01T10:30:00Z");
    let mut gathered = Gathered::of(10);
    gathered.add(&page(first, &[("dev1", END)], None), |_| true);
    gathered.add(&page(first, &[("dev2", END)], Some(forecast)), |_| true);
    gathered.add(&page(second, &[("dev3", END)], None), |_| true);
    let attempts = gathered.finish();
    let rows = attempts.rows();
    let said = rows.iter().map(|row| {
        let error = row.forecast.map(|forecast| forecast.error_seconds);
        (row.cluster, row.rollout_since, error)
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            ("dev1", seconds(first), Some(3600)),
            ("dev2", seconds(first), Some(3600)),
            ("dev3", seconds(second), None)
        ]
    );
}

#[test]
fn of_many_attempts_the_newest_are_kept_with_their_numbers_wherever_they_stand() {
    let mut gathered = Gathered::of(4);
    let ends: Vec<String> = (0..10)
        .map(|hour| format!("2026-03-01T{hour:02}:00:00Z"))
        .collect();
    // Records come in the order of their names.
    for hour in [7, 3, 9, 1, 5, 0, 8, 2, 6, 4] {
        gathered.add(
            &page("", &[("dev1", ends[hour].as_str()), ("dev2", END)], None),
            |cluster| cluster == "dev1",
        );
        assert!(gathered.rows.len() <= 5, "a part more");
    }
    let attempts = gathered.finish();
    let rows = attempts.rows();
    let numbers: Vec<_> = rows.iter().map(|row| (row.ended_at, row.attempt)).collect();
    let expected: Vec<_> = (6..10).map(|hour| (seconds(&ends[hour]), hour + 1)).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn the_pieces_are_one_document() {
    for count in [0, 1, 2, 3000] {
        let mut gathered = Gathered::of(2000);
        let names: Vec<String> = (0..count).map(|number| format!("c{number:05}")).collect();
        let entries: Vec<_> = names.iter().map(|name| (name.as_str(), END)).collect();
        gathered.add(&page("", &entries, None), |_| true);
        let attempts = gathered.finish();
        let expected = json!({"rows": attempts.rows(), "truncated": count > 2000});
        let pieces: Vec<Bytes> = attempts.into_pieces().map(Result::unwrap).collect();
        assert!(pieces.iter().all(|piece| piece.len() <= 2 * PIECE));
        let text = pieces.concat();
        let read: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read, expected, "{count}");
    }
}
