//! Which release a ClusterVersion requests. The agent reads it in the object, the hub in what is fed back: both must name it alike, because a
//! finding about it is accepted by that name.

use crate::{image_digest, is_same_image};

/// How much is kept of what is requested: it may be any text.
const REQUESTED: usize = 256;
/// What `architecture` says of a release for several architectures.
pub const MULTI: &str = "Multi";

/// A release as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct KnownRelease {
    /// Its version.
    pub version: Option<String>,
    /// The pull specs of its images, any of which stands for it. If none is known, the version says all.
    pub images: Vec<String>,
}

/// `spec.desiredUpdate`, and by what it is known whether it has begun. Empty texts are absent ones.
#[derive(Clone, Debug, Default)]
pub struct ReleaseRequest {
    /// The version that is requested.
    pub version: Option<String>,
    /// The image that is requested, alone or beside the version.
    pub image: Option<String>,
    /// For which architecture.
    pub architecture: Option<String>,
    /// The release that the cluster is to have, by its status.
    pub desired: KnownRelease,
    /// For which architecture. Older clusters do not say that.
    pub desired_architecture: Option<String>,
    /// Whether its last update is completed and led to the version that it had: as a change of the architecture does.
    pub has_kept_version: bool,
    /// Other releases that are known.
    pub offered: Vec<KnownRelease>,
}

impl ReleaseRequest {
    /// What is requested and has not begun: a version, with ` Multi` behind it if it is to be for several architectures, or the digest of
    /// an image that no known release has.
    pub fn pending(&self) -> Option<String> {
        let (version, image) = (given(self.version.as_deref()), given(self.image.as_deref()));
        let pending = match version {
            Some(version) if self.awaits_architecture(version) => format!("{version} {MULTI}"),
            None if image.is_none() => return None,
            _ if self.desired.is_requested_by(version, image) => return None,
            _ => self.named(version, image)?.to_owned(),
        };
        Some(pending.chars().take(REQUESTED).collect())
    }

    fn named<'a>(&'a self, version: Option<&'a str>, image: Option<&'a str>) -> Option<&'a str> {
        let known = || self.offered.iter().chain([&self.desired]);
        let named = known().find(|release| release.is_requested_by(version, image));
        let named = named.and_then(|release| given(release.version.as_deref()));
        // A version that is known with another image than the one that is requested does not name it.
        let is_other = |version| known().any(|release| given(release.version.as_deref()) == Some(version));
        let unknown = version.filter(|version| image.is_none() || !is_other(*version));
        named.or(unknown).or(image.map(image_digest))
    }

    fn awaits_architecture(&self, version: &str) -> bool {
        let is_multi = |architecture: &Option<String>| architecture.as_deref() == Some(MULTI);
        let is_there = given(self.desired.version.as_deref()) == Some(version)
            && (self.has_kept_version || is_multi(&self.desired_architecture));
        is_multi(&self.architecture) && !is_there
    }
}

impl KnownRelease {
    fn is_requested_by(&self, version: Option<&str>, image: Option<&str>) -> bool {
        let mut images = self.images.iter().filter(|image| !image.is_empty()).peekable();
        let is_image = |image: &str| match images.peek() {
            None => version.is_some(),
            Some(_) => images.any(|has| is_same_image(has, image)),
        };
        let is_version = version.is_none_or(|version| given(self.version.as_deref()) == Some(version));
        is_version && image.is_none_or(is_image)
    }
}

/// Whether what is requested is this release, of which the image may be known, too.
pub fn is_request_of(requested: &str, version: &str, image: Option<&str>) -> bool {
    requested == version || image.is_some_and(|image| image_digest(image) == requested)
}

/// Whether the request of a release takes the place of one that the cluster refuses, by the message of its condition `Invalid`, so that this says
/// nothing about it: it is another release that is refused, or the same without the image with which it is requested now (an image is taken that the
/// version alone does not find).
pub fn replaces_a_refused_one(
    message: &str,
    is_other_release: bool,
    wanted_image: Option<&str>,
    image: Option<&str>,
) -> bool {
    let is_by_version = given(wanted_image).is_none();
    (is_other_release || image.is_some() && is_by_version) && refuses_the_request_alone(message)
}

/// Whether all that a cluster refuses is `spec.desiredUpdate`. What is cut off within a path is not taken for one.
fn refuses_the_request_alone(message: &str) -> bool {
    let Some((_, refused)) = message.split_once("is invalid:") else {
        return false;
    };
    let mut refused = refused
        .lines()
        .map(|line| line.trim().trim_start_matches("* "))
        .filter(|line| !line.is_empty())
        .peekable();
    refused.peek().is_some() && refused.all(|line| line.starts_with("spec.desiredUpdate"))
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}
