//! kubeconfig files.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::json;

use crate::process::Workplace;

/// How an API server is reached.
#[derive(Debug)]
pub(super) struct Access {
    pub name: String,
    pub server: String,
    /// The certificate of the authority behind the server's, in PEM.
    pub authority: String,
}

impl Access {
    /// Writes the kubeconfig of a holder of `token`.
    pub(super) fn write_kubeconfig(
        &self,
        workplace: &Workplace,
        user: &str,
        token: &str,
    ) -> anyhow::Result<PathBuf> {
        let authority = workplace.write("authority.pem", &self.authority)?;
        // A kubeconfig is YAML, and JSON is YAML.
        let content = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": {"server": self.server, "certificate-authority": authority}}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user, "namespace": "default"}}],
        });
        let content = serde_json::to_string_pretty(&content).context("writing a kubeconfig")?;
        workplace.write(&format!("{}.kubeconfig", user.replace(':', "-")), &content)
    }
}
