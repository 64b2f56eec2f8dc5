//! Release images.

/// What tells release images apart: the digest, for the registry may be a mirror. Of an image without one it is the whole name.
pub fn image_digest(image: &str) -> &str {
    image.rsplit_once('@').map_or(image, |(_, digest)| digest)
}

/// Whether two names are of the same release image: it may have been mirrored.
pub fn is_same_image(one: &str, other: &str) -> bool {
    image_digest(one) == image_digest(other)
}
