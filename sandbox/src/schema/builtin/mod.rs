//! The kinds that every API server has: their schemas, how they merge, their defaults and their rules.

mod definitions;
mod merge;

use super::{GroupVersionKind, Node, Structural};
use definitions::Definitions;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

fn all() -> &'static Definitions {
    static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(definitions::collect);
    &DEFINITIONS
}

/// The schema of a built-in kind; `None` if there is no such kind.
pub fn structural(kind: &GroupVersionKind) -> Option<Arc<Structural>> {
    static COMPILED: LazyLock<BTreeMap<GroupVersionKind, Arc<Structural>>> = LazyLock::new(|| {
        let nodes = all().nodes();
        let compiled = all().kinds.iter().filter_map(|(kind, name)| {
            let root = nodes.get(name)?;
            Some((kind.clone(), Arc::new(Structural::of(Node::clone(root), kind))))
        });
        compiled.collect()
    });
    COMPILED.get(kind).cloned()
}

/// The definitions of the types of all built-in kinds, as an OpenAPI document has them
/// (`#/components/schemas/<name>`), with their merge extensions.
pub fn definitions() -> &'static BTreeMap<String, Value> {
    &all().schemas
}

/// The name of the definition of a built-in kind.
pub fn definition_name(kind: &GroupVersionKind) -> Option<&'static str> {
    all().kinds.get(kind).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ListType;

    fn kind(group: &str, kind: &str) -> GroupVersionKind {
        GroupVersionKind::new(group, "v1", kind)
    }

    #[test]
    fn every_merge_rule_is_of_a_field_that_exists() {
        assert_eq!(merge::astray(definitions()), [""; 0]);
    }

    #[test]
    fn a_pod_template_merges_as_the_api_servers_document_says() {
        let job = structural(&kind("batch", "Job")).unwrap();
        let pod = ["spec", "template", "spec"]
            .iter()
            .fold(Arc::clone(job.node()), |node, name| {
                Arc::clone(node.field(name).unwrap())
            });
        let containers = pod.field("containers").unwrap();
        assert_eq!(containers.list_type, ListType::Map(vec!["name".to_owned()]));
        assert_eq!(containers.patch.merge_key.as_deref(), Some("name"));
        let ports = containers.items.as_ref().unwrap().field("ports").unwrap();
        assert_eq!(
            ports.list_type,
            ListType::Map(vec!["containerPort".to_owned(), "protocol".to_owned()])
        );
        let finalizers = job.node().field("metadata").unwrap().field("finalizers").unwrap();
        assert_eq!(finalizers.list_type, ListType::Set);
        assert!(
            pod.field("nodeSelector").unwrap().atomic_map && pod.field("volumes").unwrap().patch.retain_keys
        );
    }

    #[test]
    fn nothing_of_a_real_job_is_unknown_and_a_typo_is() {
        let job = structural(&kind("batch", "Job")).unwrap();
        let mut object = serde_json::json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": {"a": "b"}},
            "spec": {"backoffLimit": 3, "template": {"metadata": {"annotations": {"x/y": "z"}}, "spec": {
                "restartPolicy": "Never", "nodeSelector": {"a": "b"},
                "containers": [{"name": "c", "image": "i", "comand": ["x"], "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "m", "items": []}}],
            }}},
        });
        assert_eq!(
            job.prune(&mut object),
            ["spec.template.spec.containers[0].comand"]
        );
        assert_eq!(job.validate(&object, None), []);
    }
}
