//! Releases and the built-in update graph: which versions exist, their images, channels, and what may follow what.

use std::sync::Arc;

use semver::Version;
use serde_json::{Value, json};

use kube_sandbox::fingerprint::fingerprint;

/// How many patches of each minor version the graph knows at least.
const PATCHES: u64 = 16;
/// How many patches beyond the current one the graph knows at least.
const PATCHES_AHEAD: u64 = 6;
/// The minor versions of OpenShift 4 that the graph knows.
const MINORS: std::ops::RangeInclusive<u64> = 10..=20;
const REPOSITORY: &str = "quay.io/openshift-release-dev/ocp-release";

/// A release as `status.desired` and `status.availableUpdates` show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: Version,
    pub(super) image: String,
    /// As on the wire: every status of ClusterVersion names a dozen of them.
    wire: Arc<Value>,
}

/// The pull spec, by digest, of a release in the built-in update graph.
pub fn release_image(version: &Version) -> String {
    format!("{REPOSITORY}@sha256:{}", digest("image", &version.to_string()))
}

/// A digest of 64 hexadecimal figures, made up from a purpose and a subject.
pub(super) fn digest(purpose: &str, subject: &str) -> String {
    (0_u8..4)
        .map(|part| {
            let bytes = purpose.bytes().chain([0, part]).chain(subject.bytes());
            format!("{:016x}", fingerprint(bytes))
        })
        .collect()
}

impl Release {
    /// The release of this version that the graph knows.
    pub(super) fn of(version: Version) -> Self {
        let image = release_image(&version);
        let wire = json!({
            "channels": channels(&version),
            "url": url(&image),
            "image": image,
            "version": version.to_string(),
        });
        Self {
            version,
            image,
            wire: Arc::new(wire),
        }
    }

    /// The hash of the payload's manifests, as `status.versionHash` shows it.
    pub(super) fn payload_hash(&self) -> String {
        use base64::Engine as _;
        let hash = fingerprint(self.image.bytes()).to_be_bytes();
        base64::engine::general_purpose::URL_SAFE.encode(hash)
    }

    /// The version of Kubernetes in this release.
    pub(super) fn kubernetes(&self) -> String {
        let minor = self.version.minor + 13;
        format!("1.{minor}.{}", 6 + self.version.patch / 4)
    }

    /// The channels of the graph that have this release, sorted.
    pub(super) fn channels(&self) -> Vec<String> {
        channels(&self.version)
    }

    /// As on the wire.
    pub(super) fn to_value(&self) -> Value {
        Value::clone(&self.wire)
    }
}

fn channels(version: &Version) -> Vec<String> {
    let minor = version.minor;
    let mut channels = vec![
        format!("candidate-4.{minor}"),
        format!("candidate-4.{}", minor + 1),
        format!("eus-4.{}", minor + minor % 2),
        format!("fast-4.{minor}"),
        format!("fast-4.{}", minor + 1),
        format!("stable-4.{minor}"),
        format!("stable-4.{}", minor + 1),
    ];
    channels.sort();
    channels
}

fn url(image: &str) -> String {
    let erratum = fingerprint(image.bytes()) % 9000 + 1000;
    format!("https://access.redhat.com/errata/RHSA-2024:{erratum}")
}

/// A release as the graph of a channel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRelease {
    /// Its version.
    pub version: Version,
    /// Its pull spec, by digest.
    pub image: String,
    /// The URL of its errata.
    pub url: String,
    /// The channels that have it.
    pub channels: Vec<String>,
    /// What may follow it in this channel, newest first.
    pub updates: Vec<Version>,
}

/// The releases of a channel in the built-in graph, oldest first; none for a channel that there is not.
pub fn channel_releases(channel: &str) -> Vec<ChannelRelease> {
    let versions = MINORS.flat_map(|minor| (0..PATCHES).map(move |patch| Version::new(4, minor, patch)));
    versions
        .map(Release::of)
        .filter(|release| release.channels().iter().any(|known| known == channel))
        .map(|release| ChannelRelease {
            updates: match offer(&release, channel) {
                Offer::Updates(updates) => updates.into_iter().map(|update| update.version).collect(),
                Offer::NoChannel | Offer::VersionNotFound => Vec::new(),
            },
            url: url(&release.image),
            channels: release.channels(),
            version: release.version,
            image: release.image,
        })
        .collect()
}

/// What an update channel offers to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// No channel is configured.
    NoChannel,
    /// The channel does not have the current version.
    VersionNotFound,
    /// The updates of the channel, newest first.
    Updates(Vec<Release>),
}

/// Asks the built-in graph what `channel` offers after `current`.
pub(super) fn offer(current: &Release, channel: &str) -> Offer {
    if channel.is_empty() {
        return Offer::NoChannel;
    }
    if !current.channels().iter().any(|known| known == channel) {
        return Offer::VersionNotFound;
    }
    let version = &current.version;
    let known = |minor: u64| MINORS.contains(&minor);
    let last = PATCHES.max(version.patch + PATCHES_AHEAD + 1);
    let patches = (version.patch + 1..last).map(|patch| Version::new(version.major, version.minor, patch));
    let next = version.minor + 1;
    let minors = (PATCHES - PATCHES_AHEAD..PATCHES)
        .filter(|_| known(next))
        .map(|patch| Version::new(version.major, next, patch));
    let mut updates: Vec<Release> = patches
        .chain(minors)
        .map(Release::of)
        .filter(|release| release.channels().iter().any(|known| known == channel))
        .collect();
    updates.reverse();
    Offer::Updates(updates)
}

/// The release with this image, if the graph has it near the current one.
pub(super) fn find_by_image(current: &Release, image: &str) -> Option<Release> {
    MINORS
        .flat_map(|minor| (0..PATCHES).map(move |patch| Version::new(4, minor, patch)))
        .chain((0..=PATCHES_AHEAD).map(|ahead| {
            let version = &current.version;
            Version::new(version.major, version.minor, version.patch + ahead)
        }))
        .find(|version| release_image(version) == image)
        .map(Release::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(version: &str, channel: &str) -> Vec<String> {
        match offer(&Release::of(version.parse().unwrap()), channel) {
            Offer::Updates(releases) => releases
                .iter()
                .map(|release| release.version.to_string())
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_channel_of_the_current_minor_offers_its_later_patches_newest_first() {
        let updates = offered("4.14.9", "stable-4.14");
        assert_eq!(updates.first().map(String::as_str), Some("4.14.15"));
        assert_eq!(updates.last().map(String::as_str), Some("4.14.10"));
    }

    #[test]
    fn a_channel_of_the_next_minor_offers_both() {
        let updates = offered("4.14.9", "fast-4.15");
        assert_eq!(updates.first().map(String::as_str), Some("4.15.15"));
        assert!(updates.contains(&"4.14.12".to_owned()));
    }

    #[test]
    fn a_late_patch_still_has_updates() {
        assert_eq!(
            offered("4.14.30", "stable-4.14").first().map(String::as_str),
            Some("4.14.36")
        );
    }

    #[test]
    fn a_channel_without_the_version_and_no_channel_are_distinguished() {
        let current = Release::of("4.14.9".parse().unwrap());
        assert_eq!(offer(&current, "stable-4.19"), Offer::VersionNotFound);
        assert_eq!(offer(&current, ""), Offer::NoChannel);
    }

    #[test]
    fn images_are_by_digest_and_lead_back_to_their_release() {
        let current = Release::of("4.14.9".parse().unwrap());
        let target = Release::of("4.14.12".parse().unwrap());
        assert_eq!(target.image.len(), REPOSITORY.len() + "@sha256:".len() + 64);
        assert_eq!(find_by_image(&current, &target.image), Some(target));
        assert_eq!(find_by_image(&current, "quay.io/other@sha256:00"), None);
    }

    #[test]
    fn payload_hashes_have_the_length_of_real_ones() {
        assert_eq!(
            Release::of("4.14.9".parse().unwrap()).payload_hash().len(),
            "I3skQa0FyxU=".len()
        );
    }
}
