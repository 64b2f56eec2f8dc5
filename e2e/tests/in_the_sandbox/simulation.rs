//! Runs of the simulation: `SIM_SEEDS` of them from `SIM_SEED` on (`make sim SEEDS=10000`).

use std::sync::atomic::{AtomicBool, Ordering};

use drydock_e2e::simulation::boundaries::{self, Kill};
use drydock_e2e::simulation::{self, Counts};

/// A debug build is killed at every this many writes only; `make sim` takes them all.
const DEBUG_STEP: usize = 9;
/// Which seeds `cargo test` runs: few, but one of them with simulated clusters.
const FIRST: u64 = 6;
const SEEDS: u64 = 4;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// A single seed says what the hub says, as `RUST_LOG` asks.
fn say(seeds: u64) {
    if let (1, Ok(filter)) = (seeds, tracing_subscriber::EnvFilter::try_from_default_env()) {
        let _already = tracing_subscriber::fmt().with_env_filter(filter).try_init();
    }
}

fn run(seed: u64) -> anyhow::Result<simulation::Summary> {
    paused(simulation::run(seed))
}

/// Runs something under paused time.
fn paused<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

#[test]
fn a_hub_killed_at_any_of_its_writes_comes_to_the_same_end() {
    let undisturbed = paused(boundaries::run(None)).unwrap();
    assert!(undisturbed.writes > 20, "{undisturbed:?}");
    let step = if cfg!(debug_assertions) { DEBUG_STEP } else { 1 };
    for at in (1..=undisturbed.writes).step_by(step) {
        for after in [false, true] {
            let kill = Kill { at, after };
            let end =
                paused(boundaries::run(Some(kill))).unwrap_or_else(|error| panic!("{kill:?}: {error:#}"));
            assert_eq!(end.facts, undisturbed.facts, "{kill:?}");
        }
    }
    println!(
        "killed before and after each of {} writes: the same end",
        undisturbed.writes
    );
}

/// What some seeds came to.
#[derive(Default)]
struct Total {
    faults: Counts,
    checks: u64,
    starts: u64,
    hours: i64,
}

impl Total {
    /// Runs them one after the other, until one of them, or of those that run beside them, fails.
    fn of(seeds: impl Iterator<Item = u64>, failed: &AtomicBool) -> Self {
        let mut total = Self::default();
        for seed in seeds.take_while(|_| !failed.load(Ordering::Relaxed)) {
            let summary = run(seed).unwrap_or_else(|error| {
                failed.store(true, Ordering::Relaxed);
                panic!("{error:#}\nagain: make sim SEEDS=1 SEED={seed}");
            });
            total.faults.add(summary.faults);
            total.checks += summary.checks;
            total.starts += summary.starts;
            total.hours += summary.lasted.as_hours();
        }
        total
    }
}

#[test]
fn the_rules_hold_whatever_happens_and_every_rollout_ends() {
    let first = number("SIM_SEED", FIRST);
    let end = first + number("SIM_SEEDS", SEEDS);
    say(end - first);
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let failed = AtomicBool::new(false);
    let total = std::thread::scope(|scope| {
        let shares: Vec<_> = (first..end)
            .take(at_once)
            .map(|from| {
                let failed = &failed;
                scope.spawn(move || Total::of((from..end).step_by(at_once), failed))
            })
            .collect();
        let mut total = Total::default();
        for share in shares {
            let share = share.join().expect("a seed failed, as is said above");
            total.faults.add(share.faults);
            total.checks += share.checks;
            total.starts += share.starts;
            total.hours += share.hours;
        }
        total
    });
    println!(
        "seeds {first} to {}: {} virtual hours, {} clusters started, {} checks, {:?}, 0 violations",
        end - 1,
        total.hours,
        total.starts,
        total.checks,
        total.faults
    );
}
