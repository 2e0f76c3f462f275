//! Pages that scripts write: applications of React, Vue and Svelte, with routes of paths and of fragments,
//! beside the same pages as HTML; a browser that is missing or somebody else's, and crawls that are killed.

use crate::common::{self, Running, finish, folder, gleaner, run, tools, until, warcs};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// A page of the test web: its title, its text, and where it leads.
fn content(path: &str) -> Option<(String, String, Vec<String>)> {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let (name, links) = match parts.as_slice() {
        [] => ("Courses".to_string(), (1..=3).map(|n| format!("/subject/{n}")).collect()),
        ["subject", n @ ("1" | "2" | "3")] => {
            (format!("Subject {n}"), (1..=4).map(|i| format!("/course/{n}{i}")).collect())
        }
        ["course", n] if matches!(n.as_bytes(), [b'1'..=b'3', b'1'..=b'4']) => {
            (format!("Course {n}"), vec!["/".into(), format!("/subject/{}", &n[..1])])
        }
        _ => return None,
    };
    let text = (0..60).map(|i| format!("{name} teaches part{i}")).collect::<Vec<_>>().join(" ");
    Some((name, text, links))
}

const PAGES: usize = 1 + 3 + 12;

const APPS: [&str; 3] = ["react.test", "vue.test", "svelte.test"];

/// Links are asked for with the page, as applications do; the last one of a page can only be clicked.
const REACT: &str = r#"
const e = React.createElement, hash = document.documentElement.dataset.routes === 'hash';
const here = () => hash ? location.hash.slice(1) || '/' : location.pathname, address = to => hash ? '#' + to : to;
function go(to) { history.pushState(null, '', address(to)); dispatchEvent(new Event('popstate')); }
function App() {
  const [path, move] = React.useState(here()), [page, show] = React.useState(null);
  React.useEffect(() => { const f = () => move(here()); addEventListener('popstate', f); return () => removeEventListener('popstate', f); }, []);
  React.useEffect(() => { show(null); fetch('/api' + path, {headers: {accept: 'application/json'}}).then(r => r.json()).then(show); }, [path]);
  if (!page) return e('p', null, 'Loading');
  document.title = page.title;
  const link = (to, i) => i < page.links.length - 1
    ? e('a', {key: to, href: address(to), onClick: x => { x.preventDefault(); go(to); }}, to)
    : e('div', {key: to, role: 'link', onClick: () => go(to)}, to);
  return e('main', null, e('h1', null, page.title), e('p', null, page.text), e('nav', null, page.links.map(link)));
}
ReactDOM.createRoot(document.getElementById('root')).render(e(App));
"#;

/// The links come when the reader has come to the end of the text.
const VUE: &str = r#"
const View = {
  template: `<main><h1>{{ page.title }}</h1><p style="height: 4000px">{{ page.text }}</p>
    <router-link v-for="l in shown" :key="l" :to="l">{{ l }}</router-link><div ref="end">.</div></main>`,
  data: () => ({ page: { title: '', text: '', links: [] }, shown: [] }),
  async mounted() {
    this.page = await (await fetch('/api' + this.$route.path)).json(); document.title = this.page.title;
    new IntersectionObserver(s => { if (s[0].isIntersecting) this.shown = this.page.links; }).observe(this.$refs.end);
  },
};
const router = VueRouter.createRouter({ history: document.documentElement.dataset.routes === 'hash' ? VueRouter.createWebHashHistory() : VueRouter.createWebHistory(), routes: [{ path: '/:rest(.*)*', component: View }] });
Vue.createApp({ template: '<router-view :key="$route.path"/>' }).use(router).mount('#app');
"#;

/// `react.test`, `vue.test`, `svelte.test` and `static.test` on one port, and the log of what was asked. The
/// routes of `react-hash.test` … are fragments: the server has one page.
struct Sites {
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Sites {
    fn start() -> Option<Sites> {
        let Some(apps) = std::env::var_os("GLEANER_APPS") else {
            tools::missing(
                "rendered applications: GLEANER_APPS is not set (node_modules with React and Vue)",
            );
            return None;
        };
        if render_program().is_none() {
            tools::missing("rendered applications: no chromium (Debian's package `chromium`)");
            return None;
        }
        let library = |file: &str| std::fs::read_to_string(Path::new(&apps).join(file)).unwrap();
        let mut files = BTreeMap::new();
        files.insert("/react.js", library("react/umd/react.production.min.js"));
        files.insert("/react-dom.js", library("react-dom/umd/react-dom.production.min.js"));
        files.insert("/vue.js", library("vue/dist/vue.global.prod.js"));
        files.insert("/vue-router.js", library("vue-router/dist/vue-router.global.prod.js"));
        files.insert("/menu.js", "document.body.dataset.menu = 'open'".into());
        files.insert("/app-react.js", REACT.into());
        files.insert("/app-vue.js", VUE.into());
        files.insert("/app-svelte.js", svelte(Path::new(&apps))?);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (log, files) = (Arc::new(Mutex::new(Vec::new())), Arc::new(files));
        let written = log.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (written, files) = (written.clone(), files.clone());
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    let first = lines.next().unwrap_or_default();
                    let head: Vec<String> = lines.take_while(|l| !l.is_empty()).collect();
                    let host =
                        head.iter().find_map(|l| l.strip_prefix("host: ").or(l.strip_prefix("Host: ")));
                    let (host, path) = (host.unwrap_or(""), first.split(' ').nth(1).unwrap_or(""));
                    written.lock().unwrap().push(format!("{host}{path}"));
                    let (status, kind, body) = answer(host, path, &files);
                    let head = format!(
                        "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
                         connection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = (&stream)
                        .write_all(head.as_bytes())
                        .and_then(|()| (&stream).write_all(body.as_bytes()));
                });
            }
        });
        Some(Sites { address, log })
    }

    fn crawl(&self, out: &Path) -> Command {
        let mut command = gleaner();
        command.args([
            "crawl",
            "--query",
            "course teaches",
            "--delay",
            "1ms",
            "--allow-private",
            "--resolve",
        ]);
        command.arg(format!("*:{}", self.address)).arg("--out").arg(out);
        command
    }

    fn asked(&self, what: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|l| *l == what).count()
    }
}

fn render_program() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("chromium")).find(|f| f.is_file())
}

/// The application of Svelte, which has to be compiled; its library is in it.
fn svelte(modules: &Path) -> Option<String> {
    let dir = folder();
    let made = dir.path().join("svelte.js");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/svelte.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(modules).arg(&made);
    if !command.output().is_ok_and(|ran| ran.status.success()) {
        tools::missing("rendered applications: node does not compile that of Svelte");
        return None;
    }
    Some(std::fs::read_to_string(made).unwrap())
}

fn answer(host: &str, path: &str, files: &BTreeMap<&str, String>) -> (u16, &'static str, String) {
    if let Some(file) = files.get(path) {
        return (200, "text/javascript", file.clone());
    }
    if let Some(page) = path.strip_prefix("/api") {
        let data =
            content(page).map(|(title, text, links)| json!({ "title": title, "text": text, "links": links }));
        return data.map_or((404, "text/plain", String::new()), |d| (200, "application/json", d.to_string()));
    }
    let app = host.strip_suffix("-hash.test");
    let Some((title, text, links)) = content(path).filter(|_| app.is_none() || path == "/") else {
        return (404, "text/plain", "no".into());
    };
    let routes = if app.is_some() { " data-routes=\"hash\"" } else { "" };
    let scripts = |names: &[&str]| {
        names.iter().map(|n| format!("<script src=\"/{n}.js\"></script>")).collect::<String>()
    };
    let body = match app.unwrap_or(host).trim_end_matches(".test") {
        "react" => format!(
            "<title>App</title><div id=\"root\"></div>{}",
            scripts(&["react", "react-dom", "app-react"])
        ),
        "svelte" => format!("<title>App</title><div id=\"app\"></div>{}", scripts(&["app-svelte"])),
        "vue" => {
            format!("<title>App</title><div id=\"app\"></div>{}", scripts(&["vue", "vue-router", "app-vue"]))
        }
        _ => {
            let links: String = links.iter().map(|l| format!("<a href=\"{l}\">{l}</a> ")).collect();
            format!("<title>{title}</title><h1>{title}</h1><p>{text}</p>{links}{}", scripts(&["menu"]))
        }
    };
    (
        200,
        "text/html; charset=utf-8",
        format!("<!doctype html><html{routes}><head></head><body>{body}</body></html>"),
    )
}

/// What was fetched: path → title, of one host.
fn pages(collection: &Path, host: &str) -> BTreeMap<String, Value> {
    let ran = run(["export", "--all", &collection.display().to_string()]);
    let lines = ran.ok().out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    let own = lines.filter_map(|page| {
        let path = page["url"].as_str()?.strip_prefix(&format!("http://{host}"))?;
        let route = path.strip_prefix("/#").filter(|_| host.contains("-hash."));
        Some((route.unwrap_or(path).to_string(), page))
    });
    own.collect()
}

/// Crawls applications beside the same pages as HTML, which they are to be like.
fn crawl_beside_its_twin(sites: &Sites, out: &Path, apps: &[&str]) {
    let mut command = sites.crawl(out);
    for host in apps.iter().chain(&["static.test"]) {
        command.args(["--seed", &format!("http://{host}/")]);
    }
    finish(&mut command).ok();
    let paths = |host: &str| pages(out, host).into_keys().collect::<BTreeSet<String>>();
    let twin = paths("static.test");
    assert_eq!(twin.len(), PAGES);
    for host in apps {
        assert_eq!(paths(host), twin, "{host}: not the pages of the static twin");
        for (path, page) in pages(out, host) {
            let (title, text, _) = content(&path).unwrap();
            assert_eq!(page["title"], title, "{host}{path}");
            assert!(page["text"].as_str().unwrap().contains(&text), "{host}{path}: {}", page["text"]);
            assert_eq!(
                page["duplicate_of"],
                Value::Null,
                "every page has the same payload, and is another page"
            );
        }
    }
}

#[test]
fn applications_with_routes_in_fragments_have_the_same_pages() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let out = dir.path().join("db");
    crawl_beside_its_twin(&sites, &out, &["react-hash.test", "vue-hash.test", "svelte-hash.test"]);
    assert_eq!(sites.asked("static.test/menu.js"), 0, "no static page was worth a browser");
    // Links lead from view to view, and a view is explained like any page.
    run(["explain", &out.display().to_string(), "http://vue-hash.test/#/course/12"])
        .ok()
        .shows(&["rendered, because", "http://vue-hash.test/#/subject/1"]);
}

#[test]
fn applications_are_read_like_the_same_pages_as_html() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let out = dir.path().join("db");
    crawl_beside_its_twin(&sites, &out, &APPS);
    // Not one of the static pages was worth a browser; the applications' programs were asked for once.
    let asked = |what: &str| sites.asked(what);
    assert_eq!(
        ["static.test/menu.js", "react.test/react.js", "vue.test/vue.js", "svelte.test/app-svelte.js"]
            .map(asked),
        [0, 1, 1, 1]
    );
    let folder = out.display().to_string();
    run(["explain", &folder, "http://react.test/course/12"]).ok().shows(&["rendered, because", "→"]);
    let plain = run(["explain", &folder, "http://static.test/course/12"]);
    assert!(!plain.ok().out.contains("rendered"), "{plain}");
    // The archive has what the server sent, what the page asked for, and what came of it.
    let warc: Vec<store::archive::WarcRecord> = warcs(&out)
        .iter()
        .flat_map(|f| store::archive::WarcReader::open(f, Default::default()).unwrap())
        .map(Result::unwrap)
        .collect();
    let one = |kind: &str, target: &str| {
        let found: Vec<_> = warc.iter().filter(|r| r.kind() == kind && r.target() == Some(target)).collect();
        assert_eq!(found.len(), 1, "{kind} {target}");
        String::from_utf8_lossy(&found[0].block).into_owned()
    };
    assert!(one("response", "http://react.test/course/12").contains("<div id=\"root\"></div>"));
    assert!(one("response", "http://react.test/api/course/12").contains("\"title\":\"Course 12\""));
    assert!(one("response", "http://react.test/react.js").contains("React"));
    assert!(one("resource", "urn:dom:http://react.test/course/12").contains("<h1>Course 12</h1>"));
    // Read again from there, pages are what they were.
    let before = pages(&out, "react.test");
    run(["rejudge", &folder]).ok();
    for (path, page) in pages(&out, "react.test") {
        // The judge knows all pages by now; without the rendered text it would find nothing on any.
        let score = |page: &Value| page["score"].as_f64().unwrap();
        assert!((score(&page) - score(&before[&path])).abs() < 0.05, "{path}: {page}");
        assert_eq!(page["relevant"], before[&path]["relevant"], "{path}");
    }
    if let Some(python) = common::python("the archive of rendered pages") {
        let check = "import sys\nfrom warcio.archiveiterator import ArchiveIterator\n\
                     from warcio.checker import Checker\n\
                     n = 0\nfor f in sys.argv[1:]:\n  for r in ArchiveIterator(open(f, 'rb'), \
                     check_digests='raise'):\n    \
                     r.content_stream().read(); n += r.rec_type == 'resource'\nprint('documents', n)";
        let files = warcs(&out);
        finish(Command::new(python).arg("-c").arg(check).args(files))
            .ok()
            .shows(&[&format!("documents {}", APPS.len() * PAGES)]);
        // pywb replays them: what the server sent at the page's own address, what its scripts asked for at
        // theirs, what came of it beside.
        let sites =
            ["http://react.test/course/12", "http://react.test/api/course/12", "http://vue.test/vue.js"];
        let documents = ["http://svelte.test/course/31", "http://vue.test/subject/2"];
        let expected: BTreeSet<String> = (sites.iter().map(|url| ("response", url.to_string())))
            .chain(documents.iter().map(|url| ("resource", format!("urn:dom:{url}"))))
            .map(|(kind, url)| {
                let record = warc.iter().find(|r| r.kind() == kind && r.target() == Some(&url)).unwrap();
                let head = match kind {
                    "response" => record.block.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4,
                    _ => 0,
                };
                let digest = store::archive::payload_digest(&record.block[head..]).0;
                let hex: String = digest.iter().map(|b| format!("{b:02x}")).collect();
                format!("{url}\t200\t{hex}")
            })
            .collect();
        let urls: String =
            expected.iter().map(|line| format!("{}\n", line.split('\t').next().unwrap())).collect();
        let asked = common::file(dir.path(), "urls", &urls);
        let mut replay = Command::new(common::python("pywb on rendered pages").unwrap());
        replay
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/replay.py"))
            .arg(dir.path())
            .args(warcs(&out));
        let replayed = finish(replay.stdin(std::fs::File::open(asked).unwrap()));
        let replayed: BTreeSet<String> = replayed.ok().out.lines().map(str::to_string).collect();
        assert_eq!(replayed, expected);
    }
}

#[test]
fn fragments_are_places_on_a_page_unless_scripts_make_pages_of_them() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let out = dir.path().join("db");
    let mut command = sites.crawl(&out);
    // A route that is named is asked for, and read where it leads.
    finish(command.args(["--seed", "http://react-hash.test/#/subject/2", "--pages", "1"])).ok();
    let read = pages(&out, "react-hash.test");
    assert_eq!(read.keys().collect::<Vec<_>>(), ["/subject/2"]);
    assert_eq!(read["/subject/2"]["title"], "Subject 2");
    assert_eq!((sites.asked("react-hash.test/"), sites.asked("react-hash.test/api/subject/2")), (1, 1));
    // Without a browser there is one page, which is asked for once.
    let plain = dir.path().join("plain");
    let mut command = sites.crawl(&plain);
    finish(command.args(["--seed", "http://vue-hash.test/", "--render=never"])).ok();
    assert_eq!(pages(&plain, "vue-hash.test").len(), 1);
}

/// Ended when the test is.
struct Chromium(std::process::Child);

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn pages_are_shown_in_a_browser_that_somebody_else_started() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let mut command = Command::new(render_program().unwrap());
    command.args(["--headless=new", "--remote-debugging-port=0", "--no-sandbox", "--disable-gpu"]);
    command.arg(format!("--user-data-dir={}", dir.path().join("profile").display()));
    let mut browser = Chromium(command.stderr(std::process::Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(browser.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = said.find_map(|l| l.strip_prefix("DevTools listening on ").map(str::to_string)).unwrap();
    std::thread::spawn(move || said.for_each(drop));
    let out = dir.path().join("db");
    let mut command = sites.crawl(&out);
    command.args(["--seed", "http://vue.test/", "--seed", "http://static.test/", "--browser", &address]);
    finish(&mut command).ok();
    for host in ["vue.test", "static.test"] {
        assert_eq!(pages(&out, host).len(), PAGES, "{host}");
    }
    assert_eq!(browser.0.try_wait().unwrap(), None, "it is not ours to end");
    let port = address.split('/').nth(2).unwrap();
    let doctor = |browser: &str| run(["doctor", "--offline", "--browser", browser]);
    assert!(doctor(&format!("http://{port}")).out.contains(&format!("shown in http://{port}/")));
    // On another machine only if that is said; never over anything but what is known to be one.
    for (address, says) in [
        ("http://browser.example:9222", ["on another machine", "--browser-elsewhere"]),
        ("wss://127.0.0.1/devtools/browser/x", ["no address of a browser", "ws://"]),
    ] {
        let mut command = sites.crawl(&dir.path().join("no"));
        finish(command.args(["--seed", "http://vue.test/", "--browser", address])).fails(2, &says);
    }
    // One that answers and is none: the crawl goes on without.
    let none = dir.path().join("none");
    let mut command = sites.crawl(&none);
    command.args(["-v", "--seed", "http://vue.test/", "--browser", &format!("http://{}", sites.address)]);
    let ran = finish(&mut command);
    ran.ok();
    assert!(ran.err.contains("is no DevTools address"), "{ran}");
    assert_eq!(pages(&none, "vue.test").len(), 1);
}

#[test]
fn a_killed_crawl_leaves_no_browser_and_goes_on() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let out = dir.path().join("db");
    let temporary = dir.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let crawl = || {
        let mut command = sites.crawl(&out);
        command.args(["--seed", "http://react-hash.test/"]).env("TMPDIR", &temporary);
        command
    };
    // Killed whenever so many more requests have come: while the browser starts, while pages are rendered,
    // between two.
    let steps: Vec<usize> = match std::env::var_os("GLEANER_LONG") {
        Some(_) => (1..=40).map(|n| 1 + n * 7 % 13).collect(),
        None => vec![3, 9],
    };
    let requests = || sites.log.lock().unwrap().len();
    for step in steps {
        let before = requests();
        let running = RefCell::new(Running::start(&mut crawl()));
        let is_done = || running.borrow_mut().child.try_wait().unwrap().is_some();
        until("more is asked for, or the crawl is done", || requests() >= before + step || is_done());
        let pid = running.borrow().child.id();
        if !is_done() {
            running.borrow().signal("KILL");
        }
        let browsers = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
            let mine = format!("gleaner-browser-{pid}-");
            lines.filter(|l| String::from_utf8_lossy(l).contains(&mine)).count()
        };
        until("the browser ends with the crawler", || browsers() == 0);
        drop(running);
    }
    finish(&mut crawl()).ok();
    let read = pages(&out, "react-hash.test");
    assert_eq!(read.len(), PAGES);
    assert!(read.iter().all(|(path, page)| page["title"] == content(path).unwrap().0), "{read:?}");
    run(["check", &out.display().to_string()]).ok();
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn one_page_by_hand_and_browsers_that_are_none() {
    let Some(sites) = Sites::start() else { return };
    let dir = folder();
    let resolve = format!("*:{}", sites.address);
    let fetch = |more: &[&str]| {
        let mut command = gleaner();
        command.args(["fetch", "http://vue.test/subject/2", "--allow-private", "--resolve", &resolve]);
        finish(command.args(more))
    };
    let plain = fetch(&["--body"]);
    assert!(!plain.ok().out.contains("Subject 2"), "{plain}");
    let rendered = fetch(&["--body", "--render"]);
    rendered.ok().shows(&["<h1>Subject 2</h1>", "href=\"http://vue.test/course/24\""]);
    assert!(rendered.err.contains("rendered:") && rendered.err.contains("/api/subject/2"), "{rendered}");
    fetch(&["--render=sometimes"]).fails(2, &["auto", "never", "always"]);
    fetch(&["--render", "--browser", "/nowhere/chromium"]).fails(2, &["/nowhere/chromium", "hint:"]);
    fetch(&["--render", "--browser", "/bin/false"]).fails(1, &["/bin/false does not start", "hint:"]);
    // A crawl goes on without a browser, and without being allowed one.
    for (name, more) in [("broken", ["--browser", "/bin/false"].as_slice()), ("never", &["--render=never"])] {
        let out = dir.path().join(name);
        let mut command = sites.crawl(&out);
        command.args(["--seed", "http://vue.test/", "--seed", "http://static.test/"]).args(more);
        finish(&mut command).ok();
        assert_eq!(pages(&out, "static.test").len(), PAGES, "{name}");
        assert_eq!(pages(&out, "vue.test").len(), 1, "{name}");
    }
    let mut command = sites.crawl(&dir.path().join("always"));
    command.args(["--seed", "http://vue.test/", "--render", "--browser", "/nowhere/chromium"]);
    finish(&mut command).fails(2, &["there is no browser at /nowhere/chromium"]);
}
