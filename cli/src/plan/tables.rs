//! The tables of `plan`.

use comfy_table::Cell;
use jiff::Timestamp;

use super::clusters::{BlockedGroup, ClusterEntry, Wave};
use super::render::percent;
use super::report::{StrategyFigures, Times, whole_seconds};
use crate::upgrades::table;

/// Names that are shown of a wave, or of clusters that do not start.
const FIRST_NAMES: usize = 3;

/// Strategies beside each other.
pub fn strategies(strategies: &[StrategyFigures], now: Timestamp) -> String {
    let with_deadline = strategies
        .iter()
        .any(|strategy| strategy.figures.in_time.is_some());
    let mut header = vec![
        "STRATEGY",
        "P10",
        "P50",
        "P90",
        "TAKES (P50)",
        "STOPS",
        "CAUSE",
        "IN FLIGHT",
    ];
    if with_deadline {
        header.push("IN TIME");
    }
    let mut shown = table::plain(&header);
    for strategy in strategies {
        let figures = &strategy.figures;
        let at = |which: fn(&Times) -> Timestamp| figures.ends.as_ref().map(which);
        let takes = at(|times| times.p50).map(|end| table::short(end.duration_since(now)));
        let mut cells = vec![
            table::printable(&strategy.strategy),
            moment_cell(at(|times| times.p10)),
            moment_cell(at(|times| times.p50)),
            moment_cell(at(|times| times.p90)),
            takes.unwrap_or_else(|| "-".to_owned()),
            percent(figures.stopped()),
            figures.stops.first().map_or("-", |stop| stop.cause).to_owned(),
            figures.most_in_flight.max.to_string(),
        ];
        if with_deadline {
            cells.push(percent(figures.as_asked()));
        }
        shown.add_row(cells);
    }
    table::text(&shown)
}

fn moment_cell(at: Option<Timestamp>) -> String {
    table::moment(at.map(whole_seconds))
}

/// Clusters by when they start.
pub fn waves(waves: &[Wave]) -> String {
    let header = [
        "WAVE",
        "CLUSTERS",
        "STARTS (P50)",
        "STARTS (P90)",
        "ENDS (P50)",
        "ENDS (P90)",
        "NAMES",
    ];
    let mut shown = table::plain(&header);
    for wave in waves {
        let label = match (wave.number, wave.canaries) {
            _ if wave.starts_p50.is_none() && wave.number > 0 => "never".to_owned(),
            (0, _) => "in flight".to_owned(),
            (number, true) => format!("{number} (canaries)"),
            (number, false) => number.to_string(),
        };
        shown.add_row([
            label,
            wave.clusters.to_string(),
            moment_cell(wave.starts_p50),
            moment_cell(wave.starts_p90),
            moment_cell(wave.ends_p50),
            moment_cell(wave.ends_p90),
            first_names(&wave.names, false),
        ]);
    }
    table::text(&shown)
}

fn first_names(names: &[String], all: bool) -> String {
    let shown = if all {
        names.len()
    } else {
        FIRST_NAMES.min(names.len())
    };
    let mut text: Vec<String> = names[..shown].iter().map(|name| table::printable(name)).collect();
    match names.len() - shown {
        0 => {}
        1 => text.extend(names.last().map(|name| table::printable(name))),
        more => text.push(format!("and {more} more")),
    }
    text.join(", ")
}

/// Every cluster.
pub fn clusters(clusters: &[ClusterEntry], wide: bool) -> String {
    let mut header = vec![
        "CLUSTER",
        "CANARY",
        "STATE",
        "STARTS (P50)",
        "STARTS (P90)",
        "ENDS (P50)",
        "ENDS (P90)",
        "LEFT",
        "FAILS",
    ];
    if wide {
        header.extend(["FROM", "STARTS (P10)", "ENDS (P10)"]);
    }
    let mut shown = table::plain(&header);
    for entry in clusters {
        let starts = |which: fn(&Times) -> Timestamp| moment_cell(entry.starts.as_ref().map(which));
        let ends = |which: fn(&Times) -> Timestamp| moment_cell(entry.ends.as_ref().map(which));
        let mut cells = vec![
            Cell::new(table::printable(&entry.name)),
            Cell::new(table::yes(entry.canary)),
            table::state(entry.state),
            Cell::new(starts(|times| times.p50)),
            Cell::new(starts(|times| times.p90)),
            Cell::new(ends(|times| times.p50)),
            Cell::new(ends(|times| times.p90)),
            Cell::new(percent(entry.left)),
            Cell::new(percent(entry.fails)),
        ];
        if wide {
            cells.extend([
                Cell::new(table::printable(entry.from.as_deref().unwrap_or("-"))),
                Cell::new(starts(|times| times.p10)),
                Cell::new(ends(|times| times.p10)),
            ]);
        }
        shown.add_row(cells);
    }
    table::text(&shown)
}

/// Clusters that do not start, by why.
pub fn blocked(groups: &[BlockedGroup], all: bool) -> String {
    let mut shown = table::plain(&["REASON", "CLUSTERS", "NAMES", "MESSAGE"]);
    for group in groups {
        shown.add_row([
            table::printable(&group.reason),
            group.clusters.len().to_string(),
            first_names(&group.clusters, all),
            table::printable(&group.message),
        ]);
    }
    table::text(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_names_say_how_many_more_there_are() {
        let names: Vec<String> = (1..=5).map(|number| format!("c{number}")).collect();
        for (count, all, shown) in [
            (1, false, "c1"),
            (3, false, "c1, c2, c3"),
            (4, false, "c1, c2, c3, c4"),
            (5, false, "c1, c2, c3, and 2 more"),
            (5, true, "c1, c2, c3, c4, c5"),
        ] {
            assert_eq!(first_names(&names[..count], all), shown);
        }
        assert_eq!(first_names(&["a\u{1b}[2J".to_owned()], false), "a[2J");
    }
}
