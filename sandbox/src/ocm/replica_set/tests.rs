//! The rules of the rollout library, each as fleet reference 2 has it; those marked there as measured say so.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::groups::{Group, Groups};
use super::rollout::Rollout;
use super::standing::{Standing, State};
use super::strategy::{Strategy, StrategyError};

fn now() -> Timestamp {
    Timestamp::from_str("2026-01-01T12:00:00Z").unwrap()
}

fn groups(sizes: &[usize]) -> Groups {
    let mut names = (0..).map(|number| format!("c{number:02}"));
    let group = |(index, size): (usize, &usize)| Group {
        index: index as i64,
        name: format!("g{index}"),
        clusters: names.by_ref().take(*size).collect(),
    };
    Groups(sizes.iter().enumerate().map(group).collect())
}

/// Clusters by number and state, that state since ten minutes.
fn standings(states: &[(usize, State)]) -> Vec<Standing> {
    let standing = |&(number, state): &(usize, State)| Standing {
        cluster: format!("c{number:02}"),
        state,
        since: now().checked_sub(SignedDuration::from_mins(10)).ok(),
    };
    states.iter().map(standing).collect()
}

fn next(strategy: &Value, sizes: &[usize], states: &[(usize, State)]) -> Rollout {
    let strategy = Strategy::parse(strategy).unwrap();
    Rollout::next(&strategy, &groups(sizes), standings(states), now())
}

fn applied(rollout: &Rollout) -> Vec<&str> {
    let to_apply = rollout
        .under_way
        .iter()
        .filter(|standing| standing.state == State::ToApply);
    to_apply.map(|standing| standing.cluster.as_str()).collect()
}

fn progressive(settings: &Value) -> Value {
    json!({"type": "Progressive", "progressive": settings})
}

fn per_group(settings: &Value) -> Value {
    json!({"type": "ProgressivePerGroup", "progressivePerGroup": settings})
}

#[test]
fn all_clusters_at_once_unless_the_strategy_says_otherwise() {
    for strategy in [
        json!({}),
        json!({"type": "All", "all": {"progressDeadline": "None"}}),
    ] {
        assert_eq!(applied(&next(&strategy, &[2, 3], &[])).len(), 5, "{strategy}");
    }
}

#[test]
fn a_size_out_of_range_is_the_default_and_percentages_round_up() {
    // measured: 0, "0%" and what is negative or more than all is no limit
    for (concurrency, started) in [
        (json!(null), 10),
        (json!(0), 10),
        (json!("0%"), 10),
        (json!(-1), 10),
        (json!(11), 10),
        (json!(3), 3),
        (json!("33%"), 4),
        (json!("33.3%"), 4),
        (json!("1%"), 1),
        (json!("100%"), 10),
    ] {
        let strategy = progressive(&json!({"maxConcurrency": concurrency}));
        assert_eq!(applied(&next(&strategy, &[10], &[])).len(), started, "{strategy}");
    }
    let strategy = progressive(&json!({"maxConcurrency": "many"}));
    assert_eq!(
        Strategy::parse(&strategy),
        Err(StrategyError::Size("many".to_owned()))
    );
}

#[test]
fn a_failure_budget_larger_than_the_fleet_is_none() {
    // measured: maxFailures 100 of 10 clusters is 0, "100%" is 10
    for (failures, breached) in [
        (json!(100), true),
        (json!("100%"), false),
        (json!(0), true),
        (json!(1), false),
    ] {
        let strategy = progressive(&json!({"maxFailures": failures, "maxConcurrency": 2}));
        let rollout = next(&strategy, &[10], &[(0, State::Failed)]);
        assert_eq!(rollout.breached, breached, "{strategy}");
        assert_eq!(applied(&rollout).is_empty(), breached, "{strategy}");
    }
}

#[test]
fn a_failed_cluster_without_deadline_keeps_its_place_for_ever() {
    // measured: two failed clusters, two at a time, five failures allowed: nothing starts, and nothing says why
    let failed = [(0, State::Failed), (1, State::Failed)];
    let settings = json!({"maxConcurrency": 2, "maxFailures": 5});
    let stuck = next(&progressive(&settings), &[10], &failed);
    assert!(applied(&stuck).is_empty() && !stuck.breached && stuck.recheck.is_none());
    let mut settings = settings;
    settings["progressDeadline"] = json!("5m");
    let freed = next(&progressive(&settings), &[10], &failed);
    assert_eq!(freed.timed_out, ["c00", "c01"]);
    assert_eq!(applied(&freed), ["c02", "c03"]);
}

#[test]
fn a_failure_late_in_the_alphabet_is_not_counted_while_the_places_before_it_are_taken() {
    // measured
    let strategy = progressive(&json!({"maxConcurrency": 1}));
    let states = [(0, State::Progressing), (9, State::Failed)];
    let rollout = next(&strategy, &[10], &states);
    assert!(!rollout.breached);
    let strategy = progressive(&json!({"maxConcurrency": 3}));
    assert!(next(&strategy, &[10], &states).breached);
}

#[test]
fn a_group_waits_for_the_one_before_unless_one_of_that_is_past_its_deadline() {
    let strategy = per_group(&json!({"progressDeadline": "5m", "maxFailures": 2}));
    assert_eq!(applied(&next(&strategy, &[2, 2], &[])), ["c00", "c01"]);
    let strategy_without = per_group(&json!({"maxFailures": 2}));
    let both_progress = [(0, State::Progressing), (1, State::Progressing)];
    assert!(applied(&next(&strategy_without, &[2, 2], &both_progress)).is_empty());
    // measured: c00 progresses since a minute, c01 timed out, and the next group begins
    let mut standings = standings(&both_progress);
    standings[0].since = now().checked_sub(SignedDuration::from_mins(1)).ok();
    let strategy = Strategy::parse(&strategy).unwrap();
    let rollout = Rollout::next(&strategy, &groups(&[2, 2]), standings, now());
    assert_eq!(rollout.timed_out, ["c01"]);
    assert_eq!(applied(&rollout), ["c02", "c03"]);
}

#[test]
fn mandatory_groups_go_first_and_tolerate_no_failure() {
    let by_name =
        json!({"mandatoryDecisionGroups": [{"groupName": "g1"}], "maxFailures": 4, "maxConcurrency": 2});
    let by_index =
        json!({"mandatoryDecisionGroups": [{"groupIndex": 1}], "maxFailures": 4, "maxConcurrency": 2});
    for settings in [by_name, by_index] {
        for strategy in [progressive(&settings), per_group(&settings)] {
            assert_eq!(
                applied(&next(&strategy, &[2, 2, 2], &[])),
                ["c02", "c03"],
                "{strategy}"
            );
            let failed = next(
                &strategy,
                &[2, 2, 2],
                &[(2, State::Failed), (3, State::Succeeded)],
            );
            assert!(applied(&failed).is_empty() && failed.breached, "{strategy}");
            let through = [(2, State::Succeeded), (3, State::Succeeded)];
            assert_eq!(
                applied(&next(&strategy, &[2, 2, 2], &through)),
                ["c00", "c01"],
                "{strategy}"
            );
        }
    }
}

#[test]
fn a_cluster_that_succeeded_keeps_its_place_while_it_soaks() {
    let strategy = progressive(&json!({"maxConcurrency": 1, "minSuccessTime": "15m"}));
    let soaking = next(&strategy, &[2], &[(0, State::Succeeded)]);
    assert!(applied(&soaking).is_empty());
    assert_eq!(
        soaking.recheck,
        now().checked_add(SignedDuration::from_mins(5)).ok()
    );
    let mut unknown_since = standings(&[(0, State::Succeeded)]);
    unknown_since[0].since = None;
    let parsed = Strategy::parse(&strategy).unwrap();
    let for_ever = Rollout::next(&parsed, &groups(&[2]), unknown_since, now());
    assert!(applied(&for_ever).is_empty());
    let strategy = progressive(&json!({"maxConcurrency": 1, "minSuccessTime": "5m"}));
    assert_eq!(applied(&next(&strategy, &[2], &[(0, State::Succeeded)])), ["c01"]);
}

#[test]
fn deadlines_are_what_the_pattern_and_go_take() {
    // measured
    for (deadline, is_one) in [
        ("None", true),
        ("", true),
        ("90m", true),
        ("1h30m", true),
        ("0s", true),
        ("10", false),
        ("2x", false),
        ("-5m", false),
        ("10|", false),
    ] {
        let strategy = progressive(&json!({"progressDeadline": deadline}));
        assert_eq!(Strategy::parse(&strategy).is_ok(), is_one, "{deadline}");
    }
    let at_once = next(
        &progressive(&json!({"progressDeadline": "0s", "maxFailures": 1})),
        &[2],
        &[(0, State::Progressing)],
    );
    assert_eq!(at_once.timed_out, ["c00"]);
}

#[test]
fn a_cluster_that_is_selected_no_more_is_removed() {
    let rollout = next(
        &json!({}),
        &[1],
        &[(0, State::Progressing), (7, State::Progressing)],
    );
    assert_eq!(rollout.removed, ["c07"]);
}

#[test]
fn a_work_stands_as_its_conditions_of_this_generation_say() {
    let condition = |kind: &str, status: &str, generation: i64| {
        json!({
            "type": kind, "status": status, "observedGeneration": generation, "reason": "Any", "message": "",
            "lastTransitionTime": "2026-01-01T11:00:00Z",
        })
    };
    let applied = || condition("Applied", "True", 2);
    let cases = [
        (vec![], State::ToApply),
        // measured: Applied and Available alone never get a rollout on
        (vec![applied(), condition("Available", "True", 2)], State::ToApply),
        (
            vec![applied(), condition("Progressing", "True", 1)],
            State::ToApply,
        ),
        (
            vec![
                condition("Applied", "True", 1),
                condition("Progressing", "False", 2),
            ],
            State::ToApply,
        ),
        (
            vec![
                condition("Applied", "False", 2),
                condition("Progressing", "False", 2),
            ],
            State::ToApply,
        ),
        (
            vec![
                applied(),
                condition("Progressing", "False", 2),
                condition("Degraded", "False", 1),
            ],
            State::ToApply,
        ),
        (
            vec![applied(), condition("Progressing", "True", 2)],
            State::Progressing,
        ),
        (
            vec![applied(), condition("Progressing", "Unknown", 2)],
            State::Progressing,
        ),
        (
            vec![applied(), condition("Progressing", "False", 2)],
            State::Succeeded,
        ),
        (
            vec![
                applied(),
                condition("Progressing", "True", 2),
                condition("Degraded", "True", 2),
            ],
            State::Failed,
        ),
    ];
    for (conditions, expected) in cases {
        let work = json!({
            "metadata": {"namespace": "c01", "generation": 2}, "status": {"conditions": conditions},
        });
        assert_eq!(Standing::of(&work).state, expected, "{work}");
    }
}
