//! Shows a crawl while it runs: a small live panel on a terminal, plain lines elsewhere.

use crate::text::{
    bar_curve, count, duration, harmless, host_of, is_silence, outlook, refreshed, shorten, strip_controls,
    why_missed,
};
use console::{Term, style};
use crawl::{Event, Progress};
use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A panel that redraws itself (standard error is a terminal).
    Panel,
    /// A line now and then.
    Lines,
    /// One JSON event per line on standard output.
    Json,
    Quiet,
}

pub struct Display {
    mode: Mode,
    term: Term,
    title: String,
    pages_limit: Option<u64>,
    relevant_limit: Option<u64>,
    time_limit: Option<Duration>,
    last_relevant: VecDeque<String>,
    drawn: usize,
    last_line: Instant,
    started: bool,
    /// Hosts that did not answer and were told of; `None` once a page came.
    silent: Option<HashSet<String>>,
}

const LAST_SHOWN: usize = 5;
const SILENT_SHOWN: usize = 3;
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Display {
    pub fn new(mode: Mode, config: &crawl::Config) -> Display {
        Display {
            mode,
            term: Term::stderr(),
            title: config.title().to_string(),
            pages_limit: config.limits.pages,
            relevant_limit: config.limits.relevant,
            time_limit: config.limits.time.map(|t| t.0),
            last_relevant: VecDeque::new(),
            drawn: 0,
            last_line: Instant::now(),
            started: false,
            silent: Some(HashSet::new()),
        }
    }

    pub fn event(&mut self, event: &Event) {
        if self.mode == Mode::Json {
            // A reader that went away ends the output, not the crawl.
            if let Ok(line) = serde_json::to_string(event) {
                use std::io::Write;
                let _ = writeln!(std::io::stdout().lock(), "{}", harmless(line));
            }
            return;
        }
        match event {
            Event::Page { url, title, score, relevant: true, .. } => {
                let title = strip_controls(title);
                self.last_relevant.push_back(format!(
                    "{score:.2}  {}  {}",
                    strip_controls(url),
                    style(title).dim()
                ));
                if self.last_relevant.len() > LAST_SHOWN {
                    self.last_relevant.pop_front();
                }
                self.silent = None;
            }
            Event::Teacher { text } if self.mode != Mode::Quiet => {
                self.clear();
                eprintln!("{} {}", style("teacher:").cyan().for_stderr(), strip_controls(text));
            }
            Event::Page { .. } => self.silent = None,
            // As long as nothing came, a seed that does not answer is the news.
            Event::Miss { url, kind, .. } if is_silence(kind) && self.mode != Mode::Quiet => {
                if let Some(told) = &mut self.silent
                    && told.len() < SILENT_SHOWN
                    && told.insert(host_of(url).to_string())
                {
                    self.clear();
                    eprintln!(
                        "{} no answer from {} ({}); it is asked again",
                        style("note:").yellow().for_stderr(),
                        strip_controls(host_of(url)),
                        why_missed(kind)
                    );
                }
            }
            Event::Progress(p) => self.progress(p),
            Event::Finished { .. } => self.clear(),
            _ => {}
        }
    }

    fn progress(&mut self, p: &Progress) {
        match self.mode {
            Mode::Panel => self.draw(p),
            Mode::Lines if !self.started || self.last_line.elapsed() >= LINE_EVERY => {
                self.started = true;
                self.last_line = Instant::now();
                if let Some(r) = &p.refreshed {
                    let left = r.planned.saturating_sub(r.visited);
                    eprintln!("{}, {} left", refreshed(r), count(left));
                    return;
                }
                let idle = if p.idle.is_empty() { String::new() } else { format!("; {}", p.idle) };
                let teacher = p.teacher.as_ref();
                let teacher =
                    teacher.map_or(String::new(), |t| format!("; teacher {}", crate::text::spent(t)));
                eprintln!(
                    "{}: {} pages, {} relevant ({:.1} %), {:.1} pages/s, {} pending on {} \
                     hosts{teacher}{idle}",
                    duration(Duration::from_millis(p.elapsed_ms)),
                    count(p.pages),
                    count(p.relevant),
                    100.0 * p.harvest(),
                    p.rate,
                    count(p.pending),
                    count(p.hosts as u64),
                );
            }
            _ => {}
        }
    }

    fn clear(&mut self) {
        let _ = self.term.clear_last_lines(self.drawn);
        self.drawn = 0;
    }

    fn draw(&mut self, p: &Progress) {
        let width = usize::from(self.term.size().1).clamp(40, 160);
        let of = |n: u64, limit: Option<u64>| match limit {
            Some(most) => format!("{}/{}", count(n), count(most)),
            None => count(n),
        };
        let mut lines = vec![
            format!(
                "{}  {}{}",
                style(shorten(&strip_controls(&self.title), width / 2)).bold(),
                style(duration(Duration::from_millis(p.elapsed_ms))).dim(),
                self.eta(p).map_or(String::new(), |d| format!(
                    "{}",
                    style(format!("  about {} to go", duration(d))).dim()
                )),
            ),
            format!(
                "pages {}   relevant {} ({:.1} %)   {:.1} pages/s   {:.1} MB",
                style(of(p.pages, self.pages_limit)).cyan(),
                style(of(p.relevant, self.relevant_limit)).green(),
                100.0 * p.harvest(),
                p.rate,
                p.bytes as f64 / 1e6,
            ),
            format!("harvest {}", style(bar_curve(&p.curve, (width - 10).min(60))).green()),
            format!(
                "frontier {} URLs on {} hosts, {} in flight",
                count(p.pending),
                count(p.hosts as u64),
                p.in_flight
            ),
        ];
        if let Some(r) = &p.refreshed {
            lines.truncate(1);
            lines.push(format!("{}, {} left", refreshed(r), count(r.planned.saturating_sub(r.visited))));
        } else if let Some(o) = &p.outlook {
            lines.push(style(outlook(o)).dim().to_string());
        }
        if let Some(t) = &p.teacher {
            let s = &t.spent;
            let text = format!(
                "teacher {} asked, {} yes, {} no; {}",
                s.questions,
                s.yes,
                s.no,
                crate::text::spent(t)
            );
            lines.push(style(text).dim().to_string());
        }
        if !p.idle.is_empty() {
            lines.push(style(p.idle.clone()).yellow().to_string());
        }
        if !p.errors.is_empty() {
            let mut errors: Vec<_> = p.errors.iter().collect();
            errors.sort_by_key(|(kind, n)| (std::cmp::Reverse(**n), kind.to_string()));
            let text: Vec<String> = errors.iter().take(6).map(|(kind, n)| format!("{kind} {n}")).collect();
            lines.push(style(format!("errors: {}", text.join(", "))).dim().to_string());
        }
        if !self.last_relevant.is_empty() {
            lines.push("last relevant pages:".into());
            lines.extend(self.last_relevant.iter().map(|l| format!("  {l}")));
        }
        let _ = self.term.clear_last_lines(self.drawn);
        self.drawn = lines.len();
        for line in lines {
            let _ = self.term.write_line(&console::truncate_str(&line, width, "…"));
        }
    }

    /// Time to the nearest limit at the present pace.
    fn eta(&self, p: &Progress) -> Option<Duration> {
        let elapsed = Duration::from_millis(p.elapsed_ms);
        let by_pages = self
            .pages_limit
            .filter(|_| p.rate > 0.0)
            .map(|most| most.saturating_sub(p.pages) as f64 / p.rate);
        let by_relevant = self
            .relevant_limit
            .filter(|_| p.relevant > 0 && p.rate > 0.0)
            .map(|most| most.saturating_sub(p.relevant) as f64 / (p.rate * p.harvest()));
        let by_time = self.time_limit.map(|most| most.saturating_sub(elapsed).as_secs_f64());
        let least = [by_pages, by_relevant, by_time].into_iter().flatten().min_by(f64::total_cmp)?;
        Some(Duration::from_secs_f64(least.clamp(0.0, 1e9)))
    }
}
