use drydock_api::conditions::find;
use drydock_api::fact::Unread;
use drydock_api::insights::{
    FailurePolicy, Impact, ImpactType, InformerState, Insight, Level, Remediation, ResourceReference, Scope,
    ScopeType,
};

use super::*;
use crate::built_in::BuiltIn;
use crate::finding::Finding;
use crate::hooks::Answer;
use crate::merge::{Attempt, Stage, merge};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + seconds).unwrap()
}

fn name(text: &str) -> InformerName {
    InformerName::parse(text).unwrap()
}

fn pool(text: &str) -> PoolReference {
    PoolReference {
        kind: "MachineConfigPool".to_owned(),
        namespace: None,
        name: text.to_owned(),
    }
}

fn finding(uid: &str, level: Level, pools: &[&str], acquired: i64) -> Finding {
    Finding {
        uid: uid.to_owned(),
        acquired: at(acquired),
        scope: Scope {
            scope_type: if pools.is_empty() {
                ScopeType::ControlPlane
            } else {
                ScopeType::WorkerPool
            },
            worker_pool: pools.iter().map(|name| pool(name)).collect(),
            resources: Vec::new(),
        },
        impact: Impact {
            level,
            impact_type: ImpactType::None,
            summary: uid.to_owned(),
            description: None,
        },
        remediation: Some(Remediation {
            estimated_finish: Some(Time(at(acquired + 600))),
            ..Remediation::default()
        }),
    }
}

fn record(informer: &str, previous: &InformerRecord, findings: Vec<Finding>, seconds: i64) -> InformerRecord {
    recorded(&name(informer), previous, findings, seconds)
}

fn recorded(
    informer: &InformerName,
    previous: &InformerRecord,
    findings: Vec<Finding>,
    seconds: i64,
) -> InformerRecord {
    let attempt = Attempt::Answered(Answer::Success(findings));
    merge(
        informer,
        previous,
        &attempt,
        FailurePolicy::Fail,
        Stage::Open,
        at(seconds),
    )
}

fn progress(is_reconciled: bool, pause: Pause) -> ControlPlaneProgress {
    ControlPlaneProgress {
        target: "4.14.4".to_owned(),
        is_reconciled,
        start: Start::Started,
        pause,
    }
}

fn workers(outdated: &[&str], updating: &[&str], pause: Pause) -> PoolProgress {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    PoolProgress {
        nodes: 4,
        outdated: owned(outdated),
        updating: owned(updating),
        pause,
    }
}

fn observed(records: &Records) -> Observed<'_> {
    Observed {
        records,
        control_plane: Ok(progress(false, Pause::No)),
        operators_percent: None,
        pools: vec![ObservedPool {
            api_version: "machineconfiguration.openshift.io/v1".to_owned(),
            pool: pool("worker"),
            uid: "u".to_owned(),
            progress: Ok(workers(&["a"], &["a"], Pause::No)),
        }],
        update: Some(OngoingUpdate {
            from: Some("4.14.3".to_owned()),
            target: "4.14.4".to_owned(),
            started_at: Some(Time(at(0))),
            estimated_finish: None,
        }),
    }
}

fn shown(conditions: &[Condition], kind: &str) -> String {
    let condition = find(conditions, kind).unwrap();
    format!("{} {}", condition.status, condition.reason)
}

/// A restart of the operators, or a node that joins, is no step back; another target begins anew.
#[test]
fn progress_never_runs_backwards() {
    let records = Records::new();
    let with = |percent: Option<i64>, outdated: &[&str], target: &str| {
        let mut seen = observed(&records);
        seen.operators_percent = percent;
        seen.pools[0].progress = Ok(workers(outdated, &[], Pause::No));
        seen.update.as_mut().unwrap().target = target.to_owned();
        seen
    };
    let percents = |status: &UpdateStatusStatus| {
        (
            status.control_plane.completion_percent,
            status.worker_pools[0].completion_percent,
        )
    };
    let first = assemble(None, &with(Some(97), &["a"], "4.14.4"), at(0));
    assert_eq!(percents(&first), (Some(97), Some(75)));
    let back = assemble(Some(&first), &with(Some(10), &["a", "b", "c"], "4.14.4"), at(60));
    assert_eq!(percents(&back), (Some(97), Some(75)));
    let unread = assemble(Some(&back), &with(None, &["a"], "4.14.4"), at(90));
    assert_eq!(percents(&unread), (Some(97), Some(75)));
    let on = assemble(Some(&unread), &with(Some(98), &[], "4.14.4"), at(120));
    assert_eq!(percents(&on), (Some(98), Some(100)));
    let other = assemble(Some(&on), &with(Some(3), &["a"], "4.14.5"), at(180));
    assert_eq!(percents(&other), (Some(3), Some(75)));
    let mut once_more = with(Some(4), &["a"], "4.14.4");
    once_more.update.as_mut().unwrap().started_at = Some(Time(at(150)));
    let once_more = assemble(Some(&on), &once_more, at(180));
    assert_eq!(
        percents(&once_more),
        (Some(4), Some(75)),
        "the one before was called off"
    );
    let mut over = with(None, &[], "4.14.4");
    over.update = None;
    assert_eq!(percents(&assemble(Some(&on), &over, at(240))), (None, None));
}

/// A node that is down takes the operators with it that run on it: it is the one to look at. What an alert says about an operator that is
/// down, that operator has said.
fn of(kind: &str, object: &str, uid: &str, words: &str) -> Finding {
    let mut finding = finding(uid, Level::Warning, &[], 0);
    finding.impact.description = Some(words.to_owned());
    finding.scope.resources = vec![ResourceReference {
        group: None,
        kind: kind.to_owned(),
        namespace: None,
        name: object.to_owned(),
    }];
    finding
}

fn within(namespace: &str, mut finding: Finding) -> Finding {
    finding.scope.resources[0].namespace = Some(namespace.to_owned());
    finding
}

#[test]
fn effects_are_folded_under_their_cause() {
    let node = of("Node", "node-1.example", "node-unavailable", "");
    let dns = "DNS default is degraded: pods on node-1.example.";
    let operators = vec![
        of("ClusterOperator", "dns", "operator-degraded", dns),
        of(
            "ClusterOperator",
            "etcd",
            "operator-degraded",
            "pods on node-11.example",
        ),
    ];
    let strange = vec![of("ClusterOperator", "x", "operator-degraded", dns)];
    let alerts = vec![
        of(
            "Alert",
            "ClusterOperatorDown",
            "alert",
            "The etcd operator may be down",
        ),
        of("Alert", "DiskFull", "alert", "The etcd disk is full"),
        within("shop", of("Alert", "PodDisruptionBudgetAtLimit", "alert", "")),
        within("books", of("Alert", "PodDisruptionBudgetAtLimit", "alert", "")),
    ];
    let budgets = vec![within(
        "shop",
        of("PodDisruptionBudget", "database", "budget-at-limit", ""),
    )];
    let reported = |name: InformerName, findings| {
        let record = recorded(&name, &InformerRecord::default(), findings, 0);
        (name, record)
    };
    let records = Records::from([
        reported(BuiltIn::Nodes.name(), vec![node]),
        reported(BuiltIn::ClusterOperators.name(), operators),
        reported(BuiltIn::Alerts.name(), alerts),
        reported(BuiltIn::PodDisruptionBudgets.name(), budgets),
        reported(name("stranger"), strange),
    ]);
    let status = assemble(None, &observed(&records), at(0));
    let informers = &status.control_plane.update_informers;
    let uuid = |object: &str| {
        let mut insights = informers.iter().flat_map(|informer| &informer.insights);
        let found = insights.find(|insight| insight.scope.resources[0].name == object);
        found.unwrap().uuid.clone()
    };
    let caused: Vec<_> = informers
        .iter()
        .flat_map(|informer| &informer.insights)
        .filter_map(|insight| {
            Some((
                insight.scope.resources[0].name.clone(),
                insight.caused_by.clone()?,
            ))
        })
        .collect();
    assert_eq!(
        caused,
        [
            ("ClusterOperatorDown".to_owned(), uuid("etcd")),
            ("PodDisruptionBudgetAtLimit".to_owned(), uuid("database")),
            ("dns".to_owned(), uuid("node-1.example")),
        ]
    );
}

/// requested → downloading → preconditions → started, and where it stops.
#[test]
fn an_update_that_does_not_start_says_at_which_step() {
    for (start, words) in [
        (Start::Requested, "has not looked at it yet"),
        (Start::Downloading, "is being downloaded and verified"),
        (Start::Preconditions, "preconditions are being checked"),
        (
            Start::Refused {
                step: "its release cannot be verified",
                why: "VerificationFailed: no signature".to_owned(),
            },
            "4.14.4 has been requested, and does not start: its release cannot be verified: VerificationFailed: no signature",
        ),
        (Start::Started, "the control plane is being updated to 4.14.4"),
    ] {
        let records = Records::new();
        let mut seen = observed(&records);
        seen.control_plane.as_mut().unwrap().start = start;
        let status = assemble(None, &seen, at(0));
        let active = find(&status.control_plane.conditions, "UpdateActive").unwrap();
        assert!(active.message.contains(words), "{}", active.message);
        assert_eq!(active.reason, "ControlPlaneUpdateActive");
    }
}

#[test]
fn every_row_of_the_table_of_conditions() {
    let opens = Pause::Window {
        why: "outside of the window".to_owned(),
        opens: Some(at(60)),
    };
    let (no, always) = (|| Pause::No, || Pause::Indefinitely);
    let unread = || Err(Unread::Failed("refused".to_owned()));
    let release = "True ControlPlaneDoesNotMatchRelease";
    let cases = [
        (Ok(progress(true, no())), "False UpToDate", "False UpToDate"),
        (Ok(progress(true, always())), "False UpToDate", "False UpToDate"),
        (
            Ok(progress(false, no())),
            release,
            "True ControlPlaneUpdateActive",
        ),
        (Ok(progress(false, always())), release, "False Paused"),
        (
            Ok(progress(false, Pause::Until(at(60)))),
            release,
            "False AwaitingWindow",
        ),
        (
            Ok(progress(false, opens.clone())),
            release,
            "False AwaitingWindow",
        ),
        (unread(), "Unknown CannotDetermine", "Unknown CannotDetermine"),
    ];
    for (control_plane, pending, active) in cases {
        let records = Records::new();
        let status = assemble(
            None,
            &Observed {
                control_plane: control_plane.clone(),
                ..observed(&records)
            },
            at(0),
        );
        let conditions = &status.control_plane.conditions;
        let found = (
            shown(conditions, condition::UPDATE_PENDING),
            shown(conditions, condition::UPDATE_ACTIVE),
        );
        assert_eq!(
            found,
            (pending.to_owned(), active.to_owned()),
            "{control_plane:?}"
        );
    }
}

#[test]
fn every_row_of_the_table_of_conditions_of_pools() {
    let (no, always) = (|| Pause::No, || Pause::Indefinitely);
    let opens = Pause::Window {
        why: "outside of the window".to_owned(),
        opens: Some(at(60)),
    };
    let (done, busy) = (progress(true, no()), progress(false, no()));
    let cases = [
        (&done, workers(&[], &[], no()), "False UpToDate"),
        (&done, workers(&["a"], &["a"], no()), "True WorkersUpdateActive"),
        (&done, workers(&["a"], &[], no()), "True WorkersUpdateActive"),
        (&done, workers(&["a"], &[], always()), "False Paused"),
        (&done, workers(&["a"], &[], opens), "False AwaitingWindow"),
        (&busy, workers(&["a"], &["a"], no()), "True WorkersUpdateActive"),
        (&busy, workers(&["a"], &[], no()), "False AwaitingControlPlane"),
        (
            &progress(false, always()),
            workers(&["a"], &["a"], no()),
            "False ControlPlanePaused",
        ),
        (
            &progress(true, always()),
            workers(&["a"], &["a"], no()),
            "True WorkersUpdateActive",
        ),
    ];
    for (control_plane, workers, active) in cases {
        let records = Records::new();
        let mut observed = observed(&records);
        observed.control_plane = Ok(control_plane.clone());
        observed.pools[0].progress = Ok(workers.clone());
        let status = assemble(None, &observed, at(0));
        let found = shown(&status.worker_pools[0].conditions, condition::UPDATE_ACTIVE);
        assert_eq!(found, active, "{control_plane:?} {workers:?}");
    }
}

#[test]
fn findings_stand_under_their_pools_and_nobody_misses_those_of_unknown_pools() {
    let findings = vec![
        finding("cp", Level::Error, &[], 0),
        finding("both", Level::Warning, &["worker", "gone"], 0),
        finding("lost", Level::Warning, &["gone"], 0),
    ];
    let records = Records::from([(
        name("mco"),
        record("mco", &InformerRecord::default(), findings, 0),
    )]);
    let status = assemble(None, &observed(&records), at(0));
    let uids = |informers: &[drydock_api::insights::InformerInsights]| {
        let insights = informers.iter().flat_map(|informer| &informer.insights);
        insights.map(|insight| insight.uid.clone()).collect::<Vec<_>>()
    };
    assert_eq!(uids(&status.worker_pools[0].update_informers), ["both"]);
    let of_control_plane = uids(&status.control_plane.update_informers);
    assert_eq!((of_control_plane.len(), of_control_plane[0].as_str()), (3, "cp"));
    let unresolved = find(&status.control_plane.conditions, condition::SCOPE_UNRESOLVED).unwrap();
    assert!(
        unresolved.message.ends_with("MachineConfigPool gone"),
        "{}",
        unresolved.message
    );
    assert_eq!(
        super::records(&status)[&name("mco")].insights,
        records[&name("mco")].insights
    );
}

#[test]
fn nothing_is_written_for_seconds() {
    let of = |acquired: i64, previous: &InformerRecord| {
        let findings = vec![finding("a", Level::Warning, &[], acquired)];
        Records::from([(name("mco"), record("mco", previous, findings, acquired))])
    };
    let first = of(0, &InformerRecord::default());
    let status = assemble(None, &observed(&first), at(0));
    let known = super::records(&status);
    let soon = of(29, &known[&name("mco")]);
    assert_eq!(assemble(Some(&status), &observed(&soon), at(29)), status);
    let later = assemble(Some(&status), &observed(&of(30, &known[&name("mco")])), at(30));
    assert_ne!(later, status);
    let pending = |status: &UpdateStatusStatus| {
        let conditions = &status.control_plane.conditions;
        find(conditions, condition::UPDATE_PENDING)
            .unwrap()
            .last_transition_time
            .clone()
    };
    assert_eq!(pending(&later), Time(at(0)));
    assert_eq!(later.update.unwrap().estimated_finish, Some(Time(at(630))));
}

/// Also if they are full of what the API server writes longer.
#[test]
fn a_hundred_informers_with_a_thousand_findings_fit_in_and_it_is_said_what_does_not() {
    for letter in ["x", "<", "\u{2028}"] {
        fit_in(letter);
    }
}

fn fit_in(letter: &str) {
    let long = letter.repeat(400);
    let findings = |loud: bool| {
        let level = if loud { Level::Critical } else { Level::Warning };
        (0..1000)
            .map(move |index| finding(&format!("u{index}"), level, &["worker", "gone"], 0))
            .map(|mut finding| {
                finding.impact.description = Some(long.clone());
                finding
            })
    };
    let records: Records = (0..100)
        .map(|index| {
            let informer = format!("informer-{index}");
            let record = record(
                &informer,
                &InformerRecord::default(),
                findings(index == 0).collect(),
                0,
            );
            (name(&informer), record)
        })
        .collect();
    let status = assemble(None, &observed(&records), at(0));
    let written = serde_json::to_string(&status).unwrap();
    let written = written.replace(['<', '\u{2028}'], r"\u003c");
    assert!(written.len() < 1 << 20, "{}", written.len());
    let complete = find(&status.conditions, condition::COMPLETE).unwrap();
    assert_eq!(
        (complete.status.as_str(), complete.reason.as_str()),
        (FALSE, "Truncated")
    );
    for (summary, informer) in status
        .informers
        .iter()
        .zip(&status.control_plane.update_informers)
    {
        let dropped = summary.dropped.unwrap();
        let words = format!(
            "{dropped} insights of informer {} do not fit in here",
            summary.name
        );
        let is_notice = |insight: &&Insight| insight.uid == "insights-truncated";
        let notice = informer.insights.iter().find(is_notice).unwrap();
        assert_eq!(notice.impact.summary, words);
        assert_eq!(summary.state, InformerState::Success);
    }
    let again = assemble(Some(&status), &observed(&records), at(10));
    assert!(again == status, "what fits in does not change by itself");
}

#[test]
fn a_loud_informer_does_not_push_out_the_others() {
    let mut loud: Vec<_> = (0..1000)
        .map(|index| finding(&format!("u{index}"), Level::Critical, &[], 0))
        .collect();
    for finding in &mut loud {
        finding.impact.description = Some("x".repeat(4000));
    }
    let quiet = vec![finding("quiet", Level::Warning, &[], 0)];
    let of = |informer: &str, findings| {
        (
            name(informer),
            record(informer, &InformerRecord::default(), findings, 0),
        )
    };
    let records = Records::from([of("a", loud), of("b", quiet)]);
    let status = assemble(None, &observed(&records), at(0));
    let informers = &status.control_plane.update_informers;
    assert_eq!(informers[1].insights[0].uid, "quiet");
    assert_eq!(status.informers[1].dropped, None);
}
