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
        uids(BuiltIn::Etcd, &lost, Question::of_version("4.14.4")),
        ["etcd-members-missing", "etcd-degraded"]
    );
    let well = etcd(json!([condition(
        "EtcdMembersAvailable",
        "True",
        "AsExpected",
        NOW
    )]));
    assert!(uids(BuiltIn::Etcd, &well, Question::Status).is_empty());
    let unknown = condition("EtcdMembersAvailable", "Unknown", "NoQuorum", NOW);
    for conditions in [json!([]), json!([unknown])] {
        assert_eq!(
            uids(BuiltIn::Etcd, &etcd(conditions), Question::of_version("4.14.4")),
            ["etcd-members-unknown"],
            "nobody says that none is missing"
        );
    }
}

/// Who has accepted one of them has accepted no other.
#[test]
fn another_reason_or_member_is_another_finding() {
    let uuid = |informer: BuiltIn, facts: &BuiltInFacts| {
        let Attempt::Answered(Answer::Success(found)) =
            informer.attempt(facts, Question::of_version("4.15.0"), now())
        else {
            panic!("it has an answer");
        };
        found[0].uuid(&informer.name())
    };
    let members = |message: &str| {
        let mut lost = condition("EtcdMembersAvailable", "False", "Unhealthy", NOW);
        lost["message"] = message.into();
        let etcd = json!({"metadata": {"name": "cluster"}, "status": {"conditions": [lost]}});
        let facts = BuiltInFacts {
            etcd: Ok(read(etcd)),
            ..facts()
        };
        uuid(BuiltIn::Etcd, &facts)
    };
    assert_eq!(
        members("2 of 3 members are available"),
        members("2 of 3 members are available")
    );
    assert_ne!(
        members("2 of 3 members are available"),
        members("1 of 3 members are available")
    );
    let held = |reason: &str| {
        let conditions = [well(), vec![condition("Upgradeable", "False", reason, NOW)]].concat();
        let facts = BuiltInFacts {
            cluster: Ok(cluster(&conditions)),
            ..facts()
        };
        uuid(BuiltIn::ClusterVersion, &facts)
    };
    assert_ne!(held("PoolUpdating"), held("IncompatibleOperatorsInstalled"));
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
        ]),
        cluster: Ok(cluster(&[])),
        ..facts()
    };
    assert!(
        uids(
            BuiltIn::InstalledOperators,
            &facts,
            Question::of_version("4.14.9")
        )
        .is_empty()
    );
    let found = found(
        BuiltIn::InstalledOperators,
        &facts,
        Question::of_version("4.15.0"),
    );
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

/// As OLM reads it, which holds updates to another minor release where it cannot.
#[test]
fn the_limit_of_an_operator_is_read_as_olm_does() {
    let held = |properties: &str, target: &str| {
        let operator: PartialObjectMeta<ClusterServiceVersion> = read(
            json!({"metadata": {"name": "o", "namespace": "ns", "annotations": {"olm.properties": properties}}}),
        );
        let facts = BuiltInFacts {
            installed: Ok(vec![operator]),
            cluster: Ok(cluster(&[])),
            ..facts()
        };
        !uids(BuiltIn::InstalledOperators, &facts, Question::of_version(target)).is_empty()
    };
    let limit = |value: &str| format!(r#"[{{"type": "olm.maxOpenShiftVersion", "value": {value}}}]"#);
    for (value, of_patch, of_minor) in [
        (r#""4.14""#, false, true),
        ("4.14", false, true),
        ("4.15", false, false),
        ("4.20", false, false),
        (r#""\"4.14\"""#, false, true),
        (r#""4.15.0""#, false, false),
        (r#""4.15.3""#, false, true),
        (r#""4""#, true, true),
        (r#""junk""#, false, true),
        (r#""""#, false, true),
        ("null", false, true),
        ("{}", false, true),
    ] {
        let found = (held(&limit(value), "4.14.9"), held(&limit(value), "4.15.0"));
        assert_eq!(found, (of_patch, of_minor), "{value}");
    }
    let two = r#"[{"type": "olm.maxOpenShiftVersion", "value": "4.15"}, {"type": "olm.maxOpenShiftVersion", "value": "4.16"}]"#;
    for unreadable in [two, "no list", r#"[{"type": "olm.maxOpenShiftVersion"}]"#] {
        assert!(
            held(unreadable, "4.15.0") && !held(unreadable, "4.14.9"),
            "{unreadable}"
        );
    }
}
