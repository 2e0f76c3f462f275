//! TLS to the database, as the address asks for it: `sslmode=disable | prefer | require | verify-full` and
//! `sslrootcert=FILE`, with PostgreSQL's own meanings. `prefer` (the default) and `require` encrypt, but
//! believe any server; `verify-full` (and `verify-ca`, which is taken as the same) accepts only one whose
//! certificate is of its name and signed by a known authority: those in FILE, else the public ones.

use crate::trust;
use percent_encoding::percent_decode_str;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use types::Problem;

/// Makes connections of one kind.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

/// What an address says of TLS, and the address without what only we understand.
pub(super) fn of_address(address: &str) -> Result<(String, Tls), Problem> {
    let (mut rest, mut mode, mut roots) = (String::new(), None, None);
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let (head, options, between) = match address.split_once('?') {
        Some((head, options)) if is_url => (head, options, '&'),
        _ if is_url => (address, "", '&'),
        _ => ("", address, ' '),
    };
    rest.push_str(head);
    let mut first = true;
    let mut keep = |rest: &mut String, option: &str| {
        rest.push(if first && is_url { '?' } else { between });
        first = false;
        rest.push_str(option);
    };
    for option in options.split(between).filter(|o| !o.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", value)) => mode = Some(value.to_string()),
            Some(("sslrootcert", value)) => {
                roots = Some(if is_url { unescaped(value) } else { value.into() })
            }
            _ => keep(&mut rest, option),
        }
    }
    let mode = mode.as_deref().unwrap_or("prefer");
    let known = match mode {
        "disable" | "prefer" | "require" => mode,
        "verify-full" | "verify-ca" => "require",
        _ => {
            return Err(Problem::usage(format!("--store: `sslmode={mode}` is not known"))
                .hint("one of disable, prefer, require, verify-full"));
        }
    };
    keep(&mut rest, &format!("sslmode={known}"));
    let verify = mode.starts_with("verify") || roots.is_some();
    Ok((rest, Tls::new(verify, roots.as_deref())?))
}

/// `%2F` as `/`, and so on.
fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl Tls {
    fn new(verify: bool, roots: Option<&str>) -> Result<Tls, Problem> {
        let config = trust::tls()?;
        let config = if verify {
            let file = roots.filter(|f| *f != "system");
            let hint = "sslrootcert names a PEM file with the authority's certificate";
            config.with_root_certificates(trust::authorities(file, "--store", hint)?)
        } else {
            let anyone = Arc::new(Anyone(config.crypto_provider().clone()));
            config.dangerous().with_custom_certificate_verifier(anyone)
        };
        Ok(Tls(Arc::new(config.with_no_client_auth())))
    }
}

/// Encrypted, whoever it is: `sslmode=require` promises no more.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// One connection to come.
pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let name = ServerName::try_from(domain.to_string()).map_err(io::Error::other)?;
        Ok(Handshake { config: self.0.clone(), name })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async move { connecting.await.map(Stream) })
    }
}

pub(super) struct Stream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split() {
        let split = |a: &str| of_address(a).map(|(rest, _)| rest).map_err(|p| p.to_string());
        assert_eq!(split("postgres://u@h/d").unwrap(), "postgres://u@h/d?sslmode=prefer");
        assert_eq!(
            split("postgres://u@h/d?connect_timeout=3&sslmode=verify-full").unwrap(),
            "postgres://u@h/d?connect_timeout=3&sslmode=require"
        );
        assert_eq!(split("host=h user=u sslmode=disable").unwrap().trim(), "host=h user=u sslmode=disable");
        assert!(split("postgres://h/d?sslmode=perhaps").unwrap_err().contains("sslmode=perhaps"));
        let missing = split("postgres://h/d?sslmode=verify-full&sslrootcert=%2Fno%2Fsuch.pem").unwrap_err();
        assert!(missing.contains("/no/such.pem"), "{missing}");
        assert_eq!(unescaped("a%20b%2"), "a b%2");
    }
}
