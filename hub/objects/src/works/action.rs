//! Works of pre- and post-upgrade actions: the user's template, with feedback on the Jobs and Pods in it. That a work is `Available`
//! only says that its objects exist.

use drydock_api::names::ATTEMPT_ANNOTATION;
use drydock_api::ocm::manifest_work::{ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier};
use drydock_rollout::{ActionJob, ActionJobState};
use serde_json::{Map, Value};

use super::feedback;
use super::partial::PartialManifestWork;

/// A JSON path as the work agent reads it: a dot within a key is escaped.
const ATTEMPT_PATH: &str = r".metadata.annotations.drydock\.dev/attempt";
const JOB_PATHS: [(&str, &str); 5] = [
    ("drydockSucceeded", ".status.succeeded"),
    ("drydockFailed", ".status.failed"),
    (COMPLETE, r#".status.conditions[?(@.type=="Complete")].status"#),
    (FAILED, r#".status.conditions[?(@.type=="Failed")].status"#),
    (ATTEMPT, ATTEMPT_PATH),
];
const POD_PATHS: [(&str, &str); 2] = [(PHASE, ".status.phase"), (ATTEMPT, ATTEMPT_PATH)];
const COMPLETE: &str = "drydockJobComplete";
const FAILED: &str = "drydockJobFailed";
const PHASE: &str = "drydockPodPhase";
pub(super) const ATTEMPT: &str = "drydockAttempt";

/// Something in a work that runs and comes to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runnable {
    Job,
    Pod,
}

impl Runnable {
    /// What a manifest is, if it runs. A Pod that is always restarted never ends, so nobody waits for it.
    fn of(manifest: &Value) -> Option<Self> {
        let group = text(manifest, "/apiVersion")
            .split_once('/')
            .map_or("", |(group, _)| group);
        match (group, text(manifest, "/kind")) {
            ("batch", "Job") => Some(Self::Job),
            ("", "Pod") if matches!(text(manifest, "/spec/restartPolicy"), "Never" | "OnFailure") => {
                Some(Self::Pod)
            }
            _ => None,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::Pod => "Pod",
        }
    }

    fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::Job => ("batch", "jobs"),
            Self::Pod => ("", "pods"),
        }
    }

    fn paths(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Job => &JOB_PATHS,
            Self::Pod => &POD_PATHS,
        }
    }

    fn state(self, status: &ManifestStatus) -> ActionJobState {
        let (succeeded, failed) = match self {
            Self::Job => (
                feedback::is(status, COMPLETE, "True"),
                feedback::is(status, FAILED, "True"),
            ),
            Self::Pod => (
                feedback::is(status, PHASE, "Succeeded"),
                feedback::is(status, PHASE, "Failed"),
            ),
        };
        match (succeeded, failed) {
            (_, true) => ActionJobState::Failed,
            (true, false) => ActionJobState::Succeeded,
            (false, false) => ActionJobState::Running,
        }
    }
}

fn text<'a>(manifest: &'a Value, pointer: &str) -> &'a str {
    manifest
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn name_of(manifest: &Value) -> (&str, &str) {
    (
        text(manifest, "/metadata/namespace"),
        text(manifest, "/metadata/name"),
    )
}

/// The user's work with our feedback rules beside the user's own. The first configuration that matches an object wins in OCM, so
/// each Job and Pod gets one of its own in front of the user's, made of the user's that would have won.
pub(crate) fn template(template: &ManifestWorkSpec) -> ManifestWorkSpec {
    let manifests = template
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter());
    let own = manifests.filter_map(|manifest| {
        let runnable = Runnable::of(&manifest.0)?;
        Some(configuration(template, runnable, name_of(&manifest.0)))
    });
    let own: Vec<ManifestConfig> = own.collect();
    let is_replaced = |config: &&ManifestConfig| {
        own.iter()
            .any(|other| other.resource_identifier == config.resource_identifier)
    };
    let theirs = template
        .manifest_configs
        .iter()
        .filter(|config| !is_replaced(config))
        .cloned();
    let configs: Vec<ManifestConfig> = own.iter().cloned().chain(theirs).collect();
    ManifestWorkSpec {
        manifest_configs: configs.into(),
        ..template.clone()
    }
}

fn configuration(
    template: &ManifestWorkSpec,
    runnable: Runnable,
    (namespace, name): (&str, &str),
) -> ManifestConfig {
    let (group, resource) = runnable.resource();
    let given = |text: &Option<String>| text.as_deref().unwrap_or_default().to_owned();
    let matches = |config: &&ManifestConfig| {
        let theirs = &config.resource_identifier;
        given(&theirs.group) == group
            && theirs.resource == resource
            && matches_wildcard(&theirs.name, name)
            && matches_wildcard(&given(&theirs.namespace), namespace)
    };
    let mut config = template
        .manifest_configs
        .iter()
        .find(matches)
        .cloned()
        .unwrap_or_default();
    config.resource_identifier = ResourceIdentifier {
        group: Some(group.to_owned()),
        resource: resource.to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..ResourceIdentifier::default()
    };
    config
        .feedback_scrape_type
        .get_or_insert_with(|| "Watch".to_owned());
    config.update_strategy.get_or_insert_with(feedback::create_only);
    let rule = feedback::json_paths(runnable.paths());
    let mut rules = config.feedback_rules.to_vec();
    match rules.iter_mut().find(|theirs| theirs.type_ == rule.type_) {
        Some(theirs) => {
            let paths = theirs.json_paths.iter().chain(rule.json_paths.iter()).cloned();
            theirs.json_paths = paths.collect::<Vec<_>>().into();
        }
        None => rules.push(rule),
    }
    config.feedback_rules = rules.into();
    config
}

/// As the work agent matches names: `*` stands for any number of characters.
fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
    text.char_indices()
        .map(|(start, _)| start)
        .chain([text.len()])
        .any(|start| matches_wildcard(rest, &text[start..]))
}

/// The template with the attempt on each Job and Pod.
pub(super) fn of_attempt(template: &Value, attempt: &str) -> Value {
    let mut spec = template.clone();
    let manifests = spec
        .pointer_mut("/workload/manifests")
        .and_then(Value::as_array_mut);
    for manifest in manifests.into_iter().flatten() {
        if Runnable::of(manifest).is_some() {
            mark(manifest, attempt);
        }
    }
    spec
}

/// Puts the attempt on an object.
pub(super) fn mark(manifest: &mut Value, attempt: &str) {
    let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(Map::new()));
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(ATTEMPT_ANNOTATION.to_owned(), attempt.into());
    }
}

/// How far each Job and Pod of an action is.
pub(super) fn runs(work: &PartialManifestWork) -> Vec<ActionJob> {
    let manifests = work
        .spec
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter());
    manifests
        .filter_map(|manifest| {
            let runnable = Runnable::of(&manifest.0)?;
            let (namespace, name) = name_of(&manifest.0);
            let (group, resource) = runnable.resource();
            let status = super::read::manifest(work, group, resource, namespace, name);
            let state = |status: &ManifestStatus| {
                of_this_attempt(&manifest.0, status, |status| runnable.state(status))
            };
            Some(ActionJob {
                name: format!("{} {namespace}/{name}", runnable.kind()).into(),
                state: status.map_or(ActionJobState::Running, state),
            })
        })
        .collect()
}

/// What the object on the cluster says, if it is the one that the work has made: one of another attempt, left by a work that
/// orphaned it, says nothing.
pub(super) fn of_this_attempt(
    manifest: &Value,
    status: &ManifestStatus,
    state: impl Fn(&ManifestStatus) -> ActionJobState,
) -> ActionJobState {
    let pointer = format!("/metadata/annotations/{}", ATTEMPT_ANNOTATION.replace('/', "~1"));
    let wanted = manifest.pointer(&pointer).and_then(Value::as_str);
    let shown = feedback::text(status, ATTEMPT);
    let says_something = status
        .status_feedback
        .as_ref()
        .is_some_and(|feedback| !feedback.values.is_empty());
    match wanted {
        Some(wanted) if says_something && shown.as_deref() != Some(wanted) => ActionJobState::OtherAttempt,
        _ => state(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn configs(theirs: &Value) -> Value {
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "backup", "namespace": "ops"},
        });
        let spec = json!({"workload": {"manifests": [job]}, "manifestConfigs": theirs});
        let spec: ManifestWorkSpec = serde_json::from_value(spec).unwrap();
        json!(template(&spec).manifest_configs)
    }

    #[test]
    fn a_configuration_with_wildcards_does_not_hide_our_rules() {
        for (name, namespace) in [("backup", "ops"), ("*", "ops"), ("back*", "*"), ("*up", "o*s")] {
            let theirs = json!([{
                "resourceIdentifier": {"group": "batch", "resource": "jobs", "name": name, "namespace": namespace},
                "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "mine", "path": ".status.active"}]}],
                "updateStrategy": {"type": "Update"},
            }]);
            let first = configs(&theirs)[0].clone();
            assert_eq!(first["resourceIdentifier"]["name"], "backup");
            assert_eq!(first["updateStrategy"]["type"], "Update", "{name}");
            let paths = first["feedbackRules"][0]["jsonPaths"].as_array().unwrap();
            let names: Vec<&str> = paths.iter().map(|path| path["name"].as_str().unwrap()).collect();
            assert_eq!((names[0], names[3]), ("mine", COMPLETE), "{name}");
        }
        let other = json!([{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "name": "other*", "namespace": "ops"},
            "updateStrategy": {"type": "Update"},
        }]);
        assert_eq!(configs(&other)[0]["updateStrategy"]["type"], "CreateOnly");
        assert_eq!(configs(&other).as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_job_of_another_attempt_says_nothing() {
        let mut job = json!({"metadata": {"name": "backup"}});
        let status = |values: Value| -> ManifestStatus {
            serde_json::from_value(json!({"statusFeedback": {"values": values}})).unwrap()
        };
        let value =
            |name: &str, text: &str| json!({"name": name, "fieldValue": {"type": "String", "string": text}});
        let read = |job: &Value, values: Value| {
            of_this_attempt(job, &status(values), |status| Runnable::Job.state(status))
        };
        let done = || value(COMPLETE, "True");
        assert_eq!(
            read(&job, json!([done()])),
            ActionJobState::Succeeded,
            "made by an older hub"
        );
        mark(&mut job, "a1");
        assert_eq!(read(&job, json!([])), ActionJobState::Running);
        assert_eq!(read(&job, json!([done()])), ActionJobState::OtherAttempt);
        assert_eq!(
            read(&job, json!([done(), value(ATTEMPT, "a0")])),
            ActionJobState::OtherAttempt
        );
        assert_eq!(
            read(&job, json!([done(), value(ATTEMPT, "a1")])),
            ActionJobState::Succeeded
        );
    }
}
