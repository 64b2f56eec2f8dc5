//! What one change costs among many clusters: one work's feedback changes, and the upgrade is looked at again, beside the first look, in
//! which every cluster is started. Prints ratios; nothing is asserted.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "it measures real time for a person, with objects that are written here"
)]

mod fleet;

use std::sync::Arc;
use std::time::{Duration, Instant};

use drydock_rollout::{ClusterName, Uid, UpgradeKey, Work, WorkFeedback, WorkKind, Works};
use fleet::Bench;

/// How many changes are measured.
const CHANGES: usize = 1_000;

fn main() {
    println!(
        "{:>8} {:>14} {:>16} {:>8}",
        "clusters", "one change", "the first look", "ratio"
    );
    for clusters in [100, 1_000, 10_000] {
        let (one, all) = measure(clusters);
        println!(
            "{clusters:>8} {:>11.1} µs {:>13.1} µs {:>7.0}x",
            one.as_secs_f64() * 1e6,
            all.as_secs_f64() * 1e6,
            all.as_secs_f64() / one.as_secs_f64()
        );
    }
}

/// What one change costs, and the first look, at everything.
fn measure(clusters: usize) -> (Duration, Duration) {
    let mut bench = Bench::new(clusters);
    let begun = Instant::now();
    let works = bench.start_all();
    let all = begun.elapsed();
    let key = UpgradeKey::new("default", "spring");
    let begun = Instant::now();
    for number in 0..CHANGES {
        let (name, work) = &works[number * 7 % works.len()];
        bench.change(name, work, number);
        let planned = bench.fleet.plan(&key, bench.now).expect("the upgrade is there");
        std::hint::black_box(&planned.plan);
    }
    let one = begun.elapsed() / u32::try_from(CHANGES).unwrap_or(u32::MAX);
    (one, all)
}

impl Bench {
    /// Starts every cluster; gives the works that were made.
    fn start_all(&mut self) -> Vec<(ClusterName, Arc<Work>)> {
        let key = UpgradeKey::new("default", "spring");
        let planned = self.fleet.plan(&key, self.now).expect("the upgrade is there");
        let upgrade = &planned.rollout.upgrade;
        let mut works = Vec::new();
        for action in &planned.plan.actions {
            let Some(name) = action.starts() else { continue };
            let uid = Uid::new(format!("{name}-work"));
            let after = action.work_after(&Works::default(), upgrade, &uid, self.now);
            let Some((_, Some(work))) = after else { continue };
            self.version += 1;
            let _change = self
                .fleet
                .written(action, Some(uid), Some(self.version), self.now);
            works.push((name.clone(), work));
        }
        assert!(!works.is_empty(), "nothing starts");
        for (name, work) in &works {
            self.change(name, work, 0);
        }
        works
    }

    /// The watch brings a work whose cluster says how far it is.
    fn change(&mut self, name: &ClusterName, work: &Arc<Work>, number: usize) {
        let mut work = (**work).clone();
        if let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback {
            feedback.percent = u8::try_from(number % 100).ok();
        }
        self.version += 1;
        let _change = self
            .fleet
            .set_work(name, WorkKind::Cluster, Arc::new(work), self.version);
    }
}
