//! Whom to trust to be an informer (insights.md, section 1.9, rows 17, 18 and 26). It is looked up before each question, so that an authority
//! that is replaced is known as soon as it is there.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use drydock_api::insights::{INJECT_CA_ANNOTATION, UpdateInformer};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
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
            return STANDARD.decode(bundle).map_err(|_| AuthorityError::Bundle);
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
            Some(authorities) => Ok(authorities.0),
            None if is_of_service => self.of_services().await,
            None => Err(AuthorityError::NoKey(secret.to_owned())),
        }
    }

    async fn of_services(&self) -> Result<Vec<u8>, AuthorityError> {
        let path = &self.service_authority;
        let read = tokio::fs::read(path).await;
        read.map_err(|why| AuthorityError::File {
            path: path.clone(),
            why,
        })
    }
}
