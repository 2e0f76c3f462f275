//! From a topic tree with examples to the classes of a classifier (Chakrabarti et al. 2002, §3.1).
//!
//! 1. As long as there is a leaf with fewer than `least` examples, its examples go to its parent and it is
//!    deleted.
//! 2. Examples that internal nodes still have of their own go to a new leaf `Other` below them.
//! 3. Classes with more than `most` examples are sampled down to it.
//! 4. Only the leaves are classes; the tree is forgotten, except for the names.

use crate::rng::Rng;
use std::collections::BTreeMap;

/// Chakrabarti's k: smallest and largest number of examples of a class.
pub const EXAMPLES: usize = 300;

/// A leaf of the prepared tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Class<D> {
    /// From the root, as `Science/Biology/Other`; empty when all of the tree fell into the root.
    pub path: String,
    /// The documents of the leaf.
    pub examples: Vec<D>,
}

/// The tree of the paths: examples of each node, children found by the name of the path.
type Nodes<D> = BTreeMap<Vec<String>, Vec<D>>;

/// Splits a path into its parts; slashes at the ends and doubled ones do not matter.
fn parts(path: &str) -> Vec<String> {
    path.split('/').map(str::trim).filter(|p| !p.is_empty()).map(str::to_owned).collect()
}

/// The path and all paths above it, longest first: `a/b/c`, `a/b`, `a`. Chakrabarti's `topic` features.
pub fn prefixes(path: &str) -> Vec<String> {
    let parts = parts(path);
    (1..=parts.len()).rev().filter_map(|n| parts.get(..n)).map(|p| p.join("/")).collect()
}

/// True if a class lies in the focus: it is the named node or below it.
pub fn is_under(path: &str, focus: &str) -> bool {
    parts(path).starts_with(&parts(focus))
}

/// Prepares a tree given as (path, examples); a path may come several times. `rng` samples the large classes.
pub fn prepare<D>(
    examples: impl IntoIterator<Item = (String, Vec<D>)>,
    least: usize,
    most: usize,
    rng: &mut Rng,
) -> Vec<Class<D>> {
    let mut nodes: Nodes<D> = BTreeMap::new();
    nodes.insert(Vec::new(), Vec::new());
    for (path, docs) in examples {
        let path = parts(&path);
        for n in 1..path.len() {
            if let Some(above) = path.get(..n) {
                nodes.entry(above.to_vec()).or_default();
            }
        }
        nodes.entry(path).or_default().extend(docs);
    }
    // Children come after their parent in the order of paths: going backwards, a node has lost all the
    // children it is going to lose before it is looked at itself. Only a node without children is a leaf.
    let mut children: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for path in nodes.keys() {
        if let Some((_, above)) = path.split_last() {
            *children.entry(above.to_vec()).or_insert(0) += 1;
        }
    }
    let paths: Vec<Vec<String>> = nodes.keys().rev().cloned().collect();
    for path in paths {
        let Some((_, above)) = path.split_last() else { continue };
        let leaf = children.get(&path).is_none_or(|n| *n == 0);
        if leaf
            && nodes.get(&path).is_some_and(|d| d.len() < least)
            && let Some(moved) = nodes.remove(&path)
        {
            nodes.entry(above.to_vec()).or_default().extend(moved);
            if let Some(n) = children.get_mut(above) {
                *n = n.saturating_sub(1);
            }
        }
    }
    // A node of the user's own may be called Other as well: then they are one class.
    let mut leaves: BTreeMap<String, Vec<D>> = BTreeMap::new();
    for (mut path, examples) in nodes {
        if children.get(&path).is_some_and(|n| *n > 0) {
            path.push("Other".to_owned());
        }
        if !examples.is_empty() {
            leaves.entry(path.join("/")).or_default().extend(examples);
        }
    }
    let sampled =
        leaves.into_iter().map(|(path, examples)| Class { path, examples: sample(examples, most, rng) });
    sampled.collect()
}

/// A random subset of at most `most`, in the order given.
fn sample<D>(mut examples: Vec<D>, most: usize, rng: &mut Rng) -> Vec<D> {
    if examples.len() > most {
        let mut order: Vec<usize> = (0..examples.len()).collect();
        rng.shuffle(&mut order);
        let mut keep = vec![false; examples.len()];
        for i in order.into_iter().take(most) {
            keep.get_mut(i).into_iter().for_each(|k| *k = true);
        }
        let mut at = keep.into_iter();
        examples.retain(|_| at.next().unwrap_or(false));
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(tree: &[(&str, usize)], least: usize, most: usize) -> Vec<(String, usize)> {
        let docs = tree.iter().map(|(p, n)| (p.to_string(), (0..*n).collect::<Vec<usize>>()));
        prepare(docs, least, most, &mut Rng(1)).into_iter().map(|c| (c.path, c.examples.len())).collect()
    }
    fn classes(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        expected.iter().map(|(p, n)| (p.to_string(), *n)).collect()
    }

    #[test]
    fn small_leaves_are_pushed_up() {
        // Bio/Cells (2) and Bio/Genes (2) both go to Bio (1), which is then a leaf of 5 and stays. Sci keeps
        // its own 1 in Other. Maths (3) stays. Arts/Film (1) goes to Arts (0), which goes to the root.
        let tree = [
            ("/Sci", 1),
            ("Sci/Bio", 1),
            ("Sci/Bio/Cells", 2),
            ("Sci/Bio/Genes", 2),
            ("Sci/Maths", 3),
            ("Arts/Film/", 1),
        ];
        assert_eq!(
            of(&tree, 3, 10),
            classes(&[("Other", 1), ("Sci/Bio", 5), ("Sci/Maths", 3), ("Sci/Other", 1)])
        );
        // Everything is too small: one class, the root.
        assert_eq!(of(&tree, 100, 300), classes(&[("", 10)]));
        // Nothing is: the tree as given.
        assert_eq!(of(&tree, 0, 2).len(), 6);
        assert_eq!(of(&[], 3, 10), []);
        assert_eq!(of(&[("a", 0)], 0, 10), []);
    }

    #[test]
    fn large_classes_are_sampled_the_same_way_every_time() {
        let run = |seed| prepare([("a".to_owned(), (0..1000).collect::<Vec<_>>())], 1, 300, &mut Rng(seed));
        let one = run(7);
        assert_eq!(one[0].examples.len(), 300);
        assert!(one[0].examples.is_sorted() && one[0].examples[299] > 800);
        assert_eq!(one, run(7));
        assert_ne!(one, run(8));
    }

    #[test]
    fn paths() {
        assert_eq!(prefixes("/Sci/Bio/Cells"), ["Sci/Bio/Cells", "Sci/Bio", "Sci"]);
        assert!(prefixes("/").is_empty());
        assert!(
            is_under("Sci/Bio/Other", "/Sci/Bio") && !is_under("Sci/Biology", "Sci/Bio") && is_under("x", "")
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_below_the_cap(tree in proptest::collection::vec(("[ab]{1}(/[abc]{1}){0,3}", 0..6usize), 0..20), least in 0..8usize) {
            let total: usize = tree.iter().map(|e| e.1).sum();
            let docs = tree.into_iter().map(|(p, n)| (p, vec![(); n]));
            let classes = prepare(docs, least, usize::MAX, &mut Rng(3));
            prop_assert_eq!(classes.iter().map(|c| c.examples.len()).sum::<usize>(), total);
            for c in &classes {
                // Only the root and `Other` may be smaller than asked for.
                prop_assert!(c.examples.len() >= least || c.path.is_empty() || c.path == "Other" || c.path.ends_with("/Other"));
            }
        }
    }
}
