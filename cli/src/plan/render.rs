//! What `plan` says to people.

use drydock_forecast::StopCause;
use drydock_rollout::EARLIER;
use jiff::Timestamp;

use super::report::{Counts, Figures, FinishBy, Obstacle, PlanReport, rounded, whole_seconds};
use super::tables;
use crate::upgrades::table;

/// Less than one run of the forecast: shares are rounded each by itself.
const LESS_THAN_ONE_RUN: f64 = 0.001;

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
        lines.extend([
            String::new(),
            tables::strategies(&report.strategies, report.computed_at),
        ]);
    }
    if detail.clusters {
        lines.extend([String::new(), tables::clusters(&report.clusters, detail.wide)]);
    } else if !report.waves.is_empty() {
        lines.extend([String::new(), tables::waves(&report.waves)]);
    }
    if !report.blocked.is_empty() {
        lines.extend([
            String::new(),
            "Do not start before something else happens:".to_owned(),
        ]);
        lines.push(tables::blocked(&report.blocked, detail.clusters));
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
        let shares: Vec<f64> = figures.waits.iter().map(|wait| wait.share).collect();
        let waits: Vec<String> = figures
            .waits
            .iter()
            .zip(percents(&shares))
            .map(|(wait, share)| format!("{} {share}", wait.waits_for))
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
    lines.extend(shared(report).map(|said| format!("  {said}")));
    if let Some(finish) = &report.finish_by {
        lines.extend(finish_by(report, finish));
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
            "  not confident: the rollout completes{when} in {share} of the runs, {asked} are asked for"
        ));
        lines.extend(why_incomplete(report).map(|why| format!("                 {why}")));
    }
    lines
}

/// From which upgrades clusters are taken, a sentence each.
pub fn shared(report: &PlanReport) -> impl Iterator<Item = String> + '_ {
    report.shared.iter().map(|other| {
        format!(
            "{} wait{} in {EARLIER}{}, too: one that starts here first is left out there, for good",
            clusters(other.clusters),
            if other.clusters == 1 { "s" } else { "" },
            table::printable(&other.upgrade)
        )
    })
}

/// What keeps the rollout from being complete though it ends.
fn why_incomplete(report: &PlanReport) -> Option<String> {
    let of_blocked = [StopCause::ClustersBlocked, StopCause::OwnedByAnotherUpgrade];
    let is_of_blocked = |stop: &str| of_blocked.iter().any(|cause| cause.reason() == stop);
    let stops = &report.figures.stops;
    let is_stopped_by_them = stops.iter().any(|stop| is_of_blocked(stop.cause));
    if is_stopped_by_them && report.counts.waiting + report.counts.in_flight > 0 {
        // In flight, one may be unable to start once more.
        let listed: usize = report.blocked.iter().map(|group| group.clusters.len()).sum();
        let again = if listed > report.counts.blocked {
            ", or not once more"
        } else {
            ""
        };
        return Some(format!(
            "{} cannot start{again}, with {} listed below; --ignore-blocked leaves them out",
            clusters(listed),
            if listed == 1 {
                "its reason"
            } else {
                "their reasons"
            },
        ));
    }
    let ended = 1.0 - report.figures.stopped();
    (ended - report.figures.completes > LESS_THAN_ONE_RUN).then(|| {
        "it comes to its end in more, with more failures than maxFailures allows, or with nothing but failures".to_owned()
    })
}

fn clusters(count: usize) -> String {
    format!("{count} {}", if count == 1 { "cluster" } else { "clusters" })
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
    format!("{}, {}", clusters(counts.total), places.join(", "))
}

fn ends(report: &PlanReport) -> String {
    let now = report.computed_at;
    if report.paused && report.counts.waiting > 0 {
        let name = table::printable(&report.named);
        return format!("paused: no end (kubectl drydock resume {name})");
    }
    if report.counts.waiting + report.counts.in_flight == 0 {
        return if report.counts.blocked == 0 {
            "all clusters have ended".to_owned()
        } else {
            match report.counts.complete + report.counts.failed {
                0 => "no cluster can start".to_owned(),
                _ => format!(
                    "nothing is left but {} that cannot start",
                    clusters(report.counts.blocked)
                ),
            }
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
    let shares: Vec<f64> = figures.stops.iter().map(|stop| stop.share).collect();
    let causes: Vec<String> = figures
        .stops
        .iter()
        .zip(percents(&shares))
        .map(|(stop, share)| format!("{share} {} ({})", stop.cause, stop.message))
        .collect();
    format!(
        "{} of {runs} runs: {}",
        percent(figures.stopped()),
        causes.join(", ")
    )
}

/// A share in percent; one that is not nothing is not said to be nothing, and one that is not all is not said to be all.
pub fn percent(share: f64) -> String {
    said(share, whole_percent(share))
}

/// Parts of a whole in percent, which add up to what is said of the whole: those are rounded up that lose most by being rounded down.
fn percents(parts: &[f64]) -> Vec<String> {
    let lost = |part: f64| (part * 100.0).fract();
    let mut numbers: Vec<u32> = parts.iter().map(|part| (part * 100.0) as u32).collect();
    let whole = whole_percent(rounded(parts.iter().sum()));
    let left = whole.saturating_sub(numbers.iter().sum());
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by(|one, other| lost(parts[*other]).total_cmp(&lost(parts[*one])));
    for place in places.into_iter().take(left as usize) {
        numbers[place] += 1;
    }
    parts
        .iter()
        .zip(numbers)
        .map(|(part, number)| said(*part, number))
        .collect()
}

fn whole_percent(share: f64) -> u32 {
    ((share * 100.0).round() as u32).min(most_percent(share))
}

/// What is not all is less than a hundred.
fn most_percent(share: f64) -> u32 {
    if share < 1.0 { 99 } else { 100 }
}

fn said(share: f64, number: u32) -> String {
    if share > 0.0 && share < 0.01 {
        return "<1%".to_owned();
    }
    format!("{}%", number.min(most_percent(share)))
}

fn finish_by(report: &PlanReport, finish: &FinishBy) -> Vec<String> {
    let (confidence, now) = (report.confidence, report.computed_at);
    let without = match report.counts.blocked {
        0 => String::new(),
        blocked => format!(", without {} that cannot start", clusters(blocked)),
    };
    let asked = percent(confidence);
    let mut lines = vec![format!(
        "  finish by:  {}: {} of the runs are complete by then, {asked} are asked for",
        moment(finish.time, now),
        percent(finish.in_time)
    )];
    if let Some(slots) = finish.max_concurrency {
        lines.push(format!(
            "              the least maxConcurrency that meets it is {slots}, with {}{without}",
            percent(finish.in_time_with)
        ));
        return lines;
    }
    let earliest = finish.earliest.map_or_else(
        || format!("fewer than {asked} complete at all"),
        |earliest| format!("{asked} are complete by {}", moment(earliest, now)),
    );
    lines.push(format!(
        "              no maxConcurrency meets it: with all clusters at once {} are in time, and {earliest}{without}",
        percent(finish.in_time_with)
    ));
    if finish.obstacles.is_empty() {
        lines.push(match finish.earliest {
            Some(_) => "              the upgrades of the clusters themselves take longer".to_owned(),
            None => {
                "              clusters that cannot start are listed below, with their reasons".to_owned()
            }
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        for (parts, said) in [
            (&[0.895, 0.105][..], &["90%", "10%"][..]),
            (&[0.335, 0.335, 0.33], &["34%", "33%", "33%"]),
            (&[0.29, 0.57], &["29%", "57%"]),
            (&[0.125, 0.125], &["13%", "12%"]),
            (&[0.995, 0.005], &["99%", "<1%"]),
            (&[1.0], &["100%"]),
            (&[], &[]),
        ] {
            assert_eq!(percents(parts), said, "{parts:?}");
        }
    }

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
}
