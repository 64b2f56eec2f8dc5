//! The page about update insights lists their metrics.

use drydock_insights::metrics::FAMILIES;

#[test]
fn the_page_lists_every_metric() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/update-insights.md");
    let page = std::fs::read_to_string(path).unwrap();
    for family in FAMILIES {
        let row = format!(
            "| `{}` | {} | {} |",
            family.name,
            family.labels.join(", "),
            family.help
        );
        assert!(page.lines().any(|line| line == row), "missing in {path}:\n{row}");
    }
}
