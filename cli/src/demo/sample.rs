//! The upgrade that the demo applies: the sample of `manifests/samples`, fitted to the fleet that was asked for.

use std::num::NonZeroUsize;

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The sample as it is in the project.
const SAMPLE: &str = include_str!("../../../manifests/samples/managedclustersupgrade.yaml");

/// The sample for a fleet dev1, dev2, … of which the first `canaries` go first.
///
/// # Errors
/// If the sample is not what the types say, which a test rules out.
pub fn upgrade(
    clusters: NonZeroUsize,
    canaries: usize,
    max_concurrency: NonZeroUsize,
) -> anyhow::Result<ManagedClustersUpgrade> {
    let mut upgrade: ManagedClustersUpgrade =
        serde_saphyr::from_str(SAMPLE).context("reading the sample upgrade that is built in")?;
    let all = names(clusters.get());
    if let Some(requirement) = upgrade
        .spec
        .cluster_selector
        .iter_mut()
        .flat_map(|s| s.match_expressions.iter_mut().flatten())
        .next()
    {
        requirement.values = Some(all);
    }
    if let Some(strategy) = &mut upgrade.spec.upgrade_strategy {
        let concurrency = i32::try_from(max_concurrency.get()).context("--max-concurrency is too large")?;
        strategy.max_concurrency = Some(IntOrString::Int(concurrency));
        if canaries == 0 {
            strategy.canary_clusters = None;
        }
        let selector = strategy
            .canary_clusters
            .as_mut()
            .map(|canary| &mut canary.cluster_selector);
        if let Some(requirement) = selector.and_then(|s| s.match_expressions.iter_mut().flatten().next()) {
            requirement.values = Some(names(canaries.min(clusters.get())));
        }
    }
    Ok(upgrade)
}

/// dev1, dev2, …
pub fn names(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("dev{number}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_of_twelve_is_the_sample_unchanged() {
        let sample: ManagedClustersUpgrade = serde_saphyr::from_str(SAMPLE).expect("the sample parses");
        let twelve = NonZeroUsize::new(12).expect("not zero");
        let three = NonZeroUsize::new(3).expect("not zero");
        let demo = upgrade(twelve, 1, three).expect("the sample parses");
        assert_eq!(
            serde_json::to_value(demo).expect("json"),
            serde_json::to_value(sample).expect("json")
        );
    }

    #[test]
    fn no_canaries_means_no_canary_selector() {
        let two = NonZeroUsize::new(2).expect("not zero");
        let demo = upgrade(two, 0, two).expect("the sample parses");
        assert!(
            demo.spec
                .upgrade_strategy
                .expect("a strategy")
                .canary_clusters
                .is_none()
        );
    }
}
