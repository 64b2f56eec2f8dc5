//! A run of a forecast and the decision, asked at every event and carried out, give the same start and end of every cluster: for any
//! fleet, spec and draws, and from any moment of a rollout.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test ends by panicking"
)]

mod drawn;
mod fleet;
mod reference;

use std::collections::BTreeMap;

use drydock_forecast::Simulation;
use drydock_rollout::{ClusterName, Decider, NoOutlook, Position};
use proptest::prelude::*;

use drawn::{ByIndex, TestDraws};
use fleet::{Edit, Fleet, edits, fleets};
use reference::{Reference, Times};

/// How many cases are drawn: `PROPTEST_CASES` for more than usual.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(512)
}

/// A rollout that has gone on for a while, with edits of the user on the way.
fn half_done(fleet: &Fleet, steps: usize, edits: &[Edit], settled: bool) -> Reference {
    let mut reference = Reference::new(fleet, TestDraws { seed: fleet.seed });
    for (step, edit) in (0..steps).zip(edits.iter().map(Some).chain(std::iter::repeat(None))) {
        reference.settle();
        if let Some(edit) = edit.filter(|_| step % 2 == 1) {
            reference.edit(edit);
            reference.settle();
        }
        if !reference.advance() {
            break;
        }
    }
    for edit in edits.iter().skip(steps / 2) {
        reference.edit(edit);
    }
    if settled {
        reference.settle();
    }
    reference
}

/// What the forecast says of each cluster that has not ended yet.
fn forecast(reference: &Reference, draws: TestDraws) -> Result<BTreeMap<ClusterName, Times>, NoOutlook> {
    let outlook = Decider::of(reference.observed.clone()).outlook(reference.now)?;
    let mut simulation = Simulation::new(&outlook);
    simulation.run(&ByIndex::new(draws, &outlook));
    let clusters = outlook.clusters.iter().zip(simulation.times());
    Ok(clusters
        .filter(|(cluster, _)| !matches!(cluster.position, Position::Ended { .. } | Position::Blocked(_)))
        .map(|(cluster, times)| {
            let began = match &cluster.position {
                Position::UnderWay { started, .. }
                | Position::Advances { started, .. }
                | Position::Ends { started, .. } => *started,
                Position::Waits(_) | Position::Blocked(_) | Position::Ended { .. } => None,
            };
            let times = Times {
                started: times.started.filter(|_| times.started != began),
                ended: times.ended.map(|ended| (ended, times.failed)),
            };
            (cluster.name.clone(), times)
        })
        .filter(|(_, times)| *times != Times::default())
        .collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_the_decision_at_every_event(
        fleet in fleets(), steps in 0_usize..40, edits in edits(), settled in any::<bool>(), seed in any::<u64>()
    ) {
        let mut reference = half_done(&fleet, steps, &edits, settled);
        let draws = TestDraws { seed };
        let Ok(forecast) = forecast(&reference, draws) else {
            return Ok(());
        };
        reference.draw_anew(draws);
        reference.run_to_its_end();
        prop_assert_eq!(&forecast, &reference.times);
    }
}
