//! CommenceUpgrade: sets the channel in ClusterVersion, then the release. Nothing else in its spec is touched.

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{Facts, ReleaseRef, Target};

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    if facts.has_commenced(situation.target) {
        return StepOutcome::Done;
    }
    match situation.target {
        Target::Version { channel, .. } if *channel != facts.cluster.channel => {
            StepOutcome::Asks(Command::SetChannel(channel.clone()))
        }
        Target::Version { version, .. } => {
            let Some(offer) = offer(facts, version) else {
                return StepOutcome::Waiting(Some(format!(
                    "waiting until channel {} offers {version} to the cluster",
                    facts.cluster.channel
                )));
            };
            StepOutcome::Asks(Command::SetDesiredUpdate {
                version: Some(version.clone()),
                image: match offer {
                    Offer::Recommended => None,
                    Offer::Conditional(image) => Some(image),
                },
            })
        }
        Target::Image { image, version } => StepOutcome::Asks(Command::SetDesiredUpdate {
            version: version.clone(),
            image: Some(image.clone()),
        }),
    }
}

/// How a version is offered.
enum Offer {
    /// Without any known risk: its version says which it is.
    Recommended,
    /// With a risk. It is found by its image only, as `oc adm upgrade --allow-not-recommended` names it.
    Conditional(String),
}

fn offer(facts: &Facts, version: &str) -> Option<Offer> {
    let find = |releases: &[ReleaseRef]| {
        let mut releases = releases.iter();
        releases.find(|release| release.version == version).cloned()
    };
    if find(&facts.cluster.offered).is_some() {
        return Some(Offer::Recommended);
    }
    find(&facts.cluster.conditional).map(|release| Offer::Conditional(release.image))
}
