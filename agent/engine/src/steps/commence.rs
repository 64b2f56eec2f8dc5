//! CommenceUpgrade: tells ClusterVersion the channel, then the release. Nothing else in its spec is touched.

use super::{Situation, Verdict};
use crate::command::Command;
use crate::facts::{Facts, Release, Target};

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if facts.has_commenced(situation.target) {
        return Verdict::Done;
    }
    match situation.target {
        Target::Version { channel, .. } if *channel != facts.cluster.channel => {
            Verdict::Asks(Command::SetChannel(channel.clone()))
        }
        Target::Version { version, .. } => {
            let Some(offer) = offer(facts, version) else {
                return Verdict::Waiting(Some(format!(
                    "waiting until channel {} offers {version} to the cluster",
                    facts.cluster.channel
                )));
            };
            Verdict::Asks(Command::SetDesiredUpdate {
                version: Some(version.clone()),
                image: match offer {
                    Offer::Recommended => None,
                    Offer::Conditional(image) => Some(image),
                },
            })
        }
        Target::Image { image, version } => Verdict::Asks(Command::SetDesiredUpdate {
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
    let find = |releases: &[Release]| {
        let mut releases = releases.iter();
        releases.find(|release| release.version == version).cloned()
    };
    if find(&facts.cluster.offered).is_some() {
        return Some(Offer::Recommended);
    }
    find(&facts.cluster.conditional).map(|release| Offer::Conditional(release.image))
}
