//! What a server may answer, over a real connection.

use fetch::{Http, Settings, classify};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use types::{Canon, Request, Url, Web};

/// A server that gives each connection the next answer, whole, and hangs up; and the fetcher.
struct Wire {
    runtime: Runtime,
    web: Http,
    url: Url,
    next: Arc<Mutex<Vec<u8>>>,
}

const MAX_BODY: usize = 64 << 10;

fn wire() -> &'static Wire {
    static WIRE: OnceLock<Wire> = OnceLock::new();
    WIRE.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let next: Arc<Mutex<Vec<u8>>> = Arc::default();
        let answer = next.clone();
        let (told, port): (SyncSender<u16>, _) = sync_channel(1);
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            told.send(listener.local_addr().expect("an address").port()).expect("somebody waits");
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = answer.lock().expect("nobody panics with it").clone();
                tokio::spawn(async move {
                    let mut request = [0; 2048];
                    let _ = stream.read(&mut request).await;
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        let port = port.recv().expect("the server starts");
        let settings = Settings {
            allow_private: true,
            timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(2),
            max_body: MAX_BODY,
            max_headers: 8 << 10,
            max_idle: 0,
            cookies: true,
            ..Settings::default()
        };
        let url = Canon::default().parse(&format!("http://127.0.0.1:{port}/x")).expect("a URL");
        Wire { runtime, web: Http::new(settings).expect("a fetcher"), url, next }
    })
}

/// Whatever is answered, the fetch ends, within the limits, in a class.
pub fn http(data: &[u8]) {
    let wire = wire();
    *wire.next.lock().expect("nobody panics with it") = data.to_vec();
    let request = Request::page(wire.url.clone());
    let got = wire.runtime.block_on(wire.web.fetch(&request));
    let class = classify(&got);
    assert!(got.payload.decoded().len() <= MAX_BODY, "{} bytes, {class:?}", got.payload.decoded().len());
    assert!(got.status == 0 || (100..1000).contains(&got.status), "status {}", got.status);
    assert!(got.failure.is_some() || got.status != 0, "neither an answer nor a failure: {got:?}");
    for (name, value) in &got.headers {
        assert!(name.bytes().all(|b| !b.is_ascii_uppercase() && b > b' '), "{name:?}");
        assert!(!value.contains(['\r', '\n', '\0']), "{name}: {value:?}");
    }
    if let Some(location) = &got.location {
        assert!(!location.contains(['\r', '\n']), "{location:?}");
    }
}
