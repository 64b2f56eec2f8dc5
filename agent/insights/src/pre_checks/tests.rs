use drydock_api::fact::Unread;
use drydock_api::insights::{AcceptanceState, Level};
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-05T08:00:00Z";
const WORSE: &str = "0123456789abcdef0123456789abcdef";
const LESSER: &str = "1123456789abcdef0123456789abcdef";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn plan(phase: &str, states: &[(&str, &str)]) -> UpdatePlan {
    let informers: Vec<_> = states
        .iter()
        .map(|(name, state)| json!({"name": name, "state": state}))
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1beta1", "kind": "UpdatePlan",
        "metadata": {"name": "update-plan-4.14.4", "uid": "plan", "generation": 2},
        "spec": {"targetRelease": "4.14.4"},
        "status": {"observedGeneration": 2, "baseVersion": "4.14.3", "phase": phase, "informers": informers},
    }))
    .unwrap()
}

fn insight(uuid: &str, level: &str) -> Value {
    json!({
        "uuid": uuid, "uid": "budget", "acquisitionTime": NOW, "firstSeen": NOW, "scope": {"type": "ControlPlane"},
        "impact": {"level": level, "type": "Update Stalled", "summary": "It is so"},
    })
}

fn part_of(generation: i64, insights: &[Value], accepted: &[Value]) -> UpdatePlanInsight {
    serde_json::from_value(json!({
        "apiVersion": "config.openshift.io/v1beta1", "kind": "UpdatePlanInsight",
        "metadata": {"name": "update-plan-4.14.4.mco"},
        "spec": {"targetRelease": "4.14.4", "updateInformer": "mco", "acceptedInsights": accepted},
        "status": {"planUid": "plan", "planGeneration": generation, "state": "Success", "insights": insights},
    }))
    .unwrap()
}

fn acceptance_of(uuid: &str, level: &str, until: Option<&str>) -> Value {
    let mut acceptance = json!({"uuid": uuid, "level": level, "acceptedBy": "ann", "acceptedAt": "2026-01-04T08:00:00Z", "reason": "known"});
    if let Some(until) = until {
        acceptance["until"] = json!(until);
    }
    acceptance
}

#[test]
fn what_holds_an_update_comes_first_and_says_who_has_accepted_the_rest() {
    let insights = [insight(LESSER, "Warning"), insight(WORSE, "Error")];
    let ready = plan("Ready", &[("mco", "Success")]);
    let accepted = [acceptance_of(WORSE, "Error", None)];
    let checks = of_plan(&ready, &[part_of(2, &insights, &accepted)], now());
    let shown: Vec<_> = checks
        .findings
        .iter()
        .map(|found| (found.insight.uuid.as_str(), found.holds))
        .collect();
    assert_eq!(shown, [(LESSER, true), (WORSE, false)]);
    let acceptance = checks.finding(WORSE).unwrap().acceptance.as_ref().unwrap();
    assert_eq!(acceptance.state, AcceptanceState::Accepted);
    assert_eq!(acceptance.accepted_by.as_deref(), Some("ann"));
    assert_eq!(acceptance.reason.as_deref(), Some("known"));
    assert!(checks.is_held());
    assert_eq!((checks.counts.accepted, checks.counts.unaccepted), (1, 1));
}

/// Others may have accepted it before: in vain, for less, or until it became worse.
#[test]
fn who_has_accepted_is_who_counts() {
    let risk = |who: &str, level: &str, more: Value| {
        let mut risk = json!({"uuid": WORSE, "level": level, "acceptedBy": who});
        risk.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        risk
    };
    let mut risks = vec![
        risk("expired", "Critical", json!({"until": "2026-01-05T07:00:00Z"})),
        risk("counts", "Error", json!({"until": "2026-01-06T08:00:00Z"})),
        risk("for-less", "Warning", json!({})),
        risk("ended", "Critical", json!({"id": "0001"})),
    ];
    let part = [part_of(2, &[insight(WORSE, "Error")], &[])];
    for _ in 0..risks.len() {
        risks.rotate_left(1);
        let mut ready = plan("Ready", &[("mco", "Success")]);
        ready.spec.accepted_risks = serde_json::from_value(json!(risks)).unwrap();
        ready.status.as_mut().unwrap().ended_risks = Some("0001".to_owned());
        let checks = of_plan(&ready, &part, now());
        let acceptance = checks.finding(WORSE).unwrap().acceptance.clone().unwrap();
        assert_eq!(acceptance.state, AcceptanceState::Accepted);
        assert_eq!(acceptance.accepted_by.as_deref(), Some("counts"), "{risks:?}");
    }
}

/// A finding of the agent's own informers about an object.
fn found(number: u8, (uid, level): (&str, &str), (kind, name): (&str, &str), words: &str) -> Value {
    let mut found = insight(&format!("{number:032}"), level);
    found["uid"] = uid.into();
    found["scope"]["resources"] = json!([{"kind": kind, "name": name}]);
    found["impact"]["summary"] = words.into();
    found
}

/// What follows from something else comes right after it, where both hold the update, and says so.
#[test]
fn what_follows_comes_below_what_it_follows_from() {
    let operator = |name| ("ClusterOperator", name);
    let down = ("operator-unavailable", "Error");
    let alert = |level| ("alert", level);
    let parts = [
        (
            "drydock.nodes",
            vec![found(
                1,
                ("node-unavailable", "Warning"),
                ("Node", "node-1"),
                "Node node-1 is not ready",
            )],
        ),
        (
            "drydock.cluster-operators",
            vec![
                found(2, down, operator("dns"), "Operator dns: no pod on node-1"),
                found(3, down, operator("etcd"), "Operator etcd is down"),
            ],
        ),
        (
            "drydock.alerts",
            vec![
                found(
                    4,
                    alert("Critical"),
                    ("Alert", "ClusterOperatorDown"),
                    "Operator dns is down",
                ),
                found(
                    5,
                    alert("Info"),
                    ("Alert", "ClusterOperatorFlapping"),
                    "Operator etcd is flapping",
                ),
            ],
        ),
    ];
    let ready = plan("Ready", &parts.clone().map(|(name, _)| (name, "Success")));
    let objects = parts.map(|(name, insights)| {
        let mut part = part_of(2, &insights, &[]);
        part.spec.update_informer = name.to_owned();
        part
    });
    let checks = of_plan(&ready, &objects, now());
    let number = |uuid: &str| uuid.trim_start_matches('0').to_owned();
    let cause = |found: &CheckedFinding| found.insight.caused_by.as_deref().map(number);
    let shown = checks.findings.iter();
    let shown: Vec<_> = shown
        .map(|found| {
            format!(
                "{} {}",
                number(&found.insight.uuid),
                cause(found).unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(shown, ["3 ", "1 ", "4 2", "2 1", "5 3"]);
}

#[test]
fn an_acceptance_counts_as_of_now_and_not_as_the_agent_has_seen_it() {
    let ready = plan("Ready", &[("mco", "Success")]);
    let insights = [insight(WORSE, "Error")];
    for (acceptance, verdict, state) in [
        (
            acceptance_of(WORSE, "Error", None),
            Verdict::Caution,
            AcceptanceState::Accepted,
        ),
        (
            acceptance_of(WORSE, "Warning", None),
            Verdict::Stop,
            AcceptanceState::LevelRaised,
        ),
        (
            acceptance_of(WORSE, "Error", Some(NOW)),
            Verdict::Stop,
            AcceptanceState::Expired,
        ),
    ] {
        let checks = of_plan(&ready, &[part_of(2, &insights, &[acceptance])], now());
        assert_eq!(checks.verdict, verdict, "{state:?}");
        let found = checks.findings[0].acceptance.as_ref().unwrap();
        assert_eq!(found.state, state);
    }
}

/// The agent has seen that an acceptance is over, and the clock of who asks is behind.
#[test]
fn what_has_ended_by_the_clock_of_the_agent_has_ended() {
    let until = "2026-01-05T08:00:07Z";
    let accepted = acceptance_of(WORSE, "Error", Some(until));
    let part = [part_of(2, &[insight(WORSE, "Error")], &[accepted])];
    let mut ready = plan("Ready", &[("mco", "Success")]);
    assert_eq!(of_plan(&ready, &part, now()).verdict, Verdict::Caution);
    let startable = json!([{
        "type": "Startable", "status": "False", "reason": "RisksNotAccepted", "message": "", "lastTransitionTime": until,
    }]);
    ready.status.as_mut().unwrap().conditions = serde_json::from_value(startable).unwrap();
    assert_eq!(of_plan(&ready, &part, now()).verdict, Verdict::Stop);
}

#[test]
fn what_was_said_about_an_older_plan_is_no_answer() {
    let ready = plan("Ready", &[("mco", "Success")]);
    for objects in [&[][..], &[part_of(1, &[], &[])]] {
        let checks = of_plan(&ready, objects, now());
        assert_eq!(checks.verdict, Verdict::Stop);
        assert_eq!(checks.informers[0].state, InformerState::Pending);
    }
    let checks = of_plan(&ready, &[part_of(2, &[], &[])], now());
    assert_eq!(checks.verdict, Verdict::Go);
    let nobody = of_plan(&plan("Ready", &[]), &[], now());
    assert_eq!(nobody.verdict, Verdict::Stop, "nobody has said anything");
}

#[test]
fn a_plan_says_what_it_waits_for() {
    let states = [("a", "Success"), ("b", "Waiting"), ("c", "Pending")];
    let awaited = Population::Awaits(vec!["b".to_owned(), "c".to_owned()]);
    for (phase, expected) in [
        ("Collecting", awaited),
        ("Ready", Population::Populated),
        ("Failed", Population::Populated),
        ("Stale", Population::Over),
    ] {
        assert_eq!(population(&plan(phase, &states)), expected, "{phase}");
    }
    let mut changed = plan("Ready", &states);
    changed.metadata.generation = Some(3);
    assert_eq!(population(&changed), Population::Unseen);
}

#[test]
fn without_an_agent_the_same_rules_judge_the_objects() {
    let cluster = |failing: &str| BuiltInFacts {
        operators: Ok(Vec::new()),
        pools: Ok(Vec::new()),
        budgets: Ok(Vec::new()),
        pods: Ok(Vec::new()),
        ..BuiltInFacts::of(Ok(serde_json::from_value(
            json!({"metadata": {"name": "version"}, "status": {
                "conditions": [{"type": "Failing", "status": failing, "reason": "R", "message": "m"},
                    {"type": "Available", "status": "True"}, {"type": "Progressing", "status": "False"}],
                "history": [{"state": "Completed", "version": "4.14.3"}],
                "availableUpdates": [{"version": "4.14.4"}],
            }}),
        )
        .unwrap()))
    };
    let checks = of_objects(&cluster("False"), "4.14.4", now());
    assert_eq!(
        checks.verdict,
        Verdict::Caution,
        "not everything was looked at: {checks:?}"
    );
    assert_eq!(checks.base_version.as_deref(), Some("4.14.3"));
    let not_asked: Vec<_> = checks.informers_in(InformerState::NotImplemented).collect();
    let names: Vec<_> = not_asked.iter().map(|informer| informer.name.as_str()).collect();
    assert!(
        names.contains(&"drydock.api-removals") && names.contains(&"drydock.etcd"),
        "{names:?}"
    );
    let failing = of_objects(&cluster("True"), "4.14.4", now());
    assert_eq!(failing.findings[0].insight.impact.level, Level::Warning);
    assert!(failing.is_held());
    let unread = BuiltInFacts {
        pools: Err(Unread::Failed("forbidden".to_owned())),
        ..cluster("False")
    };
    let unread = of_objects(&unread, "4.14.4", now());
    assert!(unread.is_held(), "what cannot be read may be anything");
    assert_eq!(unread.findings[0].informer, "drydock.machine-config-pools");
}
