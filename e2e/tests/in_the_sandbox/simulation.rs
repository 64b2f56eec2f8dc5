//! Runs of the simulation: `SIM_SEEDS` of them from `SIM_SEED` on (`make sim SEEDS=10000`).

use drydock_e2e::simulation::boundaries::{self, Kill};
use drydock_e2e::simulation::{self, Counts};

/// A debug build is killed at every so many writes only; `make sim` takes them all.
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

#[test]
fn the_rules_hold_whatever_happens_and_every_rollout_ends() {
    let first = number("SIM_SEED", FIRST);
    let seeds = number("SIM_SEEDS", SEEDS);
    let (mut faults, mut checks, mut hours) = (Counts::default(), 0, 0);
    for seed in first..first + seeds {
        let summary = run(seed).unwrap_or_else(|error| {
            panic!("{error:#}\nagain: make sim SEEDS=1 SEED={seed}");
        });
        faults.add(summary.faults);
        checks += summary.checks;
        hours += summary.lasted.as_hours();
    }
    println!(
        "seeds {first} to {}: {hours} virtual hours, {checks} checks, {faults:?}, 0 violations",
        first + seeds - 1
    );
}
