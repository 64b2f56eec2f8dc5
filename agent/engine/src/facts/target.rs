//! The release that an UpgradeConfig asks for, and what ClusterVersion says of it.

use drydock_api::insights::PlannedUpdate;
use drydock_api::is_same_image;

use super::{Facts, HistoryEntry, ReleaseRef, UpdateRequest};

/// The release that an UpgradeConfig asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A version of a channel.
    Version {
        /// The version.
        version: String,
        /// The channel.
        channel: String,
    },
    /// An image, and its version once that is known.
    Image {
        /// The image, by its digest.
        image: String,
        /// Its version.
        version: Option<String>,
    },
}

impl Target {
    /// The version, if it is known.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Version { version, .. } => Some(version),
            Self::Image { version, .. } => version.as_deref(),
        }
    }
}

impl Facts {
    /// What the UpdatePlan of the target has to be about; what is asked for by an image whose version is not known has none.
    pub fn planned_update(&self) -> Option<PlannedUpdate> {
        let target = self.target()?;
        let version = target.version()?.to_owned();
        let image = match target {
            Target::Version { .. } => None,
            Target::Image { image, .. } => Some(image),
        };
        let mut offered = self.cluster.all_offered();
        let offered = offered.find(|offered| offered.version == version);
        Some(PlannedUpdate {
            image,
            architecture: None,
            of_upgrade: self.of_upgrade.clone(),
            offered: offered.map(|offered| offered.image.clone()),
            version,
        })
    }

    /// The release to which the cluster is being updated, if it is another one, by version or image. It is from when it is asked for, unless the
    /// cluster refuses that.
    pub fn other_update(&self, target: &Target) -> Option<String> {
        let cluster = &self.cluster;
        let newest = cluster.history.first();
        let running = newest.filter(|newest| !newest.completed);
        let running = running.map(HistoryEntry::release);
        let is_new = |asked: &&ReleaseRef| newest.is_none_or(|newest| !newest.is(asked));
        let asked = cluster.asked.as_ref().filter(|_| cluster.refusal.is_none());
        let others = running.into_iter().chain(asked.filter(is_new).cloned());
        let mut others =
            others.filter(|release| !release.name().is_empty() && !self.is_target(release, target));
        others.next().map(|release| release.name().to_owned())
    }

    /// Whether a release is what `target` asks for. That of an image alone is known where the cluster offers it.
    fn is_target(&self, release: &ReleaseRef, target: &Target) -> bool {
        let offered = self.cluster.all_offered();
        let mut offered = offered.filter(|offered| is_same_image(&offered.image, &release.image));
        let of_image = || offered.next().map(|offered| offered.version.as_str());
        let version = Some(release.version.as_str()).filter(|version| !version.is_empty());
        let is_its_version = target.version().is_some() && version.or_else(of_image) == target.version();
        match target {
            Target::Version { .. } => is_its_version,
            Target::Image { image, .. } => is_same_image(image, &release.image) || is_its_version,
        }
    }

    /// What is asked for; `None` if neither an image nor a version with its channel is.
    pub fn target(&self) -> Option<Target> {
        let given = |field: &Option<String>| field.clone().filter(|text| !text.trim().is_empty());
        let desired = &self.spec.desired;
        if let Some(image) = given(&desired.image) {
            let offered = self
                .cluster
                .all_offered()
                .find(|offered| is_same_image(&offered.image, &image));
            let offered = offered.map(|release| &release.version);
            // Once it is on its way there, it is offered no more.
            let mut past = self.cluster.history.iter();
            let taken_up = past
                .find(|past| is_same_image(&past.image, &image))
                .map(|past| &past.version);
            let known = offered
                .or(taken_up)
                .filter(|version| !version.is_empty())
                .cloned();
            // A version that was found for another image says nothing of this one.
            let is_its_own = self
                .version_of
                .as_ref()
                .is_none_or(|of| is_same_image(of, &image));
            let version = known.or_else(|| given(&desired.version).filter(|_| is_its_own));
            return Some(Target::Image { image, version });
        }
        Some(Target::Version {
            version: given(&desired.version)?,
            channel: given(&desired.channel)?,
        })
    }

    /// Whether ClusterVersion has asked for `target`: from then on there is no way back, whatever it asks for later.
    pub fn has_commenced(&self, target: &Target) -> bool {
        match &self.request {
            UpdateRequest::Commenced(version) if target.version() == Some(version) => true,
            UpdateRequest::RefusedBefore => false,
            UpdateRequest::AsSpecified | UpdateRequest::Commenced(_) => self.asks_for(target),
        }
    }

    /// Whether ClusterVersion asks for `target`. Where that was cleared, the cluster goes on to what it has begun.
    pub fn asks_for(&self, target: &Target) -> bool {
        let Some(asked) = &self.cluster.asked else {
            let newest = self.cluster.history.first().filter(|newest| !newest.completed);
            return newest.is_some_and(|newest| self.is_target(&newest.release(), target));
        };
        match target {
            Target::Version { version, .. } => asked.version == *version,
            Target::Image { image, .. } => is_same_image(&asked.image, image),
        }
    }

    /// Whether ClusterVersion has asked for `version`, the cluster refuses it and is about something else: nothing of it has begun.
    pub fn refuses(&self, version: &str) -> bool {
        self.cluster.refusal.is_some() && self.cluster.desired.as_deref() != Some(version)
    }
}
