//! S3-compatible storage of one's own for tests: a real server of somebody else's, gone when the test is.

use crate::common::{python, script};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub const BUCKET: &str = "crawls";

pub struct Storage {
    pub port: u16,
    child: Child,
    python: PathBuf,
    /// May put and get.
    pub writer: (String, String),
    /// May only list.
    pub reader: (String, String),
}

impl Storage {
    /// `None` (and a word about it) when there is no Python with moto.
    pub fn start() -> Option<Storage> {
        let python = python("archives in buckets")?;
        let there = Command::new(&python).args(["-c", "import moto.server, boto3, flask_cors"]).output();
        if !there.is_ok_and(|o| o.status.success()) {
            super::tools::missing("archives in buckets: GLEANER_PY has no moto");
            return None;
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/py/bucket.py");
        let mut child = Command::new(&python)
            .arg(path)
            .args(["serve", BUCKET])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [port, id, secret, id2, secret2] = words[..] else {
            panic!("the storage did not start: `{line}`")
        };
        Some(Storage {
            port: port.parse().unwrap(),
            child,
            python,
            writer: (id.into(), secret.into()),
            reader: (id2.into(), secret2.into()),
        })
    }

    /// The environment of a program that uses it.
    pub fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.environment_at(command, self.port, &self.writer)
    }

    pub fn environment_at<'a>(
        &self,
        command: &'a mut Command,
        port: u16,
        (id, secret): &(String, String),
    ) -> &'a mut Command {
        command
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))
            .env("AWS_ACCESS_KEY_ID", id)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .env_remove("AWS_SESSION_TOKEN")
            .env("AWS_REGION", "us-east-1")
    }

    /// Stops it for a while, as a server that does not answer.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
    }

    /// Downloads everything.
    pub fn fetch(&self, dir: &Path) -> usize {
        let (id, secret) = &self.writer;
        let port = self.port.to_string();
        let ran =
            script(&self.python, "bucket.py", ["fetch", &port, id, secret, BUCKET, dir.to_str().unwrap()]);
        ran.ok().out.trim().parse().unwrap()
    }

    /// Every page of an export (JSON lines) is where it says it is.
    pub fn check(&self, pages: &Path) -> usize {
        let (id, secret) = &self.writer;
        let port = self.port.to_string();
        let ran = script(&self.python, "bucket.py", ["check", &port, id, secret, pages.to_str().unwrap()]);
        ran.ok().out.trim().parse().unwrap()
    }

    /// What warcio says of these files.
    pub fn check_warcs(&self, files: &[PathBuf]) -> String {
        script(&self.python, "check_warc.py", files).ok().out.clone()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
