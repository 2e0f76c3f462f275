//! A heap that knows where everything is: best first, and any member can be moved or taken out.
//!
//! Nodes carry their key, so that comparing never leaves the array; four children per node share a cache
//! line. The position of each member is kept outside (`pos[node.slot]`), which is what makes a re-score one
//! sift and not a second, stale entry.

/// "Not in any heap."
pub(crate) const NOWHERE: u32 = u32::MAX;

const ARITY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    /// Never NaN (see `types::Priority`).
    pub key: f64,
    /// Breaks ties: the lowest goes first ([`types::Ties::place`] of the URL). Unique within a heap.
    pub place: u32,
    /// Index into the position table: the URL itself, or the host whose best URL this is.
    pub slot: u32,
}

impl Node {
    pub fn beats(&self, other: &Node) -> bool {
        self.key > other.key || (self.key == other.key && self.place < other.place)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
}

impl Heap {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    pub fn top(&self) -> Option<Node> {
        self.nodes.first().copied()
    }
    pub fn get(&self, at: usize) -> Option<Node> {
        self.nodes.get(at).copied()
    }
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Positions of the children of the node at `at` (they may not exist).
    pub fn children(at: usize) -> std::ops::Range<usize> {
        at * ARITY + 1..at * ARITY + 1 + ARITY
    }

    /// The nodes, best first. For looking at a few: the n-th costs as much as n others.
    pub fn best(&self) -> impl Iterator<Item = Node> + '_ {
        let mut open: Vec<usize> = if self.nodes.is_empty() { Vec::new() } else { vec![0] };
        std::iter::from_fn(move || {
            let better = |a: usize, b: usize| self.nodes[a].beats(&self.nodes[b]);
            let i = (0..open.len()).reduce(|a, b| if better(open[b], open[a]) { b } else { a })?;
            let at = open.swap_remove(i);
            open.extend(Heap::children(at).take_while(|c| *c < self.nodes.len()));
            Some(self.nodes[at])
        })
    }

    pub fn push(&mut self, node: Node, pos: &mut [u32]) {
        self.nodes.push(node);
        self.up(self.nodes.len() - 1, pos);
    }

    pub fn reserve(&mut self, n: usize) {
        self.nodes.reserve_exact(n);
    }

    /// Adds without order; [`Heap::heapify`] must follow. For building a heap from scratch.
    pub fn push_unordered(&mut self, node: Node) {
        self.nodes.push(node);
    }

    pub fn heapify(&mut self, pos: &mut [u32]) {
        for (i, n) in self.nodes.iter().enumerate() {
            pos[n.slot as usize] = i as u32;
        }
        if self.nodes.len() > 1 {
            for i in (0..=(self.nodes.len() - 2) / ARITY).rev() {
                self.down(i, pos);
            }
        }
    }

    pub fn remove(&mut self, at: usize, pos: &mut [u32]) -> Option<Node> {
        if at >= self.nodes.len() {
            return None;
        }
        let node = self.nodes.swap_remove(at);
        pos[node.slot as usize] = NOWHERE;
        if let Some(&moved) = self.nodes.get(at) {
            pos[moved.slot as usize] = at as u32;
            self.down(at, pos);
            self.up(pos[moved.slot as usize] as usize, pos);
        }
        // A host that once held a million URLs must not hold their memory for ever.
        if self.nodes.capacity() > 64 && self.nodes.len() * 4 < self.nodes.capacity() {
            self.nodes.shrink_to(self.nodes.len() * 2);
        }
        Some(node)
    }

    /// Replaces the node at `at` (same slot) and restores the order.
    pub fn update(&mut self, at: usize, node: Node, pos: &mut [u32]) {
        if let Some(n) = self.nodes.get_mut(at) {
            *n = node;
            pos[node.slot as usize] = at as u32;
            self.down(at, pos);
            self.up(pos[node.slot as usize] as usize, pos);
        }
    }

    fn up(&mut self, mut at: usize, pos: &mut [u32]) {
        let node = self.nodes[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let p = self.nodes[parent];
            if !node.beats(&p) {
                break;
            }
            self.nodes[at] = p;
            pos[p.slot as usize] = at as u32;
            at = parent;
        }
        self.nodes[at] = node;
        pos[node.slot as usize] = at as u32;
    }

    fn down(&mut self, mut at: usize, pos: &mut [u32]) {
        let node = self.nodes[at];
        let len = self.nodes.len();
        loop {
            let first = at * ARITY + 1;
            if first >= len {
                break;
            }
            let mut best = first;
            for child in first + 1..(first + ARITY).min(len) {
                if self.nodes[child].beats(&self.nodes[best]) {
                    best = child;
                }
            }
            let b = self.nodes[best];
            if !b.beats(&node) {
                break;
            }
            self.nodes[at] = b;
            pos[b.slot as usize] = at as u32;
            at = best;
        }
        self.nodes[at] = node;
        pos[node.slot as usize] = at as u32;
    }

    /// Every parent beats its children and every position is right.
    pub fn check(&self, pos: &[u32]) -> Result<(), String> {
        for (i, n) in self.nodes.iter().enumerate() {
            if pos.get(n.slot as usize) != Some(&(i as u32)) {
                return Err(format!(
                    "node {i} of slot {} has position {:?}",
                    n.slot,
                    pos.get(n.slot as usize)
                ));
            }
            if i > 0 && n.beats(&self.nodes[(i - 1) / ARITY]) {
                return Err(format!("node {i} beats its parent"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pops_in_order_whatever_was_done_to_it(ops in prop::collection::vec((0u8..4, 0u32..40, -3i8..3), 1..200)) {
            let mut pos = vec![NOWHERE; 40];
            let mut heap = Heap::default();
            let mut model: std::collections::BTreeMap<u32, f64> = Default::default();
            for (op, id, key) in ops {
                let key = f64::from(key);
                match (op, model.contains_key(&id)) {
                    (0 | 1, false) => {
                        heap.push(Node { key, place: id, slot: id }, &mut pos);
                        model.insert(id, key);
                    }
                    (0 | 1, true) => {
                        heap.update(pos[id as usize] as usize, Node { key, place: id, slot: id }, &mut pos);
                        model.insert(id, key);
                    }
                    (_, true) => {
                        heap.remove(pos[id as usize] as usize, &mut pos);
                        model.remove(&id);
                    }
                    _ => {}
                }
                prop_assert_eq!(heap.check(&pos), Ok(()));
            }
            let mut rebuilt = Heap::default();
            heap.nodes().iter().rev().for_each(|n| rebuilt.push_unordered(*n));
            let mut pos2 = vec![NOWHERE; 40];
            rebuilt.heapify(&mut pos2);
            prop_assert_eq!(rebuilt.check(&pos2), Ok(()));
            let mut expected: Vec<(u32, f64)> = model.into_iter().collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let seen: Vec<(u32, f64)> = heap.best().map(|n| (n.place, n.key)).collect();
            prop_assert_eq!(&seen, &expected);
            let popped: Vec<(u32, f64)> =
                std::iter::from_fn(|| heap.remove(0, &mut pos)).map(|n| (n.place, n.key)).collect();
            prop_assert_eq!(&popped, &expected);
            prop_assert!(pos.iter().all(|&p| p == NOWHERE));
        }
    }
}
