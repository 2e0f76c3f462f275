//! A real browser, a real server, and pages that want what they must not have. The server's log is the
//! witness.

use fetch::{Http, Settings as FetchSettings};
use gleaner_render::{Remote, Renderer, Settings, Unrendered, Which, find};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use types::{Canon, Rendered, Request, Web};

type Page = (&'static str, &'static str, String);

/// Serves the given pages, `(path, type, body)`, and writes down every request.
struct Site {
    port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(pages: impl Fn(u16) -> Vec<Page>) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (log, pages) = (Arc::new(Mutex::new(Vec::new())), pages(port));
        let (written, pages) = (log.clone(), Arc::new(pages));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (written, pages) = (written.clone(), pages.clone());
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let Some(first) = lines.next() else {
                        return written.lock().unwrap().push("nothing".into());
                    };
                    let host = lines
                        .by_ref()
                        .take_while(|l| !l.is_empty())
                        .find(|l| l.to_lowercase().starts_with("host:"));
                    for _ in lines.by_ref().take_while(|l| !l.is_empty() && host.is_none()) {}
                    let path = first.split(' ').nth(1).unwrap_or("").to_string();
                    written.lock().unwrap().push(format!("{} {path}", first.split(' ').next().unwrap_or("")));
                    let page = pages.iter().find(|(p, ..)| *p == path);
                    let answer = match page {
                        Some((_, kind, body)) => format!(
                            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                            body.len()
                        ),
                        None => {
                            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into()
                        }
                    };
                    let _ = (&stream).write_all(answer.as_bytes());
                });
            }
        });
        Site { port, log }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// `site.test` is this server; the guard holds for every other name and address.
    fn http(&self) -> Arc<Http> {
        let resolve = vec![format!("site.test:80:127.0.0.1:{}", self.port).parse().unwrap()];
        Arc::new(Http::new(FetchSettings { resolve, ..FetchSettings::default() }).unwrap())
    }
}

fn renderer(site: &Site, time: u64, memory: u64) -> Option<Renderer> {
    renderer_beside(site, time, memory, None)
}

/// `private`: a folder that is none of the browser's business.
fn renderer_beside(site: &Site, time: u64, memory: u64, private: Option<PathBuf>) -> Option<Renderer> {
    let Some(program) = find() else {
        let required = std::env::var("GLEANER_TOOLS").is_ok_and(|v| v == "required");
        assert!(!required, "no chromium (Debian's package `chromium`)");
        eprintln!("left out: no chromium (Debian's package `chromium`)");
        return None;
    };
    Some(renderer_in(Which::Program(program), site, time, memory, private))
}

fn renderer_in(browser: Which, site: &Site, time: u64, memory: u64, private: Option<PathBuf>) -> Renderer {
    let settings = Settings {
        browser,
        tabs: 2,
        time: Duration::from_secs(time),
        memory,
        scroll: 5,
        max_html: 5 << 20,
        robots: true,
        user_agent: "Gleaner/0.1".into(),
        signature: "Gleaner/0.1".into(),
        private,
    };
    Renderer::new(settings, site.http())
}

/// A browser that somebody else started, with a network like any other's.
struct Elsewhere {
    child: std::process::Child,
    folder: PathBuf,
    /// `ws://127.0.0.1:…/devtools/browser/…`
    address: String,
}

impl Elsewhere {
    fn start() -> Option<Elsewhere> {
        let program = find()?;
        let name = format!("gleaner-elsewhere-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = std::process::Command::new(program);
        command.args([
            "--headless=new",
            "--remote-debugging-port=0",
            "--no-first-run",
            "--disable-gpu",
            "--no-sandbox",
        ]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", folder.display())).arg("about:blank");
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|l| l.strip_prefix("DevTools listening on ").map(str::to_string));
        // Whatever else it says is read, or it would wait to say it.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Elsewhere { child, folder, address: address.expect("it says where it listens") })
    }

    fn is_at(&self, address: &str) -> Which {
        Which::Remote(Remote::parse(address).unwrap().unwrap())
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Fetches and renders a page of the site.
async fn show(renderer: &Renderer, site: &Site, path: &str) -> Result<Rendered, Unrendered> {
    let url = Canon::default().parse(&format!("http://site.test{path}")).unwrap();
    let page = site.http().fetch(&Request::page(url)).await;
    assert_eq!(page.status, 200, "{page:?}");
    renderer.render(&page).await
}

fn text(rendered: &Rendered) -> String {
    String::from_utf8(rendered.html.to_vec()).unwrap()
}

fn html(path: &'static str, body: &str) -> Page {
    (path, "text/html; charset=utf-8", format!("<!doctype html><html><body>{body}</body></html>"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_as_its_readers_see_it() {
    let app = r#"
      const root = document.getElementById('root');
      fetch('/api/list').then(r => r.json()).then(list => {
        root.innerHTML = '<h1>Courses &amp; more</h1>' + list.map(x => `<a href="/course/${x}">Course ${x}</a>`).join('');
        alert('welcome'); confirm('sure?');
        setTimeout(() => root.insertAdjacentHTML('beforeend', '<p>came late</p>'), 3000);
        history.replaceState(0, '', '/start/here');
      });
      customElements.define('x-card', class extends HTMLElement {
        connectedCallback() { this.attachShadow({mode: 'closed'}).innerHTML = '<p>in the shadow <a href="deep">deep</a><slot></slot></p>'; }
      });
      document.body.insertAdjacentHTML('beforeend', '<x-card>slotted</x-card><iframe src="/frame"></iframe><iframe src="http://elsewhere.test/"></iframe>');
      const go = document.createElement('div'); go.setAttribute('role', 'link'); go.textContent = 'By a click';
      go.onclick = () => history.pushState(0, '', '/clicked'); document.body.append(go);
      const far = document.createElement('a'); far.textContent = 'Far'; far.onclick = () => { location.href = '/far' }; document.body.append(far);
      const list = document.createElement('ul'), end = document.createElement('div');
      list.style.paddingTop = '3000px'; let n = 0; document.body.append(list, end);
      new IntersectionObserver(seen => { if (seen[0].isIntersecting && n < 3) { n++;
        list.insertAdjacentHTML('beforeend', `<li style="height:2500px">lazy ${n}</li>`); } }).observe(end);
      const more = document.createElement('button'); more.textContent = 'Load more';
      more.onclick = () => { more.remove(); list.insertAdjacentHTML('beforeend', '<li>pressed</li>'); }; document.body.append(more);
      const closed = document.createElement('script'); closed.src = '/closed/secret.js'; document.body.append(closed);
    "#;
    let site = Site::new(|_| {
        vec![
            html(
                "/",
                "<noscript>turn it on</noscript><div id=root></div><img src=/logo.png><script src=/app.js></script>",
            ),
            ("/app.js", "text/javascript", app.to_string()),
            ("/api/list", "application/json", "[1,2,3]".into()),
            html("/frame", "<p>in the frame</p><a href='x'>frame link</a>"),
            ("/robots.txt", "text/plain", "User-agent: *\nDisallow: /closed/\n".into()),
            ("/closed/secret.js", "text/javascript", "document.body.append('forbidden')".into()),
        ]
    });
    let Some(renderer) = renderer(&site, 60, 1 << 30) else { return };
    let rendered = show(&renderer, &site, "/").await.unwrap();
    let page = text(&rendered);
    for part in [
        "Courses &amp; more",
        "href=\"http://site.test/course/2\"",
        "came late",
        "in the shadow",
        // Relative to where the script says that it is.
        "href=\"http://site.test/start/deep\"",
        "slotted",
        "in the frame",
        "href=\"http://site.test/x\"",
        "lazy 1",
        "lazy 3",
        "pressed",
        "href=\"http://site.test/clicked\" aria-label=\"By a click\"",
        "href=\"http://site.test/far\" aria-label=\"Far\"",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    for part in ["turn it on", "forbidden", "app.js", "blocked by Chromium"] {
        assert!(!page.contains(part), "{part} in {page}");
    }
    let mut got: Vec<&str> = rendered.resources.iter().map(|r| r.url.path()).collect();
    got.sort_unstable();
    assert_eq!(got, ["/api/list", "/app.js", "/frame"]);
    // The site's program is not asked for with every page; its data is.
    let again = show(&renderer, &site, "/").await.unwrap();
    assert!(text(&again).contains("Course 3"));
    let log = site.log();
    let count = |path: &str| log.iter().filter(|l| l.ends_with(&format!(" {path}"))).count();
    assert_eq!((count("/app.js"), count("/robots.txt"), count("/")), (1, 1, 2), "{log:?}");
    assert_eq!((count("/closed/secret.js"), count("/logo.png"), count("/far")), (0, 0, 0), "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_escapes() {
    let start = |site: &Site| renderer(site, 60, 1 << 30);
    attack(start).await;
}

/// It has a network; its pages have none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_escapes_from_a_browser_that_somebody_else_started() {
    let Some(browser) = Elsewhere::start() else { return };
    attack(|site| Some(renderer_in(browser.is_at(&browser.address), site, 60, 1 << 30, None))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_somebody_else_started_keeps_what_is_its_own() {
    let site = Site::new(|_| {
        vec![
            html("/", "<script>document.body.append('all is well'); open('/popup')</script>"),
            html("/loop", "<p>static</p><script>while (true) {}</script>"),
        ]
    });
    let Some(mut browser) = Elsewhere::start() else { return };
    let rest = browser.address.strip_prefix("ws://").unwrap();
    let base = format!("http://{}", rest.split('/').next().unwrap());
    // Somebody else's page, which stays; ours are gone when we are.
    let list = || {
        let out =
            std::process::Command::new("curl").args(["-s", &format!("{base}/json/list")]).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    let pages = || list().matches("\"type\": \"page\"").count();
    assert_eq!(pages(), 1, "{}", list());
    for address in [&base, &browser.address] {
        let renderer = renderer_in(browser.is_at(address), &site, 6, 1 << 30, None);
        assert!(text(&show(&renderer, &site, "/").await.unwrap()).contains("all is well"));
        let Err(Unrendered::Page(why)) = show(&renderer, &site, "/loop").await else {
            panic!("it never ends")
        };
        assert!(why.contains("do not end"), "{why}");
        assert!(text(&show(&renderer, &site, "/").await.unwrap()).contains("all is well"));
        drop(renderer);
        let mut tries = 0;
        while pages() != 1 {
            tries += 1;
            assert!(tries < 600, "{}", list());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_eq!(browser.child.try_wait().unwrap(), None, "it still runs");
    // It ends, and is said to be gone.
    let renderer = renderer_in(browser.is_at(&base), &site, 60, 1 << 30, None);
    drop(browser);
    let Err(Unrendered::NoBrowser(why)) = show(&renderer, &site, "/").await else { panic!("it is gone") };
    assert!(why.contains("does not answer"), "{why}");
}

/// Shows a page that tries all it can; the servers' logs are the witness.
async fn attack(start: impl Fn(&Site) -> Option<Renderer>) {
    // A server inside the network, and one that listens to datagrams.
    let inner = Site::new(|_| vec![html("/", "inner secret")]);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let (inner_port, udp_port) = (inner.port, udp.local_addr().unwrap().port());
    let secret = std::env::temp_dir().join(format!("gleaner-secret-{}-{inner_port}", std::process::id()));
    std::fs::write(&secret, "file secret").unwrap();
    let file = secret.display().to_string();
    let site = Site::new(|port| {
        let attack = format!(
            r#"
            const say = t => document.body.append(' ' + t + ' ');
            const want = [`http://127.0.0.1:{inner_port}/`, `http://localhost:{inner_port}/`, `http://[::1]:{inner_port}/`,
              'http://169.254.169.254/latest/meta-data/', 'http://10.0.0.1/', 'http://0.0.0.0:{inner_port}/', 'file://{file}',
              'http://127.0.0.1:{port}/steal'];
            for (const u of want) {{
              fetch(u, {{mode: 'no-cors'}}).then(r => r.text()).then(t => say('GOT ' + u + t)).catch(() => 0);
              for (const tag of ['iframe', 'img', 'script', 'video', 'embed', 'object']) {{
                const e = document.createElement(tag); e.src = u; e.data = u; document.body.append(e);
              }}
              document.head.insertAdjacentHTML('beforeend', `<link rel=preconnect href="${{u}}"><link rel=prefetch href="${{u}}"><link rel=stylesheet href="${{u}}">`);
              try {{ navigator.sendBeacon(u, 'beacon') }} catch (e) {{}}
            }}
            for (const u of ['ws://127.0.0.1:{inner_port}/', 'ws://site.test/ws']) try {{ new WebSocket(u) }} catch (e) {{}}
            try {{ new EventSource('/events') }} catch (e) {{}}
            try {{ const p = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{udp_port}'}}]}});
              p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); }} catch (e) {{}}
            for (const from of [0, 1]) try {{
              const frame = document.createElement('iframe'); document.body.append(frame);
              const other = from ? frame.contentWindow : window.open('about:blank');
              const p = new other.RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{udp_port}'}}]}});
              p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); }} catch (e) {{}}
            try {{ new WebTransport('https://127.0.0.1:{udp_port}/') }} catch (e) {{}}
            try {{ navigator.serviceWorker.register('/sw.js') }} catch (e) {{}}
            try {{ new Worker('/worker.js') }} catch (e) {{}}
            fetch('/api', {{method: 'POST', body: 'change something'}}).catch(() => 0);
            for (let i = 0; i < 200; i++) window.open('http://127.0.0.1:{inner_port}/popup' + i);
            const a = document.createElement('a'); a.href = '/file.zip'; a.download = 'x'; document.body.append(a); a.click();
            const f = document.createElement('form'); f.method = 'post'; f.action = '/post'; document.body.append(f); f.submit();
            setInterval(() => {{ location.href = 'http://127.0.0.1:{inner_port}/go' }}, 100);
            navigator.geolocation.getCurrentPosition(() => say('GOT place'));
            say('all tried');
            "#
        );
        vec![
            html("/", "<p>static</p><script src=/attack.js></script>"),
            ("/attack.js", "text/javascript", attack),
            ("/sw.js", "text/javascript", format!("fetch('http://127.0.0.1:{inner_port}/sw')")),
            (
                "/worker.js",
                "text/javascript",
                format!(
                    "try {{ new WebTransport('https://127.0.0.1:{udp_port}/') }} catch (e) {{}}; fetch('http://127.0.0.1:{inner_port}/worker')"
                ),
            ),
            ("/file.zip", "application/zip", "PK".into()),
        ]
    });
    let Some(renderer) = start(&site) else { return };
    let rendered = show(&renderer, &site, "/").await.unwrap();
    let page = text(&rendered);
    assert!(page.contains("all tried"), "{page}");
    assert!(!page.contains("GOT") && !page.contains("secret</"), "{page}");
    drop(renderer);
    assert_eq!(inner.log(), Vec::<String>::new(), "the inner server was reached");
    assert!(udp.recv(&mut [0; 64]).is_err(), "a datagram was sent");
    let log = site.log();
    for line in &log {
        let known = ["GET /", "GET /attack.js", "GET /robots.txt", "GET /worker.js", "GET /sw.js"];
        assert!(known.contains(&line.as_str()), "{line} in {log:?}");
    }
    let _ = std::fs::remove_file(secret);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_hangs_or_grows_is_ended_and_the_next_page_is_fine() {
    let site = Site::new(|_| {
        vec![
            html("/loop", "<p>static</p><script>while (true) {}</script>"),
            html(
                "/timers",
                "<p id=p>0</p><script>setInterval(() => { p.textContent = +p.textContent + 1 }, 0);\
                  requestAnimationFrame(function f() { requestAnimationFrame(f) })</script>",
            ),
            html(
                "/memory",
                "<script>const a = []; setInterval(() => { const b = new Uint8Array(64 << 20); b.fill(1); a.push(b) }, 1)</script>",
            ),
            html("/reload", "<p>again</p><script>location.reload()</script>"),
            html("/fine", "<script>document.body.append('all is well')</script>"),
        ]
    });
    let Some(renderer) = renderer(&site, 8, 400 << 20) else { return };
    let fine = async || {
        let page = show(&renderer, &site, "/fine").await.unwrap();
        assert!(text(&page).contains("all is well"));
    };
    fine().await;
    let Err(Unrendered::Page(why)) = show(&renderer, &site, "/loop").await else { panic!("it never ends") };
    assert!(why.contains("do not end"), "{why}");
    fine().await;
    // Timers without end are no reason to give a page up.
    let timers = show(&renderer, &site, "/timers").await.unwrap();
    assert!(!text(&timers).contains(">0</p>"), "{}", text(&timers));
    assert!(text(&show(&renderer, &site, "/reload").await.unwrap()).contains("again"));
    if cfg!(target_os = "linux") {
        let Err(Unrendered::Page(why)) = show(&renderer, &site, "/memory").await else {
            panic!("it takes all memory")
        };
        assert!(why.contains("memory") || why.contains("broke down"), "{why}");
        fine().await;
    }
    renderer.stop_within(Duration::ZERO);
    assert_eq!(show(&renderer, &site, "/fine").await.unwrap_err(), Unrendered::Stopped);
    renderer.go_on();
    fine().await;
    drop(renderer);
    // All that it wrote is gone.
    let mine = format!("gleaner-browser-{}-", std::process::id());
    let left = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(&mine)).count()
    };
    // Other tests of this process may have a browser of their own.
    assert!(left() <= 2, "{}", left());
}

#[tokio::test]
async fn a_program_that_is_no_browser_is_said_to_be_none() {
    let site = Site::new(|_| vec![html("/", "x")]);
    let Some(_) = find() else { return };
    let settings = Settings {
        browser: Which::Program("/bin/false".into()),
        tabs: 1,
        time: Duration::from_secs(5),
        memory: 1 << 30,
        scroll: 0,
        max_html: 1 << 20,
        robots: false,
        user_agent: "x".into(),
        signature: "x".into(),
        private: None,
    };
    let renderer = Renderer::new(settings, site.http());
    let Err(Unrendered::NoBrowser(why)) = show(&renderer, &site, "/").await else { panic!("it is none") };
    assert!(why.contains("/bin/false"), "{why}");
}

/// A line of `/proc/PID/status`.
#[cfg(target_os = "linux")]
fn status(pid: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_never_runs_as_root_and_every_page_is_in_a_sandbox() {
    let site = Site::new(|_| vec![html("/", "<script>document.body.append('all is well')</script>")]);
    let private = std::env::temp_dir().join(format!("gleaner-private-{}", std::process::id()));
    std::fs::create_dir_all(&private).unwrap();
    // Everybody could read it.
    std::fs::write(private.join("ledger.log"), "private").unwrap();
    let Some(renderer) = renderer_beside(&site, 60, 1 << 30, Some(private.clone())) else { return };
    assert!(text(&show(&renderer, &site, "/").await.unwrap()).contains("all is well"));
    let processes = || std::fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<(u32, String)> = processes()
        .filter_map(|p| {
            let pid = p.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(p.path().join("cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
        })
        .filter(|(pid, _)| status(*pid, "Name").starts_with("chrom"))
        .collect();
    // Other tests of this process have browsers of their own, which have to be the same.
    let mine = format!("gleaner-browser-{}-", std::process::id());
    let group = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(2)?.parse::<u32>().ok()
    };
    // What it starts has powers in a namespace of its own: that is the sandbox.
    let is_main = |(pid, line): &&(u32, String)| line.contains(&mine) && group(*pid) == Some(*pid);
    let main: Vec<u32> = all.iter().filter(is_main).map(|(pid, _)| *pid).collect();
    assert!(!main.is_empty(), "no browser runs");
    let is_root = status(std::process::id(), "Uid").starts_with("0 ");
    let mut covered = 0;
    for pid in &main {
        let (user, powers) = (status(*pid, "Uid"), status(*pid, "CapPrm"));
        if user.is_empty() {
            continue;
        }
        assert!(!user.split(' ').any(|id| id == "0"), "{pid} runs as {user}");
        if is_root {
            assert!(!status(*pid, "Gid").split(' ').any(|id| id == "0"), "{pid} is in root's group");
            assert!(
                status(*pid, "Groups").is_empty() && powers.bytes().all(|b| b == b'0'),
                "{pid}: {powers}"
            );
        }
        let seen = std::fs::read_dir(format!("/proc/{pid}/root{}", private.display()));
        covered += usize::from(is_root && seen.is_ok_and(|mut files| files.next().is_none()));
    }
    assert!(!all.iter().any(|(pid, line)| main.contains(pid) && line.contains("--no-sandbox")), "{all:?}");
    let own = |pid: u32| group(pid).is_some_and(|leader| main.contains(&leader));
    let pages = all.iter().filter(|(pid, line)| line.contains("--type=renderer") && own(*pid));
    let filters: Vec<String> = pages.map(|(pid, _)| status(*pid, "Seccomp")).collect();
    assert!(!filters.is_empty() && filters.iter().all(|f| f == "2" || f.is_empty()), "{filters:?}");
    if is_root {
        assert!(covered > 0, "the private folder is seen");
    }
    assert_eq!(std::fs::read_to_string(private.join("ledger.log")).unwrap(), "private", "it is only covered");
    drop(renderer);
    std::fs::remove_dir_all(private).unwrap();
}
