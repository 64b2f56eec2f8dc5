//! Real definitions and objects of the systems that Drydock meets. They are kept beside the project, not in it.

#[allow(dead_code, reason = "not every test that shares this file needs it")]
pub mod schema;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// A folder beside the project; `None`, with a line that says so, where it is absent.
pub fn folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared")
        .join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is not there", folder.display());
    None
}

/// All YAML files of a folder and of its folders, in order.
#[allow(dead_code, reason = "not every test that shares this file needs it")]
pub fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    let yaml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    files
        .into_iter()
        .filter(yaml)
        .chain(folders.iter().flat_map(|folder| yaml_files(folder)))
        .collect()
}

/// The documents of a YAML file. Times that the recording has replaced become a time.
pub fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file)
        .unwrap()
        .replace("<time>", "2026-08-01T12:00:00Z");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
