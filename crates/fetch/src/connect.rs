//! From a URL to an open connection: rules, names, the guard, TCP, proxy tunnels, TLS.
//!
//! The guard stands here because here is where the address is known that bytes will go to. A host given as an
//! IP literal is checked before anything else, a name's addresses are filtered as they come from the
//! resolver, and the peer of the open socket is checked once more.

use crate::dns::{Names, NoAddress, Resolve};
use crate::guard::{Guard, looks_inner};
use crate::proxy::{Proxy, Target, Way};
use crate::rule::ResolveRule;
use crate::stream::Transport;
use crate::{Settings, proxy};
use rustls::pki_types::{CertificateDer, ServerName};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use types::{Failure, Problem, Url};

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 6;
/// Head start of an address over the next one (RFC 8305 recommends 250 ms).
const HEAD_START: Duration = Duration::from_millis(250);

pub(crate) struct Connector {
    guard: Guard,
    rules: Vec<ResolveRule>,
    names: Names,
    tls: TlsConnector,
    /// For proxies: they speak HTTP/1.1.
    proxy_tls: TlsConnector,
    proxies: Vec<Proxy>,
    timeout: Duration,
}

/// Addresses to connect to: the host's, or the proxy's.
pub(crate) struct Place {
    addresses: Vec<SocketAddr>,
    /// The host's own address, where a proxy wants it.
    target: Option<SocketAddr>,
}

impl Place {
    fn at(addresses: Vec<SocketAddr>) -> Place {
        Place { addresses, target: None }
    }
}

/// Why there is no place to connect to.
#[derive(Debug)]
pub(crate) enum NoPlace {
    Failed(Failure),
    /// The name is still being looked up. Ask again after this long.
    Later(Duration),
}

impl From<Failure> for NoPlace {
    fn from(failure: Failure) -> NoPlace {
        NoPlace::Failed(failure)
    }
}

pub(crate) struct Connected {
    pub transport: Transport,
    /// The server's address; through a proxy nobody here knows it.
    pub ip: Option<IpAddr>,
    pub http2: bool,
}

impl Connector {
    pub fn new(settings: &Settings, resolver: Arc<dyn Resolve>) -> Result<Connector, Problem> {
        Ok(Connector {
            guard: Guard { allow_private: settings.allow_private, except: Vec::new() },
            rules: settings.resolve.clone(),
            names: Names::new(resolver, settings.connect_timeout, settings.name_patience),
            tls: TlsConnector::from(Arc::new(tls_config(settings, settings.http2)?)),
            proxy_tls: TlsConnector::from(Arc::new(tls_config(settings, false)?)),
            proxies: settings.proxies.iter().map(|p| Proxy::parse(p)).collect::<Result<_, _>>()?,
            timeout: settings.connect_timeout,
        })
    }

    /// The proxy that requests to this host go through, always the same one. Hidden services need one that
    /// looks up names.
    pub fn proxy(&self, url: &Url) -> Option<&Proxy> {
        if is_onion(url) {
            return self.proxies.iter().find(|p| p.way == Way::SocksWithNames);
        }
        let hash = url.host_key().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let at = hash.checked_rem(self.proxies.len() as u64)?;
        self.proxies.get(at as usize)
    }

    /// Is the whole request handed to a proxy, which asks the host itself?
    pub fn is_forwarded(&self, url: &Url) -> bool {
        url.scheme() == "http" && self.proxy(url).is_some_and(Proxy::forwards)
    }

    /// Is the URL itself already out of the question? Said before any connection, new or kept, is used.
    pub fn admit(&self, url: &Url) -> Result<(), Failure> {
        let (host, port) = (url.host(), port(url));
        if self.rule(host, port).is_some() {
            return Ok(()); // the user named the address
        }
        let refused = |what: String| {
            Failure::Guarded(format!("{what} is not on the public web (--allow-private lifts this)"))
        };
        // A proxy looks up the names, so the addresses behind them are never seen here: what a name looks
        // like is all there is to go by.
        let proxy = self.proxy(url);
        if is_onion(url) {
            return match proxy {
                Some(_) => Ok(()),
                None => Err(Failure::Unsupported(
                    "hidden services need a proxy such as socks5h://127.0.0.1:9050".into(),
                )),
            };
        }
        let unseen = proxy.is_some_and(Proxy::looks_up) && !self.guard.allow_private;
        match url.as_url().host() {
            Some(url::Host::Domain(name)) if !self.guard.permits_name(name) => Err(refused(name.to_string())),
            Some(url::Host::Domain(name)) if unseen && looks_inner(name) => Err(refused(name.to_string())),
            Some(url::Host::Ipv4(ip)) if !self.guard.permits(ip.into()) => Err(refused(ip.to_string())),
            Some(url::Host::Ipv6(ip)) if !self.guard.permits(ip.into()) => Err(refused(ip.to_string())),
            Some(_) => Ok(()),
            None => Err(Failure::Unsupported("the URL has no host".into())),
        }
    }

    /// Where the URL's host is. Waiting for our own look-ups is not the host's time, so no limit of the fetch
    /// runs here; a look-up has its own.
    pub async fn locate(&self, url: &Url) -> Result<Place, NoPlace> {
        self.admit(url)?;
        let (host, port) = (url.host(), port(url));
        if let Some(proxy) = self.proxy(url) {
            let addresses = self.locate_proxy(proxy).await?;
            // An address in the URL is no name.
            let named = matches!(url.as_url().host(), Some(url::Host::Domain(_)));
            let target = match named && proxy.looks_up() {
                true => None,
                false => self.addresses(url, host, port).await?.first().copied(),
            };
            return Ok(Place { addresses, target });
        }
        if let Some(address) = self.rule(host, port) {
            return Ok(Place::at(vec![address]));
        }
        Ok(Place::at(self.addresses(url, host, port).await?))
    }

    /// The host's own addresses, as far as the guard lets them through.
    async fn addresses(&self, url: &Url, host: &str, port: u16) -> Result<Vec<SocketAddr>, NoPlace> {
        let addresses = match url.as_url().host() {
            Some(url::Host::Ipv4(ip)) => vec![SocketAddr::new(ip.into(), port)],
            Some(url::Host::Ipv6(ip)) => vec![SocketAddr::new(ip.into(), port)],
            _ => {
                let found = self.names.lookup(host).await;
                self.allowed(
                    host,
                    port,
                    &found.map_err(|e| no_address(e, |e| Failure::Dns(format!("{host}: {e}"))))?,
                )?
            }
        };
        Ok(addresses)
    }

    /// Opens a connection, ready for HTTP.
    pub async fn connect(&self, url: &Url, place: &Place) -> Result<Connected, Failure> {
        match tokio::time::timeout(self.timeout, self.open(url, place)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::Timeout(format!("no connection within {:?}", self.timeout))),
        }
    }

    async fn open(&self, url: &Url, place: &Place) -> Result<Connected, Failure> {
        self.admit(url)?;
        let (host, port) = (url.host(), port(url));
        let https = url.scheme() == "https";
        let (tcp, ip) = match self.proxy(url) {
            Some(proxy) => {
                let tcp = dial_proxy(proxy, place).await?;
                let tcp = match (proxy.way, place.target) {
                    (Way::Http, _) if https => proxy::tunnel(tcp, proxy, host, port).await?,
                    (Way::Http, _) => tcp,
                    (Way::Https, _) => return self.open_in_tls(tcp, proxy, url).await,
                    (Way::Socks | Way::SocksWithNames, Some(address)) => {
                        proxy::socks(tcp, proxy, Target::Address(address)).await?
                    }
                    (Way::Socks | Way::SocksWithNames, None) => {
                        proxy::socks(tcp, proxy, Target::Name(host, port)).await?
                    }
                };
                (tcp, None)
            }
            None => {
                let tcp = self.dial(host, port, place).await?;
                let ip = tcp.peer_addr().ok().map(|a| a.ip());
                (tcp, ip)
            }
        };
        let _ = tcp.set_nodelay(true);
        if !https {
            return Ok(Connected { transport: Transport::Plain(tcp), ip, http2: false });
        }
        let tls = self.tls.connect(server_name(host)?, tcp).await.map_err(tls_failure)?;
        let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Connected { transport: Transport::Tls(Box::new(tls)), ip, http2 })
    }

    /// Through a proxy that itself is spoken to over TLS.
    async fn open_in_tls(&self, tcp: TcpStream, proxy: &Proxy, url: &Url) -> Result<Connected, Failure> {
        let _ = tcp.set_nodelay(true);
        let outer = self.proxy_tls.connect(server_name(&proxy.host)?, tcp).await.map_err(|e| {
            Failure::Connect(format!("proxy {}:{}: {}", proxy.host, proxy.port, tls_failure(e)))
        })?;
        if url.scheme() != "https" {
            return Ok(Connected { transport: Transport::Tls(Box::new(outer)), ip: None, http2: false });
        }
        let outer = proxy::tunnel(outer, proxy, url.host(), port(url)).await?;
        let inner = self.tls.connect(server_name(url.host())?, outer).await.map_err(tls_failure)?;
        let http2 = inner.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Connected { transport: Transport::TlsInTls(Box::new(inner)), ip: None, http2 })
    }

    fn rule(&self, host: &str, port: u16) -> Option<SocketAddr> {
        self.rules.iter().find_map(|rule| rule.address_for(host, port))
    }

    async fn dial(&self, host: &str, port: u16, place: &Place) -> Result<TcpStream, Failure> {
        let stream = tcp(&place.addresses).await.inspect_err(|_| self.names.forget(host))?;
        if self.rule(host, port).is_some() {
            return Ok(stream); // the user named the address
        }
        // The address really connected to, whatever the code above believes.
        match stream.peer_addr() {
            Ok(peer) if self.guard.permits(peer.ip()) => Ok(stream),
            Ok(peer) => Err(guarded(host, peer.ip())),
            Err(e) => Err(Failure::Connect(e.to_string())),
        }
    }

    /// The addresses of a name that the guard lets through.
    fn allowed(&self, host: &str, port: u16, found: &[IpAddr]) -> Result<Vec<SocketAddr>, Failure> {
        let Some(first) = found.first() else {
            return Err(Failure::Dns(format!("{host} has no address")));
        };
        let allowed = found.iter().filter(|ip| self.guard.permits(**ip));
        let allowed: Vec<SocketAddr> = allowed.map(|ip| SocketAddr::new(*ip, port)).collect();
        if allowed.is_empty() {
            return Err(guarded(host, *first));
        }
        Ok(interleave(&allowed))
    }

    /// The proxy is the user's own choice: no guard.
    async fn locate_proxy(&self, proxy: &Proxy) -> Result<Vec<SocketAddr>, NoPlace> {
        let ips = match proxy.host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(ip) => Arc::from([ip]),
            Err(_) => self
                .names
                .lookup(&proxy.host)
                .await
                .map_err(|e| no_address(e, |e| Failure::Connect(format!("proxy {}: {e}", proxy.host))))?,
        };
        Ok(ips.iter().map(|ip| SocketAddr::new(*ip, proxy.port)).collect())
    }
}

fn no_address(why: NoAddress, failed: impl Fn(String) -> Failure) -> NoPlace {
    match why {
        NoAddress::Failed(why) => NoPlace::Failed(failed(why)),
        NoAddress::Later(after) => NoPlace::Later(after),
    }
}

async fn dial_proxy(proxy: &Proxy, place: &Place) -> Result<TcpStream, Failure> {
    tcp(&place.addresses).await.map_err(|e| match e {
        Failure::Connect(why) => Failure::Connect(format!("proxy {}:{}: {why}", proxy.host, proxy.port)),
        other => other,
    })
}

fn guarded(host: &str, ip: IpAddr) -> Failure {
    Failure::Guarded(format!(
        "{host} is at {ip}, which is not on the public web (--allow-private lifts this)"
    ))
}

/// A hidden service of the Tor network: its name is in no name server.
fn is_onion(url: &Url) -> bool {
    url.host().ends_with(".onion")
}

fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']').to_string())
        .map_err(|e| Failure::Unsupported(format!("{host} cannot be a TLS server name: {e}")))
}

pub(crate) fn port(url: &Url) -> u16 {
    url.as_url().port_or_known_default().unwrap_or(80)
}

/// Alternates the address families, keeping the resolver's order within each (RFC 8305 §4).
fn interleave(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (mut a, mut b) = (
        addresses.iter().filter(|x| x.is_ipv4() == first_is_v4),
        addresses.iter().filter(|x| x.is_ipv4() != first_is_v4),
    );
    let mut out = Vec::new();
    loop {
        let (x, y) = (a.next(), b.next());
        out.extend(x.into_iter().chain(y).copied());
        if (x.is_none() && y.is_none()) || out.len() >= MAX_ADDRESSES {
            out.truncate(MAX_ADDRESSES);
            return out;
        }
    }
}

/// The first of the addresses that answers; each gets a head start over the next.
async fn tcp(addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
    let failed = |address: SocketAddr, e: std::io::Error| Failure::Connect(format!("{address}: {e}"));
    if let [only] = addresses {
        return TcpStream::connect(only).await.map_err(|e| failed(*only, e));
    }
    let mut tries = JoinSet::new();
    let mut waiting = addresses.iter();
    let mut last = Failure::Connect("no address to connect to".into());
    loop {
        let more = match waiting.next() {
            Some(&address) => {
                tries.spawn(async move { (address, TcpStream::connect(address).await) });
                true
            }
            None => false,
        };
        let next = tries.join_next();
        let done = if more { tokio::time::timeout(HEAD_START, next).await } else { Ok(next.await) };
        match done {
            Ok(Some(Ok((_, Ok(stream))))) => return Ok(stream),
            Ok(Some(Ok((address, Err(e))))) => last = failed(address, e),
            Ok(Some(Err(e))) => last = Failure::Connect(e.to_string()),
            Ok(None) => return Err(last),
            Err(_head_start_over) => {}
        }
    }
}

fn tls_config(settings: &Settings, http2: bool) -> Result<rustls::ClientConfig, Problem> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for der in &settings.extra_roots {
        roots
            .add(CertificateDer::from(der.clone()))
            .map_err(|e| Problem::usage("an extra root certificate cannot be used").because(e))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Problem::new("TLS cannot be set up").because(e))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    if http2 {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(config)
}

fn tls_failure(e: std::io::Error) -> Failure {
    match e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => Failure::Tls(tls.to_string()),
        None => Failure::Connect(format!("in the TLS handshake: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::ResolveFuture;
    use std::sync::Mutex;
    use tokio::net::TcpListener;
    use types::Canon;

    /// Gives one answer after the other, as a rebinding name server does.
    struct Script(Mutex<Vec<Vec<&'static str>>>);

    impl Script {
        fn new(answers: &[&[&'static str]]) -> Arc<Script> {
            Arc::new(Script(Mutex::new(answers.iter().rev().map(|a| a.to_vec()).collect())))
        }
    }

    impl Resolve for Script {
        fn resolve<'a>(&'a self, _host: &'a str) -> ResolveFuture<'a> {
            let answer = self.0.lock().unwrap().pop().unwrap_or_default();
            Box::pin(async move { Ok(answer.iter().map(|a| a.parse().unwrap()).collect()) })
        }
    }

    fn url(text: &str) -> Url {
        Canon::default().parse(text).unwrap()
    }

    async fn connect(c: &Connector, url: &Url) -> Result<Connected, Failure> {
        match c.locate(url).await {
            Ok(place) => c.connect(url, &place).await,
            Err(NoPlace::Failed(failure)) => Err(failure),
            Err(NoPlace::Later(after)) => panic!("{url}: later, after {after:?}"),
        }
    }

    fn connector(resolver: Arc<dyn Resolve>, except: &[&str]) -> Connector {
        let mut c = Connector::new(&Settings::default(), resolver).unwrap();
        c.guard.except = except.iter().map(|a| a.parse().unwrap()).collect();
        c
    }

    /// A listener that counts who came.
    async fn listen(address: &str) -> (u16, Arc<std::sync::atomic::AtomicUsize>) {
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = count.clone();
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        (port, count)
    }

    #[tokio::test]
    async fn a_name_that_moves_inside_is_refused() {
        let (port, inside) = listen("127.0.0.2:0").await;
        let outside = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        // 127.0.0.1 plays the public address. The second look-up says 127.0.0.2.
        let c = connector(Script::new(&[&["127.0.0.1"], &["127.0.0.2"]]), &["127.0.0.1"]);
        let u = url(&format!("http://rebind.example:{port}/"));
        let first = connect(&c, &u).await.unwrap();
        assert_eq!(first.ip, Some("127.0.0.1".parse().unwrap()));
        // While the first answer is fresh, the address checked is the address used.
        assert_eq!(connect(&c, &u).await.unwrap().ip, Some("127.0.0.1".parse().unwrap()));
        c.names.forget("rebind.example");
        let second = connect(&c, &u).await.err().unwrap();
        assert!(matches!(&second, Failure::Guarded(why) if why.contains("127.0.0.2")), "{second:?}");
        assert_eq!(inside.load(std::sync::atomic::Ordering::SeqCst), 0, "nothing reached the inside");
        drop(outside);
    }

    #[tokio::test]
    async fn private_answers_among_public_ones_are_left_out() {
        let (port, inside) = listen("127.0.0.2:0").await;
        let _outside = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let c =
            connector(Script::new(&[&["127.0.0.2", "::1", "127.0.0.1", "169.254.169.254"]]), &["127.0.0.1"]);
        let got = connect(&c, &url(&format!("http://mixed.example:{port}/"))).await.unwrap();
        assert_eq!(got.ip, Some("127.0.0.1".parse().unwrap()));
        assert_eq!(inside.load(std::sync::atomic::Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn literals_and_local_names_never_reach_the_resolver() {
        let c = connector(Script::new(&[]), &[]);
        let table = "http://127.0.0.1/ http://0x7f.1/ http://2130706433/ http://017700000001/ http://[::1]/
            http://[::ffff:10.0.0.1]/ http://169.254.169.254/latest/meta-data/ http://[fd00:ec2::254]/ http://0/
            https://192.168.1.1:8443/ http://localhost/ http://a.localhost/ http://metadata.google.internal/
            http://printer.local/";
        for text in table.split_whitespace() {
            assert!(matches!(connect(&c, &url(text)).await.err(), Some(Failure::Guarded(_))), "{text}");
        }
        assert!(matches!(connect(&c, &url("http://nowhere.example/")).await.err(), Some(Failure::Dns(_))));
    }

    #[tokio::test]
    async fn the_second_address_is_tried() {
        let (port, _) = listen("127.0.0.1:0").await;
        // Nothing listens on 127.0.0.3.
        let c = connector(Script::new(&[&["127.0.0.3", "127.0.0.1"]]), &["127.0.0.1", "127.0.0.3"]);
        let got = connect(&c, &url(&format!("http://two.example:{port}/"))).await.unwrap();
        assert_eq!(got.ip, Some("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn families_alternate() {
        let parse = |list: &[&str]| -> Vec<SocketAddr> {
            list.iter().map(|a| SocketAddr::new(a.parse().unwrap(), 80)).collect()
        };
        assert_eq!(
            interleave(&parse(&["::1", "::2", "1.1.1.1", "2.2.2.2"])),
            parse(&["::1", "1.1.1.1", "::2", "2.2.2.2"])
        );
        assert_eq!(interleave(&parse(&["1.1.1.1", "2.2.2.2"])), parse(&["1.1.1.1", "2.2.2.2"]));
        assert_eq!(interleave(&[]), []);
        assert_eq!(interleave(&parse(&["1.1.1.1"; 20])).len(), MAX_ADDRESSES);
    }
}
