//! Tells others what is new in a collection: a signed webhook, an e-mail. What could not be delivered is kept
//! and can be sent again.
//!
//! ```text
//! DIR/notify.json   what was told already; letters that are on their way, or were given up
//! DIR/notify.lock   one process tells at a time
//! ```
//! A letter is written down before it is sent and struck out when it was taken, so a process that dies in
//! between sends it once more: its number tells the receiver (`webhook-id`, `Message-ID`). It works beside a
//! running crawl.

mod letter;
mod mail;
mod webhook;

pub use letter::Letter;

use crawl::config::{Config, NotifySection};
use crawl::reader::{Change, ChangeKind, Reader};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::{Millis, Problem};

const FILE: &str = "notify.json";
const LOCK: &str = "notify.lock";
const FORMAT: u32 = 1;
/// A page is committed some time after it was asked for: so far back is looked for what was not told yet.
const BEHIND: u64 = 6 * 3_600_000;
/// A receiver that wants a longer pause is told the next time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a letter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    Webhook,
    Mail,
}

impl Channel {
    pub fn name(self) -> &'static str {
        match self {
            Channel::Webhook => "webhook",
            Channel::Mail => "mail",
        }
    }
}

/// A letter with what came of sending it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivery {
    pub way: Channel,
    /// How often it was tried, over all runs.
    pub tries: u32,
    /// When it was tried last.
    pub at: Millis,
    /// Why it was not taken; `None`: it was not tried, or the process died.
    pub why: Option<String>,
    pub letter: Letter,
}

/// What is known of who was told what.
#[derive(Debug, Default, Serialize, Deserialize)]
struct NotifyState {
    format: u32,
    /// What is older than this was told, or is not to be told.
    until: Option<Millis>,
    /// What is not much older, one by one.
    told: BTreeSet<(u64, ChangeTold)>,
    /// Not delivered, the oldest first.
    letters: Vec<Delivery>,
}

/// Which change of which page.
type ChangeTold = (u32, String);

/// Why something was not taken.
pub struct Failed {
    pub why: String,
    /// It will not be better the next time.
    pub for_good: bool,
    /// It asks to be left alone for so long.
    pub wait: Option<Duration>,
}

/// What came of telling.
#[derive(Debug, Default, Serialize)]
pub struct NotifyReport {
    /// Changes that were new.
    pub changes: u64,
    /// Letters that were taken.
    pub delivered: u64,
    /// Letters that were not; they are kept.
    pub failed: u64,
    /// Why, of the first.
    pub why: Option<String>,
}

/// The letters of one collection, held by this process.
pub struct Outbox {
    dir: PathBuf,
    kept: NotifyState,
    _lock: File,
}

impl Outbox {
    pub fn open(dir: &Path) -> Result<Outbox, Problem> {
        let path = dir.join(LOCK);
        let lock = store::files::open_or_create(&path)?;
        lock.lock().map_err(|e| Problem::io("lock", &path, &e))?;
        Ok(Outbox { dir: dir.to_path_buf(), kept: read(dir)?, _lock: lock })
    }

    fn save(&self) -> Result<(), Problem> {
        let path = self.dir.join(FILE);
        let bytes = serde_json::to_vec_pretty(&self.kept)
            .map_err(|e| Problem::new("cannot write down who was told what").because(e))?;
        store::files::replace(&path, &bytes).map_err(|e| Problem::io("write", &path, &e))
    }

    /// Tells everyone whom the topic names what is new since they were last told; the first time, since
    /// `first`.
    pub fn tell(&mut self, reader: &Reader, first: Millis, now: Millis) -> Result<NotifyReport, Problem> {
        let config = reader.config();
        let ways = Channels::of(config)?;
        let new = self.new_changes(reader, first)?;
        let mut told = NotifyReport { changes: new.len() as u64, ..NotifyReport::default() };
        if let Some(newest) = new.iter().map(|c| c.at).max() {
            let since = self.kept.until.unwrap_or(first);
            for letter in Letter::of(config.title(), since, &new)? {
                for way in ways.all() {
                    let letter = letter.clone();
                    self.kept.letters.push(Delivery { way, tries: 0, at: now, why: None, letter });
                }
            }
            self.note(&new, newest);
        } else if self.kept.until.is_none() {
            self.kept.until = Some(first);
        }
        self.save()?;
        // Those that no process has given up: ours, and of one that died.
        self.send(&ways, &config.notify, |d| d.why.is_none(), &mut told)?;
        Ok(told)
    }

    /// Sends again what was given up.
    pub fn resend(&mut self, config: &Config) -> Result<NotifyReport, Problem> {
        let ways = Channels::of(config)?;
        let mut told = NotifyReport::default();
        self.send(&ways, &config.notify, |_| true, &mut told)?;
        Ok(told)
    }

    /// Forgets what was given up; how much that was.
    pub fn forget(&mut self) -> Result<usize, Problem> {
        let n = self.kept.letters.len();
        self.kept.letters.clear();
        self.save()?;
        Ok(n)
    }

    /// What is new, and was not told: what happened since the last notice, and pages that came late.
    fn new_changes(&self, reader: &Reader, first: Millis) -> Result<Vec<Change>, Problem> {
        let Some(until) = self.kept.until else { return Ok(reader.changes(first, false)?.changes) };
        let mut late = reader.changes(Millis(until.0.saturating_sub(BEHIND)), false)?.changes;
        late.retain(|c| !self.kept.told.contains(&key(c)));
        let mut new = reader.changes(Millis(until.0 + 1), false)?.changes;
        let is_new: BTreeSet<u32> =
            late.iter().filter(|c| c.kind == ChangeKind::New).map(|c| c.id.0).collect();
        new.retain(|c| !self.kept.told.contains(&key(c)) && !is_new.contains(&c.id.0));
        // Of what both have the shorter difference is told: the rest of the other was told before.
        let known: BTreeSet<(u64, ChangeTold)> = new.iter().map(key).collect();
        new.extend(late.into_iter().filter(|c| !known.contains(&key(c))));
        Ok(new)
    }

    fn note(&mut self, new: &[Change], newest: Millis) {
        self.kept.told.extend(new.iter().map(key));
        let until = self.kept.until.map_or(newest, |until| until.max(newest));
        let old = until.0.saturating_sub(2 * BEHIND);
        self.kept.told.retain(|(at, _)| *at >= old);
        self.kept.until = Some(until);
    }

    /// Each letter until it is taken or given up. What came of it is written down at once.
    fn send(
        &mut self,
        ways: &Channels,
        section: &NotifySection,
        which: impl Fn(&Delivery) -> bool,
        told: &mut NotifyReport,
    ) -> Result<(), Problem> {
        let mut i = 0;
        while let Some(delivery) = self.kept.letters.get_mut(i) {
            if !which(delivery) {
                i += 1;
                continue;
            }
            let result = ways.deliver(delivery, section);
            delivery.at = Millis::now();
            match result {
                Ok(()) => {
                    told.delivered += 1;
                    self.kept.letters.remove(i);
                }
                Err(why) => {
                    told.failed += 1;
                    told.why.get_or_insert(why.clone());
                    delivery.why = Some(why);
                    i += 1;
                }
            }
            self.save()?;
        }
        Ok(())
    }
}

/// What was not delivered, the oldest first.
pub fn undelivered(dir: &Path) -> Result<Vec<Delivery>, Problem> {
    Ok(read(dir)?.letters)
}

fn key(change: &Change) -> (u64, ChangeTold) {
    (change.at.0, (change.id.0, change.kind.name().to_string()))
}

fn read(dir: &Path) -> Result<NotifyState, Problem> {
    let path = dir.join(FILE);
    let kept = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(NotifyState { format: FORMAT, ..NotifyState::default() });
        }
        Err(e) => return Err(Problem::io("read", &path, &e)),
    };
    let bad = |why: String| {
        Problem::new(format!("{} cannot be read", path.display())).because(why).hint(
            "move it away: then everything of the last days is told again, and what was not delivered is \
             forgotten",
        )
    };
    let kept: NotifyState = serde_json::from_slice(&kept).map_err(|e| bad(e.to_string()))?;
    match kept.format {
        FORMAT => Ok(kept),
        other => Err(bad(format!("it has format {other}; this version knows {FORMAT}"))),
    }
}

/// How letters go out.
struct Channels {
    webhook: Option<webhook::Webhook>,
    mail: Option<mail::Mail>,
}

impl Channels {
    /// Whom the topic names. What is missing in the environment is said before anything is done.
    fn of(config: &Config) -> Result<Channels, Problem> {
        let ways = Channels { webhook: webhook::Webhook::of(config)?, mail: mail::Mail::of(&config.notify)? };
        match ways.all().first() {
            Some(_) => Ok(ways),
            None => Err(Problem::usage("nobody is to be told").hint(
                "name them in the collection's topic.toml: [notify] webhook = \"https://…\", or mail, from \
                 and to",
            )),
        }
    }

    fn all(&self) -> Vec<Channel> {
        let webhook = self.webhook.as_ref().map(|_| Channel::Webhook);
        webhook.into_iter().chain(self.mail.as_ref().map(|_| Channel::Mail)).collect()
    }

    /// Tries until it is taken, or will not be.
    fn deliver(&self, delivery: &mut Delivery, section: &NotifySection) -> Result<(), String> {
        let mut pause = section.pause.0;
        for left in (0..section.tries).rev() {
            delivery.tries += 1;
            let sent = match (delivery.way, &self.webhook, &self.mail) {
                (Channel::Webhook, Some(webhook), _) => webhook.send(&delivery.letter, section.timeout.0),
                (Channel::Mail, _, Some(mail)) => mail.send(&delivery.letter),
                (way, _, _) => return Err(format!("[notify] names no {} any more", way.name())),
            };
            let Err(failed) = sent else { return Ok(()) };
            let wait = failed.wait.unwrap_or(pause);
            if failed.for_good || left == 0 || wait > PATIENCE {
                return Err(failed.why);
            }
            std::thread::sleep(wait);
            pause = pause.saturating_mul(2);
        }
        Err("it was not tried".into())
    }
}
