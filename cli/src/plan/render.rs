//! What `plan` says to people.

use comfy_table::Cell;
use jiff::Timestamp;

use super::clusters::{BlockedGroup, ClusterEntry, Wave};
use super::report::{Counts, Figures, FinishBy, Obstacle, PlanReport, StrategyFigures, Times, whole_seconds};
use crate::upgrades::table;

/// Names that are shown of a wave, or of clusters that do not start.
const FIRST_NAMES: usize = 3;

/// How much is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detail {
    /// All clusters instead of waves.
    pub clusters: bool,
    /// More columns.
    pub wide: bool,
}

/// The whole report.
pub fn render(report: &PlanReport, detail: Detail) -> String {
    let mut lines = summary(report);
    if !report.strategies.is_empty() {
        lines.extend([String::new(), strategies(&report.strategies, report.computed_at)]);
    }
    if detail.clusters {
        lines.extend([String::new(), clusters(&report.clusters, detail.wide)]);
    } else if !report.waves.is_empty() {
        lines.extend([String::new(), waves(&report.waves)]);
    }
    if !report.blocked.is_empty() {
        lines.extend([
            String::new(),
            "Do not start before something else happens:".to_owned(),
        ]);
        lines.push(blocked(&report.blocked, detail.clusters));
    }
    lines.join("\n")
}

fn summary(report: &PlanReport) -> Vec<String> {
    let mut lines = vec![format!(
        "{} to {}: {}; nothing was written",
        table::printable(&report.upgrade),
        table::printable(&report.target),
        counts(&report.counts)
    )];
    let figures = &report.figures;
    lines.push(format!("  ends:       {}", ends(report)));
    lines.push(format!("  stops:      {}", stops(figures, report.runs)));
    if !figures.waits.is_empty() {
        let waits: Vec<String> = figures
            .waits
            .iter()
            .map(|wait| format!("{} {}", wait.waits_for, percent(wait.share)))
            .collect();
        lines.push(format!("  waits for:  {} of the time", waits.join(", ")));
    }
    let failed = figures.failed_clusters;
    lines.push(format!(
        "  failures:   in half of the runs at most {}, in nine of ten at most {}",
        failed.p50, failed.p90
    ));
    lines.push(format!("  in flight:  {} at most", figures.most_in_flight.max));
    lines.push(format!("  basis:      {}", table::printable(&report.basis)));
    if let Some(finish) = &report.finish_by {
        lines.extend(finish_by(finish, report.confidence, report.computed_at));
    }
    if !report.confident {
        let asked = percent(report.confidence);
        let share = percent(figures.as_asked());
        let when = if report.finish_by.is_some() {
            " in time"
        } else {
            ""
        };
        lines.push(format!(
            "  not confident: {share} of the runs come to their end{when}, {asked} are asked for"
        ));
    }
    lines
}

/// How many clusters there are, and where they are.
fn counts(counts: &Counts) -> String {
    let places = [
        (counts.waiting, "waiting"),
        (counts.in_flight, "in flight"),
        (counts.complete, "complete"),
        (counts.failed, "failed"),
        (counts.blocked, "that cannot start"),
    ];
    let places = places.into_iter().filter(|(count, _)| *count > 0);
    let places: Vec<String> = places.map(|(count, place)| format!("{count} {place}")).collect();
    let clusters = if counts.total == 1 { "cluster" } else { "clusters" };
    format!("{} {clusters}, {}", counts.total, places.join(", "))
}

fn ends(report: &PlanReport) -> String {
    let now = report.computed_at;
    if report.paused {
        let name = table::printable(&report.upgrade);
        return format!("paused: no end (kubectl drydock resume {name})");
    }
    if report.counts.waiting + report.counts.in_flight == 0 {
        return if report.counts.blocked == 0 {
            "all clusters have ended".to_owned()
        } else {
            "no cluster can start".to_owned()
        };
    }
    match report.figures.ends {
        Some(times) => format!(
            "p10 {}, p50 {}, p90 {}",
            moment(times.p10, now),
            moment(times.p50, now),
            moment(times.p90, now)
        ),
        None => "in no run".to_owned(),
    }
}

/// A moment, and how long it is until then.
fn moment(at: Timestamp, now: Timestamp) -> String {
    format!(
        "{} (in {})",
        whole_seconds(at),
        table::short(at.duration_since(now))
    )
}

fn stops(figures: &Figures, runs: usize) -> String {
    if figures.stops.is_empty() {
        return format!("in none of {runs} runs");
    }
    let causes: Vec<String> = figures
        .stops
        .iter()
        .map(|stop| format!("{} {} ({})", percent(stop.share), stop.cause, stop.message))
        .collect();
    format!(
        "{} of {runs} runs: {}",
        percent(figures.stopped()),
        causes.join(", ")
    )
}

/// A share in percent; one that is not nothing is not said to be nothing, and one that is not all is not said to be all.
pub fn percent(share: f64) -> String {
    match share {
        share if share <= 0.0 => "0%".to_owned(),
        share if share < 0.01 => "<1%".to_owned(),
        share if share < 1.0 => format!("{}%", ((share * 100.0).round() as u32).min(99)),
        _ => "100%".to_owned(),
    }
}

fn finish_by(finish: &FinishBy, confidence: f64, now: Timestamp) -> Vec<String> {
    let asked = percent(confidence);
    let mut lines = vec![format!(
        "  finish by:  {}: {} of the runs are in time, {asked} are asked for",
        moment(finish.time, now),
        percent(finish.in_time)
    )];
    if let Some(slots) = finish.max_concurrency {
        lines.push(format!(
            "              the least maxConcurrency that meets it is {slots}, with {}",
            percent(finish.in_time_with)
        ));
        return lines;
    }
    let earliest = finish.earliest.map_or_else(
        || format!("fewer than {asked} come to their end at all"),
        |earliest| format!("{asked} have ended by {}", moment(earliest, now)),
    );
    lines.push(format!(
        "              no maxConcurrency meets it: with all clusters at once {} are in time, and {earliest}",
        percent(finish.in_time_with)
    ));
    if finish.obstacles.is_empty() {
        lines.push("              the upgrades of the clusters themselves take longer".to_owned());
    }
    let obstacles = finish.obstacles.iter();
    lines.extend(obstacles.map(|obstacle| format!("              {}", obstacle_line(obstacle))));
    lines
}

fn obstacle_line(obstacle: &Obstacle) -> String {
    format!(
        "without {} it would be {}",
        obstacle.what,
        percent(obstacle.in_time_without)
    )
}

fn strategies(strategies: &[StrategyFigures], now: Timestamp) -> String {
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

fn waves(waves: &[Wave]) -> String {
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

fn clusters(clusters: &[ClusterEntry], wide: bool) -> String {
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

fn blocked(groups: &[BlockedGroup], all: bool) -> String {
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
    fn a_share_is_not_rounded_to_nothing_or_to_all() {
        for (share, shown) in [
            (0.0, "0%"),
            (0.001, "<1%"),
            (0.005, "<1%"),
            (0.254, "25%"),
            (0.999, "99%"),
            (1.0, "100%"),
        ] {
            assert_eq!(percent(share), shown);
        }
    }

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
