//! The page of metrics of the fleet page's server is generated from what it registers: `UPDATE=1 cargo test -p drydock-cli metrics_page` writes
//! it again.

use std::path::Path;

use drydock_runtime::metrics::table;

use super::metrics;

fn page() -> String {
    let registry = prometheus::Registry::new();
    let table = table(&[&metrics(&registry).unwrap()]);
    format!(
        "# Metrics of the fleet page\n\nGenerated from the code: what `drydock-dashboard` serves at `/metrics` of its \
         `--admin-address`.\n[The fleet page](../fleet-page.md) says how it is run.\n\n{table}"
    )
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/fleet-page-metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        page(),
        "write it again: UPDATE=1 cargo test -p drydock-cli metrics_page"
    );
}
