//! Forecasts against the real hub: `FORECAST_SEEDS` seeds from `FORECAST_SEED` on.

use drydock_e2e::forecast::{self, Summary};

/// Which seeds `cargo test` runs; a debug build tries fewer.
const SEEDS: u64 = if cfg!(debug_assertions) { 60 } else { 200 };

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn run(seed: u64) -> Summary {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let summary = runtime.block_on(forecast::run(seed));
    summary.unwrap_or_else(|error| {
        panic!("{error:#}\nagain: FORECAST_SEEDS=1 FORECAST_SEED={seed} cargo test -p drydock-e2e forecast_equality")
    })
}

#[test]
fn the_forecast_with_the_draws_of_the_clusters_is_what_the_hub_does() {
    let first = number("FORECAST_SEED", 0);
    let seeds = number("FORECAST_SEEDS", SEEDS);
    let mut total = Summary::default();
    let mut without = 0;
    for seed in first..first + seeds {
        let summary = run(seed);
        without += u64::from(summary.compared == 0);
        total.compared += summary.compared;
        total.clusters += summary.clusters;
        total.failed += summary.failed;
        total.stopped += summary.stopped;
        total.latest = total.latest.max(summary.latest);
    }
    println!(
        "seeds {first} to {}: {total:?}; in {without} of them seconds decide",
        first + seeds - 1
    );
    assert!(without * 5 <= seeds, "too many seeds say nothing");
}
