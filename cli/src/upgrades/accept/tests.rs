use drydock_rollout::{AnswerSource, FindingAcceptance, PreCheckAnswer};

use super::*;

const UUID: &str = "0123456789abcdef0123456789abcdef";

fn reports(level: FindingLevel) -> ClusterPreChecks {
    let finding = Finding {
        uuid: Some(UUID.into()),
        informer: "mco".into(),
        uid: Some("pool-paused".into()),
        level,
        summary: "the pool is paused".into(),
        impact: "".into(),
        remedy: "".into(),
        acceptance: FindingAcceptance::None,
        accepted_by: None,
    };
    answers(vec![finding])
}

fn answers(findings: Vec<Finding>) -> ClusterPreChecks {
    ClusterPreChecks {
        asked: true,
        answer: Some(PreCheckAnswer {
            source: AnswerSource::ClusterVersion,
            findings: findings.into(),
        }),
        ..ClusterPreChecks::default()
    }
}

fn accepted(level: &str, clusters: &[&str]) -> AcceptedRisk {
    AcceptedRisk {
        informer: Some("mco".to_owned()),
        uid: Some("pool-paused".to_owned()),
        level: Some(level.to_owned()),
        clusters: (!clusters.is_empty()).then(|| clusters.iter().map(ToString::to_string).collect()),
        ..AcceptedRisk::default()
    }
}

/// Who accepts what changes nothing hears of it now, not when the clusters are held still.
#[test]
fn what_an_acceptance_does_not_cover_is_said() {
    let found = BTreeMap::from([
        ("c1".into(), reports(FindingLevel::Error)),
        ("c2".into(), reports(FindingLevel::Warning)),
        ("c3".into(), answers(Vec::new())),
    ]);
    let named = "mco/pool-paused";
    for (finding, level, clusters, expected) in [
        (named, "Error", vec![], vec![]),
        (
            named,
            "Warning",
            vec![],
            vec![
                "1 cluster reports mco/pool-paused as Error, which this does not cover: accept it with --level Error",
            ],
        ),
        (named, "Warning", vec!["c2"], vec![]),
        (
            named,
            "Warning",
            vec!["c2", "c3"],
            vec!["c3 does not report mco/pool-paused at present"],
        ),
        (
            "mco/other",
            "Error",
            vec![],
            vec![
                "no cluster reports anything of mco/other at present: is it spelled as pre-checks -o wide shows it?",
            ],
        ),
        (UUID, "Error", vec!["c1"], vec![]),
    ] {
        let risk = accepted(level, &clusters);
        let names: Vec<ClusterName> = clusters.iter().map(|name| ClusterName::from(*name)).collect();
        let meant = Meant {
            clusters: &names,
            has_labels: false,
        };
        assert_eq!(
            doubts(finding, &[&risk], &meant, &found),
            expected,
            "{finding} {level} {clusters:?}"
        );
    }
    let meant = Meant {
        clusters: &[],
        has_labels: true,
    };
    let said = "no cluster with these labels reports anything of mco/other at present";
    assert_eq!(doubts("mco/other", &[], &meant, &found), [said]);
    let nobody = BTreeMap::from([("c1".into(), ClusterPreChecks::default())]);
    let said =
        "no cluster is asked at present, so that nobody reports mco/other: it counts once a cluster does";
    assert_eq!(doubts("mco/other", &[], &meant, &nobody), [said]);
}

/// The agent has a health check of its own, which knows nothing of what is accepted.
#[test]
fn who_accepts_what_an_agent_looks_at_itself_hears_of_it() {
    let found = |informer: &str, level, by_agent: bool| {
        let mut checks = reports(level);
        let answer = checks.answer.as_mut().unwrap();
        let finding = Finding {
            informer: informer.into(),
            ..answer.findings[0].clone()
        };
        answer.findings = [finding].into();
        if by_agent {
            answer.source = AnswerSource::Agent {
                collected_at: jiff::Timestamp::UNIX_EPOCH,
                stops: true,
                unaccepted: 1,
            };
        }
        BTreeMap::from([("c1".into(), checks)])
    };
    let risk = AcceptedRisk {
        finding: Some(UUID.to_owned()),
        ..AcceptedRisk::default()
    };
    for (informer, level, by_agent, is_said) in [
        (ALERTS, FindingLevel::Critical, true, true),
        (ALERTS, FindingLevel::Warning, true, false),
        (CLUSTER_OPERATORS, FindingLevel::Warning, true, true),
        (CLUSTER_OPERATORS, FindingLevel::Warning, false, false),
        ("mco", FindingLevel::Critical, true, false),
    ] {
        let note = health_check(std::slice::from_ref(&risk), &found(informer, level, by_agent));
        assert_eq!(note.is_some(), is_said, "{informer} {level:?} {by_agent}");
    }
}

#[test]
fn who_accepts_where_no_more_acceptances_count_hears_of_it() {
    let with = |acceptances| ClusterPreChecks {
        acceptances,
        ..reports(FindingLevel::Warning)
    };
    let most = PreCheckAsk::MOST_ACCEPTED;
    let found = BTreeMap::from([
        ("c1".into(), with(most - 1)),
        ("c2".into(), with(most)),
        ("c3".into(), with(most + 9)),
    ]);
    assert_eq!(too_many("spring", &["c1".into()], &found), None);
    let said = too_many("spring", &[], &found).unwrap();
    assert!(said.starts_with("c2 and 1 more had 64 acceptances"), "{said}");
    let said = too_many("spring", &["c3".into()], &found).unwrap();
    assert!(said.starts_with("c3 had 64 acceptances"), "{said}");
}
