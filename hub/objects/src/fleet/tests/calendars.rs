//! Calendars that cannot be read.

use drydock_rollout::Halt;

use super::*;

fn follow_holidays(fleet: &mut TestFleet) {
    let mut object = fleet.upgrade("spring", UID, 2, "all");
    object.spec.upgrade_strategy = serde_json::from_value(json!({
        "maxConcurrency": 10, "freezeCalendar": {"configMap": {"name": "holidays", "key": "calendar.ics"}},
    }))
    .unwrap();
    let _change = fleet.fleet.set_upgrade(&Arc::new(object));
}

fn why(fleet: &mut TestFleet) -> String {
    match fleet.plan().plan.report.halt {
        Some(Halt::FreezeCalendarUnreadable { why }) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_may_not_be_read_is_not_called_missing() {
    let mut fleet = TestFleet::new(&["c01"]);
    follow_holidays(&mut fleet);
    assert!(why(&mut fleet).contains("there is no ConfigMap default/holidays"));
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.fleet.forbid_calendars("default");
    follow_holidays(&mut fleet);
    assert!(why(&mut fleet).contains("the ConfigMaps of namespace default may not be listed"));
}
