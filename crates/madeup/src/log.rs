//! The server's own record of who asked what and when: the witness of the politeness and crash tests. It
//! lives on the server's side, so it survives the crawler being killed.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use types::Problem;

/// One request, from its arrival to the last byte handed to the socket. Times are milliseconds since the Unix
/// epoch and never go back while a server lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// When the head of the request was read.
    pub arrived: u64,
    /// When the last byte was handed to the socket, or the connection ended.
    pub finished: u64,
    /// 0 when the connection was closed without an answer.
    pub status: u16,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// False when the client went away, or the answer was cut on purpose.
    pub whole: bool,
    /// The `Host` header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The `User-Agent` header.
    pub agent: String,
}

impl Entry {
    /// One line of the log file, without its end.
    pub fn line(&self) -> String {
        let whole = if self.whole { "whole" } else { "cut" };
        let Entry { arrived, finished, status, bytes, .. } = self;
        format!(
            "{arrived}\t{finished}\t{status}\t{bytes}\t{whole}\t{}\t{}\t{}",
            tidy(&self.host),
            tidy(&self.path),
            tidy(&self.agent)
        )
    }

    /// Reads a line of the log file; `None` for any other text.
    pub fn parse(line: &str) -> Option<Entry> {
        let mut fields = line.split('\t');
        Some(Entry {
            arrived: fields.next()?.parse().ok()?,
            finished: fields.next()?.parse().ok()?,
            status: fields.next()?.parse().ok()?,
            bytes: fields.next()?.parse().ok()?,
            whole: fields.next()? == "whole",
            host: fields.next()?.to_string(),
            path: fields.next()?.to_string(),
            agent: fields.next()?.to_string(),
        })
    }
}

/// Control characters would break the lines.
fn tidy(s: &str) -> String {
    s.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where requests are recorded. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: u64,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    keep: bool,
    file: Option<File>,
}

impl Log {
    /// Kept in memory, for tests in the same process.
    pub fn in_memory() -> Log {
        Log::with(State { keep: true, ..State::default() })
    }

    /// Appended to a file, one flushed line per request, and not kept in memory: a server that runs for days
    /// stays small.
    pub fn to_file(path: &Path) -> Result<Log, Problem> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| Problem::io("open the log", path, &e))?;
        Ok(Log::with(State { file: Some(file), ..State::default() }))
    }

    /// Nothing is recorded.
    pub fn off() -> Log {
        Log::with(State::default())
    }

    fn with(state: State) -> Log {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        Log(Arc::new(Inner { epoch, started: Instant::now(), state: Mutex::new(state) }))
    }

    /// The time that entries are stamped with.
    pub fn now(&self) -> u64 {
        self.0.epoch + self.0.started.elapsed().as_millis() as u64
    }

    pub(super) fn push(&self, entry: Entry) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut state.file {
            // One write call per line: lines of a killed server are whole. A full disk must not stop the
            // server.
            let _ = file.write_all((entry.line() + "\n").as_bytes());
        }
        if state.keep {
            state.entries.push_back(entry);
        }
    }

    /// Finished requests, in the order they finished.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).entries.iter().cloned().collect()
    }
}

/// Reads a log file back; a line cut short by a crash is left out.
pub fn read_log(path: &Path) -> Result<Vec<Entry>, Problem> {
    let text = std::fs::read_to_string(path).map_err(|e| Problem::io("read the log", path, &e))?;
    Ok(text.lines().filter_map(Entry::parse).collect())
}

/// The shortest time between the arrivals of two requests to a host; `None` with fewer than two.
pub fn min_gap(entries: &[Entry], host: &str) -> Option<u64> {
    let mut times: Vec<u64> = entries.iter().filter(|e| e.host == host).map(|e| e.arrived).collect();
    times.sort_unstable();
    times.iter().zip(times.iter().skip(1)).map(|(a, b)| b - a).min()
}

/// The most requests to a host that were under way at once.
pub fn max_in_flight(entries: &[Entry], host: &str) -> usize {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for e in entries.iter().filter(|e| e.host == host) {
        changes.push((e.arrived, 1));
        changes.push((e.finished, -1));
    }
    // Within a millisecond an end comes before a start: times are too coarse to accuse anybody.
    changes.sort_unstable();
    let mut now = 0i64;
    changes
        .iter()
        .map(|(_, change)| {
            now += change;
            now
        })
        .max()
        .unwrap_or(0)
        .max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(host: &str, arrived: u64, finished: u64) -> Entry {
        Entry {
            arrived,
            finished,
            status: 200,
            bytes: 9,
            whole: true,
            host: host.into(),
            path: "/a?b".into(),
            agent: "me/1".into(),
        }
    }

    #[test]
    fn a_line_reads_back() {
        let e = entry("a.example", 5, 9);
        assert_eq!(e.line(), "5\t9\t200\t9\twhole\ta.example\t/a?b\tme/1");
        assert_eq!(Entry::parse(&e.line()), Some(e.clone()));
        assert_eq!(Entry::parse("5\t9\t200"), None);
        let odd = Entry { agent: "two\tparts\n".into(), whole: false, ..e };
        assert_eq!(Entry::parse(&odd.line()).map(|e| (e.agent, e.whole)), Some(("two parts ".into(), false)));
    }

    #[test]
    fn gaps_and_overlaps() {
        let all = [
            entry("a", 100, 130),
            entry("b", 105, 400),
            entry("a", 180, 300),
            entry("a", 290, 310),
            entry("a", 310, 320),
        ];
        assert_eq!(min_gap(&all, "a"), Some(20));
        assert_eq!(min_gap(&all, "b"), None);
        assert_eq!(max_in_flight(&all, "a"), 2);
        assert_eq!(max_in_flight(&all, "b"), 1);
        assert_eq!(max_in_flight(&all, "c"), 0);
        // Answered within the millisecond of its arrival: nothing overlaps, and nothing goes below zero.
        assert_eq!(max_in_flight(&[entry("d", 5, 5), entry("d", 6, 8)], "d"), 1);
    }
}
