//! Where the binaries of a control plane are.

use std::path::{Path, PathBuf};

/// Names a folder with kube-apiserver and etcd, as it does in the whole ecosystem of Kubernetes' controllers.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The path of a binary: in the folder that `KUBEBUILDER_ASSETS` names, else in the one that `make control-plane` fills.
///
/// # Errors
/// If it is not there.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os(ASSETS).map_or_else(built, PathBuf::from);
    let path = folder.join(name);
    anyhow::ensure!(
        path.is_file(),
        "{} does not exist: run `make control-plane`, or let {ASSETS} name a folder with it",
        path.display()
    );
    Ok(path)
}

fn built() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.control-plane")
}
