//! The pages of fields are generated from the definitions: `UPDATE=1 cargo test -p drydock-api --test reference` writes them again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use drydock_api::crds;
use drydock_names::events::{self, Severity};
use serde_json::Value;

/// One line that no table breaks at. Within backticks everything but a bar stands for itself.
fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text.split('`').enumerate().map(|(index, part)| {
        let part = part.replace('|', "\\|");
        if index % 2 == 0 {
            part.replace('<', "&lt;").replace('[', "\\[")
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join("`")
}

fn type_of(schema: &Value) -> String {
    let name = match schema["type"].as_str() {
        Some("array") => format!("list of {}", type_of(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        Some(name) => match schema["format"].as_str() {
            Some("date-time") => "time".to_owned(),
            _ => name.to_owned(),
        },
        None if schema["x-kubernetes-int-or-string"] == true => "integer or string".to_owned(),
        None => "any".to_owned(),
    };
    match schema["enum"].as_array() {
        Some(values) => {
            let values = values.iter().filter_map(Value::as_str);
            values
                .map(|value| format!("`{value}`"))
                .collect::<Vec<_>>()
                .join(", ")
        }
        None => name,
    }
}

/// What else is required of a value.
fn rules(schema: &Value, is_required: bool) -> Vec<String> {
    let mut rules = Vec::new();
    if is_required {
        rules.push("required".to_owned());
    }
    if !schema["default"].is_null() {
        rules.push(format!("default `{}`", schema["default"]));
    }
    for (name, bound, unit) in [
        ("minimum", "at least", ""),
        ("maximum", "at most", ""),
        ("minLength", "at least", " characters"),
        ("maxLength", "at most", " characters"),
        ("minItems", "at least", " entries"),
        ("maxItems", "at most", " entries"),
    ] {
        // That a text must not be empty is what everybody expects.
        if let Some(limit) = schema[name]
            .as_f64()
            .filter(|limit| name != "minLength" || *limit > 1.0)
        {
            rules.push(format!("{bound} {limit}{unit}"));
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        rules.push(format!("matches `{pattern}`"));
    }
    let checked = schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten();
    rules.extend(checked.filter_map(|rule| rule["message"].as_str().map(str::to_owned)));
    rules
}

fn fields(schema: &Value, path: &str, rows: &mut Vec<String>) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let mut words = cell(field["description"].as_str().unwrap_or_default());
        let rules = rules(field, required.contains(&name.as_str()));
        if !rules.is_empty() {
            let _ = write!(words, " *({})*", cell(&rules.join("; ")));
        }
        rows.push(format!("| `{path}` | {} | {words} |", type_of(field)));
        below(field, &path, rows);
    }
}

/// The fields of what a field holds.
fn below(field: &Value, path: &str, rows: &mut Vec<String>) {
    if field["properties"].is_object() {
        fields(field, path, rows);
    } else if field["items"].is_object() {
        below(&field["items"], &format!("{path}[]"), rows);
    } else if field["additionalProperties"].is_object() {
        below(&field["additionalProperties"], &format!("{path}.*"), rows);
    }
}

fn pages() -> BTreeMap<String, String> {
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for definition in crds() {
        let definition = serde_json::to_value(definition).unwrap();
        let (spec, names) = (&definition["spec"], &definition["spec"]["names"]);
        let group = spec["group"].as_str().unwrap();
        let page = pages.entry(group.to_owned()).or_insert_with(|| {
            format!(
                "# Fields of `{group}`\n\nGenerated from the definitions in `crds/`. `[]` is each entry of a list, `*` each of a map. The API \
                 server refuses what breaks a rule in italics.\n"
            )
        });
        for version in spec["versions"].as_array().unwrap() {
            let schema = &version["schema"]["openAPIV3Schema"];
            let mut short: Vec<&str> = names["shortNames"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            short.insert(0, names["plural"].as_str().unwrap());
            let _ = write!(
                page,
                "\n## {} {}\n\n{} `kubectl get {}`. {}.\n\n| field | type | meaning |\n|---|---|---|\n",
                names["kind"].as_str().unwrap(),
                version["name"].as_str().unwrap(),
                cell(schema["description"].as_str().unwrap_or_default()),
                short.join("` or `kubectl get "),
                spec["scope"].as_str().unwrap(),
            );
            let mut rows = Vec::new();
            for part in ["spec", "status"] {
                fields(&schema["properties"][part], part, &mut rows);
            }
            page.push_str(&rows.join("\n"));
            page.push('\n');
        }
    }
    pages
}

/// Whether a page is as it would be written now; with `UPDATE` it is written.
fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs/reference")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "{} is stale: UPDATE=1 cargo test -p drydock-api --test reference writes it again",
        path.display()
    );
}

#[test]
fn the_pages_of_fields_are_up_to_date() {
    for (group, page) in pages() {
        check(&format!("{group}.md"), &page);
    }
}

fn page_of_events() -> String {
    let mut page = "# Events\n\nGenerated from the program, which publishes no others. [Reasons](../reasons.md) leads to those of conditions.\n"
        .to_owned();
    for (title, events) in events::SECTIONS {
        let _ = write!(
            page,
            "\n## {title}\n\n| reason | about | type | when | what to do |\n|---|---|---|---|---|\n"
        );
        for event in events {
            let severity = match event.severity {
                Severity::Normal => "Normal",
                Severity::Warning => "Warning",
                Severity::Either => "Normal or Warning",
            };
            let _ = writeln!(
                page,
                "| `{}` | {} | {severity} | {} | {} |",
                event.reason, event.about, event.when, event.remedy
            );
        }
    }
    page
}

#[test]
fn the_page_of_events_is_up_to_date() {
    check("events.md", &page_of_events());
}
