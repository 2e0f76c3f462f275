//! The program in a terminal (of `script`), and someone at its keyboard.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

pub struct Terminal {
    pub child: Child,
    keyboard: ChildStdin,
    shown: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    from: usize,
    /// Whoever hangs is not waited for any longer.
    until: Instant,
}

impl Terminal {
    /// `gleaner COMMAND`; `before` is run first in the same terminal (`stty …;`).
    pub fn start(dir: &Path, before: &str, command: &str) -> Terminal {
        let line = format!("{before} exec {} {command}", env!("CARGO_BIN_EXE_gleaner"));
        let mut child = Command::new("script")
            .args(["-qec", line.trim_start(), "/dev/null"])
            .current_dir(dir)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`script` of util-linux");
        let keyboard = child.stdin.take().unwrap();
        let mut screen = child.stdout.take().unwrap();
        let (tell, shown) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = screen.read(&mut buffer) {
                let _ = tell.send(buffer[..n].to_vec());
            }
        });
        let until = Instant::now() + Duration::from_secs(120);
        Terminal { child, keyboard, shown, seen: Vec::new(), from: 0, until }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    fn more(&self) -> Option<Vec<u8>> {
        self.shown.recv_timeout(self.until.saturating_duration_since(Instant::now())).ok()
    }

    /// What was shown since the last key, once it contains `prompt`.
    pub fn wait(&mut self, prompt: &str) -> String {
        loop {
            let new = String::from_utf8_lossy(&self.seen[self.from..]).into_owned();
            if new.contains(prompt) {
                return new;
            }
            let more = self.more().unwrap_or_else(|| panic!("no `{prompt}` in {}", self.text()));
            self.seen.extend(more);
        }
    }

    pub fn press(&mut self, keys: &str) {
        self.from = self.seen.len();
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// The exit code, and everything that was shown.
    pub fn end(mut self) -> (i32, String) {
        while let Some(more) = self.more() {
            self.seen.extend(more);
        }
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, self.text())
    }
}
