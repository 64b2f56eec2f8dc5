//! What a server answered, with what is compared of it.

use serde_json::{Value, json};

/// The headers that are compared.
const HEADERS: &[&str] = &[
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "retry-after",
    "warning",
];

/// An answer of a server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The headers worth comparing, sorted by name.
    pub headers: Vec<(String, String)>,
    /// JSON; text that is none is a string; a watch is an array of its events.
    pub body: Value,
}

impl Answer {
    /// An answer from its parts; `is_stream` for the lines of a watch.
    pub(super) fn of(head: &http::response::Parts, text: &str, is_stream: bool) -> Self {
        let mut headers: Vec<(String, String)> = head
            .headers
            .iter()
            .filter(|(name, _)| HEADERS.contains(&name.as_str()))
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), value)
            })
            .collect();
        headers.sort();
        let is_stream = is_stream && head.status.is_success();
        let body = if is_stream {
            // When a bookmark comes that ends nothing is a matter of time.
            let is_bookmark = |event: &Value| {
                event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"].is_null()
            };
            text.lines()
                .map(json_or_text)
                .filter(|event| !is_bookmark(event))
                .collect()
        } else {
            json_or_text(text)
        };
        Self {
            code: head.status.as_u16(),
            headers,
            body,
        }
    }

    /// All of it as one value, for comparing.
    pub fn value(&self) -> Value {
        let mut headers = serde_json::Map::new();
        for (name, value) in &self.headers {
            let values = headers.entry(name.clone()).or_insert_with(|| json!([]));
            if let Value::Array(values) = values {
                values.push(json!(value));
            }
        }
        json!({"code": self.code, "headers": headers, "body": self.body})
    }
}

fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
