use super::*;
use crate::phase::fixture::START;

fn silence(comment: &str, state: SilenceState, minutes_left: i64) -> Silence {
    Silence {
        id: format!("id of {comment}"),
        comment: comment.to_owned(),
        state,
        starts: START - SignedDuration::from_mins(30),
        ends: START + SignedDuration::from_mins(minutes_left),
    }
}

fn minutes(wanted: &WantedSilence) -> i64 {
    wanted.ends.duration_since(START).as_mins()
}

const LESSER: &str = "Silence for OSD control plane upgrade to version 4.14.12";
const CRITICAL: &str = "Silence for critical alerts during OSD control plane upgrade to version 4.14.12";

#[test]
fn a_control_plane_has_each_of_its_silences_once_until_it_should_be_done_and_no_longer() {
    let mut configuration = Configuration::default();
    let alerts = &mut configuration.maintenance.ignored_alerts;
    alerts.control_plane_criticals = vec!["A".to_owned(), "B".to_owned()];
    let wanted = for_control_plane("4.14.12", &configuration, START, START);
    assert_eq!(wanted[1].matchers, [regex("alertname", "(A|B)")]);
    assert_eq!(
        wanted
            .iter()
            .map(|wanted| (wanted.comment.as_str(), minutes(wanted)))
            .collect::<Vec<_>>(),
        [(LESSER, 90), (CRITICAL, 90)]
    );
    let changes = |silences: &[Silence]| control_plane_changes(&wanted, silences, START);
    assert_eq!(
        changes(&[]),
        [
            SilenceChange::Create(wanted[0].clone()),
            SilenceChange::Create(wanted[1].clone())
        ]
    );
    let both = |state, minutes| {
        vec![
            silence(LESSER, state, minutes),
            silence(CRITICAL, SilenceState::Active, 90),
        ]
    };
    assert_eq!(changes(&both(SilenceState::Active, 86)), []);
    assert_eq!(
        changes(&both(SilenceState::Expired, 90)),
        [SilenceChange::Create(wanted[0].clone())],
        "somebody ended it"
    );
    let early = both(SilenceState::Active, 60);
    let renewed = SilenceChange::Renew {
        id: early[0].id.clone(),
        since: early[0].starts,
        wanted: wanted[0].clone(),
    };
    assert_eq!(changes(&early), [renewed]);
    let mut twice = both(SilenceState::Active, 90);
    twice.push(Silence {
        id: "double".to_owned(),
        ..silence(LESSER, SilenceState::Active, 89)
    });
    twice.push(silence(
        "Silence for OSD control plane upgrade to version 4.14.11",
        SilenceState::Active,
        5,
    ));
    let last = twice[3].id.clone();
    assert_eq!(
        changes(&twice),
        [
            SilenceChange::Expire("double".to_owned()),
            SilenceChange::Expire(last)
        ]
    );
    let late = START + SignedDuration::from_mins(90);
    assert_eq!(for_control_plane("4.14.12", &configuration, START, late), []);
}

#[test]
fn workers_have_a_silence_for_as_many_as_are_left_and_the_one_before_goes() {
    let configuration = Configuration::default();
    let wanted = |machines, updated| {
        let workers = Workers {
            machines,
            updated,
            paused: None,
            degraded: None,
        };
        for_workers("4.14.12", &workers, 60, &configuration, START)
    };
    let of = |left: i64| {
        format!("Silence for OSD worker node upgrade to version 4.14.12 with remaining {left} nodes")
    };
    let three = wanted(3, 0).unwrap();
    assert_eq!(
        (three.comment.as_str(), minutes(&three)),
        (of(3).as_str(), 3 * 68)
    );
    let changes = |wanted: &Option<WantedSilence>, silences: &[Silence]| {
        worker_changes(wanted.as_ref(), silences, START)
    };
    let made = |left, state, minutes_ago: i64| Silence {
        id: format!("{left} of {minutes_ago}"),
        starts: START - SignedDuration::from_mins(minutes_ago),
        ..silence(&of(left), state, 60)
    };
    let three = Some(three);
    assert_eq!(
        changes(&three, &[]),
        [SilenceChange::Create(three.clone().unwrap())]
    );
    assert_eq!(changes(&three, &[made(3, SilenceState::Active, 9)]), []);
    assert_eq!(
        changes(&three, &[made(3, SilenceState::Expired, 9)]),
        [],
        "where nothing moves, silence ends"
    );
    let two = wanted(3, 1);
    assert_eq!(
        changes(&two, &[made(3, SilenceState::Active, 9)]),
        [SilenceChange::Create(two.clone().unwrap())]
    );
    assert_eq!(
        changes(
            &two,
            &[made(3, SilenceState::Active, 9), made(2, SilenceState::Active, 1)]
        ),
        [SilenceChange::Expire("3 of 9".to_owned())]
    );
    assert_eq!(
        changes(&None, &[made(2, SilenceState::Active, 9)]),
        [SilenceChange::Expire("2 of 9".to_owned())]
    );
}

#[test]
fn workers_that_become_more_and_fewer_again_are_never_without_a_silence() {
    let configuration = Configuration::default();
    let mut silences: Vec<Silence> = Vec::new();
    for (minute, machines) in [(0, 3), (1, 3), (10, 4), (11, 4), (20, 3), (21, 3), (22, 3)] {
        let now = START + SignedDuration::from_mins(minute);
        let workers = Workers {
            machines,
            updated: 0,
            paused: None,
            degraded: None,
        };
        let wanted = for_workers("4.14.12", &workers, 60, &configuration, now);
        for change in worker_changes(wanted.as_ref(), &silences, now) {
            match change {
                SilenceChange::Create(wanted) => silences.push(Silence {
                    id: format!("{minute}"),
                    comment: wanted.comment,
                    state: SilenceState::Active,
                    starts: now,
                    ends: wanted.ends,
                }),
                SilenceChange::Expire(id) => {
                    let mut ended = silences.iter_mut().filter(|silence| silence.id == id);
                    ended.next().unwrap().state = SilenceState::Expired;
                }
                change @ SilenceChange::Renew { .. } => panic!("{change:?}"),
            }
        }
        assert!(any_active(&silences, now), "minute {minute}");
    }
    let active = silences
        .iter()
        .filter(|silence| silence.state == SilenceState::Active);
    assert_eq!(active.count(), 1);
}

#[test]
fn no_drain_that_may_last_for_ever_makes_a_silence_that_does() {
    let workers = Workers {
        machines: 500,
        updated: 0,
        paused: None,
        degraded: None,
    };
    let wanted = for_workers("4.14.12", &workers, i32::MAX, &Configuration::default(), START);
    assert_eq!(minutes(&wanted.unwrap()), LONGEST_MINUTES);
}
