//! Whom to trust to be an informer (insights.md, section 1.9, rows 17, 18 and 26). It is looked up before each question, so that an authority
//! that is replaced is known as soon as it is there.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use drydock_api::insights::{INJECT_CA_ANNOTATION, UpdateInformer};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;

use crate::refusal;

/// The key of the authorities in a Secret, as Cluster API's injector has it.
const KEY: &str = "ca.crt";
/// On a Secret that OpenShift's service CA has made, which has no such key.
const OF_SERVICE: [&str; 2] = [
    "service.beta.openshift.io/originating-service-name",
    "service.alpha.openshift.io/originating-service-name",
];

/// Why it is not known whom to trust.
#[derive(Debug, Error)]
pub(super) enum AuthorityError {
    /// The annotation is not what it should be.
    #[error("the annotation {INJECT_CA_ANNOTATION} is {0:?}: it must be namespace/name of a Secret")]
    Annotation(String),
    /// The Secret cannot be read.
    #[error(
        "reading Secret {secret}: {why}; if it is not allowed, give the agent's ServiceAccount a Role to get it"
    )]
    Secret {
        /// Which, as `namespace/name`.
        secret: String,
        /// Why not.
        why: String,
    },
    /// The Secret does not have what is needed.
    #[error("Secret {0} has no key {KEY}")]
    NoKey(String),
    /// What is there is no authority.
    #[error("{0} holds no certificate in PEM")]
    NoCertificate(String),
    /// The bundle of the object is not what it should be.
    #[error("spec.clientConfig.caBundle is not PEM in base64")]
    Bundle,
    /// The file cannot be read.
    #[error(
        "reading OpenShift's service CA from {path}: {why}; name another by the annotation {INJECT_CA_ANNOTATION}"
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: std::io::Error,
    },
}

/// Where authorities come from.
#[derive(Clone)]
pub(super) struct Authorities {
    pub client: Client,
    pub service_authority: PathBuf,
}

impl Authorities {
    /// The authorities (PEM) that sign an informer's certificate.
    ///
    /// # Errors
    /// If they are nowhere to be found.
    pub async fn of(&self, informer: &UpdateInformer) -> Result<Vec<u8>, AuthorityError> {
        if let Some(secret) = informer.annotations().get(INJECT_CA_ANNOTATION) {
            return self.of_secret(secret).await;
        }
        if let Some(bundle) = &informer.spec.client_config.ca_bundle {
            let bundle = STANDARD.decode(bundle).ok();
            return bundle
                .filter(|pem| holds_certificates(pem))
                .ok_or(AuthorityError::Bundle);
        }
        self.of_services().await
    }

    async fn of_secret(&self, secret: &str) -> Result<Vec<u8>, AuthorityError> {
        let (namespace, name) = secret
            .split_once('/')
            .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty() && !name.contains('/'))
            .ok_or_else(|| AuthorityError::Annotation(secret.to_owned()))?;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let found = api.get(name).await.map_err(|error| AuthorityError::Secret {
            secret: secret.to_owned(),
            why: refusal::words(&error),
        })?;
        let is_of_service = OF_SERVICE
            .iter()
            .any(|name| found.annotations().contains_key(*name));
        match found.data.and_then(|mut data| data.remove(KEY)) {
            Some(authorities) if holds_certificates(&authorities.0) => Ok(authorities.0),
            Some(_) => Err(AuthorityError::NoCertificate(format!(
                "key {KEY} of Secret {secret}"
            ))),
            None if is_of_service => self.of_services().await,
            None => Err(AuthorityError::NoKey(secret.to_owned())),
        }
    }

    async fn of_services(&self) -> Result<Vec<u8>, AuthorityError> {
        let path = &self.service_authority;
        let read = tokio::fs::read(path).await;
        let read = read.map_err(|why| AuthorityError::File {
            path: path.clone(),
            why,
        })?;
        let found = Some(read).filter(|pem| holds_certificates(pem));
        found.ok_or_else(|| AuthorityError::NoCertificate(path.display().to_string()))
    }
}

/// With none nobody would be trusted, and the informer's own certificate would be blamed.
fn holds_certificates(pem: &[u8]) -> bool {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.is_ok_and(|found| !found.is_empty())
}
