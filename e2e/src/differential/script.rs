//! The scripts of cases, as `e2e/cases/*.yaml` writes them.
//!
//! A step is `METHOD path word…` with the body as its value. Words: a type of patch (`merge`, `json`, `strategic`,
//! `apply`), `yaml`, `type:T`, `accept:T`, `table`, `metadata`, `metadata-list`, `gzip` (the answer may be compressed),
//! `gzipped` (the body is), `slowly` (the body comes in pieces, with pauses), `as:NAME` (later steps may write `$NAME.rv`, `$NAME.uid`, `$NAME.continue`, `$NAME.name`).
//! `$ns` is the namespace of the case, `$xN` is N letters. Three steps are not single requests: `WATCH path` reads events
//! for two seconds, `GONE path` waits until nothing is there, `UNTIL path /pointer=value` waits for a field.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::manifests::files_in;

/// A case: what it shows, and its steps.
#[derive(Clone, Debug)]
pub struct Script {
    /// What it shows, in words.
    pub name: String,
    /// The file it is from, without its ending.
    pub subject: String,
    /// Its steps, in their order.
    pub steps: Vec<Step>,
}

/// One step of a case.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request; the answer is compared.
    Send(Request),
    /// A watch of two seconds; its events are compared.
    Watch(Request),
    /// Waits until nothing is at the path.
    Gone(String),
    /// Waits until the field at the pointer has the value.
    Until {
        /// Of the object.
        path: String,
        /// Into the object (RFC 6901).
        pointer: String,
        /// As text.
        value: String,
    },
}

/// A request, still with its variables.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method of HTTP.
    pub method: String,
    /// Short or full, with its query.
    pub path: String,
    /// The body; none, text as it is, or JSON.
    pub body: Option<Value>,
    /// Headers by name.
    pub headers: Vec<(&'static str, String)>,
    /// Whether the body is sent compressed.
    pub gzipped: bool,
    /// Whether the body comes in pieces.
    pub slowly: bool,
    /// The name under which later steps find the answer.
    pub save: Option<String>,
}

#[derive(Deserialize)]
struct Written {
    case: String,
    steps: Vec<Value>,
}

impl Script {
    /// All cases of a folder, by file and place in it.
    ///
    /// # Errors
    /// If a file cannot be read as cases.
    pub fn read_all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut scripts = Vec::new();
        for file in files_in(folder) {
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            let written: Vec<Written> =
                serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", file.display()))?;
            let subject = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            for case in written {
                let steps: anyhow::Result<Vec<Step>> = case.steps.iter().map(step).collect();
                scripts.push(Self {
                    steps: steps.with_context(|| format!("{}: {}", file.display(), case.case))?,
                    name: case.case,
                    subject: subject.clone(),
                });
            }
        }
        Ok(scripts)
    }
}

fn step(value: &Value) -> anyhow::Result<Step> {
    let (line, body) = match value {
        Value::String(line) => (line.as_str(), None),
        Value::Object(map) if map.len() == 1 => {
            let (line, body) = map.iter().next().context("a step has one key")?;
            (line.as_str(), Some(body.clone()).filter(|body| !body.is_null()))
        }
        other => bail!("{other} is not a step"),
    };
    let mut words = line.split(' ');
    let method = words.next().unwrap_or_default();
    let path = words
        .next()
        .with_context(|| format!("{line}: no path"))?
        .to_owned();
    match method {
        "GONE" => return Ok(Step::Gone(path)),
        "UNTIL" => {
            let field = words.next().and_then(|word| word.split_once('='));
            let (pointer, value) = field.with_context(|| format!("{line}: no /pointer=value"))?;
            return Ok(Step::Until {
                path,
                pointer: pointer.to_owned(),
                value: value.to_owned(),
            });
        }
        _ => {}
    }
    let mut request = Request {
        method: method.to_owned(),
        path,
        body,
        ..Request::default()
    };
    for word in words {
        request.add(word)?;
    }
    if method != "WATCH" {
        return Ok(Step::Send(request));
    }
    "GET".clone_into(&mut request.method);
    let separator = if request.path.contains('?') { '&' } else { '?' };
    request.path = format!("{}{separator}watch=true&timeoutSeconds=2", request.path);
    Ok(Step::Watch(request))
}

impl Request {
    fn add(&mut self, word: &str) -> anyhow::Result<()> {
        let (name, value) = match word {
            "merge" => ("content-type", "application/merge-patch+json"),
            "json" => ("content-type", "application/json-patch+json"),
            "strategic" => ("content-type", "application/strategic-merge-patch+json"),
            "apply" => ("content-type", "application/apply-patch+yaml"),
            "yaml" => ("content-type", "application/yaml"),
            "table" => ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
            "metadata" => (
                "accept",
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            ),
            "metadata-list" => (
                "accept",
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            ),
            "gzip" => ("accept-encoding", "gzip"),
            "slowly" => {
                self.slowly = true;
                return Ok(());
            }
            "gzipped" => {
                self.gzipped = true;
                ("content-encoding", "gzip")
            }
            other => match other.split_once(':') {
                Some(("type", value)) => ("content-type", value),
                Some(("accept", value)) => ("accept", value),
                Some(("as", value)) => {
                    self.save = Some(value.to_owned());
                    return Ok(());
                }
                _ => bail!("{other}: nobody knows this word"),
            },
        };
        self.headers.push((name, value.to_owned()));
        Ok(())
    }
}
