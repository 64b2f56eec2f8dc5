use drydock_api::insights::{Impact, ImpactType, Level, Remediation, Scope};
use proptest::prelude::*;

use super::*;

fn informer() -> InformerName {
    InformerName::parse("mco").unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + seconds).unwrap()
}

fn finding(uid: &str, acquired: i64) -> Finding {
    Finding {
        uid: uid.to_owned(),
        acquired: at(acquired),
        scope: Scope::default(),
        impact: Impact {
            level: Level::Warning,
            impact_type: ImpactType::None,
            summary: uid.to_owned(),
            description: None,
        },
        remediation: None,
    }
}

fn resolved(uid: &str, acquired: i64, resolved: bool) -> Finding {
    Finding {
        remediation: Some(Remediation {
            resolved: Some(resolved),
            ..Remediation::default()
        }),
        ..finding(uid, acquired)
    }
}

fn success(findings: Vec<Finding>) -> Attempt {
    Attempt::Answered(Answer::Success(findings))
}

fn down() -> Attempt {
    Attempt::Unavailable("no route".to_owned())
}

fn after(previous: &InformerRecord, attempt: &Attempt, seconds: i64) -> InformerRecord {
    merge(
        &informer(),
        previous,
        attempt,
        FailurePolicy::Fail,
        Stage::Open,
        at(seconds),
    )
}

fn uids(record: &InformerRecord) -> Vec<&str> {
    record
        .insights
        .iter()
        .map(|insight| insight.uid.as_str())
        .collect()
}

#[test]
fn a_finding_keeps_when_it_was_first_seen() {
    let first = after(&InformerRecord::default(), &success(vec![finding("a", 0)]), 0);
    let later = after(&first, &success(vec![finding("a", 30)]), 30);
    let insight = &later.insights[0];
    assert_eq!(
        (insight.first_seen.0, insight.acquisition_time.0),
        (at(0), at(30))
    );
}

#[test]
fn what_success_leaves_out_is_resolved_a_minute_later() {
    let first = after(&InformerRecord::default(), &success(vec![finding("a", 0)]), 0);
    let missing = after(&first, &success(vec![]), 30);
    assert_eq!(uids(&missing), ["a"]);
    assert_eq!(end_of_grace(&missing), Some(at(90)));
    assert_eq!(uids(&after(&missing, &success(vec![]), 89)), ["a"]);
    assert!(after(&missing, &success(vec![]), 90).insights.is_empty());
    let back = after(&missing, &success(vec![finding("a", 60)]), 60);
    assert_eq!(
        (
            back.insights[0].missing_since.clone(),
            back.insights[0].first_seen.0
        ),
        (None, at(0))
    );
}

/// What was found by a clock that has been set back since is no newer than what is found now.
#[test]
fn what_was_found_in_the_future_outranks_no_answer_of_now() {
    let day = 24 * 60 * 60;
    let mut worse = finding("a", day);
    worse.impact.level = Level::Critical;
    let ahead = after(
        &InformerRecord::default(),
        &success(vec![worse, finding("b", day)]),
        day,
    );
    let ahead = after(&ahead, &success(vec![finding("a", day + 1)]), day + 1);
    let now = after(&ahead, &success(vec![finding("a", 0)]), 0);
    let of = |record: &InformerRecord, uid: &str| record.insights.iter().find(|one| one.uid == uid).cloned();
    let found = of(&now, "a").unwrap();
    assert_eq!(
        (found.impact.level, found.first_seen.0, found.acquisition_time.0),
        (Level::Warning, at(0), at(0))
    );
    assert_eq!(of(&now, "b").unwrap().missing_since, Some(Time(at(0))));
    let gone = after(&now, &success(vec![finding("a", 60)]), 60);
    assert_eq!(uids(&gone), ["a"]);
    let worse = after(&InformerRecord::default(), &success(vec![finding("a", 200)]), 0);
    let skewed = after(&worse, &success(vec![finding("a", 30)]), 30);
    assert_eq!(
        skewed.insights[0].acquisition_time.0,
        at(200),
        "its clock may be ahead"
    );
}

#[test]
fn only_success_resolves() {
    let first = after(&InformerRecord::default(), &success(vec![finding("a", 0)]), 0);
    let failure = |findings| {
        Attempt::Answered(Answer::Failure {
            message: "broken".to_owned(),
            findings,
        })
    };
    let wait = Attempt::Answered(Answer::Wait {
        message: String::new(),
    });
    let cases = [
        (
            down(),
            InformerState::Unavailable,
            vec!["a", "informer-unavailable"],
        ),
        (
            failure(vec![]),
            InformerState::Failure,
            vec!["a", "informer-failure"],
        ),
        (
            failure(vec![finding("b", 9)]),
            InformerState::Failure,
            vec!["a", "b"],
        ),
        (wait, InformerState::Waiting, vec!["a"]),
    ];
    for (attempt, state, expected) in cases {
        let record = after(&first, &attempt, 100_000);
        let mut found = uids(&record);
        found.sort_unstable();
        assert_eq!((record.state, found), (state, expected), "{attempt:?}");
        assert_eq!(record.last_success, Some(at(0)));
    }
}

#[test]
fn what_the_agent_says_about_an_informer_goes_as_soon_as_it_answers() {
    let first = after(&InformerRecord::default(), &down(), 0);
    let again = after(&first, &down(), 100);
    assert_eq!(again.insights[0].first_seen.0, at(0));
    assert_eq!(again.insights[0].impact.level, Level::Unknown);
    assert!(after(&again, &success(vec![]), 130).insights.is_empty());
    let ignored = merge(
        &informer(),
        &InformerRecord::default(),
        &down(),
        FailurePolicy::Ignore,
        Stage::Open,
        at(0),
    );
    assert_eq!(ignored.insights[0].impact.level, Level::Info);
}

#[test]
fn what_was_looked_up_earlier_changes_nothing() {
    let first = after(&InformerRecord::default(), &success(vec![finding("a", 60)]), 60);
    let mut older = finding("a", 30);
    older.impact.level = Level::Status;
    let later = after(&first, &success(vec![older]), 90);
    assert_eq!(later.insights, first.insights);
}

#[test]
fn an_informer_that_is_switched_off_has_no_findings() {
    let first = after(&InformerRecord::default(), &success(vec![finding("a", 0)]), 0);
    let off = after(&first, &Attempt::Disabled, 1);
    assert!(off.insights.is_empty() && off.state == InformerState::Disabled);
}

#[test]
fn after_the_update_stays_what_is_unresolved() {
    let findings = vec![finding("a", 0), resolved("b", 0, false), resolved("c", 0, true)];
    let first = after(&InformerRecord::default(), &success(findings.clone()), 0);
    assert_eq!(uids(&first).len(), 2, "what is resolved is not kept");
    let complete = |attempt: &Attempt, seconds| {
        merge(
            &informer(),
            &first,
            attempt,
            FailurePolicy::Fail,
            Stage::Complete,
            at(seconds),
        )
    };
    let kept = complete(&success(findings), 30);
    assert_eq!(
        (uids(&kept), kept.insights[0].carried_over),
        (vec!["b"], Some(true))
    );
    assert_eq!(uids(&complete(&down(), 30)), ["b"]);
    assert!(
        complete(&success(vec![resolved("b", 30, true)]), 30)
            .insights
            .is_empty()
    );
}

#[test]
fn an_informer_that_always_reports_others_is_bounded() {
    let many = |round: i64| {
        (0..1000)
            .map(|index| finding(&format!("r{round}-{index}"), round))
            .collect()
    };
    let mut record = InformerRecord::default();
    for round in 0..5 {
        record = after(&record, &success(many(round)), round);
        assert!(record.insights.len() <= MAX_INSIGHTS);
    }
    assert_eq!(record.dropped, 1000);
}

proptest! {
    #[test]
    fn no_finding_is_lost_while_an_informer_is_down(
        uids_known in prop::collection::btree_set("[a-d]{1,2}", 0..6),
        waits in prop::collection::vec((0_u8..3, 1_i64..100_000), 1..8),
    ) {
        let findings: Vec<_> = uids_known.iter().map(|uid| finding(uid, 0)).collect();
        let mut record = after(&InformerRecord::default(), &success(findings), 0);
        let mut now = 0;
        for (kind, wait) in waits {
            now += wait;
            let attempt = match kind {
                0 => down(),
                1 => Attempt::Answered(Answer::Wait { message: String::new() }),
                _ => Attempt::Answered(Answer::Failure { message: "x".to_owned(), findings: vec![] }),
            };
            record = after(&record, &attempt, now);
        }
        let known: Vec<_> = record.insights.iter().filter(|known| !is_own(known)).collect();
        prop_assert_eq!(known.len(), uids_known.len());
        prop_assert!(known.iter().all(|insight| insight.first_seen.0 == at(0)));
    }

    #[test]
    fn the_order_of_a_payload_does_not_matter(
        uids_found in prop::collection::btree_set("[a-d]{1,2}", 0..6), turn in any::<usize>(),
    ) {
        let mut findings: Vec<_> = uids_found.iter().map(|uid| finding(uid, 0)).collect();
        let one = after(&InformerRecord::default(), &success(findings.clone()), 0);
        let middle = turn % findings.len().max(1);
        findings.rotate_left(middle);
        prop_assert_eq!(one, after(&InformerRecord::default(), &success(findings), 0));
    }
}

#[test]
fn an_informer_that_calls_itself_degraded_is_a_finding_until_it_no_longer_does() {
    let degraded = |findings| Attempt::Degraded {
        why: "half of me is down".to_owned(),
        answer: Answer::Success(findings),
    };
    let first = after(&InformerRecord::default(), &degraded(vec![]), 0);
    assert_eq!(
        (uids(&first), first.state),
        (vec!["informer-degraded"], InformerState::Success)
    );
    assert!(first.insights[0].impact.level.gates());
    let both = after(&first, &degraded(vec![finding("disk", 60)]), 60);
    assert_eq!(both.insights.len(), 2);
    let well = after(&both, &success(vec![finding("disk", 120)]), 120);
    assert_eq!(uids(&well), ["disk"]);
}

#[test]
fn who_loses_its_hook_has_not_said_that_what_it_found_is_over() {
    let found = after(&InformerRecord::default(), &success(vec![finding("disk", 0)]), 0);
    let mut lost = after(&found, &Attempt::NotImplemented, 60);
    for later in [600, 6000] {
        lost = after(&lost, &Attempt::NotImplemented, later);
        assert_eq!(lost.state, InformerState::Unavailable);
        let mut known = uids(&lost);
        known.sort_unstable();
        assert_eq!(known, ["disk", "informer-unavailable"]);
    }
    let never = after(&InformerRecord::default(), &Attempt::NotImplemented, 0);
    assert_eq!(
        (never.state, never.insights.len()),
        (InformerState::NotImplemented, 0)
    );
}

/// Clocks go wrong; what is worse counts all the same.
#[test]
fn a_raised_level_counts_however_old_it_says_that_it_is() {
    let known = after(
        &InformerRecord::default(),
        &success(vec![finding("disk", 280)]),
        0,
    );
    let level = |level| {
        let mut other = finding("disk", 10);
        other.impact.level = level;
        let then = after(&known, &success(vec![other]), 10);
        then.insights[0].impact.level
    };
    assert_eq!(level(Level::Critical), Level::Critical);
    assert_eq!(level(Level::Info), Level::Warning);
}
