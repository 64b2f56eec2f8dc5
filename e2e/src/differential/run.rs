//! Runs a script on one server.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::{Value, json};

use super::script::{Request, Script, Step};
use super::target::Slowly;
use super::{Answer, Target, path};

/// How long a controller of the real server gets.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs all steps in a new namespace and gives what is compared, a value a step.
///
/// # Errors
/// If the server cannot be reached or what a step waits for does not come.
pub async fn run(target: &Target, namespace: &str, script: &Script) -> anyhow::Result<Vec<Value>> {
    let mut variables = Variables {
        namespace: namespace.to_owned(),
        saved: BTreeMap::new(),
    };
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let make = Request {
        method: "POST".to_owned(),
        path: "namespaces".to_owned(),
        body: Some(body),
        ..Request::default()
    };
    let made = target.send(variables.fill(&make)?, false).await?;
    anyhow::ensure!(made.code == 201, "making namespace {namespace}: {}", made.value());
    let mut answers = Vec::new();
    for (step, number) in script.steps.iter().zip(1..) {
        let answer = perform(target, &mut variables, step).await.with_context(|| {
            let before = answers.last().map_or("nothing".to_owned(), Value::to_string);
            format!("{}, step {number}, after {before}", script.name)
        })?;
        answers.push(answer);
    }
    Ok(answers)
}

async fn perform(target: &Target, variables: &mut Variables, step: &Step) -> anyhow::Result<Value> {
    match step {
        Step::Send(request) => {
            let answer = target.send(variables.fill(request)?, false).await?;
            if let Some(name) = &request.save {
                variables.saved.insert(name.clone(), answer.body.clone());
            }
            Ok(answer.value())
        }
        Step::Watch(request) => Ok(target.send(variables.fill(request)?, true).await?.value()),
        Step::Gone(path) => {
            until(target, variables, path, |answer| answer.code == 404).await?;
            Ok(Value::Null)
        }
        Step::Until { path, pointer, value } => {
            until(target, variables, path, |answer| {
                let field = answer.body.pointer(pointer).unwrap_or(&Value::Null);
                field.as_str().map_or_else(|| field.to_string(), str::to_owned) == *value
            })
            .await?;
            Ok(Value::Null)
        }
    }
}

async fn until(
    target: &Target,
    variables: &Variables,
    path: &str,
    done: impl Fn(&Answer) -> bool,
) -> anyhow::Result<()> {
    let get = Request {
        method: "GET".to_owned(),
        path: path.to_owned(),
        ..Request::default()
    };
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        let answer = target.send(variables.fill(&get)?, false).await?;
        if done(&answer) {
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            bail!("{path} is not so within {TIMEOUT:?}: {}", answer.value());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Variables {
    namespace: String,
    saved: BTreeMap<String, Value>,
}

impl Variables {
    /// The request with its variables filled in.
    fn fill(&self, request: &Request) -> anyhow::Result<http::Request<Bytes>> {
        let path = self.text(&path::full(&self.text(&request.path), &self.namespace));
        let mut builder = http::Request::builder()
            .method(request.method.as_str())
            .uri(path)
            .header("user-agent", "differential/1.0");
        for (name, value) in &request.headers {
            builder = builder.header(*name, self.text(value));
        }
        let text = match &request.body {
            None => String::new(),
            Some(Value::String(text)) => self.text(text),
            Some(value) => self.value(value).to_string(),
        };
        let is_typed = request.headers.iter().any(|(name, _)| *name == "content-type");
        if request.body.is_some() && !is_typed {
            builder = builder.header("content-type", "application/json");
        }
        let body = if request.gzipped {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes())?;
            encoder.finish()?
        } else {
            text.into_bytes()
        };
        if request.slowly {
            builder = builder.extension(Slowly);
        }
        builder.body(Bytes::from(body)).context("building a request")
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (self.text(key), self.value(value)))
                .collect(),
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        if !text.contains('$') {
            return text.to_owned();
        }
        let mut text = text.replace("$ns", &self.namespace);
        for (name, body) in &self.saved {
            for (field, pointer) in [
                ("rv", "/metadata/resourceVersion"),
                ("uid", "/metadata/uid"),
                ("continue", "/metadata/continue"),
                ("name", "/metadata/name"),
            ] {
                let value = body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                text = text.replace(&format!("${name}.{field}"), value);
            }
        }
        if let Some((before, after)) = text.split_once("$x") {
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(count) = digits.parse::<usize>() {
                return format!("{before}{}{}", "x".repeat(count), &after[digits.len()..]);
            }
        }
        text
    }
}
