//! The page of the hub's metrics is generated from what the hub registers: `UPDATE=1 cargo test -p drydock-hub metrics` writes it again.

use std::path::Path;

use drydock_runtime::client::RequestMetrics;
use drydock_runtime::events::EventMetrics;
use drydock_runtime::metrics::table;
use prometheus::Registry;

use super::{Metrics, WatchHealth};

fn page() -> String {
    let registry = Registry::new();
    let table = table(&[
        &Metrics::register(&registry).unwrap(),
        &WatchHealth::register(&registry).unwrap(),
        &EventMetrics::register(&registry).unwrap(),
        &RequestMetrics::register(&registry).unwrap(),
    ]);
    format!(
        "# The hub's metrics\n\nGenerated from the code. The labels `namespace` and `name` are those of the ManagedClustersUpgrade. No metric has a \
         label for the\ncluster: a fleet of 10,000 would be 10,000 series. [Running the hub](../running-the-hub.md#metrics) says what to read \
         from them.\n\n{table}"
    )
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/hub-metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        page(),
        "write it again: UPDATE=1 cargo test -p drydock-hub metrics"
    );
}
