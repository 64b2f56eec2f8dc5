//! Works of pre- and post-upgrade actions: the user's template, with feedback on the Jobs and Pods in it. `Available`
//! only says that they exist (fleet reference 0.4).

use std::collections::BTreeMap;

use drydock_api::ocm::manifest_work::{ManifestConfig, ManifestStatus, ManifestWorkSpec, ResourceIdentifier};
use drydock_rollout::RunState;
use serde_json::Value;

use super::feedback;
use super::seen::SeenWork;

const JOB_PATHS: [(&str, &str); 4] = [
    ("drydockSucceeded", ".status.succeeded"),
    ("drydockFailed", ".status.failed"),
    (COMPLETE, r#".status.conditions[?(@.type=="Complete")].status"#),
    (FAILED, r#".status.conditions[?(@.type=="Failed")].status"#),
];
const POD_PATHS: [(&str, &str); 1] = [(PHASE, ".status.phase")];
const COMPLETE: &str = "drydockJobComplete";
const FAILED: &str = "drydockJobFailed";
const PHASE: &str = "drydockPodPhase";

/// Something in a work that runs and comes to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Job,
    Pod,
}

impl Run {
    /// What a manifest is, if it runs. A Pod that is restarted for ever comes to no end, so nobody waits for it.
    fn of(manifest: &Value) -> Option<Self> {
        let text = |pointer: &str| {
            manifest
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        match (group, text("/kind")) {
            ("batch", "Job") => Some(Self::Job),
            ("", "Pod") if matches!(text("/spec/restartPolicy"), "Never" | "OnFailure") => Some(Self::Pod),
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

    fn state(self, status: &ManifestStatus) -> RunState {
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
            (_, true) => RunState::Failed,
            (true, false) => RunState::Succeeded,
            (false, false) => RunState::Running,
        }
    }
}

fn name_of(manifest: &Value) -> (&str, &str) {
    let text = |pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    (text("/metadata/namespace"), text("/metadata/name"))
}

/// The user's work with our feedback rules beside the user's own.
pub(super) fn spec(template: &ManifestWorkSpec) -> ManifestWorkSpec {
    let mut spec = template.clone();
    let mut configs: Vec<ManifestConfig> = spec.manifest_configs.to_vec();
    for manifest in spec
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter())
    {
        if let Some(run) = Run::of(&manifest.0) {
            feed_back(&mut configs, run, name_of(&manifest.0));
        }
    }
    spec.manifest_configs = configs.into();
    spec
}

fn feed_back(configs: &mut Vec<ManifestConfig>, run: Run, (namespace, name): (&str, &str)) {
    let (group, resource) = run.resource();
    let identifier = ResourceIdentifier {
        group: Some(group.to_owned()),
        resource: resource.to_owned(),
        name: name.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..ResourceIdentifier::default()
    };
    let same = |config: &&mut ManifestConfig| {
        let theirs = &config.resource_identifier;
        theirs.group.as_deref().unwrap_or_default() == group
            && theirs.resource == resource
            && theirs.name == name
            && theirs.namespace.as_deref().unwrap_or_default() == namespace
    };
    let rule = feedback::json_paths(run.paths());
    let Some(config) = configs.iter_mut().find(same) else {
        configs.push(ManifestConfig {
            resource_identifier: identifier,
            feedback_rules: vec![rule].into(),
            feedback_scrape_type: Some("Watch".to_owned()),
            update_strategy: Some(feedback::made_once()),
            ..ManifestConfig::default()
        });
        return;
    };
    config.update_strategy.get_or_insert_with(feedback::made_once);
    let mut rules = config.feedback_rules.to_vec();
    match rules.iter_mut().find(|theirs| theirs.type_ == rule.type_) {
        Some(theirs) => {
            let paths = theirs.json_paths.iter().chain(rule.json_paths.iter()).cloned();
            theirs.json_paths = paths.collect::<Vec<_>>().into();
        }
        None => rules.push(rule),
    }
    config.feedback_rules = rules.into();
}

/// How far each Job and Pod of an action is, by `Kind namespace/name`.
pub(super) fn runs(work: &SeenWork) -> BTreeMap<String, RunState> {
    let manifests = work
        .spec
        .workload
        .iter()
        .flat_map(|workload| workload.manifests.iter());
    manifests
        .filter_map(|manifest| Some((Run::of(&manifest.0)?, name_of(&manifest.0))))
        .map(|(run, (namespace, name))| {
            let (group, resource) = run.resource();
            let state = super::read::manifest(work, group, resource, namespace, name)
                .map_or(RunState::Running, |status| run.state(status));
            (format!("{} {namespace}/{name}", run.kind()), state)
        })
        .collect()
}
