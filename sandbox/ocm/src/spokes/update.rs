//! How a cluster upgrades: the cluster version operator, the agent, and Jobs that come to their end.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::{ClusterTimeline, Id, Timer, UPGRADE_CONFIG, UpgradeRequest, version_id};
use super::release::{image_of, version_of};
use super::settings::{Stage, StageOutcome};
use kube_sandbox::object;

/// For how long the update service is away.
const AWAY: Duration = Duration::from_mins(25);
/// How long an agent takes before it asks for the upgrade.
const PREPARES: Duration = Duration::from_mins(3);

/// What continues by the time alone. The number says of which attempt it is: what belongs to an earlier one does not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The cluster version operator looks at what is asked.
    Look(u64),
    /// The update service is back.
    Back(u64),
    /// The upgrade is done.
    Complete(u64),
    /// The agent asks for the upgrade of this UpgradeConfig, in this generation.
    Commence(Id, i64),
}

/// A work was applied: what follows of it. One that asks for the first time lets the cluster try again what it had refused.
pub(super) fn consider(cluster: &mut ClusterTimeline, work: &str, is_new: bool, now: Timestamp) {
    consider_version(cluster, work, is_new, now);
    if !cluster.agent {
        return;
    }
    let configs: Vec<Id> = cluster
        .objects
        .keys()
        .filter(|id| id.0 == UPGRADE_CONFIG)
        .cloned()
        .collect();
    for id in configs {
        consider_config(cluster, &id, is_new, now);
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The version of the newest completed entry of the history.
pub(super) fn completed_version(version: &Value) -> &str {
    let history = object::list(&version["status"]["history"]);
    let completed = history.iter().find(|entry| entry["state"] == "Completed");
    completed
        .and_then(|entry| entry["version"].as_str())
        .unwrap_or_default()
}

/// What is asked of the cluster version operator, as version and image.
fn desired(version: &Value) -> Option<(String, String)> {
    let given = |field| Some(text(version, field)).filter(|text| !text.is_empty());
    let asked = given("/spec/desiredUpdate/version");
    let image = given("/spec/desiredUpdate/image");
    match (asked, image) {
        (_, Some(image)) => Some((version_of(image).unwrap_or_default(), image.to_owned())),
        (Some(version), None) => Some((version.to_owned(), image_of(version))),
        (None, None) => None,
    }
}

fn current(version: &Value) -> (&str, &str, bool) {
    let entry = "/status/history/0";
    (
        text(version, &format!("{entry}/version")),
        text(version, &format!("{entry}/image")),
        text(version, &format!("{entry}/state")) == "Completed",
    )
}

fn consider_version(cluster: &mut ClusterTimeline, by: &str, is_new: bool, now: Timestamp) {
    let object = &cluster.objects[&version_id()];
    let wanted = desired(object);
    let (version, shown, completed) = current(object);
    let from = version.to_owned();
    let Some((to, image)) = wanted else {
        cluster.desired = None;
        return observe_generation(cluster);
    };
    let is_there = version == to && shown == image && completed;
    let is_asked = cluster.desired.as_ref() == Some(&(to.clone(), image.clone()));
    let asks_again = is_new && cluster.is_stuck;
    cluster.desired = Some((to.clone(), image));
    if is_there || is_asked && !asks_again {
        return observe_generation(cluster);
    }
    cluster.is_stuck = false;
    cluster.attempt += 1;
    cluster.asked.push(UpgradeRequest {
        at: now,
        version: to,
        from,
        by: by.to_owned(),
    });
    let attempt = cluster.attempt;
    let refused = cluster.planned_update(StageOutcome::Fails);
    let sees = refused.unwrap_or(cluster.settings.sees);
    cluster.after(sees, Timer::Update(Step::Look(attempt)));
}

fn observe_generation(cluster: &mut ClusterTimeline) {
    if let Some(object) = cluster.objects.get_mut(&version_id()) {
        object["status"]["observedGeneration"] = object::generation(object).into();
    }
}

/// Continues an upgrade.
pub(super) fn step(cluster: &mut ClusterTimeline, step: Step, now: Timestamp) {
    match step {
        Step::Look(of) if of == cluster.attempt => look(cluster, now),
        Step::Back(of) if of == cluster.attempt => accept(cluster, StageOutcome::Succeeds, now),
        Step::Complete(of) if of == cluster.attempt => complete(cluster, now),
        Step::Look(_) | Step::Back(_) | Step::Complete(_) => {}
        Step::Commence(id, of) => commence(cluster, &id, of, now),
    }
}

fn condition(type_: &str, is_true: bool, message: &str) -> Value {
    json!({"type": type_, "status": if is_true { "True" } else { "False" }, "message": message})
}

fn set_conditions(cluster: &mut ClusterTimeline, conditions: &[Value]) {
    if let Some(object) = cluster.objects.get_mut(&version_id()) {
        object["status"]["conditions"] = conditions.to_vec().into();
    }
}

fn look(cluster: &mut ClusterTimeline, now: Timestamp) {
    observe_generation(cluster);
    let outcome = cluster.update_outcome(Stage::Update);
    let Some((version, _)) = desired(&cluster.objects[&version_id()]) else {
        return;
    };
    let refused = format!(
        "The cluster version is invalid: spec.desiredUpdate.version: Invalid value: \"{version}\": when image is empty the update \
         must be a previous version or an available update"
    );
    let is_away = cluster.settings.late > 0 && cluster.draw("away") % 100 < cluster.settings.late;
    let waits = outcome == StageOutcome::Waits || outcome == StageOutcome::Succeeds && is_away;
    match outcome {
        StageOutcome::Fails => {
            cluster.is_stuck = true;
            let conditions = [
                condition("Invalid", true, &refused),
                condition("RetrievedUpdates", true, ""),
            ];
            set_conditions(cluster, &conditions);
        }
        StageOutcome::Waits | StageOutcome::Succeeds if waits => {
            let away = condition("RetrievedUpdates", false, "the update service does not answer");
            set_conditions(cluster, &[condition("Invalid", true, &refused), away]);
            let attempt = cluster.attempt;
            cluster.after(AWAY, Timer::Update(Step::Back(attempt)));
        }
        StageOutcome::Succeeds | StageOutcome::Hangs | StageOutcome::Waits => accept(cluster, outcome, now),
    }
}

fn accept(cluster: &mut ClusterTimeline, outcome: StageOutcome, now: Timestamp) {
    let Some((version, image)) = desired(&cluster.objects[&version_id()]) else {
        return;
    };
    begin(cluster, &version, &image, now);
    if outcome == StageOutcome::Hangs {
        cluster.is_stuck = true;
        let failing = "Cluster operator etcd is degraded";
        set_conditions(
            cluster,
            &[
                condition("Failing", true, failing),
                condition("RetrievedUpdates", true, ""),
            ],
        );
        return;
    }
    let draw = cluster.draw("duration");
    let drawn = cluster.settings.takes(draw);
    let takes = cluster.planned_update(StageOutcome::Succeeds).unwrap_or(drawn);
    let attempt = cluster.attempt;
    cluster.after(takes, Timer::Update(Step::Complete(attempt)));
}

/// The upgrade begins.
pub(super) fn begin(cluster: &mut ClusterTimeline, version: &str, image: &str, now: Timestamp) {
    let working = format!("Working towards {version}: 106 of 859 done (12% complete)");
    set_conditions(
        cluster,
        &[
            condition("Progressing", true, &working),
            condition("RetrievedUpdates", true, ""),
        ],
    );
    let verified = cluster.verifies;
    let Some(object) = cluster.objects.get_mut(&version_id()) else {
        return;
    };
    let (shown, shown_image, _) = current(object);
    if (shown, shown_image) == (version, image) {
        return;
    }
    let entry = json!({
        "state": "Partial", "version": version, "image": image, "verified": verified, "startedTime": now.to_string(),
    });
    if let Some(history) = object["status"]["history"].as_array_mut() {
        history.insert(0, entry);
        history.truncate(10);
    }
}

/// The upgrade is done; the agent sees it at once.
pub(super) fn complete(cluster: &mut ClusterTimeline, now: Timestamp) {
    set_conditions(cluster, &[condition("RetrievedUpdates", true, "")]);
    let Some(object) = cluster.objects.get_mut(&version_id()) else {
        return;
    };
    let entry = &mut object["status"]["history"][0];
    entry["state"] = "Completed".into();
    entry["completionTime"] = now.to_string().into();
    let version = text(entry, "/version").to_owned();
    for (_, config) in cluster
        .objects
        .iter_mut()
        .filter(|(id, _)| id.0 == UPGRADE_CONFIG)
    {
        let entry = &mut config["status"]["history"][0];
        if entry["phase"] == "Upgrading" && entry["version"] == version.as_str() {
            entry["phase"] = "Upgraded".into();
            entry["completeTime"] = now.to_string().into();
            entry["conditions"] =
                json!([{"type": "Upgraded", "status": "True", "reason": "done", "message": ""}]);
        }
    }
}

fn consider_config(cluster: &mut ClusterTimeline, id: &Id, is_new: bool, now: Timestamp) {
    let Some(object) = cluster.objects.get_mut(id) else {
        return;
    };
    if object.pointer("/spec/desired").is_none() {
        return;
    }
    let image = text(object, "/spec/desired/image").to_owned();
    if let Some(version) = version_of(&image) {
        object["spec"]["desired"]["version"] = version.into();
    }
    let wanted = text(object, "/spec/desired/version").to_owned();
    let entry = &object["status"]["history"][0];
    let phase = text(entry, "/phase");
    let is_about = entry["version"] == wanted.as_str();
    let has_failed = phase == "Failed" && is_new;
    if is_about && !has_failed {
        return;
    }
    let entry = json!({
        "version": wanted, "phase": "Upgrading", "startTime": now.to_string(),
        "conditions": [{"type": "UpgradeCommenced", "status": "False", "reason": "waits", "message": "prepares"}],
    });
    let mut history = object::list(&object["status"]["history"]).to_vec();
    history.retain(|known| known["version"] != wanted.as_str());
    history.insert(0, entry);
    object["status"]["history"] = Value::Array(history);
    let generation = object::generation(object);
    let fails = cluster.planned_update(StageOutcome::Fails);
    let prepares = fails.unwrap_or(PREPARES);
    cluster.after(prepares, Timer::Update(Step::Commence(id.clone(), generation)));
}

/// The agent asks the cluster version operator for the version, or gives up.
fn commence(cluster: &mut ClusterTimeline, id: &Id, generation: i64, now: Timestamp) {
    let fails = cluster.update_outcome(Stage::Agent) == StageOutcome::Fails;
    let Some(config) = cluster.objects.get_mut(id) else {
        return;
    };
    let is_under_way = config["status"]["history"][0]["phase"] == "Upgrading";
    if object::generation(config) != generation || !is_under_way {
        return;
    }
    if fails {
        let entry = &mut config["status"]["history"][0];
        entry["phase"] = "Failed".into();
        entry["conditions"] = json!([{
            "type": "ClusterHealthyBeforeUpgrade", "status": "False", "reason": "unhealthy", "message": "two operators are degraded",
        }]);
        return;
    }
    let version = text(config, "/spec/desired/version").to_owned();
    let image = Some(text(config, "/spec/desired/image")).filter(|image| !image.is_empty());
    let update =
        json!({"version": version, "image": image.map_or_else(|| image_of(&version), str::to_owned)});
    let Some(object) = cluster.objects.get_mut(&version_id()) else {
        return;
    };
    if object["spec"]["desiredUpdate"] != update {
        object["spec"]["desiredUpdate"] = update;
        let generation = object::generation(object) + 1;
        object["metadata"]["generation"] = generation.into();
    }
    consider_version(cluster, "agent", true, now);
    let object = &cluster.objects[&version_id()];
    let (shown, _, completed) = current(object);
    if completed && shown == version {
        complete(cluster, now);
    }
}

/// A Job or Pod comes to its end, or hangs.
pub(super) fn end_run(cluster: &mut ClusterTimeline, id: &Id, draw: u64) {
    let outcome = cluster.job_outcome(id, draw);
    let is_it = |object: &&mut Value| object["metadata"]["uid"] == draw;
    let Some(object) = cluster.objects.get_mut(id).filter(is_it) else {
        return;
    };
    object["status"] = match (id.0, outcome) {
        (_, StageOutcome::Hangs) => return,
        ("Pod", StageOutcome::Succeeds | StageOutcome::Waits) => json!({"phase": "Succeeded"}),
        ("Pod", StageOutcome::Fails) => json!({"phase": "Failed"}),
        (_, StageOutcome::Succeeds | StageOutcome::Waits) => {
            json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]})
        }
        (_, StageOutcome::Fails) => {
            json!({"failed": 4, "conditions": [{"type": "Failed", "status": "True"}]})
        }
    };
}
