//! The link graph of a web, as the crawl loop would see it, and what can be reached from given seeds.
//!
//! A node is a page that counts: status 200 and a type that can be extracted. Redirects are followed (they
//! are no nodes: a link to one is a link to where it ends), errors and links out of the web vanish. Built
//! once per web from all seeds anyone will use; each run then asks for the part its own seeds reach.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use types::{Canon, Fetched, Fingerprint, Page, PageKind, Payload, Url};

/// Redirects in a row before a chain is given up, as in the crawl loop.
pub const MAX_HOPS: usize = 10;

/// What a web says of one URL, reduced to what the graph needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A page, with its links in order.
    Page(Vec<Url>),
    /// Leads to another URL.
    Redirect(Url),
    /// No page, or one that cannot be read.
    Nothing,
}

impl Answer {
    /// Reads an answer; `page` is its extraction (ignored unless the status is 200).
    pub fn of(fetched: &Fetched, page: Option<&Page>) -> Answer {
        if fetched.is_redirect() {
            let to = fetched.location.as_deref().and_then(|to| Canon::exact().join(&fetched.url, to).ok());
            return to.map_or(Answer::Nothing, Answer::Redirect);
        }
        let page = match (&fetched.payload, page) {
            (Payload::Page(p), _) => Some(p.as_ref()),
            (_, p) => p,
        };
        match page {
            Some(p) if fetched.status == 200 && p.kind != PageKind::Opaque => Answer::Page(outlinks(p)),
            _ => Answer::Nothing,
        }
    }
}

/// The URLs a page leads to, in page order: its links, and the target of a `meta refresh`.
pub fn outlinks(page: &Page) -> Vec<Url> {
    let mut list: Vec<Url> = Vec::with_capacity(page.links.len() + 1);
    list.extend(page.links.iter().map(|l| l.url.clone()));
    if let Some(to) = &page.refresh
        && !list.contains(to)
    {
        list.push(to.clone());
    }
    list
}

/// Pages and links in compressed rows. Node numbers are in breadth-first order from the seeds it was built
/// with.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    names: String,
    /// End of each node's name.
    ends: Vec<u64>,
    /// Start of each node's row in `targets`; one more than there are nodes.
    rows: Vec<u64>,
    targets: Vec<u32>,
    /// Every URL that was asked for → its node, redirects followed.
    index: HashMap<Fingerprint, u32>,
    /// URLs asked for that redirect, and that bring nothing.
    pub redirects: u64,
    /// URLs asked for that bring no page.
    pub missing: u64,
    /// Building stopped at the page limit: there is more than is shown here.
    pub cut: bool,
}

/// Not keyed by a secret: the graph is built from recorded webs, and a collision would only merge two nodes.
const KEY: (u64, u64) = (0x676c_6561_6e65_7200, 0x6576_616c);
const NONE: u32 = u32::MAX;

enum State {
    Unknown,
    Node(u32),
    Redirect(u32),
    Nothing,
}

impl Graph {
    /// Asks for everything that can be reached from `seeds`. `ask` runs on `threads` threads; the result does
    /// not depend on how many. At most `max_pages` nodes.
    pub fn build(
        seeds: &[Url],
        ask: impl Fn(&Url) -> Answer + Sync,
        threads: NonZeroUsize,
        max_pages: usize,
    ) -> Graph {
        let mut g = Graph { rows: vec![0], ..Graph::default() };
        let mut ids: HashMap<Fingerprint, u32> = HashMap::new();
        let mut states: Vec<State> = Vec::new();
        // Links as URL numbers while redirects are not yet resolved.
        let mut raw: Vec<u32> = Vec::new();
        let mut wave: Vec<(u32, Url)> = Vec::new();
        let mut name = |url: Url, states: &mut Vec<State>, next: &mut Vec<(u32, Url)>| -> u32 {
            *ids.entry(url.fingerprint(KEY)).or_insert_with(|| {
                let id = states.len() as u32;
                states.push(State::Unknown);
                next.push((id, url));
                id
            })
        };
        for seed in seeds {
            name(seed.clone(), &mut states, &mut wave);
        }
        // Waves are cut to a few thousand so that the answers of one fit in memory whatever the web.
        while !wave.is_empty() {
            let mut next = Vec::new();
            for part in wave.chunks(4096) {
                let answers = in_parallel(part, threads, |(_, url)| ask(url));
                for ((id, url), answer) in part.iter().zip(answers) {
                    let state = match answer {
                        Answer::Page(_) if g.ends.len() >= max_pages => {
                            g.cut = true;
                            State::Nothing
                        }
                        Answer::Page(links) => {
                            let node = g.ends.len() as u32;
                            g.names.push_str(url.as_str());
                            g.ends.push(g.names.len() as u64);
                            for link in links {
                                raw.push(name(link, &mut states, &mut next));
                            }
                            g.rows.push(raw.len() as u64);
                            State::Node(node)
                        }
                        Answer::Redirect(to) => {
                            g.redirects += 1;
                            State::Redirect(name(to, &mut states, &mut next))
                        }
                        Answer::Nothing => {
                            g.missing += 1;
                            State::Nothing
                        }
                    };
                    if let Some(s) = states.get_mut(*id as usize) {
                        *s = state;
                    }
                }
            }
            wave = next;
        }
        let finals: Vec<u32> = (0..states.len()).map(|id| settle(&states, id)).collect();
        g.index = ids
            .into_iter()
            .filter_map(|(print, id)| finals.get(id as usize).filter(|&&n| n != NONE).map(|&n| (print, n)))
            .collect();
        g.compress(&raw, &finals);
        g
    }

    /// Turns URL numbers into nodes; each target once per page, in page order, no links of a page to itself.
    fn compress(&mut self, raw: &[u32], finals: &[u32]) {
        let mut seen_by = vec![NONE; self.ends.len()];
        let mut rows = Vec::with_capacity(self.rows.len());
        rows.push(0);
        let mut targets = Vec::new();
        for (node, range) in self.rows.windows(2).enumerate() {
            let (from, to) = (range[0] as usize, range[1] as usize);
            for &id in raw.get(from..to).unwrap_or(&[]) {
                let target = finals.get(id as usize).copied().unwrap_or(NONE);
                if target != NONE
                    && target as usize != node
                    && let Some(seen) = seen_by.get_mut(target as usize)
                    && *seen != node as u32
                {
                    *seen = node as u32;
                    targets.push(target);
                }
            }
            rows.push(targets.len() as u64);
        }
        targets.shrink_to_fit();
        (self.rows, self.targets) = (rows, targets);
    }

    /// A graph given outright: `names[i]` links to `links[i]`.
    pub fn from_lists(names: &[Url], links: &[Vec<u32>]) -> Graph {
        let mut g = Graph { rows: vec![0], ..Graph::default() };
        for (i, url) in names.iter().enumerate() {
            g.names.push_str(url.as_str());
            g.ends.push(g.names.len() as u64);
            g.index.insert(url.fingerprint(KEY), i as u32);
            let row = links.get(i).map_or(&[][..], |l| l);
            g.targets.extend(row.iter().copied().filter(|&t| (t as usize) < names.len()));
            g.rows.push(g.targets.len() as u64);
        }
        g
    }

    /// Number of pages.
    pub fn nodes(&self) -> usize {
        self.ends.len()
    }

    /// Number of links between pages of the graph.
    pub fn links(&self) -> usize {
        self.targets.len()
    }

    /// The page's address; empty for a number that is none.
    pub fn url(&self, node: u32) -> &str {
        let start = if node == 0 { 0 } else { self.ends.get(node as usize - 1).copied().unwrap_or(0) };
        let end = self.ends.get(node as usize).copied().unwrap_or(start);
        self.names.get(start as usize..end as usize).unwrap_or("")
    }

    /// The node a URL leads to, redirects followed.
    pub fn node(&self, url: &Url) -> Option<u32> {
        self.index.get(&url.fingerprint(KEY)).copied()
    }

    /// Pages that a page links to.
    pub fn targets(&self, node: u32) -> &[u32] {
        let at = |i: usize| self.rows.get(i).copied().unwrap_or(0) as usize;
        self.targets.get(at(node as usize)..at(node as usize + 1)).unwrap_or(&[])
    }

    /// What can be reached from these seeds (URLs the graph does not know are left out).
    pub fn reach(&self, seeds: &[Url]) -> Reach {
        let mut seed_nodes: Vec<u32> = Vec::new();
        for s in seeds {
            if let Some(n) = self.node(s)
                && !seed_nodes.contains(&n)
            {
                seed_nodes.push(n);
            }
        }
        let mut depth = vec![NONE; self.nodes()];
        let mut order = Vec::new();
        for &s in &seed_nodes {
            if let Some(d) = depth.get_mut(s as usize) {
                *d = 0;
                order.push(s);
            }
        }
        let mut i = 0;
        while let Some(&node) = order.get(i) {
            i += 1;
            let next = depth.get(node as usize).copied().unwrap_or(0) + 1;
            for &t in self.targets(node) {
                if let Some(d) = depth.get_mut(t as usize)
                    && *d == NONE
                {
                    *d = next;
                    order.push(t);
                }
            }
        }
        Reach { seeds: seed_nodes, order, depth }
    }
}

/// Follows redirects to a node, or to nothing.
fn settle(states: &[State], mut id: usize) -> u32 {
    for _ in 0..=MAX_HOPS {
        match states.get(id) {
            Some(State::Node(n)) => return *n,
            Some(State::Redirect(to)) => id = *to as usize,
            _ => return NONE,
        }
    }
    NONE
}

/// `f` of every item, in order, on several threads.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: NonZeroUsize,
    f: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.get().min(items.len() / 16 + 1);
    if threads <= 1 {
        return items.iter().map(f).collect();
    }
    // Small interleaved pieces: one slow page must not leave the other threads idle.
    let next = std::sync::atomic::AtomicUsize::new(0);
    let piece = 16;
    let mut parts: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let start = next.fetch_add(piece, std::sync::atomic::Ordering::Relaxed);
                        let Some(rest) = items.get(start..).filter(|r| !r.is_empty()) else { return done };
                        let part = &rest[..piece.min(rest.len())];
                        done.push((start, part.iter().map(&f).collect::<Vec<R>>()));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|w| match w.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    parts.sort_by_key(|(start, _)| *start);
    parts.into_iter().flat_map(|(_, r)| r).collect()
}

/// The part of a graph that some seeds reach.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Distinct seed nodes, in the order given.
    pub seeds: Vec<u32>,
    /// Reachable nodes in breadth-first order, the seeds first.
    pub order: Vec<u32>,
    /// Links from the nearest seed; `u32::MAX` = not reachable.
    depth: Vec<u32>,
}

impl Reach {
    /// Number of reachable pages, the seeds included.
    pub fn reachable(&self) -> usize {
        self.order.len()
    }
    /// Do the seeds reach this page?
    pub fn contains(&self, node: u32) -> bool {
        self.depth(node).is_some()
    }
    /// Links from the nearest seed; `None` when it is not reachable.
    pub fn depth(&self, node: u32) -> Option<u32> {
        self.depth.get(node as usize).copied().filter(|&d| d != NONE)
    }
    /// Reachable nodes that `relevant` accepts; seeds never count.
    pub fn relevant_reachable(&self, relevant: impl Fn(u32) -> bool) -> usize {
        self.order.iter().filter(|&&n| relevant(n) && self.depth(n) != Some(0)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(s: &str) -> Url {
        Canon::exact().parse(&format!("http://t.org/{s}")).unwrap()
    }

    /// `a: b c` = a page with links; `a > b` = a redirect.
    fn web(text: &'static str) -> impl Fn(&Url) -> Answer + Sync {
        move |u: &Url| {
            let me = u.path().trim_start_matches('/');
            for line in text.lines().map(str::trim) {
                if let Some((from, to)) = line.split_once(" > ")
                    && from == me
                {
                    return Answer::Redirect(url(to));
                }
                if let Some((from, to)) = line.split_once(':')
                    && from == me
                {
                    return Answer::Page(to.split_whitespace().map(url).collect());
                }
            }
            Answer::Nothing
        }
    }

    fn build(text: &'static str, seeds: &[&str]) -> Graph {
        let seeds: Vec<Url> = seeds.iter().map(|s| url(s)).collect();
        Graph::build(&seeds, web(text), NonZeroUsize::MIN, usize::MAX)
    }

    fn names(g: &Graph, nodes: &[u32]) -> Vec<String> {
        nodes.iter().map(|&n| g.url(n).trim_start_matches("http://t.org/").to_string()).collect()
    }

    #[test]
    fn redirects_are_links_to_their_end() {
        let g = build(
            "s: a r r2 loop1 gone s
             a: b a b
             r > r2
             r2 > b
             b:
             loop1 > loop2
             loop2 > loop1
             far: s",
            &["s"],
        );
        assert_eq!(g.nodes(), 3);
        let s = g.node(&url("s")).unwrap();
        assert_eq!(names(&g, g.targets(s)), ["a", "b"]);
        assert_eq!(g.node(&url("r")), g.node(&url("b")));
        assert_eq!((g.node(&url("loop1")), g.node(&url("far"))), (None, None));
        assert_eq!((g.redirects, g.missing, g.links()), (4, 1, 3));
        let reach = g.reach(&[url("s"), url("far"), url("s")]);
        assert_eq!(reach.reachable(), 3);
        assert_eq!(reach.depth(g.node(&url("b")).unwrap()), Some(1));
        // The seed never counts as relevant, whatever its label.
        assert_eq!(reach.relevant_reachable(|_| true), 2);
        let from_a = g.reach(&[url("a")]);
        assert_eq!(from_a.reachable(), 2);
        assert!(!from_a.contains(s));
        assert_eq!(g.reach(&[]).reachable(), 0);
    }

    #[test]
    fn threads_and_limits() {
        // A binary tree of 2,000 pages.
        let tree = |u: &Url| {
            let n: usize = u.path().trim_start_matches('/').parse().unwrap_or(0);
            if n == 0 || n > 2000 {
                return Answer::Nothing;
            }
            Answer::Page(vec![url(&(2 * n).to_string()), url(&(2 * n + 1).to_string())])
        };
        let one = Graph::build(&[url("1")], tree, NonZeroUsize::MIN, usize::MAX);
        let four = Graph::build(&[url("1")], tree, NonZeroUsize::new(4).unwrap(), usize::MAX);
        assert_eq!(one.nodes(), 2000);
        assert_eq!((&one.names, &one.targets, &one.rows), (&four.names, &four.targets, &four.rows));
        let cut = Graph::build(&[url("1")], tree, NonZeroUsize::MIN, 100);
        assert_eq!((cut.nodes(), cut.cut, one.cut), (100, true, false));
    }
}
