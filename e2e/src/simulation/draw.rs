//! What a seed draws: clusters, and upgrades with everything that a user may write into one.

use jiff::Timestamp;
use ocm_sandbox::spokes::image_of;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::{Map, Value, json};

use crate::hub_fleet::action;

/// The versions that are asked for; clusters begin with an older one.
pub(super) const TARGETS: [&str; 3] = ["4.14.10", "4.14.12", "4.14.13"];
/// The version that clusters begin with.
pub(super) const INSTALLED: &str = "4.14.9";
/// The Placements of each namespace.
pub(super) const PLACEMENTS: [&str; 2] = ["first", "second"];
/// The namespaces of upgrades.
pub(super) const NAMESPACES: [&str; 2] = ["default", "team"];
/// The cluster sets: all clusters, and the blue ones.
pub(super) const SETS: [&str; 2] = ["global", "blue"];

/// The ConfigMap of each namespace that has a calendar of freezes, and its key there.
pub(super) const CALENDAR: (&str, &str) = ("holidays", "team.ics");
/// The calendar: from 02:00 to 09:00 UTC on the day after, and then each day from 18:00 to 19:00 UTC. Times without a zone are
/// those of Berlin in winter.
pub(super) const CALENDAR_TEXT: &str = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260105T030000\nDTEND:20260106T100000\nSUMMARY:inventory\n\
    END:VEVENT\nBEGIN:VEVENT\nDTSTART:20260106T190000\nDURATION:PT1H\nRRULE:FREQ=DAILY\nSUMMARY:backup\nEND:VEVENT\nEND:VCALENDAR\n";

/// Whether the calendar freezes clusters at a moment.
pub(super) fn is_frozen_by_calendar(moment: Timestamp) -> bool {
    let begin: i64 = 1_767_578_400; // 2026-01-05T02:00:00Z
    let since = moment.as_second() - begin;
    let hour = 3600;
    let is_inventory = (0..31 * hour).contains(&since);
    let is_backup = since >= 40 * hour && (since - 40 * hour) % (24 * hour) < hour;
    is_inventory || is_backup
}

/// A number below `end`.
pub(super) fn below(rng: &mut ChaCha8Rng, end: u64) -> u64 {
    rng.next_u64() % end.max(1)
}

/// True in this many of a hundred cases.
pub(super) fn chance(rng: &mut ChaCha8Rng, of_hundred: u64) -> bool {
    below(rng, 100) < of_hundred
}

/// One of several.
pub(super) fn pick<T: Clone>(rng: &mut ChaCha8Rng, of: &[T]) -> T {
    of[below(rng, of.len() as u64) as usize].clone()
}

/// An upgrade's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Which {
    pub namespace: &'static str,
    pub name: &'static str,
}

/// All upgrades that there may be.
pub(super) const ALL: [Which; 4] = [
    Which {
        namespace: "default",
        name: "autumn",
    },
    Which {
        namespace: "default",
        name: "spring",
    },
    Which {
        namespace: "team",
        name: "spring",
    },
    Which {
        namespace: "team",
        name: "winter",
    },
];

/// The names of the clusters.
pub(super) fn names(clusters: usize) -> Vec<String> {
    (0..clusters).map(|number| format!("c{number}")).collect()
}

/// A cluster of a fleet of works that are answered.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub name: String,
    pub labels: Value,
    pub claims: bool,
    pub is_other_product: bool,
    pub agent: bool,
}

/// The labels of a cluster.
pub(super) fn labels(rng: &mut ChaCha8Rng) -> Value {
    json!({"env": pick(rng, &["blue", "green"]), "canary": if chance(rng, 40) { "yes" } else { "no" }})
}

/// A cluster.
pub(super) fn cluster(rng: &mut ChaCha8Rng, name: &str) -> Drawn {
    Drawn {
        name: name.to_owned(),
        labels: labels(rng),
        claims: chance(rng, 75),
        is_other_product: chance(rng, 6),
        agent: chance(rng, 45),
    }
}

/// A label selector of clusters.
pub(super) fn selector(rng: &mut ChaCha8Rng, clusters: usize) -> Value {
    let some: Vec<String> = names(clusters).into_iter().filter(|_| chance(rng, 60)).collect();
    let by_name =
        |operator: &str| json!({"matchExpressions": [{"key": "name", "operator": operator, "values": some}]});
    match below(rng, 9) {
        0 | 1 if !some.is_empty() => by_name("In"),
        2 if !some.is_empty() => by_name("NotIn"),
        3 => json!({"matchLabels": {"env": "blue"}}),
        4 => json!({"matchLabels": {"env": "green"}}),
        _ => json!({"matchExpressions": [{"key": "name", "operator": "Exists"}]}),
    }
}

/// The fields of a spec that are edited one by one; absent ones are null.
pub(super) const FIELDS: [&str; 9] = [
    "selection",
    "clusterVersion",
    "ocpOperators",
    "upgradeStrategy",
    "preUpgradeAction",
    "postUpgradeAction",
    "preChecks",
    "paused",
    "maxConcurrency",
];

/// A whole spec.
pub(super) fn spec(rng: &mut ChaCha8Rng, clusters: usize, real: bool) -> Value {
    let mut spec = Map::new();
    for field in FIELDS.iter().filter(|field| **field != "maxConcurrency") {
        set_field(rng, &mut spec, field, clusters, real);
    }
    Value::Object(spec)
}

/// Gives a field of a spec another value, or takes it away.
pub(super) fn set_field(
    rng: &mut ChaCha8Rng,
    spec: &mut Map<String, Value>,
    field: &str,
    clusters: usize,
    real: bool,
) {
    let drawn = match field {
        "selection" => return selection(rng, spec, clusters),
        "clusterVersion" => release(rng, real),
        "ocpOperators" => operators(
            rng,
            spec.get("clusterVersion").is_some_and(|known| !known.is_null()),
        ),
        "upgradeStrategy" => strategy(rng, real),
        "maxConcurrency" => {
            let mut known = spec.get("upgradeStrategy").cloned().unwrap_or(json!({}));
            known["maxConcurrency"] = limit(rng);
            spec.insert("upgradeStrategy".to_owned(), known);
            return;
        }
        "preUpgradeAction" => drawn_action(rng, 45, "backup"),
        "postUpgradeAction" => drawn_action(rng, 30, "check"),
        // Simulated clusters say what is in the way for as long as it is: what is required of them may never come.
        "preChecks" if real => pick(
            rng,
            &[Value::Null, json!({"mode": "Off"}), json!({"mode": "Report"})],
        ),
        "preChecks" => pre_checks(rng),
        _ => json!(chance(rng, 8)),
    };
    if drawn.is_null() {
        spec.remove(field);
    } else {
        spec.insert(field.to_owned(), drawn);
    }
}

fn selection(rng: &mut ChaCha8Rng, spec: &mut Map<String, Value>, clusters: usize) {
    spec.remove("clusterSelector");
    spec.remove("placement");
    let how = below(rng, 10);
    if how < 6 {
        spec.insert("clusterSelector".to_owned(), selector(rng, clusters));
    }
    if how >= 5 {
        let count = 1 + below(rng, 2) as usize;
        let references = PLACEMENTS.iter().take(count).map(|name| json!({"name": name}));
        spec.insert("placement".to_owned(), references.collect());
    }
}

pub(super) fn release(rng: &mut ChaCha8Rng, real: bool) -> Value {
    let version = pick(rng, &TARGETS);
    let mut release = match below(rng, 10) {
        0 if !real => return Value::Null,
        1 | 2 if !real => json!({"image": image_of(version)}),
        3 if !real => json!({"image": image_of(version), "version": version}),
        _ => json!({"version": version}),
    };
    if chance(rng, 70) {
        release["channel"] = pick(rng, &["stable-4.14", "fast-4.14"]).into();
    }
    release
}

fn operators(rng: &mut ChaCha8Rng, has_release: bool) -> Value {
    match below(rng, 8) {
        0 => json!({"approveAllUpgrades": true}),
        1 => json!({"include": [{"name": "logging", "namespace": "openshift-logging"}]}),
        _ if !has_release => json!({"approveAllUpgrades": true}),
        _ => Value::Null,
    }
}

fn limit(rng: &mut ChaCha8Rng) -> Value {
    if chance(rng, 20) {
        pick(rng, &["10%", "50%", "100%"]).into()
    } else {
        (1 + below(rng, 4)).into()
    }
}

fn strategy(rng: &mut ChaCha8Rng, real: bool) -> Value {
    let mut strategy = json!({"maxConcurrency": limit(rng)});
    let via: &[&str] = if real {
        &["Auto"]
    } else {
        &["Auto", "ClusterVersion", "ClusterVersion", "Agent"]
    };
    strategy["upgradeVia"] = pick(rng, via).into();
    if chance(rng, 40) {
        strategy["canaryClusters"] = json!({
            "clusterSelector": {"matchLabels": {"canary": "yes"}},
            "soakTime": pick(rng, &["0s", "30m", "2h", "2h"]),
        });
    }
    if chance(rng, 25) {
        strategy["maxFailures"] = pick(rng, &[json!(1), json!(2), json!("30%")]);
    }
    if chance(rng, 50) {
        strategy["clusterUpgradeTimeout"] = pick(rng, &["90m", "3h", "4h"]).into();
    }
    if chance(rng, 12) {
        // The last of these is no schedule.
        let hour = pick(rng, &["0", "9", "14", "20", "20", "99"]);
        let of_all = json!({"cron": format!("0 {hour} * * *"), "duration": "6h"});
        let of_canaries = json!({"cron": "0 * * * *", "duration": "20m",
            "clusterSelector": {"matchLabels": {"canary": "yes"}}});
        strategy["startWindows"] = pick(
            rng,
            &[
                json!([of_all]),
                json!([of_all, of_canaries]),
                json!([of_canaries]),
            ],
        );
    }
    if chance(rng, 8) {
        let hours = pick(rng, &["04", "10", "16"]);
        let mut freeze = json!({"from": "2026-01-05T02:00:00Z", "to": format!("2026-01-06T{hours}:00:00+01:00"),
            "reason": "inventory"});
        if chance(rng, 50) {
            freeze["clusterSelector"] = json!({"matchLabels": {"canary": "yes"}});
        }
        // Some have the freeze from the calendar, which has another one each day.
        if hours == "10" {
            strategy["freezeCalendar"] =
                json!({"configMap": {"name": CALENDAR.0, "key": CALENDAR.1}, "timeZone": "Europe/Berlin"});
        } else {
            strategy["freezes"] = json!([freeze]);
        }
    }
    // The window of canaries is too short for all of them: what waits for these would wait forever.
    let windows = strategy["startWindows"].as_array().map_or(&[][..], Vec::as_slice);
    let is_long = windows.iter().all(|window| window["duration"] == "6h");
    if is_long && !(windows.is_empty() && strategy["freezes"].is_null()) {
        strategy["startOnlyIfItFits"] = chance(rng, 60).into();
    }
    strategy
}

fn pre_checks(rng: &mut ChaCha8Rng) -> Value {
    let mut drawn = match below(rng, 4) {
        0 => return Value::Null,
        1 => return json!({"mode": "Off"}),
        2 => json!({"mode": "Report"}),
        _ => json!({"mode": "Require"}),
    };
    if chance(rng, 60) {
        drawn["maxAge"] = pick(rng, &["10m", "1h", "24h"]).into();
    }
    if chance(rng, 40) {
        drawn["timeout"] = pick(rng, &["2m", "30m"]).into();
    }
    drawn
}

/// An action, perhaps with a Job that outlives its work, or with rules of the user's own that match everything.
fn drawn_action(rng: &mut ChaCha8Rng, of_hundred: u64, job: &str) -> Value {
    if !chance(rng, of_hundred) {
        return Value::Null;
    }
    let mut drawn = action(job);
    if chance(rng, 30) {
        drawn["manifestWork"]["deleteOption"] = json!({"propagationPolicy": "Orphan"});
    }
    if chance(rng, 30) {
        drawn["manifestWork"]["manifestConfigs"] = json!([{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "name": "*", "namespace": "*"},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        }]);
    }
    if chance(rng, 50) {
        drawn["timeout"] = pick(rng, &["30m", "2h"]).into();
    }
    drawn
}

/// A whole upgrade.
pub(super) fn upgrade(which: &Which, spec: &Value) -> Value {
    let mut spec = spec.clone();
    for reference in spec["placement"].as_array_mut().into_iter().flatten() {
        reference["namespace"] = which.namespace.into();
    }
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": which.name, "namespace": which.namespace}, "spec": spec,
    })
}
