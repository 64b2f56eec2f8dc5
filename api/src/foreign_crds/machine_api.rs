//! The machine API operator's kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceScale,
};
use serde_json::json;

use super::{AGE, Column, Shape, definition, open};
use crate::machine_api::{Machine, MachineSet};

/// The first of a Machine's columns that only `-o wide` shows.
const FIRST_WIDE_COLUMN: usize = 5;

pub(super) fn definitions() -> Vec<CustomResourceDefinition> {
    vec![machine(), machine_set()]
}

fn machine() -> CustomResourceDefinition {
    let mut machine = definition::<Machine>(Shape {
        cluster_scoped: false,
        short_names: &[],
        categories: &[],
        columns: MACHINE_COLUMNS,
        spec: Some(open(&json!({}))),
        status: open(&json!({})),
    });
    for version in &mut machine.spec.versions {
        let columns = version.additional_printer_columns.iter_mut().flatten();
        for column in columns.skip(FIRST_WIDE_COLUMN) {
            column.priority = Some(1);
        }
    }
    machine
}

fn machine_set() -> CustomResourceDefinition {
    let mut set = definition::<MachineSet>(Shape {
        cluster_scoped: false,
        short_names: &[],
        categories: &[],
        columns: MACHINE_SET_COLUMNS,
        spec: Some(open(&json!({
            "replicas": { "type": "integer", "format": "int32", "default": 1 },
        }))),
        status: open(&json!({
            "replicas": { "type": "integer", "format": "int32" },
            "labelSelector": { "type": "string" },
        })),
    });
    for version in &mut set.spec.versions {
        if let Some(subresources) = &mut version.subresources {
            subresources.scale = Some(CustomResourceSubresourceScale {
                label_selector_path: Some(".status.labelSelector".to_owned()),
                spec_replicas_path: ".spec.replicas".to_owned(),
                status_replicas_path: ".status.replicas".to_owned(),
            });
        }
    }
    set
}

const MACHINE_COLUMNS: &[Column] = &[
    ("Phase", "string", ".status.phase"),
    (
        "Type",
        "string",
        r".metadata.labels['machine\.openshift\.io/instance-type']",
    ),
    (
        "Region",
        "string",
        r".metadata.labels['machine\.openshift\.io/region']",
    ),
    (
        "Zone",
        "string",
        r".metadata.labels['machine\.openshift\.io/zone']",
    ),
    AGE,
    ("Node", "string", ".status.nodeRef.name"),
    ("ProviderID", "string", ".spec.providerID"),
    (
        "State",
        "string",
        r".metadata.annotations['machine\.openshift\.io/instance-state']",
    ),
];

const MACHINE_SET_COLUMNS: &[Column] = &[
    ("Desired", "integer", ".spec.replicas"),
    ("Current", "integer", ".status.replicas"),
    ("Ready", "integer", ".status.readyReplicas"),
    ("Available", "string", ".status.availableReplicas"),
    AGE,
];
