//! The certificates of one control plane.

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The certificates of one API server, signed by an authority that is forgotten at once.
pub(crate) struct Certificates {
    /// Of the authority, for clients.
    pub authority: String,
    /// Of the server.
    pub certificate: String,
    /// The server's key.
    pub key: String,
    /// The key that signs the tokens of service accounts.
    pub service_account_key: String,
    /// The key that their signatures are verified with.
    pub service_account_public_key: String,
}

impl Certificates {
    pub(crate) fn generate() -> anyhow::Result<Self> {
        Self::try_generate().context("making the API server's certificates")
    }

    fn try_generate() -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority
            .distinguished_name
            .push(DnType::CommonName, "drydock-e2e");
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, authority_key);

        let mut server = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let service_account_key = KeyPair::generate()?;
        Ok(Self {
            authority: authority_certificate.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            service_account_key: service_account_key.serialize_pem(),
            service_account_public_key: service_account_key.public_key_pem(),
        })
    }
}
