//! Which pages to ask about next: those whose answers teach a judge most. Pure, and the same for every judge
//! and for whoever answers (a person, a file, a language model).
//!
//! Ten questions are, in this order: uncertain, top, uncertain, top, uncertain, uncertain, top, uncertain,
//! random, top.
//!
//! * **uncertain**: closest to the line between relevant and not, and unlike what was asked before.
//! * **top**: what the judge likes best. Rare topics need the yes that is most likely here, and a wrong
//!   verdict costs most here.
//! * **random**: any page, each as likely as the other. Only these show what a judge is blind to.
//! * **spread**: until the first yes nobody knows where the line is. Instead of uncertain and top ones: what
//!   the judge likes best, spread over hosts and kinds of pages, away from where the answer was no.
//!
//! A page is unlike those asked before when its host, and more so its part of the host, were asked about less
//! often. A page with nearly the text of one that was asked about is never asked about.
//!
//! ```
//! use gleaner_focus::ask::{Candidate, questions};
//! use types::{Canon, UrlId, Verdict};
//!
//! let verdict = |relevance| Verdict { relevant: relevance >= 0.5, relevance, threshold: 0.5, version: 0 };
//! let page = |id, url, relevance, label| {
//!     Candidate::new(UrlId(id), &Canon::exact().parse(url).unwrap(), verdict(relevance), 0, label)
//! };
//! let pages = [
//!     page(1, "http://a.org/yes", 0.9, Some(true)),
//!     page(2, "http://a.org/sure", 0.8, None),
//!     page(3, "http://a.org/perhaps", 0.45, None),
//! ];
//! let asked: Vec<(u32, &str)> = questions(&pages, 2, 7).iter().map(|q| (q.id.0, q.reason.name())).collect();
//! assert_eq!(asked, [(2, "top"), (3, "uncertain")]);
//! ```

use learn::rng::Rng;
use std::collections::HashMap;
use types::{Fingerprint, Url, UrlId, Verdict};

/// A page that could be asked about, or was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The page.
    pub id: UrlId,
    /// What the judge makes of it, 0–1.
    pub relevance: f64,
    /// The line from which on a page is relevant.
    pub line: f64,
    /// Pages of one host have one number.
    pub host: u64,
    /// Pages of one part of a host have one number ([`kind_of`]).
    pub kind: u64,
    /// Of its text; 0 = unknown.
    pub simhash: u64,
    /// What was answered, if it was asked about.
    pub label: Option<bool>,
}

impl Candidate {
    /// A page that was judged. One that is ruled out whatever its score counts as relevance 0.
    pub fn new(id: UrlId, url: &Url, verdict: Verdict, simhash: u64, label: Option<bool>) -> Candidate {
        let (relevance, line) = (verdict.relevance, verdict.threshold);
        let (host, kind) = (number(url.host_key()), kind_of(url));
        Candidate { id, relevance, line, host, kind, simhash, label }.judged(verdict, label)
    }

    /// The same page with what is thought and known of it now.
    pub fn judged(self, verdict: Verdict, label: Option<bool>) -> Candidate {
        // Ruled out by a term or its language, whatever its score: nothing to ask.
        let barred = !verdict.relevant && verdict.relevance >= verdict.threshold;
        let relevance = if barred { 0.0 } else { verdict.relevance };
        Candidate { relevance, line: verdict.threshold, label, ..self }
    }
}

/// Why a page is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Near the line, where an answer tells most.
    Uncertain,
    /// Among the best that nobody was asked about.
    Top,
    /// Drawn at random, to notice what the judge never likes.
    Random,
    /// Well liked, and far from where the answer was no; until the first yes.
    Spread,
}

impl Reason {
    /// As the API and the program call it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Uncertain => "uncertain",
            Reason::Top => "top",
            Reason::Random => "random",
            Reason::Spread => "spread",
        }
    }
}

/// A page to ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The page.
    pub id: UrlId,
    /// Why it was chosen.
    pub reason: Reason,
}

/// The reasons of ten questions in a row. Five in a row are three uncertain and two top ones, as in the
/// sketches this was measured with; one in ten is drawn at random.
const TURNS: [Reason; 10] = {
    use Reason::{Random, Top, Uncertain};
    [Uncertain, Top, Uncertain, Top, Uncertain, Uncertain, Top, Uncertain, Random, Top]
};

/// Texts whose SimHashes differ in so many bits are nearly the same (Manku et al. 2007).
const NEAR_BITS: u32 = 3;

/// As close to the line as so many pages at most (a twentieth of all, if fewer) is uncertain.
const CLOSE: usize = 50;

/// At most `n` pages to ask about, the most useful first. The order of the candidates does not matter; the
/// same seed asks the same questions.
pub fn questions(candidates: &[Candidate], n: usize, rng: u64) -> Vec<Question> {
    let labelled = candidates.iter().filter(|c| c.label.is_some()).count();
    let any_yes = candidates.iter().any(|c| c.label == Some(true));
    let reason = |turn: usize| match TURNS[turn % TURNS.len()] {
        Reason::Random => Reason::Random,
        _ if !any_yes => Reason::Spread,
        reason => reason,
    };
    by_turns(candidates, (labelled..).take(n).map(reason), rng)
}

/// As [`questions`], all for one reason.
pub fn questions_for(candidates: &[Candidate], reason: Reason, n: usize, rng: u64) -> Vec<Question> {
    by_turns(candidates, std::iter::repeat_n(reason, n), rng)
}

fn by_turns(candidates: &[Candidate], reasons: impl Iterator<Item = Reason>, rng: u64) -> Vec<Question> {
    let mut desk = QuestionChooser::new(candidates, rng);
    let mut out = Vec::new();
    for reason in reasons {
        let Some(i) = desk.best(reason) else { break };
        desk.take(i);
        out.push(Question { id: candidates[i].id, reason });
    }
    out
}

/// What was asked, and what is left to ask.
struct QuestionChooser<'a> {
    all: &'a [Candidate],
    rng: u64,
    /// Not to be asked about (any more).
    done: Vec<bool>,
    hosts: HashMap<u64, u32>,
    kinds: HashMap<u64, u32>,
    texts: Vec<u64>,
    /// Per reason, what can be asked by its worth, best first.
    orders: HashMap<Reason, Vec<(f64, usize)>>,
}

impl<'a> QuestionChooser<'a> {
    fn new(all: &'a [Candidate], rng: u64) -> QuestionChooser<'a> {
        let mut desk = QuestionChooser {
            all,
            rng,
            done: vec![false; all.len()],
            hosts: HashMap::new(),
            kinds: HashMap::new(),
            texts: Vec::new(),
            orders: HashMap::new(),
        };
        for (i, _) in all.iter().enumerate().filter(|(_, c)| c.label.is_some()) {
            desk.take(i);
        }
        desk
    }

    /// This one was asked about.
    fn take(&mut self, i: usize) {
        let c = &self.all[i];
        self.done[i] = true;
        *self.hosts.entry(c.host).or_default() += 1;
        *self.kinds.entry(c.kind).or_default() += 1;
        if c.simhash != 0 {
            self.texts.push(c.simhash);
        }
    }

    fn best(&mut self, reason: Reason) -> Option<usize> {
        let order = match self.orders.remove(&reason) {
            Some(order) => order,
            None => self.order(reason),
        };
        let mut best: Option<(f64, usize)> = None;
        for &(worth, i) in &order {
            // Being unlike the others never adds to what a page is worth.
            if best.is_some_and(|(value, _)| worth <= value) {
                break;
            }
            if self.done[i] {
                continue;
            }
            let value = worth * self.novelty(reason, &self.all[i]);
            if best.is_none_or(|(v, _)| value > v) {
                if self.is_known_text(self.all[i].simhash) {
                    self.done[i] = true;
                    continue;
                }
                best = Some((value, i));
            }
        }
        self.orders.insert(reason, order);
        best.map(|(_, i)| i)
    }

    fn order(&self, reason: Reason) -> Vec<(f64, usize)> {
        let left = (0..self.all.len()).filter(|i| !self.done[*i]);
        let sound = |v: f64| if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) };
        let mut order: Vec<(f64, usize)> = match reason {
            Reason::Random => left.map(|i| (1.0, i)).collect(),
            Reason::Top | Reason::Spread => left.map(|i| (sound(self.all[i].relevance), i)).collect(),
            Reason::Uncertain => {
                let away = |c: &Candidate| (sound(c.relevance) - sound(c.line)).abs();
                left.map(|i| (away(&self.all[i]), i)).collect()
            }
        };
        if reason == Reason::Uncertain && !order.is_empty() {
            // Judges have scales of their own: what is close shows in how close others are.
            let mut away: Vec<f64> = order.iter().map(|o| o.0).collect();
            let at = (away.len() / 20).clamp(1, CLOSE) - 1;
            let (_, close, _) = away.select_nth_unstable_by(at, f64::total_cmp);
            let close = close.max(1e-6);
            order.iter_mut().for_each(|(d, _)| *d = 1.0 / (1.0 + *d / close));
        }
        let lot = |i: usize| (Rng(self.rng ^ u64::from(self.all[i].id.0)).draw(), self.all[i].id);
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| lot(a.1).cmp(&lot(b.1))));
        order
    }

    /// 1 for a page of a host and kind that nobody asked about, less for others.
    fn novelty(&self, reason: Reason, c: &Candidate) -> f64 {
        let asked = |of: &HashMap<u64, u32>, key: u64| 1.0 + f64::from(of.get(&key).copied().unwrap_or(0));
        let (host, kind) = (asked(&self.hosts, c.host), asked(&self.kinds, c.kind));
        match reason {
            Reason::Random => 1.0,
            Reason::Top => 1.0 / libm::sqrt(libm::sqrt(kind)),
            Reason::Uncertain => 1.0 / libm::sqrt(kind * libm::sqrt(host)),
            Reason::Spread => 1.0 / (kind * libm::sqrt(host)),
        }
    }

    fn is_known_text(&self, simhash: u64) -> bool {
        simhash != 0 && self.texts.iter().any(|t| (t ^ simhash).count_ones() <= NEAR_BITS)
    }
}

fn number(text: &str) -> u64 {
    Fingerprint::of(text, (0x61_736b, 0)).0
}

/// The part of a host that a page is in: its first two folders, whatever numbers and user names they have.
pub fn kind_of(url: &Url) -> u64 {
    let mut shape = url.host_key().to_string();
    let folders = url.path().rsplit_once('/').map_or("", |(folders, _)| folders);
    for folder in folders.split('/').filter(|f| !f.is_empty()).take(2) {
        shape.push('/');
        if folder.starts_with('~') {
            shape.push('~');
            continue;
        }
        for c in folder.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }) {
            if c != '0' || !shape.ends_with('0') {
                shape.push(c);
            }
        }
    }
    if url.query().is_some() {
        shape.push('?');
    }
    number(&shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn page(id: u32, relevance: f64, place: (u64, u64), label: Option<bool>) -> Candidate {
        Candidate { id: UrlId(id), relevance, line: 0.5, host: place.0, kind: place.1, simhash: 0, label }
    }

    fn asked(pages: &[Candidate], n: usize) -> Vec<(u32, &'static str)> {
        questions(pages, n, 1).iter().map(|q| (q.id.0, q.reason.name())).collect()
    }

    #[test]
    fn until_the_first_yes_the_best_spread_over_hosts_and_kinds() {
        let pages = [
            page(1, 0.90, (1, 11), None),
            page(2, 0.88, (1, 11), None),
            page(3, 0.70, (1, 12), None),
            page(4, 0.60, (2, 21), None),
        ];
        // 1 first. Then 2 is worth 0.88/(2·√2) = 0.31, 3 0.70/√2 = 0.49, 4 0.60. Then 2 0.31, 3 0.49.
        assert_eq!(asked(&pages, 3), [(1, "spread"), (4, "spread"), (3, "spread")]);
        // What was answered with no counts as asked: 2 is worth 0.31, 3 0.49, 4 0.60.
        let mut told = pages;
        told[0].label = Some(false);
        assert_eq!(asked(&told, 1), [(4, "spread")]);
    }

    #[test]
    fn after_it_by_turns() {
        // One yes of another host. Turn 1 (of 0 to 9) is top, 2 uncertain, 3 top, 4 and 5 uncertain.
        let pages = [
            page(0, 0.9, (9, 99), Some(true)),
            page(1, 0.95, (1, 11), None),
            page(2, 0.93, (1, 11), None),
            page(3, 0.80, (1, 12), None),
            page(4, 0.52, (1, 13), None),
            page(5, 0.47, (2, 21), None),
            page(6, 0.10, (2, 21), None),
        ];
        // Top: 1 (0.95). Uncertain: the unit is the least distance, 0.02 (of 4): 4 is worth ½, and less by
        // its host, which was asked once: ½/2^¼ = 0.42; 5 is worth 1/(1 + 1.5) = 0.4. Top: 2 0.93/2^¼ =
        // 0.782, 3 0.80.
        let expected = [(1, "top"), (4, "uncertain"), (3, "top"), (5, "uncertain")];
        assert_eq!(asked(&pages, 4), expected);
        // Turn 8 is drawn from all that is left, and when nothing is left no more is asked.
        let mut yes: Vec<Candidate> = (100..108).map(|id| page(id, 0.9, (9, 99), Some(true))).collect();
        yes.push(page(1, 0.2, (1, 11), None));
        assert_eq!(asked(&yes, 5), [(1, "random")]);
        assert_eq!(asked(&[], 5), []);
    }

    #[test]
    fn for_one_reason_only() {
        let pages = [page(1, 0.9, (1, 11), None), page(2, 0.52, (2, 21), None), page(3, 0.1, (3, 31), None)];
        let first = |reason| questions_for(&pages, reason, 1, 1)[0];
        assert_eq!(first(Reason::Uncertain), Question { id: UrlId(2), reason: Reason::Uncertain });
        assert_eq!(first(Reason::Top), Question { id: UrlId(1), reason: Reason::Top });
        assert_eq!(questions_for(&pages, Reason::Random, 9, 1).len(), 3);
    }

    #[test]
    fn nearly_the_same_text_is_not_asked_about_twice() {
        let text =
            |id, relevance, simhash, label| Candidate { simhash, ..page(id, relevance, (1, 1), label) };
        let pages = [
            text(1, 0.5, 0xff00, Some(true)),
            // One and three bits away from what was asked.
            text(2, 0.99, 0xff01, None),
            text(3, 0.98, 0xff07, None),
            // Four bits away.
            text(4, 0.97, 0xff0f, None),
            // As the one before.
            text(5, 0.96, 0xff0f, None),
            // Nothing is known of their texts.
            text(6, 0.1, 0, None),
            text(7, 0.1, 0, None),
        ];
        let mut ids: Vec<u32> = questions(&pages, 10, 1).iter().map(|q| q.id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, [4, 6, 7]);
    }

    #[test]
    fn the_same_questions_in_whatever_order_pages_come() {
        let mut rng = Rng(5);
        let mut pages: Vec<Candidate> = (0..500)
            .map(|id| {
                let (r, k) = (rng.unit(), rng.below(40) as u64);
                page(
                    id,
                    if id % 7 == 0 { 0.5 } else { r },
                    (k % 5, k),
                    (id % 50 == 0).then_some(id % 100 == 0),
                )
            })
            .collect();
        let before = questions(&pages, 40, 3);
        assert_eq!(before.len(), 40);
        rng.shuffle(&mut pages);
        assert_eq!(questions(&pages, 40, 3), before);
        // Another seed draws other random pages, and of equals others.
        assert_ne!(questions(&pages, 40, 4), before);
        let random = |seed| {
            let all = questions(&pages, 40, seed);
            all.into_iter().filter(|q| q.reason == Reason::Random).collect::<Vec<_>>()
        };
        assert_eq!(random(3).len(), 4);
        assert_ne!(random(3), random(4));
    }

    #[test]
    fn no_number_upsets_it() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 7.0];
        let mut pages: Vec<Candidate> = (0..4).map(|i| page(i, odd[i as usize], (1, 1), None)).collect();
        pages[0].line = f64::NAN;
        assert_eq!(questions(&pages, 9, 0).len(), 4);
        pages[3].label = Some(true);
        assert_eq!(questions(&pages, 9, 0).len(), 3);
    }

    #[test]
    fn many_pages_and_many_copies() {
        // 200,000 pages, half of them copies of one text: only the first copy may be asked about.
        let mut rng = Rng(1);
        let pages: Vec<Candidate> = (0..200_000)
            .map(|id| {
                let simhash = if id % 2 == 0 { 0xabcd_ef01_2345 } else { rng.draw() };
                let c = page(id, rng.unit(), (u64::from(id % 1000), u64::from(id % 9000)), None);
                Candidate { simhash, label: (id < 99).then_some(id % 3 == 1), ..c }
            })
            .collect();
        let asked = questions(&pages, 100, 1);
        assert_eq!(asked.len(), 100);
        assert!(asked.iter().all(|q| q.id.0 % 2 == 1), "copies of labelled pages");
    }

    #[test]
    fn kinds_are_parts_of_hosts() {
        let kind = |url: &str| kind_of(&Canon::exact().parse(url).unwrap());
        let same = |a: &str, b: &str| kind(a) == kind(b);
        assert!(same("http://a.org/docs/9.6/sql.html", "http://a.org/docs/10.12/app.html"));
        assert!(same("http://a.org/~ann/", "http://a.org/~bob/index.html"));
        assert!(same("http://a.org/a/b/c/d.html", "http://a.org/a/b/e.html"));
        assert!(!same("http://a.org/docs/x", "http://b.org/docs/x"));
        assert!(!same("http://a.org/x", "http://a.org/x?y=1"));
        assert!(!same("http://a.org/news/x", "http://a.org/docs/x"));
    }

    #[test]
    fn what_the_user_ruled_out_is_not_asked_about_first() {
        let url = Canon::exact().parse("http://a.org/").unwrap();
        let barred = Verdict { relevant: false, relevance: 0.9, threshold: 0.5, version: 0 };
        assert_eq!(Candidate::new(UrlId(1), &url, barred, 0, None).relevance, 0.0);
        let fine = Verdict { relevant: true, ..barred };
        assert_eq!(Candidate::new(UrlId(1), &url, fine, 0, None).relevance, 0.9);
    }
}
