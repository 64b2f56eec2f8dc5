//! The section of what matters.

use std::collections::{BTreeMap, BTreeSet};

use super::Details;
use super::columns::Columns;
use super::escape::{indented, line};
use crate::insight::{Insight, Resource};
use crate::status::UpdateStatus;
use crate::times;

/// How wide the names of fields are.
const FIELD: usize = "Description: ".len();

/// The section.
pub fn section(update: &UpdateStatus, details: Details) -> String {
    let mut text = "= Update Health =\n".to_owned();
    if update.insights.is_empty() {
        let mut table = table();
        let since = times::short(update.updating_for);
        table.push(&[&since, "Info", "None"], "Update is proceeding well");
        text.push_str(&table.to_string());
    } else if details.include(Details::Health) {
        let blocks: Vec<_> = update
            .insights
            .iter()
            .map(|insight| block(insight, &since(insight, update)))
            .collect();
        text.push_str(&blocks.join("\n"));
    } else {
        let mut table = table();
        for insight in &update.insights {
            table.push(
                &[
                    &since(insight, update),
                    insight.level.as_str(),
                    insight.impact.as_str(),
                ],
                &insight.summary,
            );
        }
        text.push_str(&table.to_string());
        text.push_str(
            "\nRun with --details=health for additional description and links to related online documentation\n",
        );
    }
    text
}

fn table() -> Columns {
    Columns::new(&["SINCE", "LEVEL", "IMPACT", "MESSAGE"])
}

/// How long it lasts.
fn since(insight: &Insight, update: &UpdateStatus) -> String {
    insight.started_at.map_or_else(
        || "-".to_owned(),
        |started| {
            let lasts = update.evaluated_at.duration_since(started);
            times::short(times::truncate(lasts, times::SECOND))
        },
    )
}

fn block(insight: &Insight, since: &str) -> String {
    let field = |name: &str, value: &str| format!("  {name:<FIELD$}{value}\n");
    let below = " ".repeat(FIELD + 2);
    let mut text = format!("Message: {}\n", indented(&insight.summary, &below));
    text.push_str(&field("Since:", since));
    text.push_str(&field("Level:", insight.level.as_str()));
    text.push_str(&field("Impact:", insight.impact.as_str()));
    text.push_str(&field("Reference:", &line(&insight.reference)));
    text.push_str(&resources(&insight.resources));
    text.push_str(&field("Description:", &indented(&insight.description, &below)));
    text
}

/// The objects concerned, those of a kind on a line.
fn resources(resources: &[Resource]) -> String {
    let mut by_kind = BTreeMap::<String, BTreeSet<String>>::new();
    for resource in resources {
        let kind = format!("{}: ", resource.plural_kind());
        by_kind
            .entry(kind)
            .or_default()
            .insert(line(&resource.namespaced_name()));
    }
    let Some(width) = by_kind.keys().map(String::len).max() else {
        return String::new();
    };
    let of_kind = |(kind, names): (String, BTreeSet<String>)| {
        let names: Vec<_> = names.into_iter().collect();
        format!("    {kind:<width$}{}\n", names.join(", "))
    };
    let lines: String = by_kind.into_iter().map(of_kind).collect();
    format!("  Resources:\n{lines}")
}
