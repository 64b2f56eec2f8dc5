//! Risks of a target, by the word of the cluster's Prometheus.

use super::*;

#[test]
fn a_risk_applies_if_the_clusters_prometheus_says_so() {
    let with = |recommended: &str, answers: &[(&str, Option<bool>)]| {
        let rule = |query: &str| json!([{"type": "PromQL", "promql": {"promql": query}}]);
        let cluster: ClusterVersion = read(json!({"metadata": {"name": "version"}, "status": {
            "conditions": well(), "history": [{"state": "Completed", "version": "4.14.3"}],
            "conditionalUpdates": [{
                "release": {"version": "4.14.5"}, "conditions": [condition("Recommended", recommended, "Multiple", NOW)],
                "risks": [
                    {"name": "A", "message": "a", "url": "https://a", "matchingRules": rule("a")},
                    {"name": "B", "message": "b", "url": "https://b", "matchingRules": rule("b")},
                    {"name": "C", "message": "c", "url": "https://c", "matchingRules": [{"type": "Always"}]},
                ],
            }],
        }}));
        assert_eq!(risk_queries(&cluster, "4.14.5"), ["a", "b"]);
        assert!(risk_queries(&cluster, "4.14.6").is_empty());
        let answers = answers.iter().map(|(query, answer)| {
            let failed = || Unread::Failed("no answer".to_owned());
            ((*query).to_owned(), answer.ok_or_else(failed))
        });
        let facts = BuiltInFacts {
            cluster: Ok(cluster),
            risks: answers.collect(),
            ..facts()
        };
        let found = found(BuiltIn::ClusterVersion, &facts, Question::of_version("4.14.5"));
        found.into_iter().map(|(_, level, _)| level).collect::<Vec<_>>()
    };
    assert_eq!(with("Unknown", &[]), [Level::Unknown; 3]);
    assert_eq!(
        with("Unknown", &[("a", Some(true)), ("b", Some(false))]),
        [Level::Warning, Level::Info, Level::Unknown]
    );
    assert_eq!(
        with("False", &[("a", None), ("b", Some(false))]),
        [Level::Warning, Level::Info, Level::Warning]
    );
}
