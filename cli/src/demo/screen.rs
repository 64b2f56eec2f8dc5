//! Live progress on the terminal: a bar for each cluster in flight, counts and the latest Event; plain lines where
//! standard error is not a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::SignedDuration;

use crate::upgrades::table;

use super::outcome::clock;
use super::progress::{Progress, percent};

/// Shows the fleet on standard error; standard output is for the result.
pub enum Screen {
    /// Bars that move.
    Bars(Bars),
    /// A line for each change.
    Lines,
}

/// The bars on the terminal.
pub struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    event: ProgressBar,
    clusters: BTreeMap<String, ProgressBar>,
}

impl Screen {
    /// Bars on a terminal, lines elsewhere.
    pub fn new(clusters: usize) -> anyhow::Result<Self> {
        if !std::io::stderr().is_terminal() {
            return Ok(Self::Lines);
        }
        let all = MultiProgress::new();
        let total = all.add(ProgressBar::new(clusters as u64));
        total.set_style(ProgressStyle::with_template(
            "{prefix} {bar:30.green/white.dim} {msg}",
        )?);
        let event = all.add(ProgressBar::new(1));
        event.set_style(ProgressStyle::with_template("{msg:.dim}")?);
        Ok(Self::Bars(Bars {
            all,
            total,
            event,
            clusters: BTreeMap::new(),
        }))
    }

    /// A cluster's stage changed.
    #[expect(clippy::print_stderr, reason = "progress is for people, on standard error")]
    pub fn changed(&self, details: &ClusterDetails, at: SignedDuration) {
        if let Self::Lines = self {
            let message = if details.state == ClusterState::Failed {
                format!(": {}", plain(&details.message))
            } else {
                String::new()
            };
            eprintln!(
                "{} {} {}{message}",
                clock(at),
                plain(&details.name),
                details.state
            );
        }
    }

    /// Time went on.
    pub fn refresh(&mut self, progress: &Progress, at: SignedDuration) -> anyhow::Result<()> {
        match self {
            Self::Bars(bars) => bars.refresh(progress, at),
            Self::Lines => Ok(()),
        }
    }

    /// The hub's latest Event.
    pub fn event(&self, text: &str) {
        if let Self::Bars(bars) = self {
            bars.event.set_message(plain(text));
        }
    }

    /// Takes everything that moves off the terminal.
    pub fn clear(&self) {
        if let Self::Bars(bars) = self {
            let _already_gone = bars.all.clear();
        }
    }
}

impl Bars {
    fn refresh(&mut self, progress: &Progress, at: SignedDuration) -> anyhow::Result<()> {
        let (complete, failed) = (
            progress.count(ClusterState::Complete),
            progress.count(ClusterState::Failed),
        );
        let all = progress.clusters().len();
        let in_flight: BTreeMap<&str, _> = progress
            .in_flight()
            .map(|details| (details.name.as_str(), details))
            .collect();
        self.total.set_prefix(clock(at));
        self.total.set_position((complete + failed) as u64);
        let waiting = all - complete - failed - in_flight.len();
        self.total.set_message(format!(
            "{complete}/{all} complete · {} in flight · {waiting} waiting · {failed} failed",
            in_flight.len()
        ));
        let over: Vec<_> = self
            .clusters
            .keys()
            .filter(|name| !in_flight.contains_key(name.as_str()))
            .cloned()
            .collect();
        for name in over {
            if let Some(bar) = self.clusters.remove(&name) {
                bar.finish_and_clear();
                self.all.remove(&bar);
            }
        }
        for (name, details) in in_flight {
            let bar = self.bar(name)?;
            bar.set_position(percent(details));
            bar.set_message(format!(
                "{:<14} {}",
                details.state.as_str(),
                plain(&details.message)
            ));
        }
        Ok(())
    }

    fn bar(&mut self, cluster: &str) -> anyhow::Result<ProgressBar> {
        if let Some(bar) = self.clusters.get(cluster) {
            return Ok(bar.clone());
        }
        let bar = self.all.insert_before(&self.event, ProgressBar::new(100));
        bar.set_style(ProgressStyle::with_template(
            "{prefix:>8} {bar:30.cyan/white.dim} {pos:>3}% {wide_msg}",
        )?);
        bar.set_prefix(plain(cluster));
        self.clusters.insert(cluster.to_owned(), bar.clone());
        Ok(bar)
    }
}

/// What came from a cluster, without anything that a terminal would act on.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if table::is_printable(c) { c } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_of_a_cluster_cannot_drive_the_terminal() {
        assert_eq!(super::plain("done\u{1b}[2J\nnow"), "done [2J now");
    }
}
