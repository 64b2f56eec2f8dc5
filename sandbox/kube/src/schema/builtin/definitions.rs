//! The definitions of the built-in kinds' types, from the Rust types.

use super::merge;
use crate::schema::GroupVersionKind;
use crate::schema::node::Node;
use crate::schema::object_meta::object_meta;
use crate::schema::parse::{Parser, anything, reference};
use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v1 as autoscaling,
    batch::v1 as batch, coordination::v1 as coordination, core::v1 as core, events::v1 as events,
    networking::v1 as networking, policy::v1 as policy, rbac::v1 as rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The types of the built-in kinds, by the names of their definitions.
pub(super) struct Definitions {
    /// Each kind with the name of its definition.
    pub kinds: BTreeMap<GroupVersionKind, String>,
    /// The schemas, which refer to each other by `$ref`.
    pub schemas: BTreeMap<String, Value>,
}

struct Collector {
    generator: SchemaGenerator,
    kinds: BTreeMap<GroupVersionKind, String>,
}

impl Collector {
    fn add<K: Resource + JsonSchema>(&mut self) {
        self.generator.subschema_for::<K>();
        let kind = GroupVersionKind::new(K::GROUP, K::VERSION, K::KIND);
        self.kinds.insert(kind, K::schema_name().into_owned());
    }

    /// Bodies of requests that are no objects of their own.
    fn mention_bodies(&mut self) {
        self.generator.subschema_for::<meta::DeleteOptions>();
        self.generator.subschema_for::<autoscaling::Scale>();
        self.generator.subschema_for::<core::Binding>();
        self.generator.subschema_for::<policy::Eviction>();
    }

    fn add_workloads(&mut self) {
        self.add::<apps::DaemonSet>();
        self.add::<apps::Deployment>();
        self.add::<batch::Job>();
        self.add::<core::Pod>();
        self.add::<policy::PodDisruptionBudget>();
    }

    fn add_core(&mut self) {
        self.add::<core::ConfigMap>();
        self.add::<core::Event>();
        self.add::<core::Namespace>();
        self.add::<core::Node>();
        self.add::<core::Secret>();
        self.add::<core::Service>();
        self.add::<core::ServiceAccount>();
        self.add::<coordination::Lease>();
        self.add::<events::Event>();
    }

    fn add_cluster_administration(&mut self) {
        self.add::<admission::ValidatingAdmissionPolicy>();
        self.add::<admission::ValidatingAdmissionPolicyBinding>();
        self.add::<apiextensions::CustomResourceDefinition>();
        self.add::<networking::NetworkPolicy>();
        self.add::<rbac::ClusterRole>();
        self.add::<rbac::ClusterRoleBinding>();
        self.add::<rbac::Role>();
        self.add::<rbac::RoleBinding>();
    }
}

/// Collects the definitions, with how they merge.
pub(super) fn collect() -> Definitions {
    let generator = SchemaSettings::openapi3().into_generator();
    let mut collector = Collector {
        generator,
        kinds: BTreeMap::new(),
    };
    collector.add_workloads();
    collector.add_core();
    collector.add_cluster_administration();
    collector.mention_bodies();
    let mut schemas: BTreeMap<String, Value> =
        collector.generator.take_definitions(true).into_iter().collect();
    for (name, schema) in &mut schemas {
        merge::annotate(name, schema);
    }
    Definitions {
        kinds: collector.kinds,
        schemas,
    }
}

impl Definitions {
    /// Parses all definitions, each after those it refers to; one that refers to itself accepts anything.
    pub fn nodes(&self) -> BTreeMap<String, Arc<Node>> {
        let mut nodes = BTreeMap::new();
        let metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
        let object_meta = Node {
            definition: Some(metadata.into()),
            ..Node::clone(object_meta())
        };
        nodes.insert(metadata.to_owned(), Arc::new(object_meta));
        for name in self.schemas.keys() {
            self.parse(name, &mut nodes, &mut Vec::new());
        }
        nodes
    }

    fn parse<'d>(
        &'d self,
        name: &'d str,
        nodes: &mut BTreeMap<String, Arc<Node>>,
        within: &mut Vec<&'d str>,
    ) {
        let Some(schema) = self.schemas.get(name) else {
            return;
        };
        if nodes.contains_key(name) || within.contains(&name) {
            return;
        }
        within.push(name);
        let mut referred = Vec::new();
        references(schema, &mut referred);
        for other in &referred {
            self.parse(other, nodes, within);
        }
        within.pop();
        let mut node = if is_open(schema) || referred.contains(&name) {
            anything()
        } else {
            Node::clone(&Parser::new(nodes).node(schema, name))
        };
        node.definition = Some(name.into());
        nodes.insert(name.to_owned(), Arc::new(node));
    }
}

/// An object of which nothing is said may hold anything.
fn is_open(schema: &Value) -> bool {
    let said = |key: &str| schema.get(key).is_some();
    schema["type"] == "object" && !said("properties") && !said("additionalProperties")
}

fn references<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
    found.extend(reference(schema));
    match schema {
        Value::Object(fields) => fields.values().for_each(|field| references(field, found)),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
