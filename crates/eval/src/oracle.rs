//! The oracle: the best fetch order we can compute when labels and link graph are known.
//!
//! Finding the truly best order is as hard as the hardest covering problems (which hubs to pay for, and
//! when), so this is an **achievable** order — a crawler that knew everything could really fetch in it — and
//! therefore a lower bound of the true optimum. It ignores politeness. It is made in two steps:
//!
//! 1. **Two greedy orders.** Both take a relevant page that is linked from a fetched page at once (that is
//!    never wrong: fetching it later cannot help anything). When there is none, `nearest` walks the shortest
//!    path of unfetched pages to the nearest relevant one; `ratio` walks to the page with the best ratio of
//!    relevant pages gained (itself and its relevant targets) to pages fetched for them.
//! 2. **Improvement.** An order induces a forest: every page hangs below the first-fetched page that links to
//!    it. On a forest the best order *is* computable (Horn 1972: minimising the sum of completion times under
//!    out-tree precedence, by merging the subtree with the highest ratio of gain to length into its parent).
//!    The order found respects the graph, the old order is one of those it was chosen from, so the area never
//!    shrinks; the new order induces a new forest; repeat until nothing improves.
//!
//! The best of the starts (the two above, and plain breadth-first) after improvement is the oracle.

use crate::graph::{Graph, Reach};
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// A fetch order that ends with the last relevant page, and how good it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oracle {
    /// Nodes of the graph, first fetched first.
    pub order: Vec<u32>,
    /// Sum over the relevant pages of `2·(reachable − position) + 1`, positions from 1: the doubled area,
    /// exact.
    pub area: u128,
    /// The start it came from: `nearest`, `ratio` or `breadth-first`.
    pub start: &'static str,
    /// Rounds of improvement until nothing changed.
    pub rounds: u32,
}

const NONE: u32 = u32::MAX;
const ROUNDS: u32 = 40;
/// Work allowed to the `ratio` start, in looked-at candidates: counted, not timed, so that it is the same
/// anywhere.
const RATIO_WORK: u64 = 400_000_000;

/// `relevant[node]`; seeds are never relevant.
pub fn oracle(graph: &Graph, reach: &Reach, relevant: impl Fn(u32) -> bool) -> Oracle {
    let mut wanted = vec![false; graph.nodes()];
    for &n in &reach.order {
        if let Some(w) = wanted.get_mut(n as usize) {
            *w = relevant(n);
        }
    }
    for &s in &reach.seeds {
        if let Some(w) = wanted.get_mut(s as usize) {
            *w = false;
        }
    }
    let task = Task { graph, reach, wanted };
    let mut best: Option<Oracle> = None;
    let starts = [
        ("nearest", task.greedy(false)),
        ("ratio", task.greedy(true)),
        ("breadth-first", reach.order.clone()),
    ];
    for (start, order) in starts {
        let found = task.improve(order, start);
        if best.as_ref().is_none_or(|b| found.area > b.area) {
            best = Some(found);
        }
    }
    best.unwrap_or(Oracle { order: Vec::new(), area: 0, start: "breadth-first", rounds: 0 })
}

/// The doubled area of any order (see [`Oracle::area`]); positions beyond `reachable` earn nothing.
pub fn area(order: impl Iterator<Item = bool>, reachable: usize) -> u128 {
    let mut sum = 0;
    for (i, relevant) in order.enumerate().take(reachable) {
        if relevant {
            sum += 2 * (reachable - 1 - i) as u128 + 1;
        }
    }
    sum
}

struct Task<'a> {
    graph: &'a Graph,
    reach: &'a Reach,
    wanted: Vec<bool>,
}

impl Task<'_> {
    fn is_wanted(&self, n: u32) -> bool {
        self.wanted.get(n as usize).copied().unwrap_or(false)
    }

    fn area(&self, order: &[u32]) -> u128 {
        area(order.iter().map(|&n| self.is_wanted(n)), self.reach.reachable())
    }

    fn trimmed(&self, mut order: Vec<u32>) -> Vec<u32> {
        let last = order.iter().rposition(|&n| self.is_wanted(n)).map_or(0, |i| i + 1);
        order.truncate(last);
        order
    }

    fn improve(&self, order: Vec<u32>, start: &'static str) -> Oracle {
        let mut order = order;
        let mut best = self.area(&order);
        let mut rounds = 0;
        while rounds < ROUNDS {
            let next = self.best_on_forest(&order);
            let area = self.area(&next);
            if area <= best {
                break;
            }
            (order, best) = (next, area);
            rounds += 1;
        }
        Oracle { order: self.trimmed(order), area: best, start, rounds }
    }

    // ---- greedy starts ----

    fn greedy(&self, by_ratio: bool) -> Vec<u32> {
        let mut g = Greedy::new(self);
        loop {
            // Relevant pages one step away, first discovered first.
            while let Some(n) = g.ready.pop_front() {
                g.fetch(n);
            }
            let target = if by_ratio { g.best_ratio() } else { g.nearest() };
            let Some(target) = target else { break };
            for n in g.path(target) {
                g.fetch(n);
            }
        }
        // Pages nobody needs, so that the order covers all of the reachable ones (the forest needs them).
        let mut order = std::mem::take(&mut g.order);
        order.extend(self.reach.order.iter().copied().filter(|&n| g.dist_of(n) != 0));
        order
    }

    // ---- improvement ----

    /// The best order among those that fetch each page after its first-fetched parent in `order`.
    fn best_on_forest(&self, order: &[u32]) -> Vec<u32> {
        let nodes = self.graph.nodes();
        let mut position = vec![NONE; nodes];
        let full = self.completed(order);
        for (i, &n) in full.iter().enumerate() {
            if let Some(p) = position.get_mut(n as usize) {
                *p = i as u32;
            }
        }
        // Parent in the forest; NONE = below the root (a seed).
        let mut parent = vec![NONE; nodes];
        for &n in &full {
            for &t in self.graph.targets(n) {
                let (Some(&pt), Some(&pn)) = (position.get(t as usize), position.get(n as usize)) else {
                    continue;
                };
                if let Some(p) = parent.get_mut(t as usize)
                    && *p == NONE
                    && pn < pt
                {
                    *p = n;
                }
            }
        }
        for &s in &self.reach.seeds {
            if let Some(p) = parent.get_mut(s as usize) {
                *p = NONE;
            }
        }
        horn(&full, &parent, |n| self.is_wanted(n))
    }

    /// An order cut after its last relevant page, made whole again in breadth-first order.
    fn completed(&self, order: &[u32]) -> Vec<u32> {
        if order.len() == self.reach.order.len() {
            return order.to_vec();
        }
        let mut have = vec![false; self.graph.nodes()];
        for &n in order {
            if let Some(h) = have.get_mut(n as usize) {
                *h = true;
            }
        }
        let missing = |n: &&u32| !have.get(**n as usize).copied().unwrap_or(true);
        order.iter().chain(self.reach.order.iter().filter(missing)).copied().collect()
    }
}

/// State of a greedy walk: distances (in unfetched pages) from what is fetched, kept up to date.
struct Greedy<'a> {
    task: &'a Task<'a>,
    /// Pages to fetch to have this one, itself included; 0 = fetched.
    dist: Vec<u32>,
    /// The page before it on a shortest path.
    from: Vec<u32>,
    order: Vec<u32>,
    ready: VecDeque<u32>,
    queued: Vec<bool>,
    /// Relevant pages by distance, with entries that may be out of date.
    near: BinaryHeap<Reverse<(u32, u32)>>,
    /// Unfetched, not yet ready relevant targets of each page.
    gain: Vec<u32>,
    sources: Vec<Vec<u32>>,
    /// Pages with a gain, and relevant ones.
    candidates: Vec<u32>,
    work: u64,
}

impl<'a> Greedy<'a> {
    fn new(task: &'a Task<'a>) -> Greedy<'a> {
        let nodes = task.graph.nodes();
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut gain = vec![0; nodes];
        for &n in &task.reach.order {
            for &t in task.graph.targets(n) {
                if task.is_wanted(t)
                    && let (Some(s), Some(g)) = (sources.get_mut(t as usize), gain.get_mut(n as usize))
                {
                    s.push(n);
                    *g += 1;
                }
            }
        }
        let candidates = task.reach.order.iter().copied();
        let candidates = candidates
            .filter(|&n| gain.get(n as usize).is_some_and(|&g| g > 0) || task.is_wanted(n))
            .collect();
        let mut g = Greedy {
            task,
            dist: vec![NONE; nodes],
            from: vec![NONE; nodes],
            order: Vec::new(),
            ready: VecDeque::new(),
            queued: vec![false; nodes],
            near: BinaryHeap::new(),
            gain,
            sources,
            candidates,
            work: 0,
        };
        let seeds = task.reach.seeds.clone();
        for &s in &seeds {
            g.lower(s, 1, NONE);
        }
        g.relax(seeds);
        g
    }

    fn dist_of(&self, n: u32) -> u32 {
        self.dist.get(n as usize).copied().unwrap_or(NONE)
    }

    /// Sets a smaller distance; true if it was one.
    fn lower(&mut self, n: u32, dist: u32, from: u32) -> bool {
        let i = n as usize;
        let (Some(d), Some(f)) = (self.dist.get_mut(i), self.from.get_mut(i)) else { return false };
        if dist >= *d {
            return false;
        }
        (*d, *f) = (dist, from);
        if self.task.is_wanted(n) && dist > 0 {
            if dist == 1 {
                self.make_ready(n);
            } else {
                self.near.push(Reverse((dist, n)));
            }
        }
        true
    }

    fn make_ready(&mut self, n: u32) {
        if let Some(q) = self.queued.get_mut(n as usize)
            && !*q
        {
            *q = true;
            self.ready.push_back(n);
            for s in self.sources.get(n as usize).map_or(&[][..], |s| s) {
                if let Some(g) = self.gain.get_mut(*s as usize) {
                    *g = g.saturating_sub(1);
                }
            }
        }
    }

    /// Spreads lowered distances.
    fn relax(&mut self, changed: Vec<u32>) {
        let mut queue: VecDeque<u32> = changed.into();
        while let Some(n) = queue.pop_front() {
            let next = self.dist_of(n).saturating_add(1);
            for &t in self.task.graph.targets(n) {
                if self.lower(t, next, n) {
                    queue.push_back(t);
                }
            }
        }
    }

    fn fetch(&mut self, n: u32) {
        if self.dist_of(n) == 0 {
            return;
        }
        if self.task.is_wanted(n) {
            // Fetched on the way to something else: no longer anybody's gain.
            self.make_ready(n);
        }
        self.lower(n, 0, NONE);
        self.order.push(n);
        self.relax(vec![n]);
    }

    /// Unfetched pages from the fetched set to `target`, in order.
    fn path(&self, target: u32) -> Vec<u32> {
        let mut path = Vec::new();
        let mut n = target;
        while n != NONE && self.dist_of(n) != 0 && path.len() <= self.dist.len() {
            path.push(n);
            n = self.from.get(n as usize).copied().unwrap_or(NONE);
        }
        path.reverse();
        path
    }

    fn nearest(&mut self) -> Option<u32> {
        while let Some(Reverse((dist, n))) = self.near.pop() {
            if self.dist_of(n) == dist && !self.queued.get(n as usize).copied().unwrap_or(true) {
                return Some(n);
            }
        }
        None
    }

    fn best_ratio(&mut self) -> Option<u32> {
        if self.work > RATIO_WORK {
            return self.nearest();
        }
        let (dist, gain, task) = (&self.dist, &self.gain, self.task);
        let at = |list: &[u32], n: u32| list.get(n as usize).copied().unwrap_or(0);
        self.candidates.retain(|&n| at(dist, n) != 0 && (at(gain, n) > 0 || task.is_wanted(n)));
        self.work += self.candidates.len() as u64;
        // Gained per page fetched; at equal ratio the shorter walk, then the first in breadth-first order.
        let value = |n: u32| {
            let own = task.is_wanted(n) as u64;
            let (d, g) = (at(dist, n) as u64, at(gain, n) as u64);
            (g + own, d + g, d)
        };
        let better = |a: &u32, b: &u32| -> Ordering {
            let ((ga, ca, da), (gb, cb, db)) = (value(*a), value(*b));
            (ga * cb).cmp(&(gb * ca)).then(db.cmp(&da))
        };
        let mut best: Option<u32> = None;
        for n in &self.candidates {
            if best.is_none_or(|b| better(n, &b).is_gt()) {
                best = Some(*n);
            }
        }
        best
    }
}

/// A subtree waiting to be merged: relevant pages and pages in it.
#[derive(PartialEq, Eq)]
struct Bundle {
    gain: u64,
    pages: u64,
    /// Position of its head in the order it came from: the tie-break.
    head: u32,
    version: u32,
}

impl Ord for Bundle {
    fn cmp(&self, o: &Self) -> Ordering {
        let (a, b) = (self.gain as u128 * o.pages as u128, o.gain as u128 * self.pages as u128);
        a.cmp(&b).then(o.head.cmp(&self.head)).then(self.version.cmp(&o.version))
    }
}
impl PartialOrd for Bundle {
    fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}

/// Horn's algorithm: the order of `nodes` with every node after its parent and the largest area.
///
/// `nodes` lists parents before children; `parent[n] == NONE` hangs below the root.
fn horn(nodes: &[u32], parent: &[u32], wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let count = nodes.len();
    let root = count;
    // Work on positions in `nodes`, with the root last.
    let mut at = vec![NONE; parent.len()];
    for (i, &n) in nodes.iter().enumerate() {
        if let Some(a) = at.get_mut(n as usize) {
            *a = i as u32;
        }
    }
    let get = |list: &[u32], i: usize| list.get(i).copied().unwrap_or(NONE);
    let up: Vec<usize> = nodes
        .iter()
        .map(|&n| {
            let p = get(parent, n as usize);
            let p = if p == NONE { NONE } else { get(&at, p as usize) };
            if p == NONE { root } else { p as usize }
        })
        .collect();
    let mut group: Vec<usize> = (0..=count).collect();
    let mut gain: Vec<u64> = nodes.iter().map(|&n| wanted(n) as u64).chain([0]).collect();
    let mut pages: Vec<u64> = vec![1; count + 1];
    let mut version = vec![0u32; count + 1];
    let mut next: Vec<usize> = vec![usize::MAX; count + 1];
    let mut tail: Vec<usize> = (0..=count).collect();
    let mut heap: BinaryHeap<Bundle> =
        (0..count).map(|i| Bundle { gain: gain[i], pages: 1, head: i as u32, version: 0 }).collect();
    while let Some(b) = heap.pop() {
        let i = b.head as usize;
        if group[i] != i || version[i] != b.version {
            continue;
        }
        // Merge into whatever bundle its parent is in now: right after everything that is there.
        let into = find(&mut group, up[i]);
        group[i] = into;
        next[tail[into]] = i;
        tail[into] = tail[i];
        if into != root {
            gain[into] += gain[i];
            pages[into] += pages[i];
            version[into] += 1;
            heap.push(Bundle {
                gain: gain[into],
                pages: pages[into],
                head: into as u32,
                version: version[into],
            });
        }
    }
    let mut order = Vec::with_capacity(count);
    let mut i = next[root];
    while let Some(&n) = nodes.get(i) {
        order.push(n);
        i = next[i];
    }
    order
}

fn find(group: &mut [usize], mut i: usize) -> usize {
    while group[i] != i {
        group[i] = group[group[i]];
        i = group[i];
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::{Canon, Url};

    fn urls(n: usize) -> Vec<Url> {
        (0..n).map(|i| Canon::exact().parse(&format!("http://t.org/{i}")).unwrap()).collect()
    }

    fn run(links: &[Vec<u32>], seeds: &[usize], wanted: &[u32]) -> (Oracle, usize) {
        let names = urls(links.len());
        let g = Graph::from_lists(&names, links);
        let seeds: Vec<Url> = seeds.iter().map(|&s| names[s].clone()).collect();
        let reach = g.reach(&seeds);
        let found = oracle(&g, &reach, |n| wanted.contains(&n));
        // Whatever it found must be a crawl that could happen.
        let mut open: Vec<u32> = reach.seeds.clone();
        let mut done = Vec::new();
        for &n in &found.order {
            assert!(open.contains(&n) && !done.contains(&n), "{n} in {:?}", found.order);
            done.push(n);
            open.extend(g.targets(n));
        }
        let counts = |n: &u32| wanted.contains(n) && !reach.seeds.contains(n);
        assert_eq!(found.area, area(found.order.iter().map(counts), reach.reachable()));
        (found, reach.reachable())
    }

    #[test]
    fn takes_the_hub_before_the_near_page() {
        // 0 → 1 → 2*   (nearest: two pages for one relevant)
        // 0 → 3 → 4 → {5*, 6*, 7*}   (a hub three steps away: five pages for three)
        let links = vec![vec![1, 3], vec![2], vec![], vec![4], vec![5, 6, 7], vec![], vec![], vec![]];
        let (o, reachable) = run(&links, &[0], &[2, 5, 6, 7]);
        assert_eq!(reachable, 8);
        // 3/5 per page beats 1/2.
        assert_eq!(o.order, [0, 3, 4, 5, 6, 7, 1, 2]);
        // R = 8; relevant at 4, 5, 6 and 8: 2·(4 + 3 + 2 + 0) + 4 = 22.
        assert_eq!(o.area, 22);
    }

    #[test]
    fn improvement_sees_two_hubs_behind_one_page() {
        // The way to A (0→1→{2→3*, 4→5*, 6→7*}) looks poor to both greedy starts step by step
        // next to 0→8→9* … but is part of the same forest.
        let links = vec![
            vec![8, 1],
            vec![2, 4, 6],
            vec![3],
            vec![],
            vec![5],
            vec![],
            vec![7],
            vec![],
            vec![9],
            vec![],
        ];
        let (o, _) = run(&links, &[0], &[3, 5, 7, 9]);
        // Every order needs 8 of 10 pages; 9 first (ratio 1/2), then 3/7.
        assert_eq!(&o.order[..3], [0, 8, 9]);
        assert_eq!(o.order.len(), 10);
    }

    #[test]
    fn nothing_relevant_and_no_seeds() {
        let (o, _) = run(&[vec![1], vec![]], &[0], &[]);
        assert_eq!((o.area, o.order.len()), (0, 0));
        let (o, _) = run(&[vec![1], vec![]], &[], &[1]);
        assert_eq!((o.area, o.order.len()), (0, 0));
        // A relevant seed does not count.
        let (o, _) = run(&[vec![1], vec![]], &[0], &[0, 1]);
        assert_eq!((o.area, o.order), (1, vec![0, 1]));
    }

    /// The true optimum by trying every order (tiny graphs only).
    fn optimum(links: &[Vec<u32>], seeds: &[usize], wanted: &[u32]) -> u128 {
        fn go(
            links: &[Vec<u32>],
            wanted: &[u32],
            reach: usize,
            done: &mut Vec<u32>,
            open: &[u32],
            best: &mut u128,
        ) {
            let now = area(done.iter().map(|n| wanted.contains(n)), reach);
            *best = (*best).max(now);
            for &n in open {
                if done.contains(&n) {
                    continue;
                }
                done.push(n);
                let mut more = open.to_vec();
                more.extend(links[n as usize].iter().filter(|t| !open.contains(t)));
                go(links, wanted, reach, done, &more, best);
                done.pop();
            }
        }
        let names = urls(links.len());
        let g = Graph::from_lists(&names, links);
        let seeds: Vec<Url> = seeds.iter().map(|&s| names[s].clone()).collect();
        let reach = g.reach(&seeds);
        let wanted: Vec<u32> = wanted.iter().copied().filter(|w| !reach.seeds.contains(w)).collect();
        let mut best = 0;
        go(links, &wanted, reach.reachable(), &mut Vec::new(), &reach.seeds.clone(), &mut best);
        best
    }

    #[test]
    fn close_to_the_optimum_on_small_graphs() {
        let (mut ours, mut best, mut exact) = (0u128, 0u128, 0);
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let n = 7;
            let links: Vec<Vec<u32>> =
                (0..n).map(|_| (0..random(3)).map(|_| random(n as u64) as u32).collect()).collect();
            let wanted: Vec<u32> = (1..n as u32).filter(|_| random(3) == 0).collect();
            let (o, _) = run(&links, &[0], &wanted);
            let top = optimum(&links, &[0], &wanted);
            assert!(o.area <= top);
            ours += o.area;
            best += top;
            exact += (o.area == top) as u32;
        }
        assert!(exact >= 195 && ours * 1000 >= best * 995, "{exact} of 200 exact, {ours} of {best}");
    }

    proptest! {
        #[test]
        fn never_worse_than_breadth_first(
            links in prop::collection::vec(prop::collection::vec(0u32..40, 0..5), 40),
            wanted in prop::collection::vec(0u32..40, 0..8),
        ) {
            let (o, reachable) = run(&links, &[0], &wanted);
            let names = urls(40);
            let g = Graph::from_lists(&names, &links);
            let reach = g.reach(&names[..1]);
            let bfs = area(reach.order.iter().map(|n| *n != 0 && wanted.contains(n)), reachable);
            prop_assert!(o.area >= bfs);
        }
    }
}
