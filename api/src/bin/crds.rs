//! Writes our CustomResourceDefinitions to `crds/`, one file a kind: `cargo run -p drydock-api --bin crds`.

use std::{fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds");
    for group in ["schedule", "insights"] {
        fs::create_dir_all(folder.join(group))?;
    }
    for definition in drydock_api::crds() {
        let file = folder.join(drydock_api::file_name(&definition));
        fs::write(file, drydock_api::to_yaml(&definition)?)?;
    }
    Ok(())
}
