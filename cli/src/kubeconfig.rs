//! The kubeconfig of a sandbox: a context for the hub and one for each cluster, none with credentials, since the
//! sandbox listens on loopback only.

use std::path::{Path, PathBuf};

use anyhow::Context;
use drydock_sandbox::local_fleet::Addresses;
use serde_json::{Value, json};

/// Writes the kubeconfig into `folder`; the hub is the current context.
///
/// # Errors
/// If the file cannot be written.
pub fn write(folder: &Path, addresses: &Addresses) -> anyhow::Result<PathBuf> {
    let path = folder.join("kubeconfig");
    let text = serde_json::to_string_pretty(&document(addresses)).context("writing a kubeconfig as JSON")?;
    std::fs::write(&path, text).with_context(|| format!("writing the kubeconfig {}", path.display()))?;
    Ok(path)
}

/// JSON is YAML, so kubectl reads it.
fn document(addresses: &Addresses) -> Value {
    let servers = || {
        std::iter::once(("hub", &addresses.hub)).chain(
            addresses
                .clusters
                .iter()
                .map(|(name, address)| (name.as_str(), address)),
        )
    };
    let clusters: Vec<Value> = servers()
        .map(|(name, address)| json!({"name": name, "cluster": {"server": format!("http://{address}")}}))
        .collect();
    let contexts: Vec<Value> = servers()
        .map(|(name, _)| json!({"name": name, "context": {"cluster": name, "user": "sandbox"}}))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hub",
        "clusters": clusters,
        "contexts": contexts,
        "users": [{"name": "sandbox", "user": {}}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_the_current_context_and_every_cluster_has_its_own() {
        let address: std::net::SocketAddr = "127.0.0.1:4001".parse().expect("an address");
        let addresses = Addresses {
            hub: address,
            clusters: vec![("dev1".to_owned(), address)],
            update_graph: String::new(),
            monitoring: String::new(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), &addresses).expect("written");
        let config = kube::config::Kubeconfig::read_from(path).expect("kube reads it");
        assert_eq!(config.current_context.as_deref(), Some("hub"));
        let names: Vec<_> = config
            .contexts
            .iter()
            .map(|context| context.name.as_str())
            .collect();
        assert_eq!(names, ["hub", "dev1"]);
    }
}
