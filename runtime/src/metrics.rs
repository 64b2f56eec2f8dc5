//! The metrics of a program, in groups. What a group registers and what a page of docs lists of it are the same collectors, so that the page
//! cannot lack one.

use std::fmt::Write as _;

use prometheus::Registry;
use prometheus::core::Collector;
use prometheus::proto::MetricType;

/// Metrics that are registered together.
pub trait MetricGroup {
    /// Each of them.
    fn collectors(&self) -> Vec<Box<dyn Collector>>;

    /// Registers each of them.
    ///
    /// # Errors
    /// If `registry` has one of the names already.
    fn register_in(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        self.collectors()
            .into_iter()
            .try_for_each(|collector| registry.register(collector))
    }
}

/// A table of metrics in Markdown, by name: type, labels, and what they mean.
pub fn table(groups: &[&dyn MetricGroup]) -> String {
    let collectors = groups.iter().flat_map(|group| group.collectors());
    let mut rows: Vec<String> = collectors.flat_map(|collector| rows(&*collector)).collect();
    rows.sort();
    let mut table = "| metric | type | labels | meaning |\n|---|---|---|---|\n".to_owned();
    for row in rows {
        let _written = writeln!(table, "{row}");
    }
    table
}

fn rows(collector: &dyn Collector) -> Vec<String> {
    // A family without series has a type, too.
    let kind = collector
        .collect()
        .first()
        .map_or("untyped", |family| match family.get_field_type() {
            MetricType::COUNTER => "counter",
            MetricType::GAUGE => "gauge",
            MetricType::HISTOGRAM => "histogram",
            MetricType::SUMMARY => "summary",
            MetricType::UNTYPED => "untyped",
        });
    let described = collector.desc().into_iter();
    let row = |desc: &prometheus::core::Desc| {
        let labels = desc.variable_labels.join(", ");
        format!("| `{}` | {kind} | {labels} | {} |", desc.fq_name, desc.help)
    };
    described.map(row).collect()
}

#[cfg(test)]
mod tests {
    use prometheus::{Histogram, HistogramOpts, IntCounterVec, Opts};

    use super::*;

    struct Two(IntCounterVec, Histogram);

    impl MetricGroup for Two {
        fn collectors(&self) -> Vec<Box<dyn Collector>> {
            let Self(works, took) = self;
            vec![Box::new(works.clone()), Box::new(took.clone())]
        }
    }

    #[test]
    fn a_family_without_series_has_its_row() {
        let works = Opts::new("works_total", "Works created.");
        let took = HistogramOpts::new("took_seconds", "How long it took.");
        let group = Two(
            IntCounterVec::new(works, &["kind", "stage"]).unwrap(),
            Histogram::with_opts(took).unwrap(),
        );
        let lines = table(&[&group]);
        let lines: Vec<&str> = lines.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| `took_seconds` | histogram |  | How long it took. |",
                "| `works_total` | counter | kind, stage | Works created. |",
            ]
        );
        let registry = Registry::new();
        group.register_in(&registry).unwrap();
        assert!(group.register_in(&registry).is_err(), "it is registered");
    }
}
