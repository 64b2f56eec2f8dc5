use super::*;

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(24 * 365 * 30)
}

fn ago(seconds: i64) -> String {
    (now() - jiff::SignedDuration::from_secs(seconds)).to_string()
}

#[test]
fn ages_are_said_as_kubectl_says_them() {
    let table = [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_000, "3h3m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86_400, "8d"),
        (400 * 86_400, "400d"),
        (800 * 86_400, "2y70d"),
        (9 * 365 * 86_400, "9y"),
    ];
    for (seconds, said) in table {
        assert_eq!(age::human(seconds), said, "{seconds}");
    }
}

#[test]
fn a_definition_shows_the_columns_it_names_by_their_type() {
    let version = json!({"additionalPrinterColumns": [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {"name": "Since", "type": "date", "jsonPath": ".status.since"},
        {"name": "Gone", "type": "string", "jsonPath": ".status.gone", "priority": 1},
    ]});
    let object = json!({
        "metadata": {"name": "a"}, "spec": {"count": 3}, "status": {"phase": "Done", "since": ago(125)},
    });
    let table =
        Columns::for_crd_version(&version).table(&[&object], &json!({}), IncludeObject::Metadata, now());
    assert_eq!(table["rows"][0]["cells"], json!(["a", "Done", 3, "2m5s", null]));
    assert_eq!(table["rows"][0]["object"]["metadata"]["name"], "a");
    assert_eq!(table["columnDefinitions"][4]["priority"], 1);
}

#[test]
fn a_definition_without_columns_shows_the_age() {
    let object = json!({"metadata": {"name": "a", "creationTimestamp": ago(60)}});
    let table =
        Columns::for_crd_version(&json!({})).table(&[&object], &json!({}), IncludeObject::None, now());
    assert_eq!(table["rows"][0], json!({"cells": ["a", "60s"], "object": null}));
}

#[test]
fn the_kinds_of_kubernetes_are_shown_as_people_know_them() {
    let created = ago(3 * 86_400);
    let metadata = json!({"name": "a", "creationTimestamp": created});
    let node = json!({
        "metadata": {"name": "a", "creationTimestamp": created, "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.27.8"}},
    });
    let job = json!({
        "metadata": metadata, "spec": {"completions": 1},
        "status": {"succeeded": 1, "startTime": ago(300), "completionTime": ago(200),
                   "conditions": [{"type": "Complete", "status": "True"}]},
    });
    let map = json!({"metadata": metadata, "data": {"a": "b"}});
    let table: [(&str, &str, Value, Value); 4] = [
        (
            "",
            "Node",
            node,
            json!([
                "a",
                "Ready,SchedulingDisabled",
                "worker",
                "3d",
                "v1.27.8",
                "<none>",
                "<none>",
                "<unknown>",
                "<unknown>",
                "<unknown>"
            ]),
        ),
        (
            "batch",
            "Job",
            job,
            json!(["a", "Complete", "1/1", "100s", "3d", "", "", "<none>"]),
        ),
        ("", "ConfigMap", map.clone(), json!(["a", 1, "3d"])),
        ("", "ServiceAccount", map, json!(["a", "3d"])),
    ];
    for (group, kind, object, cells) in table {
        let shown =
            Columns::for_builtin(group, "v1", kind).table(&[&object], &json!({}), IncludeObject::None, now());
        assert_eq!(shown["rows"][0]["cells"], cells, "{kind}");
    }
}
