//! The upgrade that the demo applies: the sample of `manifests/samples`, fitted to the fleet that was asked for.

use std::num::NonZeroUsize;

use anyhow::{Context, ensure};
use drydock_api::mcu::{Limit, ManagedClustersUpgrade};

/// The sample as it is in the project.
const SAMPLE: &str = include_str!("../../../manifests/samples/managedclustersupgrade.yaml");
/// How many clusters a selector may name.
const MOST_NAMES: usize = 500;

/// The sample for a fleet dev1, dev2, … of which the first `canaries` go first. A fleet that is too large to be named is
/// selected by its set alone.
///
/// # Errors
/// If there are more canaries than a selector may name, or the sample is not what the types say, which a test rules out.
pub fn upgrade(
    clusters: NonZeroUsize,
    canaries: usize,
    max_concurrency: NonZeroUsize,
) -> anyhow::Result<ManagedClustersUpgrade> {
    let mut upgrade: ManagedClustersUpgrade =
        serde_saphyr::from_str(SAMPLE).context("reading the sample upgrade that is built in")?;
    let canaries = canaries.min(clusters.get());
    ensure!(
        canaries <= MOST_NAMES,
        "--canaries {canaries}: an upgrade can name {MOST_NAMES} at most"
    );
    if let Some(selector) = &mut upgrade.spec.cluster_selector {
        if clusters.get() > MOST_NAMES {
            selector.match_expressions = None;
        } else if let Some(requirement) = selector.match_expressions.iter_mut().flatten().next() {
            requirement.values = Some(names(clusters.get()));
        }
    }
    if let Some(strategy) = &mut upgrade.spec.upgrade_strategy {
        let concurrency = u32::try_from(max_concurrency.get()).context("--max-concurrency is too large")?;
        strategy.max_concurrency = Some(Limit::from(concurrency));
        if canaries == 0 {
            strategy.canary_clusters = None;
        }
        let selector = strategy
            .canary_clusters
            .as_mut()
            .map(|canary| &mut canary.cluster_selector);
        if let Some(requirement) = selector.and_then(|s| s.match_expressions.iter_mut().flatten().next()) {
            requirement.values = Some(names(canaries));
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
    use drydock_runtime::Clock;
    use drydock_sandbox::test_env::hub_types;
    use kube::Api;
    use kube::api::PostParams;
    use kube_sandbox::server::{ApiServer, ServerSettings};

    use super::*;

    #[tokio::test]
    async fn the_demo_of_any_size_is_accepted() {
        let clock = Clock::simulated(jiff::Timestamp::UNIX_EPOCH);
        let types = hub_types().expect("the kinds of a hub");
        let hub = ApiServer::new(ServerSettings::new("hub", clock, 1, types));
        let client = drydock_sandbox::local_fleet::program_client(&hub, "test").expect("a client");
        let api: Api<ManagedClustersUpgrade> = Api::namespaced(client, "default");
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        for clusters in [1, 500, 501, 5000] {
            let clusters = NonZeroUsize::new(clusters).expect("not zero");
            let demo = upgrade(clusters, 500, clusters).expect("the sample parses");
            api.create(&dry_run, &demo).await.expect("it is accepted");
        }
    }

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
