//! The objects by which a program on the cluster finds Prometheus and Alertmanager.

use serde_json::{Value, json};

use kube_sandbox::access::Kind;

/// The namespace of both.
pub const NAMESPACE: &str = "openshift-monitoring";

static SERVICE: Kind = Kind::new("", "v1", "Service", "services", true);
static CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);

/// Services with the port `web`, and the authority of their certificates. Nobody checks those within a process.
pub fn objects() -> [(&'static Kind, Value); 3] {
    let service = |name: &str, port: u16| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"ports": [{"name": "web", "port": port, "protocol": "TCP", "targetPort": "web"}]},
        })
    };
    let authority = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "serving-certs-ca-bundle", "namespace": NAMESPACE},
        "data": {"service-ca.crt": ""},
    });
    [
        (&SERVICE, service("prometheus-k8s", 9091)),
        (&SERVICE, service("alertmanager-main", 9094)),
        (&CONFIG_MAP, authority),
    ]
}
