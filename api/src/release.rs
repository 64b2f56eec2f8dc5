//! What a cluster is upgraded to: a release's version, or its image.

use std::fmt;

use semver::Version;

/// The version of a release, such as `4.14.12`. Ordered as semantic versions are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseVersion(Version);

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a semantic version ({reason}): write for example 4.14.12")]
pub struct InvalidVersion {
    text: String,
    reason: String,
}

impl ReleaseVersion {
    /// The major version, `4` of `4.14.12`.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// The minor version (y-stream), `14` of `4.14.12`.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The patch version (z-stream), `12` of `4.14.12`.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// The semantic version.
    pub fn as_semver(&self) -> &Version {
        &self.0
    }
}

impl std::str::FromStr for ReleaseVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Version::parse(text).map(Self).map_err(|error| InvalidVersion {
            text: text.to_owned(),
            reason: error.to_string(),
        })
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The pull spec of a release image by digest, such as `quay.io/openshift-release-dev/ocp-release@sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseImage(String);

/// Why a text is not the pull spec of an image by digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} does not name an image by digest: write registry/repository/name@sha256: and 64 hexadecimal digits"
)]
pub struct InvalidImage(String);

impl ReleaseImage {
    /// The pull spec.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest, `sha256:…`.
    pub fn digest(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, digest)| digest)
    }
}

impl std::str::FromStr for ReleaseImage {
    type Err = InvalidImage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = text
            .split_once("@sha256:")
            .is_some_and(|(repository, digest)| is_repository(repository) && is_sha256(digest));
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidImage(text.to_owned()))
        }
    }
}

fn is_repository(repository: &str) -> bool {
    let mut parts = repository.split('/');
    let full = parts.clone().count() >= 2;
    full && parts.all(|part| {
        !part.is_empty() && !part.contains(|letter: char| letter.is_whitespace() || letter == '@')
    })
}

fn is_sha256(digest: &str) -> bool {
    digest.len() == 64
        && digest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

impl fmt::Display for ReleaseImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
