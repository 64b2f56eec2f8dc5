//! Objects of a cluster in files.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use drydock_insights::built_in::BuiltInFacts;
use drydock_insights::facts::ClusterFacts;
use drydock_insights::objects;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::print;

/// What is read of a folder at most: a dump of a large cluster is smaller.
const LARGEST: u64 = 512 * 1024 * 1024;
/// The most nodes of one file of YAML: all pods of a large cluster have a few millions.
const MOST_YAML_NODES: usize = 10_000_000;
/// What files of objects end with.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// What packed files end with.
const PACKED: [&str; 7] = ["gz", "tgz", "tar", "zip", "xz", "zst", "bz2"];
/// How many files are named that are not read.
const NAMED: usize = 5;
/// What `oc` adds to the moment of objects in files. Without it, a progress that began at that moment would be printed otherwise.
const OFFSET: SignedDuration = SignedDuration::from_nanos(368_975);

/// The facts of a folder.
///
/// # Errors
/// If a file cannot be read, or there is no ClusterVersion.
pub fn read(folder: &Path) -> anyhow::Result<ClusterFacts> {
    objects::facts(documents(folder)?).with_context(|| format!("reading {}", folder.display()))
}

/// The facts of a folder, and what the agent's own informers look at.
///
/// # Errors
/// If a file cannot be read, or there is no ClusterVersion.
pub fn read_built_in(folder: &Path) -> anyhow::Result<(ClusterFacts, BuiltInFacts)> {
    let reading = || format!("reading {}", folder.display());
    let documents = documents(folder)?;
    let facts = objects::facts(documents.clone()).with_context(reading)?;
    let built_in = objects::built_in_facts(documents).with_context(reading)?;
    Ok((facts, built_in))
}

fn documents(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let contents = Contents::of(folder).with_context(|| format!("reading {}", folder.display()))?;
    if let Some(note) = contents.note() {
        print::note(&note);
    }
    let mut documents = Vec::new();
    let mut left = LARGEST;
    for file in contents.files {
        let reading = || format!("reading {}", file.display());
        // How large a file says that it is may be wrong.
        let mut bytes = Vec::new();
        let opened = File::open(&file).with_context(reading)?;
        opened
            .take(left + 1)
            .read_to_end(&mut bytes)
            .with_context(reading)?;
        let rest = u64::try_from(bytes.len())
            .ok()
            .and_then(|size| left.checked_sub(size));
        left = rest.with_context(|| {
            format!(
                "the files of {} are too large: keep only those of the cluster's own objects",
                folder.display()
            )
        })?;
        let text = String::from_utf8(bytes).with_context(reading)?;
        documents.extend(parse(&file, &text).with_context(reading)?);
    }
    Ok(documents)
}

/// When something last happened to objects in files: that is their present moment.
///
/// # Errors
/// If no condition says when it last changed.
pub fn moment(facts: &ClusterFacts) -> anyhow::Result<Timestamp> {
    let last = facts
        .last_transition()
        .context("no condition says when it last changed: give --now")?;
    last.checked_add(OFFSET).context("adding to a time")
}

/// The name of a folder.
pub fn name(folder: &Path) -> String {
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let name = absolute.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// What is in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Contents {
    /// The files of objects.
    files: Vec<PathBuf>,
    /// What is not read, and may have objects.
    left_out: Vec<String>,
}

impl Contents {
    /// A dump is of a stranger: what its links lead to outside of it is not read, and so not printed either. Hidden files are those of tools.
    fn of(folder: &Path) -> std::io::Result<Self> {
        let within = folder.canonicalize()?;
        let is_within = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&within));
        let entries = fs::read_dir(folder)?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        let mut contents = Self::default();
        for path in paths {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let ending = path.extension().and_then(|ending| ending.to_str());
            let ending = ending.unwrap_or_default().to_ascii_lowercase();
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                contents.left_out.push(format!("{name}/"));
            } else if !ENDINGS.contains(&ending.as_str()) {
                // A text beside the objects is no part of them; what is packed may be.
                contents
                    .left_out
                    .extend(PACKED.contains(&ending.as_str()).then_some(name));
            } else if path.is_file() && is_within(&path) {
                contents.files.push(path);
            } else {
                contents
                    .left_out
                    .push(format!("{name}, which leads out of the folder"));
            }
        }
        Ok(contents)
    }

    /// What is not read, in words; nothing if all is.
    fn note(&self) -> Option<String> {
        let named = self
            .left_out
            .iter()
            .take(NAMED)
            .map(String::as_str)
            .collect::<Vec<_>>();
        let more = match self.left_out.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "not looked at: {}{more}; copy or unpack the objects of the cluster into one folder\n",
                named.join(", ")
            )
        })
    }
}

fn parse(file: &Path, text: &str) -> anyhow::Result<Vec<Value>> {
    // Editors of Windows begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
    {
        return Ok(vec![serde_json::from_str(text)?]);
    }
    // All pods of a cluster have more nodes and text than the library takes of a stranger; how large a file may be is said above. Aliases are as
    // few as ever.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MOST_YAML_NODES * 2,
            max_nodes: MOST_YAML_NODES,
            max_total_scalar_bytes: text.len(),
        },
    };
    Ok(serde_saphyr::from_multiple_with_options(text, options)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_of_a_folder_is_said() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        for name in ["co.yaml", "CV.YAML", "._co.yaml", "README.txt"] {
            fs::write(at(name), "kind: Node\n").unwrap();
        }
        assert_eq!(Contents::of(folder.path()).unwrap().note(), None);
        fs::create_dir(at("cluster-scoped-resources")).unwrap();
        fs::write(at("nodes.yaml.gz"), "").unwrap();
        fs::write(elsewhere.path().join("mcp.yaml"), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("mcp.yaml"), at("mcp.yaml")).unwrap();
        std::os::unix::fs::symlink(at("co.yaml"), at("link.yaml")).unwrap();
        let contents = Contents::of(folder.path()).unwrap();
        assert_eq!(contents.files, ["CV.YAML", "co.yaml", "link.yaml"].map(at));
        let said = contents.note().unwrap();
        let expected = "not looked at: cluster-scoped-resources/, mcp.yaml, which leads out of the folder, nodes.yaml.gz; ";
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_an_object() {
        for (file, text) in [("a.json", "{\"kind\": \"Node\"}"), ("a.yaml", "kind: Node\n")] {
            for text in [text.to_owned(), format!("\u{feff}{text}")] {
                let documents = parse(Path::new(file), &text).unwrap();
                assert_eq!(documents, [serde_json::json!({"kind": "Node"})], "{file}");
            }
        }
    }
}
