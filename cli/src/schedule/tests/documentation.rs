//! The examples of docs/maintenance-schedules.md are what the commands print.

use serde_json::json;

use super::fixture::*;
use crate::schedule::{explain, list};

const PAGE: &str = include_str!("../../../../docs/maintenance-schedules.md");

#[test]
fn the_examples_of_the_page_are_what_is_printed() {
    let mut sale = window(
        "sale",
        "2026-11-24T00:00:00Z",
        "2026-11-30T00:00:00Z",
        &json!({"configSelector": {}}),
    );
    sale.spec.reason = "Black Friday".to_owned();
    let cluster = with(|cluster| cluster.windows = Ok(vec![sale]));
    for printed in [
        list::text(&cluster, false, &new_york()),
        explain::render(&explain::explanation(&cluster, cluster.config("nights").unwrap())),
    ] {
        assert!(
            PAGE.contains(&format!("\n{printed}\n")),
            "docs/maintenance-schedules.md lacks:\n{printed}"
        );
    }
}
