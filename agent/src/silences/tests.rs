use super::*;
use crate::phase::fixture::START;

fn silence(comment: &str, state: State, minutes_left: i64) -> Silence {
    Silence {
        id: format!("id of {comment}"),
        comment: comment.to_owned(),
        state,
        starts: START - SignedDuration::from_mins(30),
        ends: START + SignedDuration::from_mins(minutes_left),
    }
}

const LESSER: &str = "Silence for OSD control plane upgrade to version 4.14.12";
const CRITICAL: &str = "Silence for critical alerts during OSD control plane upgrade to version 4.14.12";

#[test]
fn a_control_plane_has_its_silences_made_once_and_renewed_before_they_end() {
    let mut configuration = Configuration::default();
    let alerts = &mut configuration.maintenance.ignored_alerts;
    alerts.control_plane_criticals = vec!["A".to_owned(), "B".to_owned()];
    let made = |silences: &[Silence]| match for_control_plane("4.14.12", &configuration, silences, START) {
        Some(Change::Create(wanted)) => Some(wanted),
        Some(change) => panic!("{change:?}"),
        None => None,
    };
    let lesser = made(&[]).unwrap();
    assert_eq!((lesser.comment.as_str(), lesser.lasts.as_mins()), (LESSER, 90));
    let critical = made(&[silence(LESSER, State::Active, 60)]).unwrap();
    assert_eq!(critical.comment, CRITICAL);
    assert_eq!(critical.matchers, [regex("alertname", "(A|B)")]);
    let both = |state, minutes| {
        [
            silence(LESSER, state, minutes),
            silence(CRITICAL, State::Active, 60),
        ]
    };
    assert_eq!(made(&both(State::Active, 60)), None);
    let ending = both(State::Active, 4);
    let Some(Change::Renew { id, since, wanted }) =
        for_control_plane("4.14.12", &configuration, &ending, START)
    else {
        panic!("it ends soon");
    };
    assert_eq!((&id, since), (&ending[0].id, ending[0].starts));
    assert_eq!((wanted.comment.as_str(), wanted.lasts.as_mins()), (LESSER, 90));
    assert_eq!(
        made(&both(State::Expired, 60)).unwrap().comment,
        LESSER,
        "somebody ended it"
    );
}

#[test]
fn workers_have_a_silence_for_as_many_as_are_left_and_the_one_before_goes() {
    let configuration = Configuration::default();
    let change = |updated, silences: &[Silence]| {
        let workers = Workers {
            machines: 3,
            updated,
            paused: false,
            trouble: None,
        };
        for_workers("4.14.12", &workers, 60, &configuration, silences, START)
    };
    let of = |left: i64| {
        format!("Silence for OSD worker node upgrade to version 4.14.12 with remaining {left} nodes")
    };
    let Some(Change::Create(wanted)) = change(0, &[]) else {
        panic!("no silence");
    };
    assert_eq!(
        (wanted.comment.as_str(), wanted.lasts.as_mins()),
        (of(3).as_str(), 3 * 68)
    );
    let three = silence(&of(3), State::Active, 60);
    assert_eq!(change(0, std::slice::from_ref(&three)), None);
    assert_eq!(
        change(0, &[silence(&of(3), State::Expired, -1)]),
        None,
        "it is not made again"
    );
    let Some(Change::Create(next)) = change(1, std::slice::from_ref(&three)) else {
        panic!("no silence for two");
    };
    assert_eq!(next.comment, of(2));
    let both = [three.clone(), silence(&of(2), State::Active, 60)];
    assert_eq!(change(1, &both), Some(Change::Expire(three.id)));
    assert_eq!(change(3, &both), None);
}

#[test]
fn silences_end_by_their_marker() {
    let all = [
        silence(LESSER, State::Expired, 60),
        silence(CRITICAL, State::Active, 60),
        silence(
            "Silence for OSD worker node upgrade to version 4.14.12 with remaining 1 nodes",
            State::Active,
            60,
        ),
    ];
    assert_eq!(
        ended(CONTROL_PLANE, &all, START),
        Some(Change::Expire(all[1].id.clone()))
    );
    assert_eq!(
        ended(WORKERS, &all, START),
        Some(Change::Expire(all[2].id.clone()))
    );
    assert_eq!(ended(WORKERS, &all[..2], START), None);
    assert!(any_active(&all, START) && !any_active(&all[..1], START));
}
