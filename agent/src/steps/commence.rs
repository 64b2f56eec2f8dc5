//! CommenceUpgrade: tells ClusterVersion the channel, then the release. Nothing else in its spec is touched.

use super::{Command, Situation, Step, Verdict};
use crate::facts::Target;

pub(crate) const STEP: Step = Step {
    condition: "UpgradeCommenced",
    precedes_commencement: false,
    once: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if facts.has_commenced(situation.target) {
        return Verdict::Done;
    }
    match situation.target {
        Target::Version { channel, .. } if *channel != facts.cluster.channel => {
            Verdict::Asks(Command::SetChannel(channel.clone()))
        }
        Target::Version { version, .. } => {
            let offered = facts
                .cluster
                .offered
                .iter()
                .any(|release| release.version == *version);
            if !offered {
                return Verdict::Waiting(Some(format!(
                    "waiting until channel {} offers {version} to the cluster",
                    facts.cluster.channel
                )));
            }
            Verdict::Asks(Command::SetDesiredUpdate {
                version: Some(version.clone()),
                image: None,
            })
        }
        Target::Image { image, version } => Verdict::Asks(Command::SetDesiredUpdate {
            version: version.clone(),
            image: Some(image.clone()),
        }),
    }
}
