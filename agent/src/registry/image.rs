//! The name of an image, by digest.

use std::str::FromStr;

use super::RegistryError;

/// `registry/repository@sha256:…`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageReference {
    pub registry: String,
    pub repository: String,
    pub digest: String,
}

/// Whether a text is a digest by SHA-256.
pub(super) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

impl FromStr for ImageReference {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Self, RegistryError> {
        let wrong = || RegistryError::Reference(text.to_owned());
        let (name, digest) = text.split_once('@').ok_or_else(wrong)?;
        let (registry, repository) = name.split_once('/').ok_or_else(wrong)?;
        let is_host = registry.contains('.') || registry.contains(':') || registry == "localhost";
        let plain = |text: &str, also: &[u8]| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || also.contains(&byte))
        };
        let is_whole = is_host
            && is_digest(digest)
            && plain(registry, b".-:")
            && plain(repository, b"._-/")
            && !repository.split('/').any(|part| part.is_empty() || part == "..");
        is_whole
            .then(|| Self {
                registry: registry.to_owned(),
                repository: repository.to_owned(),
                digest: digest.to_owned(),
            })
            .ok_or_else(wrong)
    }
}

impl std::fmt::Display for ImageReference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}@{}", self.registry, self.repository, self.digest)
    }
}
