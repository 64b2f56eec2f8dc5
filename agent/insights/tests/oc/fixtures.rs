//! Objects of real clusters, and what `oc` prints of them. They are kept beside the project, not in it.

use std::fs;
use std::path::{Path, PathBuf};

use drydock_insights::estimate::Method;
use drydock_insights::facts::ClusterFacts;
use drydock_insights::objects;
use drydock_insights::render::{self, Details};
use drydock_insights::status::{StatusReport, assess};
use jiff::{SignedDuration, Timestamp};

/// What `oc` adds to the present moment of objects in files.
const OFFSET: SignedDuration = SignedDuration::from_nanos(368_975);

/// A folder of fixtures; nothing, with a line that says so, where it is absent.
pub fn folder(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/fixtures")
        .join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is not there", folder.display());
    None
}

/// The facts of a folder, and the moment they are about.
pub fn facts(folder: &Path) -> (ClusterFacts, Timestamp) {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "json"))
        .collect();
    files.sort();
    let documents = files
        .iter()
        .flat_map(|file| serde_saphyr::from_multiple(&fs::read_to_string(file).unwrap()).unwrap());
    let facts = objects::facts(documents.collect()).unwrap();
    let now = facts.last_transition().unwrap() + OFFSET;
    (facts, now)
}

/// How the update of a folder proceeds.
pub fn status(name: &str, method: Method) -> Option<StatusReport> {
    let (facts, now) = facts(&folder(name)?);
    Some(assess(&facts, now, method).unwrap())
}

/// What `oc` prints.
pub fn printed(folder: &str, file: &str) -> Option<String> {
    let path = self::folder(folder)?.join(file);
    Some(fs::read_to_string(path).unwrap())
}

/// The lines that are printed of a folder, as it is with `oc`'s estimate.
pub fn printed_lines(name: &str, details: Details) -> Vec<String> {
    let report = status(name, Method::Oc).unwrap();
    render::status(&report, details)
        .lines()
        .map(str::to_owned)
        .collect()
}
