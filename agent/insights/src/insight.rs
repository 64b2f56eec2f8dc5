//! Findings that matter for an update (insights.md, sections 2.4 and 2.5).

use drydock_api::insights::{ImpactType, Level};
use jiff::Timestamp;
use serde::Serialize;

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// Since when; nothing if that is not known.
    pub started_at: Option<Timestamp>,
    /// What it is about.
    pub scope: Scope,
    /// The objects concerned.
    pub resources: Vec<Resource>,
    /// How bad it is.
    pub level: Level,
    /// What suffers.
    pub impact: ImpactType,
    /// What it is, in a line.
    pub summary: String,
    /// What it is, in full.
    pub description: String,
    /// Where to read what to do.
    pub reference: String,
}

impl Insight {
    /// Whether it says what it is and what to do; what does not is not shown.
    pub fn is_complete(&self) -> bool {
        !(self.summary.is_empty() || self.description.is_empty() || self.reference.is_empty())
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Scope {
    /// The control plane.
    ControlPlane,
    /// A pool of workers.
    WorkerPool,
    /// The cluster as a whole.
    Cluster,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The group of its kind; empty for Kubernetes' own first group.
    pub group: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Resource {
    /// An object of OpenShift's configuration.
    pub fn config(kind: &'static str, name: &str) -> Self {
        Self {
            group: "config.openshift.io",
            kind,
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    /// A node.
    pub fn node(name: &str) -> Self {
        Self {
            group: "",
            kind: "Node",
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    /// A MachineConfigPool.
    pub fn pool(name: &str) -> Self {
        Self {
            group: "machineconfiguration.openshift.io",
            kind: "MachineConfigPool",
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    /// `nodes`, `clusteroperators.config.openshift.io`.
    pub fn plural_kind(&self) -> String {
        let plural = format!("{}s", self.kind.to_lowercase());
        if self.group.is_empty() {
            plural
        } else {
            format!("{plural}.{}", self.group)
        }
    }

    /// Its name, after its namespace if it has one.
    pub fn namespaced_name(&self) -> String {
        if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}/{}", self.namespace, self.name)
        }
    }
}
