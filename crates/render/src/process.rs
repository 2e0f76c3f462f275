//! The browser as a process: how it is started, watched and ended.
//!
//! It gets a folder of its own for all it wants to keep, which goes with it; an empty environment; no network
//! of its own where the kernel can take it away (`unshare`), and everywhere a proxy that does not exist. It
//! never runs as root ([`user`]). It is spoken to over a pipe: no port is open that others could use, and when
//! the crawler dies, however it dies, the pipe is closed and the browser ends. A browser that somebody else
//! started ([`Remote`]) is only spoken to: its pages get profiles of their own, whose proxy does not exist.

use crate::protocol::Line;
use crate::socket::{self, Remote};
use crate::{Settings, Which, user};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Names a browser may have, in order of preference.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Longest that a start may take. A machine may have much else to do.
const START: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(10);
/// Between two looks at the memory of the browser's processes.
#[cfg(target_os = "linux")]
const WATCH_EVERY: Duration = Duration::from_millis(250);
/// Folders of browsers begin with this, then the crawler's process id.
const FOLDER: &str = "gleaner-browser-";

/// The first browser that is installed here.
pub fn find() -> Option<PathBuf> {
    if !cfg!(unix) {
        // The pipe is put in place by a shell.
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name))).find(|file| file.is_file())
}

/// A browser that runs. It ends, with all its processes and its folder, when this value does.
pub struct Browser {
    pub line: Line,
    /// What scripts are told that they run in.
    pub user_agent: String,
    /// Somebody else's: it has a network, which its pages must be kept from.
    pub is_far: bool,
    /// The profiles that our pages have in it.
    pub contexts: Contexts,
    own: Option<Own>,
    far: Option<socket::Sender>,
}

/// Names of profiles.
pub type Contexts = Arc<Mutex<HashSet<String>>>;

/// What there is of a browser of our own.
struct Own {
    child: Child,
    folder: Folder,
    closed: Arc<AtomicBool>,
}

impl Browser {
    pub async fn start(settings: &Settings) -> io::Result<Browser> {
        let program = match &settings.browser {
            Which::Program(program) => program,
            Which::Remote(remote) => return Browser::reach(remote, settings).await,
        };
        Folder::remove_leftovers();
        let user = user::other()?;
        if let Some(user) = user.filter(|_| !user::is_open_to_all(program)) {
            return Err(io::Error::other(format!(
                "root's browser runs as a user without rights ({user}), who cannot reach it"
            )));
        }
        let mut problem = None;
        for manner in Manner::all(user) {
            match Browser::start_as(program, settings, manner).await {
                Ok(browser) => {
                    manner.tell();
                    return Ok(browser);
                }
                Err(e) => {
                    tracing::debug!(%e, ?manner, "the browser does not start like this");
                    problem = Some(e);
                }
            }
        }
        Err(problem.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    async fn start_as(program: &Path, settings: &Settings, manner: Manner) -> io::Result<Browser> {
        let folder = Folder::new(manner.user)?;
        let mut child = command(program, settings, &folder.0, manner).spawn()?;
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let line = Line::piped(to.ok_or_else(broken)?, from.ok_or_else(broken)?)?;
        let closed = Arc::new(AtomicBool::new(false));
        #[cfg(target_os = "linux")]
        watch::begin(child.id(), settings, closed.clone())?;
        let browser = Browser {
            line,
            user_agent: String::new(),
            is_far: false,
            contexts: Contexts::default(),
            own: Some(Own { child, folder, closed }),
            far: None,
        };
        browser.greet(settings).await
    }

    /// Takes up the line to a browser that runs already.
    async fn reach(remote: &Remote, settings: &Settings) -> io::Result<Browser> {
        let remote = remote.clone();
        let connected = tokio::task::spawn_blocking(move || remote.connect()).await;
        let (to, from) = connected.map_err(io::Error::other)??;
        let browser = Browser {
            line: Line::far(to.clone(), from)?,
            user_agent: String::new(),
            is_far: true,
            contexts: Contexts::default(),
            own: None,
            far: Some(to),
        };
        browser.greet(settings).await
    }

    async fn greet(mut self, settings: &Settings) -> io::Result<Browser> {
        let version = self.ask(START, "Browser.getVersion", json!({})).await;
        let version = version.ok_or_else(|| io::Error::other("it ends at once, or does not answer"))?;
        let name = version.get("userAgent").and_then(Value::as_str).unwrap_or("Mozilla/5.0");
        self.user_agent = format!("{} {}", name.replace("Headless", ""), settings.signature);
        // Windows that a page opens are closed as soon as they are there.
        let (line, is_far, contexts) = (self.line.clone(), self.is_far, self.contexts.clone());
        let mut events = line.events("");
        line.tell(None, "Target.setDiscoverTargets", json!({ "discover": true }));
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let info = event.params.get("targetInfo").unwrap_or(&Value::Null);
                let text = |key: &str| info.get(key).and_then(Value::as_str);
                let opened = text("openerId").is_some() || text("openerFrameId").is_some();
                // Somebody else's windows stay.
                let is_in = |c: &str| contexts.lock().unwrap_or_else(PoisonError::into_inner).contains(c);
                let ours = !is_far || text("browserContextId").is_some_and(is_in);
                if event.method == "Target.targetCreated" && opened && ours {
                    line.tell(None, "Target.closeTarget", json!({ "targetId": text("targetId") }));
                }
            }
        });
        Ok(self)
    }

    /// A question to the browser itself.
    pub async fn ask(&self, within: Duration, method: &str, params: Value) -> Option<Value> {
        let answer = self.line.ask(None, method, params);
        tokio::time::timeout(within, answer).await.ok()?.ok()?.ok()
    }

    /// Does it still answer?
    pub async fn answers(&self) -> bool {
        self.ask(ANSWER, "Browser.getVersion", json!({})).await.is_some()
    }

    pub fn is_alive(&self) -> bool {
        self.line.is_alive()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(far) = &self.far {
            far.close();
        }
        let Some(own) = &mut self.own else { return };
        own.closed.store(true, Ordering::SeqCst);
        kill_group(own.child.id());
        let _ = own.child.kill();
        let _ = own.child.wait();
        // Its other processes end a moment later, and write until then.
        for _ in 0..20 {
            if own.folder.remove() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(unix)]
fn kill_group(process: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_process: u32) {}

/// How the browser is started.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// In a network of its own, which leads nowhere.
    apart: bool,
    /// With Chromium's own sandbox around each page.
    sandbox: bool,
    /// As somebody else than the crawler.
    user: Option<u32>,
}

impl Manner {
    /// What is tried, the best first.
    fn all(user: Option<u32>) -> impl Iterator<Item = Manner> {
        // Without the sandbox only if the kernel has none for ordinary users, and only as a user who owns
        // nothing.
        let sandboxes: &[bool] = if user.is_none_or(has_namespaces) { &[true] } else { &[true, false] };
        let apart: &[bool] = if can_be_apart() { &[true, false] } else { &[false] };
        let pairs = apart.iter().flat_map(|apart| sandboxes.iter().map(|sandbox| (*apart, *sandbox)));
        pairs.map(move |(apart, sandbox)| Manner { apart, sandbox, user })
    }

    fn tell(self) {
        static SAID: AtomicBool = AtomicBool::new(false);
        if !self.sandbox && !SAID.swap(true, Ordering::SeqCst) {
            tracing::warn!(
                "the browser runs without a sandbox, as a user without rights: this system gives ordinary users no \
                 namespaces (kernel.unprivileged_userns_clone, user.max_user_namespaces)"
            );
        }
    }
}

/// As root: covers a folder, then becomes the user. `--setuid` gives up all groups, too.
const AS_USER: &str = "user=$1; covered=$2; shift 2
    [ -z \"$covered\" ] || mount -t tmpfs -o mode=0,size=4k gleaner \"$covered\" || exit 1
    exec unshare --setgid \"$user\" --setuid \"$user\" -- \"$@\"";

fn command(program: &Path, settings: &Settings, folder: &Path, manner: Manner) -> Command {
    // The protocol is spoken on descriptors 3 and 4; the shell puts our pipes there.
    let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    match manner.user {
        Some(user) if manner.apart => {
            let covered = settings.private.as_ref().and_then(|dir| dir.canonicalize().ok());
            command.args(APART).args([
                "--mount",
                "--propagation",
                "private",
                "--",
                "sh",
                "-c",
                AS_USER,
                "sh",
            ]);
            command.arg(user.to_string()).arg(covered.unwrap_or_default());
        }
        None if manner.apart => {
            command.args(APART).args(["--user", "--map-current-user", "--"]);
        }
        _ => {}
    }
    command.arg(program);
    command.args([
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
    ]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    // Nothing leads anywhere, not even to this machine: all requests are answered over the pipe.
    command.args(["--proxy-server=socks5://gleaner.invalid:1", "--proxy-bypass-list=<-loopback>"]);
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-quic", "--dns-prefetch-disable"]);
    command.arg("--force-webrtc-ip-handling-policy=disable_non_proxied_udp");
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--disable-domain-reliability", "--disable-breakpad", "--disable-crash-reporter"]);
    command.args(["--disable-extensions", "--disable-plugins", "--disable-notifications", "--no-pings"]);
    command.args(["--deny-permission-prompts", "--disable-client-side-phishing-detection", "--mute-audio"]);
    command.args([
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--disable-print-preview",
    ]);
    command.args(["--disable-default-apps", "--password-store=basic", "--use-mock-keychain"]);
    command.args(["--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,\
         LocalNetworkAccessChecks,BackForwardCache,Prerender2,SpareRendererForSitePerProcess"]);
    // A tab that is not in front is as busy as any other.
    command.args(["--disable-renderer-backgrounding", "--disable-background-timer-throttling"]);
    command.arg("--disable-backgrounding-occluded-windows");
    command.arg(format!("--js-flags=--max-old-space-size={}", (settings.memory >> 21).max(64)));
    if !manner.sandbox {
        command.arg("--no-sandbox");
    }
    // Passwords and keys of the crawler are none of its business.
    command.env_clear().env("HOME", folder).current_dir(folder);
    // Relative, because the path of a socket has a hundred characters at most.
    command.env("TMPDIR", ".");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // Ctrl-C is for the crawler, which decides what becomes of its children.
        command.process_group(0);
        if let Some(user) = manner.user.filter(|_| !manner.apart) {
            // All other groups are given up, too.
            command.uid(user).gid(user);
        }
    }
    command
}

/// Starts a program in a network of its own, which leads nowhere.
const APART: &[&str] = &["unshare", "--net"];

/// Can a network be taken away here? Root can do it by itself, others need a namespace of users.
fn can_be_apart() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let own: &[&str] = if user::is_root() { &["--mount"] } else { &["--user", "--map-current-user"] };
        unshares(own, None)
    })
}

/// May this user have namespaces, of which Chromium builds its sandbox?
fn has_namespaces(user: u32) -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| unshares(&["--user", "--map-current-user"], Some(user)))
}

fn unshares(own: &[&str], user: Option<u32>) -> bool {
    let mut command = Command::new("unshare");
    command.args(APART.get(1..).unwrap_or_default()).args(own).args(["--", "true"]);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    if let Some(user) = user {
        use std::os::unix::process::CommandExt;
        command.uid(user).gid(user);
    }
    let _ = user;
    cfg!(target_os = "linux") && command.status().is_ok_and(|s| s.success())
}

/// All that a browser writes is in here.
struct Folder(PathBuf);

impl Folder {
    fn new(user: Option<u32>) -> io::Result<Folder> {
        // Nobody can guess it, and nobody else may look inside.
        let chance = RandomState::new().hash_one(std::process::id());
        let path = user::temporary(user).join(format!("{FOLDER}{}-{chance:016x}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        builder.create(&path)?;
        let folder = Folder(path);
        user::give(&folder.0, user).inspect_err(|_| _ = folder.remove())?;
        Ok(folder)
    }

    fn remove(&self) -> bool {
        std::fs::remove_dir_all(&self.0).is_ok() || !self.0.exists()
    }

    /// A crawler that was killed could not remove its browser's folder.
    fn remove_leftovers() {
        let mut places: Vec<PathBuf> = std::iter::once(std::env::temp_dir()).chain(user::places()).collect();
        places.dedup();
        for entry in places.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten() {
            let name = entry.file_name();
            let process =
                name.to_str().and_then(|n| n.strip_prefix(FOLDER)).and_then(|n| n.split('-').next());
            if process.and_then(|p| p.parse().ok()).is_some_and(|p| !is_running(p)) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(unix)]
fn is_running(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let known = Pid::from_raw(process).map(test_kill_process);
    // Someone else's runs, too.
    !matches!(known, Some(Err(rustix::io::Errno::SRCH)) | None)
}

#[cfg(not(unix))]
fn is_running(_process: i32) -> bool {
    true
}

/// Memory of the browser's processes. A page can ask for any amount; its process is ended when it has too
/// much, and the whole browser when all of them together do.
#[cfg(target_os = "linux")]
mod watch {
    use super::{AtomicBool, Ordering, Settings, WATCH_EVERY, io, kill_group};
    use rustix::process::{Pid, Signal, kill_process};
    use std::sync::Arc;

    pub fn begin(main: u32, settings: &Settings, closed: Arc<AtomicBool>) -> io::Result<()> {
        let one = settings.memory;
        let all = one.saturating_mul(settings.tabs as u64 + 1);
        std::thread::Builder::new().name("gleaner-browser-watch".into()).spawn(move || {
            while !closed.load(Ordering::SeqCst) {
                std::thread::sleep(WATCH_EVERY);
                let processes = group(main);
                let sum: u64 = processes.iter().map(|(_, memory)| memory).sum();
                let largest = processes.iter().filter(|(pid, _)| *pid != main).max_by_key(|(_, m)| *m);
                if sum > all && !closed.load(Ordering::SeqCst) {
                    tracing::warn!(bytes = sum, "the browser takes too much memory: it is ended");
                    return kill_group(main);
                }
                if let Some((pid, bytes)) = largest.filter(|(_, memory)| *memory > one)
                    && let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw)
                {
                    tracing::warn!(bytes, "a page takes too much memory: its process is ended");
                    let _ = kill_process(pid, Signal::KILL);
                }
                if processes.is_empty() {
                    return;
                }
            }
        })?;
        Ok(())
    }

    /// The processes of a group, with the bytes that each has for itself.
    fn group(leader: u32) -> Vec<(u32, u64)> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| group_of(*pid) == Some(leader)).map(|pid| (pid, memory_of(pid))).collect()
    }

    fn group_of(pid: u32) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may hold anything; after it come state, parent, group.
        stat.rsplit(')').next()?.split_whitespace().nth(2)?.parse().ok()
    }

    fn memory_of(pid: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
        let own = status.lines().filter(|l| l.starts_with("RssAnon:") || l.starts_with("RssShmem:"));
        own.filter_map(kilobytes).sum::<u64>() << 10
    }
}
