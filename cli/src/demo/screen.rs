//! Live progress on the terminal: what failed, a bar for each cluster in flight as far as they fit, counts and the latest Event;
//! plain lines where standard error is not a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use console::Term;
use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use jiff::SignedDuration;

use super::outcome::clock;
use super::progress::Progress;

/// The rows that show no cluster: the counts, what does not fit, the Event, and the line of the cursor.
const OTHER_ROWS: usize = 4;

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
    rest: ProgressBar,
    event: ProgressBar,
    failed: BTreeMap<String, ProgressBar>,
    moving: BTreeMap<String, ProgressBar>,
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
        let rest = all.add(ProgressBar::new(1));
        rest.set_style(ProgressStyle::with_template("{msg:.dim}")?);
        let event = all.add(ProgressBar::new(1));
        event.set_style(ProgressStyle::with_template("{msg:.dim}")?);
        Ok(Self::Bars(Bars {
            all,
            total,
            rest,
            event,
            failed: BTreeMap::new(),
            moving: BTreeMap::new(),
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

    /// Time has passed.
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
        let in_flight = progress.in_flight().count();
        self.total.set_prefix(clock(at));
        self.total.set_position((complete + failed) as u64);
        let waiting = all - complete - failed - in_flight;
        self.total.set_message(format!(
            "{complete}/{all} complete · {in_flight} in flight · {waiting} waiting · {failed} failed"
        ));
        let rows = usize::from(Term::stderr().size().0).saturating_sub(OTHER_ROWS);
        let shown = progress.shown(rows);
        remove_others(&self.all, &mut self.failed, &shown.failed);
        remove_others(&self.all, &mut self.moving, &shown.moving);
        for details in &shown.failed {
            let bar = self.failed_line(&details.name)?;
            bar.set_message(plain(&details.message));
        }
        for details in &shown.moving {
            let bar = self.bar(&details.name)?;
            bar.set_position(details.percent(None));
            bar.set_message(format!(
                "{:<14} {}",
                details.state.as_str(),
                plain(&details.message)
            ));
        }
        self.rest.set_message(shown.rest());
        Ok(())
    }

    fn failed_line(&mut self, cluster: &str) -> anyhow::Result<ProgressBar> {
        if let Some(line) = self.failed.get(cluster) {
            return Ok(line.clone());
        }
        let line = self.all.insert_after(&self.total, ProgressBar::new(100));
        line.set_style(ProgressStyle::with_template("{prefix:>8} {wide_msg:.red}")?);
        line.set_prefix(plain(cluster));
        self.failed.insert(cluster.to_owned(), line.clone());
        Ok(line)
    }

    fn bar(&mut self, cluster: &str) -> anyhow::Result<ProgressBar> {
        if let Some(bar) = self.moving.get(cluster) {
            return Ok(bar.clone());
        }
        let bar = self.all.insert_before(&self.rest, ProgressBar::new(100));
        bar.set_style(ProgressStyle::with_template(
            "{prefix:>8} {bar:30.cyan/white.dim} {pos:>3}% {wide_msg}",
        )?);
        bar.set_prefix(plain(cluster));
        self.moving.insert(cluster.to_owned(), bar.clone());
        Ok(bar)
    }
}

/// Takes the lines of clusters that are not shown any more off the screen.
fn remove_others(all: &MultiProgress, lines: &mut BTreeMap<String, ProgressBar>, shown: &[&ClusterDetails]) {
    lines.retain(|name, line| {
        let stays = shown.iter().any(|details| details.name == *name);
        if !stays {
            line.finish_and_clear();
            all.remove(line);
        }
        stays
    });
}

/// What came from a cluster, without anything that a terminal would act on.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if drydock_api::is_printable(c) { c } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_of_a_cluster_cannot_drive_the_terminal() {
        assert_eq!(super::plain("done\u{1b}[2J\nnow"), "done [2J now");
    }
}
