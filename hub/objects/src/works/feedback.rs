//! Feedback rules: what the work agent reads of an object for us, and under which names.

use drydock_api::ocm::manifest_work::{
    FeedbackRule, JsonPath, ManifestConfig, ManifestStatus, ResourceIdentifier, ServerSideApply,
    UpdateStrategy,
};

/// A rule that reads each `(name, path)`. A path without a value is left out of the feedback, silently.
pub(super) fn json_paths(paths: &[(&str, &str)]) -> FeedbackRule {
    FeedbackRule {
        type_: "JSONPaths".to_owned(),
        json_paths: paths
            .iter()
            .map(|(name, path)| JsonPath {
                name: (*name).to_owned(),
                path: (*path).to_owned(),
                ..JsonPath::default()
            })
            .collect::<Vec<_>>()
            .into(),
        ..FeedbackRule::default()
    }
}

/// How one object is written (server-side, taking fields from other managers, or not at all), and watched for changes.
pub(super) fn watched(
    identifier: ResourceIdentifier,
    paths: &[(&str, &str)],
    strategy: UpdateStrategy,
) -> ManifestConfig {
    ManifestConfig {
        resource_identifier: identifier,
        feedback_rules: vec![json_paths(paths)].into(),
        feedback_scrape_type: Some("Watch".to_owned()),
        update_strategy: Some(strategy),
        ..ManifestConfig::default()
    }
}

/// The same with paths that are made for one object.
pub(super) fn watched_values(
    identifier: ResourceIdentifier,
    paths: &[(String, String)],
    strategy: UpdateStrategy,
) -> ManifestConfig {
    let paths: Vec<(&str, &str)> = paths
        .iter()
        .map(|(name, path)| (name.as_str(), path.as_str()))
        .collect();
    watched(identifier, &paths, strategy)
}

/// The strategy that keeps what others have set. The default one replaces the whole spec.
pub(super) fn server_side_apply() -> UpdateStrategy {
    applied_by(drydock_api::names::WORK_AGENT_MANAGER)
}

/// The same by another field manager, which begins with `work-agent`.
pub(super) fn applied_by(manager: &str) -> UpdateStrategy {
    UpdateStrategy {
        type_: "ServerSideApply".to_owned(),
        server_side_apply: Some(ServerSideApply {
            force: Some(true),
            field_manager: Some(manager.to_owned()),
            ..ServerSideApply::default()
        }),
        ..UpdateStrategy::default()
    }
}

/// The strategy for what cannot be changed once it is there: the default one sends the whole spec again, and a Job then
/// refuses the fields that the API server has completed.
pub(super) fn create_only() -> UpdateStrategy {
    UpdateStrategy {
        type_: "CreateOnly".to_owned(),
        ..UpdateStrategy::default()
    }
}

/// The strategy that only reads.
pub(super) fn read_only() -> UpdateStrategy {
    UpdateStrategy {
        type_: "ReadOnly".to_owned(),
        ..UpdateStrategy::default()
    }
}

/// The text of a value that was fed back.
pub(super) fn text(manifest: &ManifestStatus, name: &str) -> Option<String> {
    manifest.status_feedback.as_ref()?.value(name)?.to_text()
}

/// Whether a value that was fed back is `True`, as the status of a condition is.
pub(super) fn is(manifest: &ManifestStatus, name: &str, value: &str) -> bool {
    text(manifest, name).as_deref() == Some(value)
}

/// Whether a value was fed back whose name begins so.
pub(super) fn has_value(manifest: &ManifestStatus, prefix: &str) -> bool {
    let values = manifest
        .status_feedback
        .iter()
        .flat_map(|feedback| feedback.values.iter());
    values.into_iter().any(|value| value.name.starts_with(prefix))
}
