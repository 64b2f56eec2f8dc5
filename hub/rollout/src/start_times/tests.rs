use jiff::SignedDuration;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn selector(region: &str) -> Selector {
    Selector::labels(&[("region".to_owned(), region.to_owned())].into())
}

fn labels(region: &str) -> Labels {
    Labels::from(&[("region".to_owned(), region.to_owned())].into())
}

fn window(cron: &str, region: Option<&str>) -> StartWindow {
    StartWindow {
        window: Window::parse(cron, SignedDuration::from_hours(2), None).unwrap(),
        selector: region.map(selector),
    }
}

fn freeze(from: &str, to: &str, region: Option<&str>) -> Freeze {
    Freeze {
        from: at(from),
        to: at(to),
        reason: "change freeze".into(),
        selector: region.map(selector),
    }
}

#[test]
fn clusters_follow_the_windows_that_select_them_and_others_those_without_a_selector() {
    let times = StartTimes::new(
        vec![
            window("0 22 * * *", Some("eu")),
            window("0 4 * * *", Some("us")),
            window("0 12 * * *", None),
        ],
        Vec::new(),
    );
    let opens =
        |region: &str| match times.opening(times.timetable(&labels(region)), at("2026-11-20T14:30:00Z")) {
            Opening::ClosedUntil(opens) => opens,
            other => panic!("{other:?}"),
        };
    assert_eq!(opens("eu"), Some(at("2026-11-20T22:00:00Z")));
    assert_eq!(opens("us"), Some(at("2026-11-21T04:00:00Z")));
    assert_eq!(opens("asia"), Some(at("2026-11-21T12:00:00Z")));
}

#[test]
fn clusters_that_no_window_selects_may_always_start_if_there_is_none_without_a_selector() {
    let times = StartTimes::new(vec![window("0 22 * * *", Some("eu"))], Vec::new());
    let opening = |region: &str| times.opening(times.timetable(&labels(region)), at("2026-11-20T12:00:00Z"));
    assert_eq!(opening("us"), Opening::Always);
    assert!(matches!(opening("eu"), Opening::ClosedUntil(Some(_))));
}

#[test]
fn the_freezes_of_a_calendar_are_those_of_all_clusters() {
    let calendar = [
        freeze("2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z", None),
        freeze("2026-12-10T00:00:00Z", "2026-12-12T00:00:00Z", None),
    ];
    let own = vec![freeze("2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z", Some("eu"))];
    let times = StartTimes::new(Vec::new(), own).with_calendar(FreezeCalendar::Read(calendar.into()));
    let opening = |region: &str, now: &str| times.opening(times.timetable(&labels(region)), at(now));
    let frozen = |until: &str, index| Opening::FrozenUntil(Some(at(until)), FreezeIndex(index));
    for (region, now, meant) in [
        (
            "us",
            "2026-11-30T12:00:00Z",
            Opening::OpenUntil(at("2026-12-01T00:00:00Z")),
        ),
        ("us", "2026-12-01T00:00:00Z", frozen("2026-12-02T00:00:00Z", 32)),
        (
            "us",
            "2026-12-02T00:00:00Z",
            Opening::OpenUntil(at("2026-12-10T00:00:00Z")),
        ),
        ("us", "2026-12-11T12:00:00Z", frozen("2026-12-12T00:00:00Z", 33)),
        ("eu", "2026-12-11T12:00:00Z", frozen("2026-12-13T00:00:00Z", 0)),
        ("us", "2026-12-12T00:00:00Z", Opening::Always),
    ] {
        assert_eq!(opening(region, now), meant, "{region} {now}");
    }
    assert_eq!(&*times.freeze_reason(FreezeIndex(33)), "change freeze");
}

#[test]
fn a_calendar_that_cannot_be_read_keeps_all_clusters_from_starting() {
    let times = StartTimes::new(vec![window("0 22 * * *", None)], Vec::new());
    let times = times.with_calendar(FreezeCalendar::Unreadable("no such ConfigMap".into()));
    let opening = times.opening(times.timetable(&labels("us")), at("2026-12-01T22:30:00Z"));
    assert_eq!(opening, Opening::FrozenUntil(None, FreezeIndex::UNREADABLE));
    assert_eq!(
        &*times.freeze_reason(FreezeIndex::UNREADABLE),
        "no such ConfigMap"
    );
}

#[test]
fn a_freeze_goes_before_windows_from_its_first_moment_to_before_its_last() {
    let times = StartTimes::new(
        vec![window("0 22 * * *", None)],
        vec![
            freeze("2026-12-20T00:00:00Z", "2027-01-03T00:00:00Z", None),
            freeze("2026-12-24T00:00:00Z", "2027-01-10T00:00:00Z", Some("eu")),
        ],
    );
    let opening = |region: &str, now: &str| times.opening(times.timetable(&labels(region)), at(now));
    for (region, now, meant) in [
        (
            "us",
            "2026-12-19T23:00:00Z",
            Opening::OpenUntil(at("2026-12-20T00:00:00Z")),
        ),
        (
            "us",
            "2026-12-20T00:00:00Z",
            Opening::FrozenUntil(Some(at("2027-01-03T22:00:00Z")), FreezeIndex(0)),
        ),
        (
            "us",
            "2027-01-03T00:00:00Z",
            Opening::ClosedUntil(Some(at("2027-01-03T22:00:00Z"))),
        ),
        // Of two, the one that ends last counts.
        (
            "eu",
            "2026-12-25T12:00:00Z",
            Opening::FrozenUntil(Some(at("2027-01-10T22:00:00Z")), FreezeIndex(1)),
        ),
        (
            "eu",
            "2026-12-21T12:00:00Z",
            Opening::FrozenUntil(Some(at("2027-01-10T22:00:00Z")), FreezeIndex(0)),
        ),
    ] {
        assert_eq!(opening(region, now), meant, "{region} {now}");
    }
    let without_windows = StartTimes::new(
        Vec::new(),
        vec![freeze("2026-12-20T00:00:00Z", "2027-01-03T00:00:00Z", None)],
    );
    let timetable = without_windows.timetable(&labels("us"));
    assert_eq!(
        without_windows.opening(timetable, at("2026-12-01T00:00:00Z")),
        Opening::OpenUntil(at("2026-12-20T00:00:00Z"))
    );
    assert_eq!(
        without_windows.opening(timetable, at("2027-02-01T00:00:00Z")),
        Opening::Always
    );
}

fn fitting(minutes: i64) -> ExpectedDuration {
    ExpectedDuration::new(SignedDuration::from_mins(minutes), false)
}

#[test]
fn what_must_fit_starts_while_enough_is_left_of_a_window_and_before_a_freeze() {
    let times = StartTimes::new(
        vec![window("0 22 * * *", None)],
        vec![freeze("2026-12-20T23:00:00Z", "2027-01-03T00:00:00Z", None)],
    );
    let closed = |opens: &str| Opening::ClosedUntil(Some(at(opens)));
    for (minutes, now, meant) in [
        (
            90,
            "2026-12-01T22:00:00Z",
            Opening::OpenUntil(at("2026-12-01T22:30:00Z")),
        ),
        // It would end with the moment at which the window closes.
        (90, "2026-12-01T22:30:00Z", closed("2026-12-02T22:00:00Z")),
        (120, "2026-12-01T22:00:00Z", Opening::ClosedUntil(None)),
        // A freeze cuts the window short.
        (
            30,
            "2026-12-20T22:00:00Z",
            Opening::OpenUntil(at("2026-12-20T22:30:00Z")),
        ),
        (30, "2026-12-20T22:30:00Z", closed("2027-01-03T22:00:00Z")),
        (90, "2026-12-20T22:00:00Z", closed("2027-01-03T22:00:00Z")),
        (
            30,
            "2026-12-20T23:00:00Z",
            Opening::FrozenUntil(Some(at("2027-01-03T22:00:00Z")), FreezeIndex(0)),
        ),
    ] {
        let timetable = times.timetable(&labels("us")).fitting(fitting(minutes));
        assert_eq!(
            times.opening(timetable, at(now)),
            meant,
            "{minutes} minutes at {now}"
        );
        // What is under way follows the windows alone.
        let once_started = times.opening(timetable.once_started(), at("2026-12-01T23:55:00Z"));
        assert!(once_started.is_open());
    }
    let timetable = times.timetable(&labels("us"));
    for (minutes, longest) in [(115, None), (120, Some(2)), (600, Some(2))] {
        assert_eq!(
            times.never_fits(timetable.fitting(fitting(minutes))),
            longest.map(SignedDuration::from_hours)
        );
    }
    assert_eq!(times.never_fits(timetable), None);
}

#[test]
fn without_windows_only_freezes_must_be_kept_clear_of() {
    let times = StartTimes::new(
        Vec::new(),
        vec![freeze("2026-12-20T00:00:00Z", "2027-01-03T00:00:00Z", None)],
    );
    let timetable = times.timetable(&labels("us")).fitting(fitting(180));
    for (now, meant) in [
        (
            "2026-12-19T20:59:59Z",
            Opening::OpenUntil(at("2026-12-19T21:00:00Z")),
        ),
        (
            "2026-12-19T21:00:00Z",
            Opening::ClosedUntil(Some(at("2027-01-03T00:00:00Z"))),
        ),
        ("2027-01-03T00:00:00Z", Opening::Always),
    ] {
        assert_eq!(times.opening(timetable, at(now)), meant, "{now}");
    }
    assert_eq!(times.never_fits(timetable), None);
}

#[test]
fn windows_that_are_too_short_are_passed_over() {
    let long = StartWindow {
        window: Window::parse("0 12 * * 6", SignedDuration::from_hours(8), None).unwrap(),
        selector: None,
    };
    let times = StartTimes::new(vec![window("0 22 * * *", None), long], Vec::new());
    let timetable = times.timetable(&labels("us")).fitting(fitting(180));
    // Saturday.
    assert_eq!(
        times.opening(timetable, at("2026-12-01T22:00:00Z")),
        Opening::ClosedUntil(Some(at("2026-12-05T12:00:00Z")))
    );
    assert_eq!(times.never_fits(timetable), None);
}
