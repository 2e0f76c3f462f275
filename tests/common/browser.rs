//! A real browser without a window (Debian's `chromium`), driven over the DevTools protocol through a pipe:
//! no driver program, no sockets, no further libraries.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// What went wrong in the page: uncaught errors, console errors, blocked by policy, dialogs.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Where pictures of this part go: `$GLEANER_PICTURES`, or a folder below `target/tmp`.
pub fn pictures(part: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_TARGET_TMPDIR")).join(part);
    let dir = std::env::var_os("GLEANER_PICTURES").map_or_else(own, PathBuf::from);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

impl Browser {
    /// `None` (said loudly) when there is no browser on this machine.
    pub fn start() -> Option<Browser> {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|p| Command::new(p).arg("--version").output().is_ok_and(|o| o.status.success()));
        let Some(program) = program else {
            super::tools::missing("the browser tests: no chromium (Debian's package `chromium`)");
            return None;
        };
        let profile = super::folder();
        // The protocol is spoken on descriptors 3 and 4; the shell puts our pipes there.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script, program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox"])
            .args(["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions"])
            .args(["--disable-background-networking", "--disable-component-update", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while out.read_until(0, &mut bytes).is_ok_and(|n| n > 0) {
                bytes.pop();
                if let Ok(message) = serde_json::from_slice(&bytes)
                    && send.send(message).is_err()
                {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser =
            Browser { child, to, from, next: 0, session: None, complaints: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1280, 900);
        Some(browser)
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(s) = &self.session {
            message["sessionId"] = json!(s);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).and_then(|()| self.to.flush()).expect("the browser listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.from.recv_timeout(left).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.next {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.event(&answer);
        }
    }

    fn event(&mut self, e: &Value) {
        let p = &e["params"];
        match e["method"].as_str().unwrap_or("") {
            "Runtime.exceptionThrown" => self.complaints.push(format!("uncaught: {}", p["exceptionDetails"])),
            "Page.javascriptDialogOpening" => {
                self.complaints.push(format!("dialog: {}", p["message"]));
                // Or the page would wait for ever.
                self.next += 1;
                let id = self.next;
                let mut bytes = serde_json::to_vec(&json!({
                    "id": id, "method": "Page.handleJavaScriptDialog", "params": { "accept": false },
                    "sessionId": self.session,
                }))
                .unwrap();
                bytes.push(0);
                let _ = self.to.write_all(&bytes).and_then(|()| self.to.flush());
            }
            "Log.entryAdded" if p["entry"]["level"] == "error" => {
                self.complaints.push(format!("{} {}", p["entry"]["text"], p["entry"]["url"]));
            }
            "Runtime.consoleAPICalled" if p["type"] == "error" => {
                self.complaints.push(format!("console: {}", p["args"]));
            }
            _ => {}
        }
    }

    pub fn size(&mut self, width: u32, height: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 }),
        );
    }

    pub fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] }),
        );
    }

    #[track_caller]
    pub fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// The value of an expression (or of the promise it gives).
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let got = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        assert!(got.get("exceptionDetails").is_none(), "{expression}: {}", got["exceptionDetails"]);
        got["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait(&mut self, what: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            // A page that is just loading has no body yet.
            if self.eval(&format!("(() => {{ try {{ return !!({what}); }} catch {{ return false; }} }})()"))
                == true
            {
                return;
            }
            if Instant::now() > until {
                let text = self.eval("document.body.innerText.slice(0, 3000)");
                panic!("still not so: {what}\n{text}\n{:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn text(&mut self) -> String {
        self.eval("document.body.innerText").as_str().unwrap_or("").to_string()
    }

    /// Presses a key, as a person would.
    pub fn key(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.wait(&format!("document.querySelector({})", json!(selector)));
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Types a text into a field, as far as the page can tell.
    #[track_caller]
    pub fn fill(&mut self, id: &str, text: &str) {
        self.eval(&format!(
            "(() => {{ const e = document.getElementById('{id}'); e.value = {}; e.dispatchEvent(new \
             Event('input')); }})()",
            json!(text)
        ));
    }

    /// A picture of the whole page.
    pub fn picture(&mut self, path: &Path) {
        self.photograph(path, true);
    }

    /// A picture of what fits on the screen.
    pub fn screen(&mut self, path: &Path) {
        self.photograph(path, false);
    }

    fn photograph(&mut self, path: &Path, whole: bool) {
        std::thread::sleep(Duration::from_millis(150));
        let got =
            self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": whole }));
        std::fs::write(path, base64(got["data"].as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.as_bytes().chunks(4) {
        let known: Vec<u8> = four.iter().filter(|c| **c != b'=').map(|c| value(*c)).collect();
        let bits = known.iter().fold(0u32, |b, v| b << 6 | u32::from(*v)) << (6 * (4 - known.len()));
        out.extend(bits.to_be_bytes().iter().skip(1).take(known.len().saturating_sub(1)));
    }
    out
}
