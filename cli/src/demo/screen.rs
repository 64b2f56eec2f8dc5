//! Live progress on the terminal: a bar for each cluster in flight, counts and the latest Event; plain lines where
//! standard error is not a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use drydock_api::ClusterName;
use drydock_api::names::EndState;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::SignedDuration;

use super::outcome::clock;
use crate::progress::{ClusterProgress, Fleet, Stage};

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
    clusters: BTreeMap<ClusterName, ProgressBar>,
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
    pub fn changed(&self, cluster: &ClusterName, progress: &ClusterProgress, at: SignedDuration) {
        if let Self::Lines = self {
            let message = if matches!(progress.stage, Stage::Ended(EndState::Failed)) {
                format!(": {}", plain(&progress.message))
            } else {
                String::new()
            };
            eprintln!("{} {cluster} {}{message}", clock(at), progress.stage.as_str());
        }
    }

    /// Time went on.
    pub fn refresh(&mut self, fleet: &Fleet, at: SignedDuration) -> anyhow::Result<()> {
        match self {
            Self::Bars(bars) => bars.refresh(fleet, at),
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
    fn refresh(&mut self, fleet: &Fleet, at: SignedDuration) -> anyhow::Result<()> {
        let (complete, failed) = (fleet.ended(EndState::Complete), fleet.ended(EndState::Failed));
        let in_flight: BTreeMap<_, _> = fleet.in_flight().collect();
        self.total.set_prefix(clock(at));
        self.total.set_position((complete + failed) as u64);
        let waiting = fleet.len() - complete - failed - in_flight.len();
        self.total.set_message(format!(
            "{complete}/{} complete · {} in flight · {waiting} waiting · {failed} failed",
            fleet.len(),
            in_flight.len()
        ));
        let over: Vec<_> = self
            .clusters
            .keys()
            .filter(|name| !in_flight.contains_key(name))
            .cloned()
            .collect();
        for name in over {
            if let Some(bar) = self.clusters.remove(&name) {
                bar.finish_and_clear();
                self.all.remove(&bar);
            }
        }
        for (name, progress) in in_flight {
            let bar = self.bar(name)?;
            bar.set_position(progress.percent());
            bar.set_message(format!(
                "{:<11} {}",
                progress.stage.as_str(),
                plain(&progress.message)
            ));
        }
        Ok(())
    }

    fn bar(&mut self, cluster: &ClusterName) -> anyhow::Result<ProgressBar> {
        if let Some(bar) = self.clusters.get(cluster) {
            return Ok(bar.clone());
        }
        let bar = self.all.insert_before(&self.event, ProgressBar::new(100));
        bar.set_style(ProgressStyle::with_template(
            "{prefix:>8} {bar:30.cyan/white.dim} {pos:>3}% {wide_msg}",
        )?);
        bar.set_prefix(cluster.to_string());
        self.clusters.insert(cluster.clone(), bar.clone());
        Ok(bar)
    }
}

/// What came from a cluster, without anything that a terminal would act on.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_of_a_cluster_cannot_drive_the_terminal() {
        assert_eq!(super::plain("done\u{1b}[2J\nnow"), "done [2J now");
    }
}
