//! The page of metrics of maintenance schedules is generated from the table of families: `UPDATE=1 cargo test -p drydock-schedule --test
//! metrics_page` writes it again.

use std::fmt::Write as _;
use std::path::Path;

use drydock_schedule::metrics::{FAMILIES, FamilyKind};

fn page() -> String {
    let mut page = "# Metrics of maintenance schedules\n\nGenerated from the code. Names and labels are those of \
                    [openshift-upgrade-controller](https://github.com/appuio/openshift-upgrade-controller), with the namespace of the \
                    object\nafter them.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
        .to_owned();
    for family in FAMILIES {
        let kind = match family.kind {
            FamilyKind::Gauge => "gauge",
            FamilyKind::Counter => "counter",
        };
        let labels = family.labels.join(", ");
        let _written = writeln!(
            page,
            "| `{}` | {kind} | {labels} | {} |",
            family.name, family.help
        );
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/maintenance-metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        page(),
        "write it again: UPDATE=1 cargo test -p drydock-schedule --test metrics_page"
    );
}
