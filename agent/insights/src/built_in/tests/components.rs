//! etcd, and the operators of OLM.

use super::*;

#[test]
fn etcd_that_has_lost_a_member() {
    let etcd = |conditions: Value| BuiltInFacts {
        etcd: Ok(read(
            json!({"metadata": {"name": "cluster"}, "status": {"conditions": conditions}}),
        )),
        ..facts()
    };
    let lost = etcd(json!([
        condition("EtcdMembersAvailable", "False", "NoQuorum", NOW),
        condition("EtcdMembersDegraded", "True", "EtcdMembersUnhealthy", NOW),
        condition("NodeInstallerDegraded", "False", "AsExpected", NOW),
    ]));
    assert_eq!(
        uids(BuiltIn::Etcd, &lost, Question::Plan("4.14.4")),
        ["etcd-members-missing", "etcd-degraded"]
    );
    let well = etcd(json!([condition(
        "EtcdMembersAvailable",
        "True",
        "AsExpected",
        NOW
    )]));
    assert!(uids(BuiltIn::Etcd, &well, Question::Status).is_empty());
}

#[test]
fn operators_that_are_not_meant_for_the_target() {
    let operator = |name: &str, properties: &str| -> PartialObjectMeta<ClusterServiceVersion> {
        read(
            json!({"metadata": {"name": name, "namespace": "ns", "annotations": {"olm.properties": properties}}}),
        )
    };
    let facts = BuiltInFacts {
        installed: Ok(vec![
            operator(
                "old",
                r#"[{"type": "olm.package", "value": {}}, {"type": "olm.maxOpenShiftVersion", "value": "4.14"}]"#,
            ),
            operator("new", r#"[{"type": "olm.maxOpenShiftVersion", "value": "4.15"}]"#),
            operator("any", "[]"),
            operator("odd", "no list"),
            operator("number", r#"[{"type": "olm.maxOpenShiftVersion", "value": 4.1}]"#),
        ]),
        ..facts()
    };
    assert!(uids(BuiltIn::InstalledOperators, &facts, Question::Plan("4.14.9")).is_empty());
    let found = found(BuiltIn::InstalledOperators, &facts, Question::Plan("4.15.0"));
    let words: Vec<_> = found
        .iter()
        .map(|(_, level, summary)| (*level, summary.as_str()))
        .collect();
    assert_eq!(
        words,
        [(
            Level::Error,
            "Operator old works on OpenShift up to 4.14, and the target is 4.15.0"
        )]
    );
}
