//! How built-in kinds merge: the `x-kubernetes-*` extensions of the API server's own OpenAPI document, which the
//! Rust types do not carry.

use serde_json::{Map, Value, json};

struct Rule {
    definition: &'static str,
    field: &'static str,
    list_type: Option<&'static str>,
    keys: &'static [&'static str],
    strategy: Option<&'static str>,
    merge_key: Option<&'static str>,
    map_type: Option<&'static str>,
}

const fn rule(definition: &'static str, field: &'static str) -> Rule {
    Rule {
        definition,
        field,
        list_type: None,
        keys: &[],
        strategy: None,
        merge_key: None,
        map_type: None,
    }
}

/// A list whose items are identified by `keys`; a strategic merge patch replaces it.
const fn map(definition: &'static str, field: &'static str, keys: &'static [&'static str]) -> Rule {
    Rule {
        list_type: Some("map"),
        keys,
        ..rule(definition, field)
    }
}

/// A list whose items are identified by `keys`, for a strategic merge patch by the first of them.
const fn merged_map(definition: &'static str, field: &'static str, keys: &'static [&'static str]) -> Rule {
    Rule {
        strategy: Some("merge"),
        merge_key: keys.first().copied(),
        ..map(definition, field, keys)
    }
}

/// A list that only a strategic merge patch merges.
const fn merged_atomic(definition: &'static str, field: &'static str, merge_key: &'static str) -> Rule {
    let merge_key = Some(merge_key);
    Rule {
        list_type: Some("atomic"),
        strategy: Some("merge"),
        merge_key,
        ..rule(definition, field)
    }
}

const fn set(definition: &'static str, field: &'static str) -> Rule {
    Rule {
        list_type: Some("set"),
        ..rule(definition, field)
    }
}

const fn strategy(definition: &'static str, field: &'static str, strategy: &'static str) -> Rule {
    Rule {
        strategy: Some(strategy),
        ..rule(definition, field)
    }
}

const fn map_type(definition: &'static str, field: &'static str, map_type: &'static str) -> Rule {
    Rule {
        map_type: Some(map_type),
        ..rule(definition, field)
    }
}

impl Rule {
    const fn merged(self) -> Self {
        Self {
            strategy: Some("merge"),
            ..self
        }
    }

    const fn retaining_keys(self) -> Self {
        Self {
            strategy: Some("merge,retainKeys"),
            ..self
        }
    }

    fn write(&self, property: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                property.insert(format!("x-kubernetes-{name}"), value.into());
            }
        };
        put("list-type", self.list_type);
        put("patch-strategy", self.strategy);
        put("patch-merge-key", self.merge_key);
        put("map-type", self.map_type);
        if !self.keys.is_empty() {
            property.insert("x-kubernetes-list-map-keys".to_owned(), json!(self.keys));
        }
    }
}

const RULES: &[Rule] = &[
    merged_map(
        "admissionregistration.v1.MutatingWebhook",
        "matchConditions",
        &["name"],
    ),
    merged_map(
        "admissionregistration.v1.MutatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    set(
        "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
        "validationActions",
    ),
    merged_map(
        "admissionregistration.v1.ValidatingAdmissionPolicySpec",
        "matchConditions",
        &["name"],
    ),
    merged_map(
        "admissionregistration.v1.ValidatingAdmissionPolicySpec",
        "variables",
        &["name"],
    ),
    map(
        "admissionregistration.v1.ValidatingAdmissionPolicyStatus",
        "conditions",
        &["type"],
    ),
    merged_map(
        "admissionregistration.v1.ValidatingWebhook",
        "matchConditions",
        &["name"],
    ),
    merged_map(
        "admissionregistration.v1.ValidatingWebhookConfiguration",
        "webhooks",
        &["name"],
    ),
    merged_map("apps.v1.DaemonSetStatus", "conditions", &["type"]),
    merged_map("apps.v1.DeploymentStatus", "conditions", &["type"]),
    merged_map("apps.v1.ReplicaSetStatus", "conditions", &["type"]),
    merged_map("apps.v1.StatefulSetStatus", "conditions", &["type"]),
    merged_map(
        "autoscaling.v2.HorizontalPodAutoscalerStatus",
        "conditions",
        &["type"],
    ),
    set("batch.v1.PodFailurePolicyOnExitCodesRequirement", "values"),
    set("batch.v1.UncountedTerminatedPods", "failed"),
    set("batch.v1.UncountedTerminatedPods", "succeeded"),
    merged_map("core.v1.Container", "env", &["name"]),
    merged_map("core.v1.Container", "ports", &["containerPort", "protocol"]),
    merged_map("core.v1.Container", "volumeDevices", &["devicePath"]),
    merged_map("core.v1.Container", "volumeMounts", &["mountPath"]),
    merged_map("core.v1.ContainerStatus", "allocatedResourcesStatus", &["name"]),
    merged_map("core.v1.ContainerStatus", "volumeMounts", &["mountPath"]),
    merged_map("core.v1.EphemeralContainer", "env", &["name"]),
    merged_map(
        "core.v1.EphemeralContainer",
        "ports",
        &["containerPort", "protocol"],
    ),
    merged_map("core.v1.EphemeralContainer", "volumeDevices", &["devicePath"]),
    merged_map("core.v1.EphemeralContainer", "volumeMounts", &["mountPath"]),
    merged_map("core.v1.NamespaceStatus", "conditions", &["type"]),
    merged_map("core.v1.NodeStatus", "addresses", &["type"]),
    merged_map("core.v1.NodeStatus", "conditions", &["type"]),
    merged_map("core.v1.PersistentVolumeClaimStatus", "conditions", &["type"]),
    merged_map("core.v1.PodSpec", "containers", &["name"]),
    merged_map("core.v1.PodSpec", "ephemeralContainers", &["name"]),
    merged_map("core.v1.PodSpec", "hostAliases", &["ip"]),
    merged_map("core.v1.PodSpec", "imagePullSecrets", &["name"]),
    merged_map("core.v1.PodSpec", "initContainers", &["name"]),
    merged_map("core.v1.PodSpec", "resourceClaims", &["name"]).retaining_keys(),
    merged_map("core.v1.PodSpec", "schedulingGates", &["name"]),
    merged_map(
        "core.v1.PodSpec",
        "topologySpreadConstraints",
        &["topologyKey", "whenUnsatisfiable"],
    ),
    merged_map("core.v1.PodSpec", "volumes", &["name"]).retaining_keys(),
    merged_map("core.v1.PodStatus", "conditions", &["type"]),
    merged_map("core.v1.PodStatus", "podIPs", &["ip"]),
    merged_map("core.v1.PodStatus", "resourceClaimStatuses", &["name"]).retaining_keys(),
    merged_map("core.v1.ReplicationControllerStatus", "conditions", &["type"]),
    map("core.v1.ResourceRequirements", "claims", &["name"]),
    map("core.v1.ResourceStatus", "resources", &["resourceID"]),
    merged_map("core.v1.ServiceAccount", "secrets", &["name"]),
    merged_map("core.v1.ServiceSpec", "ports", &["port", "protocol"]),
    merged_map("core.v1.ServiceStatus", "conditions", &["type"]),
    set("discovery.v1.Endpoint", "addresses"),
    merged_map("policy.v1.PodDisruptionBudgetStatus", "conditions", &["type"]),
    map(
        "apiextensions.v1.CustomResourceDefinitionStatus",
        "conditions",
        &["type"],
    ),
    merged_map("apiregistration.v1.APIServiceStatus", "conditions", &["type"]),
    merged_atomic("batch.v1.JobStatus", "conditions", "type"),
    merged_atomic("core.v1.PodStatus", "hostIPs", "ip"),
    set("core.v1.NodeSpec", "podCIDRs").merged(),
    strategy("apps.v1.DeploymentSpec", "strategy", "retainKeys"),
    strategy("policy.v1.PodDisruptionBudgetSpec", "selector", "replace"),
    map_type("core.v1.PersistentVolumeSpec", "claimRef", "granular"),
    map_type("core.v1.PodSpec", "nodeSelector", "atomic"),
    map_type("core.v1.ReplicationControllerSpec", "selector", "atomic"),
    map_type("core.v1.ServiceSpec", "selector", "atomic"),
];

/// Types that merge as a whole wherever they stand.
const ATOMIC: &[&str] = &[
    "admissionregistration.v1.MatchResources",
    "admissionregistration.v1.NamedRuleWithOperations",
    "admissionregistration.v1.ParamKind",
    "admissionregistration.v1.ParamRef",
    "admissionregistration.v1.Variable",
    "core.v1.ConfigMapKeySelector",
    "core.v1.EndpointAddress",
    "core.v1.EndpointPort",
    "core.v1.LocalObjectReference",
    "core.v1.NodeSelector",
    "core.v1.NodeSelectorTerm",
    "core.v1.ObjectFieldSelector",
    "core.v1.ObjectReference",
    "core.v1.ResourceFieldSelector",
    "core.v1.ScopeSelector",
    "core.v1.SecretKeySelector",
    "core.v1.SecretReference",
    "core.v1.TopologySelectorTerm",
    "core.v1.TypedLocalObjectReference",
    "discovery.v1.EndpointPort",
    "networking.v1.ServiceBackendPort",
    "rbac.v1.RoleRef",
    "rbac.v1.Subject",
    "meta.v1.LabelSelector",
];

/// Parts of list keys that may be left out.
const KEY_DEFAULTS: &[(&str, &str, &str)] = &[
    ("core.v1.ContainerPort", "protocol", "TCP"),
    ("core.v1.ServicePort", "protocol", "TCP"),
];

/// Adds to the definition of a type how it merges.
pub(super) fn annotate(definition: &str, schema: &mut Map<String, Value>) {
    let name = short(definition);
    if ATOMIC.contains(&name) {
        schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for rule in RULES.iter().filter(|rule| rule.definition == name) {
        if let Some(property) = properties.get_mut(rule.field).and_then(Value::as_object_mut) {
            rule.write(property);
        }
    }
    for (_, field, default) in KEY_DEFAULTS.iter().filter(|(definition, ..)| *definition == name) {
        if let Some(property) = properties.get_mut(*field).and_then(Value::as_object_mut) {
            property.insert("default".to_owned(), (*default).into());
        }
    }
}

/// `core.v1.Pod` for `io.k8s.api.core.v1.Pod`.
fn short(definition: &str) -> &str {
    let prefixes = [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
        "io.k8s.kube-aggregator.pkg.apis.",
    ];
    prefixes
        .iter()
        .find_map(|prefix| definition.strip_prefix(prefix))
        .unwrap_or(definition)
}

/// Rules whose type or field does not exist.
#[cfg(test)]
pub(super) fn astray(definitions: &std::collections::BTreeMap<String, Value>) -> Vec<String> {
    let known = |definition: &str, field: &str| {
        let schemas = definitions.iter().filter(|(name, _)| short(name) == definition);
        schemas
            .into_iter()
            .any(|(_, schema)| schema["properties"].get(field).is_some())
    };
    let rules = RULES.iter().map(|rule| (rule.definition, rule.field));
    let defaults = KEY_DEFAULTS
        .iter()
        .map(|(definition, field, _)| (*definition, *field));
    let astray = rules
        .chain(defaults)
        .filter(|(definition, field)| !known(definition, field));
    let atomic = ATOMIC
        .iter()
        .filter(|atomic| !definitions.keys().any(|name| short(name) == **atomic));
    astray
        .map(|(definition, field)| format!("{definition}.{field}"))
        .chain(atomic.map(ToString::to_string))
        .collect()
}
