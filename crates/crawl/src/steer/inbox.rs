//! Labels, and URLs to ask again, for a crawl that another process runs: files in the folder `inbox` of its
//! collection. Whoever has the collection open looks there a few times a second, obeys, and answers beside
//! the order. What nobody took is there for the next run.

use crate::steer::{Command, Effect};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::files;
use types::Problem;

/// An order that is larger is none of ours.
const LARGEST: u64 = 4 << 20;
/// Orders taken at a time.
const AT_ONCE: usize = 100;
/// Between two looks for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// An answer that nobody came for is cleared away after this long.
const OLD: Duration = Duration::from_secs(600);

/// The folder `inbox` of a collection: each order is a file in it.
#[derive(Clone, Debug)]
pub struct Inbox {
    dir: PathBuf,
}

/// An order somebody left.
#[derive(Debug)]
struct WaitingOrder {
    path: PathBuf,
}

/// What came of an order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done { text: String, changed: usize, relevant: Option<bool> },
    Failed(String),
}

impl Inbox {
    /// Of the collection in `dir`.
    pub fn of(dir: &Path) -> Inbox {
        Inbox { dir: dir.join("inbox") }
    }

    /// Orders that wait, the oldest first. Costs next to nothing when there are none.
    fn waiting(&self) -> Vec<WaitingOrder> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in entries.flatten().map(|e| e.path()) {
            match path.extension().and_then(|e| e.to_str()) {
                Some("order") => paths.push(path),
                Some("answer") if is_old(&path) => {
                    let _ = fs::remove_file(&path);
                }
                _ => {}
            }
        }
        paths.sort();
        paths.truncate(AT_ONCE);
        paths.into_iter().map(|path| WaitingOrder { path }).collect()
    }

    /// Has what waits obeyed, and answers. Only labels and URLs to ask again are taken from an inbox.
    pub fn obey(&self, mut obey: impl FnMut(Command) -> Result<Effect, Problem>) {
        for order in self.waiting() {
            let done = match order.command() {
                Ok(command @ (Command::Labels(_) | Command::Retry(_))) => obey(command),
                Ok(_) => Err(Problem::new("only labels and URLs to ask again are taken from an inbox")),
                Err(problem) => Err(problem),
            };
            order.done(&done);
        }
    }

    /// Leaves an order and waits for the answer. `None`: nobody has the collection open (any more), and
    /// nobody took it. `is_running` says whether somebody has.
    pub fn ask(
        &self,
        command: &Command,
        patience: Duration,
        is_running: &dyn Fn() -> bool,
    ) -> Result<Option<Effect>, Problem> {
        static ORDERS: AtomicU64 = AtomicU64::new(0);
        let io = |e: &std::io::Error| Problem::io("write", &self.dir, e);
        fs::create_dir_all(&self.dir).map_err(|e| io(&e))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let n = ORDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{now:024}-{}-{n}", std::process::id());
        let order = self.dir.join(format!("{name}.order"));
        let answer = self.dir.join(format!("{name}.answer"));
        let bytes =
            serde_json::to_vec(command).map_err(|e| Problem::new("an order cannot be left").because(e))?;
        files::replace(&order, &bytes).map_err(|e| io(&e))?;
        let give_up = Instant::now() + patience;
        let mut alone = 0;
        loop {
            if let Some(done) = take_answer(&answer) {
                return done.map(Some);
            }
            // A crawl that just ended may have answered in its last moment.
            alone = if is_running() { 0 } else { alone + 1 };
            if alone > 4 && fs::remove_file(&order).is_ok() {
                return Ok(None);
            }
            if Instant::now() >= give_up {
                return Ok(Some(Effect::says(
                    "asked; the crawl is busy and obeys when it can (the order waits in its folder)",
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl WaitingOrder {
    pub fn command(&self) -> Result<Command, Problem> {
        let strange = |why: String| Problem::new("an order in the inbox cannot be read").because(why);
        let size = fs::metadata(&self.path).map_err(|e| strange(e.to_string()))?.len();
        if size > LARGEST {
            return Err(strange(format!("{size} bytes")));
        }
        let bytes = fs::read(&self.path).map_err(|e| strange(e.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|e| strange(e.to_string()))
    }

    /// Says what came of it. What was obeyed must be on the disk before.
    pub fn done(self, done: &Result<Effect, Problem>) {
        let answer = match done {
            Ok(e) => Answer::Done { text: e.text.clone(), changed: e.changed, relevant: e.relevant },
            Err(problem) => Answer::Failed(problem.to_string()),
        };
        let written = serde_json::to_vec(&answer).map_err(|e| e.to_string()).and_then(|bytes| {
            files::replace(&self.path.with_extension("answer"), &bytes).map_err(|e| e.to_string())
        });
        if let Err(why) = written {
            tracing::warn!(why, "an order was obeyed but could not be answered");
        }
        // An order that stays is obeyed again, which changes nothing.
        if let Err(e) = fs::remove_file(&self.path) {
            tracing::warn!(error = %e, order = %self.path.display(), "an order that was obeyed stays");
        }
    }
}

fn take_answer(path: &Path) -> Option<Result<Effect, Problem>> {
    let bytes = fs::read(path).ok()?;
    let _ = fs::remove_file(path);
    Some(match serde_json::from_slice(&bytes) {
        Ok(Answer::Done { text, changed, relevant }) => {
            Ok(Effect { text, changed, relevant, ..Effect::default() })
        }
        Ok(Answer::Failed(why)) => Err(Problem::new(why)),
        Err(e) => Err(Problem::new("the crawl's answer cannot be read").because(e)),
    })
}

fn is_old(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|m| m.modified()).ok();
    modified.and_then(|t| t.elapsed().ok()).is_some_and(|age| age > OLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::UrlId;

    #[test]
    fn an_order_is_obeyed_once_and_answered() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        assert!(inbox.waiting().is_empty());
        let command = Command::Labels(vec![(UrlId(7), Some(true)), (UrlId(8), None)]);
        let (asked, theirs) = (command.clone(), inbox.clone());
        let client =
            std::thread::spawn(move || theirs.ask(&asked, Duration::from_secs(20), &|| true).unwrap());
        let order = loop {
            if let Some(order) = inbox.waiting().pop() {
                break order;
            }
            std::thread::yield_now();
        };
        assert_eq!(order.command().unwrap(), command);
        order.done(&Ok(Effect { changed: 3, ..Effect::says("labelled") }));
        let effect = client.join().unwrap().unwrap();
        assert_eq!((effect.text.as_str(), effect.changed), ("labelled", 3));
        assert!(inbox.waiting().is_empty());
        assert_eq!(fs::read_dir(dir.path().join("inbox")).unwrap().count(), 0);
    }

    #[test]
    fn nobody_there_and_nonsense() {
        let dir = tempfile::tempdir().unwrap();
        let inbox = Inbox::of(dir.path());
        let none = inbox.ask(&Command::Labels(vec![]), Duration::from_secs(20), &|| false).unwrap();
        assert!(none.is_none() && inbox.waiting().is_empty(), "the order was taken back");
        // Nobody answers in time: the order stays for whoever comes.
        let later = inbox.ask(&Command::Labels(vec![]), Duration::ZERO, &|| true).unwrap().unwrap();
        assert!(later.text.contains("busy"), "{}", later.text);
        fs::write(dir.path().join("inbox/1.order"), "{\"kind\":").unwrap();
        let waiting = inbox.waiting();
        assert_eq!(waiting.len(), 2);
        for order in waiting {
            let failed = order.command().map(|_| Effect::default());
            order.done(&failed);
        }
        assert!(inbox.waiting().is_empty());
        let answer = fs::read_to_string(dir.path().join("inbox/1.answer")).unwrap();
        assert!(answer.contains("cannot be read"), "{answer}");
    }
}
