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
    let mut highest: Option<(Option<Version>, &Release)> = None;
    for release in available_updates {
        let version = release
            .version
            .as_deref()
            .and_then(|version| Version::parse(version).ok());
        let is_higher = highest
            .as_ref()
            .is_none_or(|(present, _)| compare(version.as_ref(), present.as_ref()) == Ordering::Greater);
        if is_higher {
            highest = Some((version, release));
        }
    }
    highest.map(|(_, release)| DesiredVersion {
        version: release.version.clone(),
        image: release.image.clone(),
        architecture: None,
        force: None,
    })
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
