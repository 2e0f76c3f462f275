//! One child process, as the crawler sees it.

use super::wire;
use super::{DocumentLimits, Program};
use std::io::{self, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A child that waits for a document or reads one. It ends with this value.
pub struct Reader {
    process: Process,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// Documents it has read.
    pub read: u32,
}

impl Reader {
    pub fn start(program: &Program, limits: &DocumentLimits) -> io::Result<Reader> {
        let mut command = Command::new(&program.path);
        command.args(&program.args).arg(limits.memory.to_string()).arg(limits.time.as_millis().to_string());
        // Passwords and keys of the crawler are none of its business, nor is the folder it was started in.
        command.env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Ctrl-C is for the crawler, which decides what becomes of its children.
            command.process_group(0).arg0("gleaner");
        }
        let mut child = command.spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let process = Process(Arc::new(Mutex::new(child)));
        let Some(from) = from else {
            process.kill();
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Reader { process, to, from: BufReader::new(from), read: 0 })
    }

    /// What someone else needs to kill it.
    pub fn process(&self) -> Process {
        self.process.clone()
    }

    /// Waits for the page of a document, as JSON. An error: the child has ended, or makes no sense.
    pub fn ask(&mut self, question: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        wire::send(to, question)?;
        wire::send(to, body)?;
        to.flush()?;
        let page = wire::receive(&mut self.from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.read += 1;
        Ok(page)
    }

    /// Ends it, and says how it ended if it had ended already.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        self.to = None;
        self.process.kill();
        self.process.child().wait()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A child that can be killed by whoever watches the clock.
#[derive(Clone)]
pub struct Process(Arc<Mutex<Child>>);

impl Process {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without effect on one that has ended.
    pub fn kill(&self) {
        let _ = self.child().kill();
    }
}
