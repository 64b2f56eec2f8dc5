//! The version to which a maintenance upgrades (Maintenance schedules, section 2.5).

use std::cmp::Ordering;

use drydock_api::openshift::cluster_version::Release;
use drydock_api::schedule::DesiredVersion;
use semver::Version;

/// The highest of the available updates, with its image; nothing if there is none.
///
/// Nothing is left out: neither pre-releases nor minor versions, which the channel of the cluster decides about. What is no version
/// comes last; of equal versions the one that is listed first is taken.
pub fn highest(available_updates: &[Release]) -> Option<DesiredVersion> {
    let highest = ordered(available_updates).into_iter().next();
    highest.map(pinned)
}

/// The available updates, the highest first.
pub fn ordered(available_updates: &[Release]) -> Vec<&Release> {
    let mut all: Vec<_> = available_updates
        .iter()
        .map(|release| (parsed(release), release))
        .collect();
    // The order of equal ones stays.
    all.sort_by(|(one, _), (other, _)| compare(other.as_ref(), one.as_ref()));
    all.into_iter().map(|(_, release)| release).collect()
}

/// The version of a release; nothing if that is none.
pub fn parsed(release: &Release) -> Option<Version> {
    Version::parse(release.version.as_deref()?).ok()
}

/// A release as an UpgradeJob asks for it: version and image, and nothing else.
pub fn pinned(release: &Release) -> DesiredVersion {
    DesiredVersion {
        version: release.version.clone(),
        image: release.image.clone(),
        architecture: None,
        force: None,
    }
}

fn compare(one: Option<&Version>, other: Option<&Version>) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) => one.cmp_precedence(other),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str) -> Release {
        Release {
            version: Some(version.to_owned()),
            image: Some(format!("example.com/release:{version}")),
            url: Some("https://example.com".to_owned()),
            ..Release::default()
        }
    }

    fn taken(versions: &[&str]) -> Option<String> {
        let available: Vec<_> = versions.iter().map(|version| release(version)).collect();
        highest(&available)?.version
    }

    #[test]
    fn the_highest_version_is_taken() {
        for (versions, highest) in [
            (&["4.16.9", "4.16.10", "4.16.2"][..], "4.16.10"),
            (&["4.17.1", "4.16.10"], "4.17.1"),
            // Pre-releases are versions.
            (&["4.16.10", "4.17.0-rc.1"], "4.17.0-rc.1"),
            (&["4.17.0-rc.1", "4.17.0"], "4.17.0"),
            // What is no version comes last.
            (&["latest", "4.16.1", "99"], "4.16.1"),
            (&["latest", "stable"], "latest"),
            (&["4.16.1+a", "4.16.1+b"], "4.16.1+a"),
        ] {
            assert_eq!(taken(versions).as_deref(), Some(highest), "{versions:?}");
        }
        assert_eq!(taken(&[]), None);
    }

    #[test]
    fn all_are_ordered_as_they_are_chosen() {
        let available = [
            "4.16.2",
            "stable",
            "4.17.0-rc.1",
            "4.16.10",
            "4.17.0-rc.2",
            "edge",
        ]
        .map(release);
        let versions: Vec<_> = ordered(&available)
            .iter()
            .filter_map(|release| release.version.as_deref())
            .collect();
        assert_eq!(
            versions,
            [
                "4.17.0-rc.2",
                "4.17.0-rc.1",
                "4.16.10",
                "4.16.2",
                "stable",
                "edge"
            ]
        );
    }

    #[test]
    fn version_and_image_are_taken_and_nothing_else() {
        let highest = highest(&[release("4.16.10")]).unwrap();
        assert_eq!(
            highest,
            DesiredVersion {
                version: Some("4.16.10".to_owned()),
                image: Some("example.com/release:4.16.10".to_owned()),
                architecture: None,
                force: None,
            }
        );
    }
}
