//! Whom to believe on an encrypted line: the same for the database and for a bucket.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::sync::Arc;
use types::Problem;

/// TLS as everywhere in the program; who is believed is still to be said.
pub(crate) fn tls() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Problem> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Problem::new("TLS cannot be set up").because(e))
}

/// The authorities of a PEM file, else the public ones. `setting` names the file, `hint` says what it should
/// be.
pub(crate) fn authorities(file: Option<&str>, setting: &str, hint: &str) -> Result<RootCertStore, Problem> {
    let Some(file) = file else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let wrong = |e: &dyn std::fmt::Display| {
        Problem::usage(format!("{setting}: the certificates in {file} cannot be used"))
            .because(e.to_string())
            .hint(hint)
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| wrong(&e))? {
        store.add(certificate.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))?;
    }
    if store.is_empty() {
        return Err(wrong(&"there is no certificate in it"));
    }
    Ok(store)
}
