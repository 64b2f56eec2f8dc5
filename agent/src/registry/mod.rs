//! The version of a release image, read from its registry by the OCI distribution API: the label
//! `io.openshift.release` of the image's configuration. Digests are verified, credentials stay with their registry.

mod credentials;
mod image;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, StatusCode, Uri};
use serde::Deserialize;
use thiserror::Error;

use crate::http::{self as bounded, Answer, Exchange, HttpError, Limits};
pub(crate) use credentials::Credentials;
pub(crate) use image::ImageReference;

/// Manifests and configurations of release images have some hundred kilobytes.
const LARGEST: usize = 8 << 20;
/// Redirects that are followed.
const REDIRECTS: usize = 3;
/// The label that names the release.
const LABEL: &str = "io.openshift.release";
const MANIFESTS: &str = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.index.v1+json";

/// Why the version of an image is not known.
#[derive(Debug, Error)]
pub(crate) enum RegistryError {
    /// It is not the name of an image with its digest.
    #[error("{0:?} is not a full pull spec by digest: registry/repository/name@sha256:…")]
    Reference(String),
    /// No good answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The registry sent something else than what was asked for.
    #[error("{registry} sent something with another digest than {digest}")]
    Digest {
        /// Which registry.
        registry: String,
        /// What was asked for.
        digest: String,
    },
    /// The registry wants other proof than a pull secret holds.
    #[error("{registry} wants credentials that cannot be given: {challenge:?}")]
    Challenge {
        /// Which registry.
        registry: String,
        /// What it asks for.
        challenge: String,
    },
    /// It redirects too often, or to something unsafe.
    #[error("{registry} redirects {what}")]
    Redirect {
        /// Which registry.
        registry: String,
        /// Where to.
        what: String,
    },
    /// The image has no such label.
    #[error("{0} is not a release image: its configuration has no label {LABEL}")]
    NoRelease(String),
}

#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(default)]
    config: Option<Descriptor>,
    /// Of an index: the images of each architecture.
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Descriptor {
    digest: String,
}

#[derive(Debug, Deserialize)]
struct Image {
    #[serde(default)]
    config: ImageConfiguration,
}

#[derive(Debug, Default, Deserialize)]
struct ImageConfiguration {
    #[serde(default, rename = "Labels")]
    labels: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
struct Token {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// Asks registries.
pub(crate) struct Registry<'a> {
    exchange: &'a Exchange,
    credentials: &'a Credentials,
}

impl<'a> Registry<'a> {
    pub fn new(exchange: &'a Exchange, credentials: &'a Credentials) -> Self {
        Self {
            exchange,
            credentials,
        }
    }

    /// The version of a release image.
    ///
    /// # Errors
    /// If the registry does not give it.
    pub async fn version(&self, image: &str) -> Result<String, RegistryError> {
        let image: ImageReference = image.parse()?;
        let mut manifest: Manifest = self.fetch(&image, "manifests", &image.digest).await?.json()?;
        if let Some(first) = manifest.manifests.first() {
            manifest = self.fetch(&image, "manifests", &first.digest).await?.json()?;
        }
        let config = manifest
            .config
            .ok_or_else(|| RegistryError::NoRelease(image.to_string()))?;
        let image_of: Image = self.fetch(&image, "blobs", &config.digest).await?.json()?;
        let version = image_of.config.labels.unwrap_or_default().remove(LABEL);
        version
            .filter(|version| semver::Version::parse(version).is_ok())
            .ok_or_else(|| RegistryError::NoRelease(image.to_string()))
    }

    /// A manifest or a blob, by its digest, which is verified.
    async fn fetch(&self, image: &ImageReference, kind: &str, digest: &str) -> Result<Answer, RegistryError> {
        if !image::is_digest(digest) {
            return Err(RegistryError::Digest {
                registry: image.registry.clone(),
                digest: "sha256:…".to_owned(),
            });
        }
        let path = format!(
            "https://{}/v2/{}/{kind}/{digest}",
            image.registry, image.repository
        );
        let mut answer = self.get(&path, None).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            let proof = self.prove(image, &answer).await?;
            answer = self.get(&path, Some(proof)).await?;
        }
        let answer = self.follow(image, answer).await?.success()?;
        let actual = ring::digest::digest(&ring::digest::SHA256, &answer.body);
        if digest != format!("sha256:{}", hex(actual.as_ref())) {
            return Err(RegistryError::Digest {
                registry: image.registry.clone(),
                digest: digest.to_owned(),
            });
        }
        Ok(answer)
    }

    async fn get(&self, uri: &str, proof: Option<HeaderValue>) -> Result<Answer, HttpError> {
        let mut request = Request::get(uri)
            .header(ACCEPT, MANIFESTS)
            .body(Bytes::new())
            .map_err(|error| HttpError::Unreachable {
                target: uri.to_owned(),
                reason: error.to_string(),
            })?;
        if let Some(proof) = proof {
            request.headers_mut().insert(AUTHORIZATION, proof);
        }
        let limits = Limits {
            bytes: LARGEST,
            ..Limits::default()
        };
        bounded::send(self.exchange, request, limits).await
    }

    /// Follows redirects, which registries use for blobs. Credentials do not go along: the address is a proof itself.
    async fn follow(&self, image: &ImageReference, mut answer: Answer) -> Result<Answer, RegistryError> {
        let unsafe_one = |what: &str| RegistryError::Redirect {
            registry: image.registry.clone(),
            what: what.to_owned(),
        };
        for _ in 0..REDIRECTS {
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            let location = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let location = location.ok_or_else(|| unsafe_one("without saying where to"))?;
            let location = if location.starts_with('/') {
                format!("https://{}{location}", image.registry)
            } else {
                location.to_owned()
            };
            let uri: Uri = location.parse().map_err(|_| unsafe_one("to an invalid URL"))?;
            if uri.scheme_str() != Some("https") {
                return Err(unsafe_one("to an address without TLS"));
            }
            answer = self.get(&location, None).await?;
        }
        Err(unsafe_one("too often"))
    }

    /// What the registry accepts as proof, by its challenge.
    async fn prove(&self, image: &ImageReference, refusal: &Answer) -> Result<HeaderValue, RegistryError> {
        let challenge = refusal.headers.get(WWW_AUTHENTICATE);
        let challenge = challenge
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let unknown = || RegistryError::Challenge {
            registry: image.registry.clone(),
            challenge: challenge.chars().take(200).collect(),
        };
        let basic = self.credentials.of(&image.registry, &image.repository);
        let (scheme, parameters) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return basic.ok_or_else(unknown);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(unknown());
        }
        let parameter = |name: &str| credentials::parameter(parameters, name);
        let realm = parameter("realm").filter(|realm| realm.starts_with("https://"));
        let scope = format!("repository:{}:pull", image.repository);
        let mut pairs = vec![("scope", scope)];
        if let Some(service) = parameter("service") {
            pairs.insert(0, ("service", service));
        }
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs)
            .finish();
        let uri = format!("{}?{query}", realm.ok_or_else(unknown)?);
        let token: Token = self.get(&uri, basic).await?.success()?.json()?;
        let token = token.token.or(token.access_token).ok_or_else(unknown)?;
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| unknown())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // A String takes whatever is written to it.
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
