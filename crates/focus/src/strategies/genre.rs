//! Strategy `genre`: Assis 2008, Algorithm 2 with its five queuing policies (§4.4).

use super::{Reason, Rescore, Scored, Strategy, StrategyEntry, StrategySetup, Visit, Wants};
use crate::options;
use crate::topic::did_you_mean;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt;
use types::{LinkKind, Priority, Problem, Ties};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "genre",
    summary: "good pages raise the pending links of the page they were found on (their siblings)",
    doc: "\
## What it does
Seeds score 1, new links 0. When a page P has been judged with score S, the policy moves scores: FS gives S to the pending
siblings of P (the other links of the page P was found on), PS gives S to P's own links, PFS does both. FS-1 and PFS-1 do so
always, even downwards; FS-2 and PFS-2 only when S reaches the change threshold. Seeds have no siblings.

## When it helps
Genres whose pages stand together in lists but do not link to each other: syllabi, job offers, items of a catalogue.

## When it hurts
Until the first good page of a list is found it is breadth-first; lists that mix good and bad links stay mixed.

## Options
`ties` = \"random\" (default), \"last\" or \"first\": which of equal links goes first. Assis names no rule; his crawler asked many hosts at once, so it was chance. With
\"first\" and one request at a time FS-1 and FS-2 are breadth-first: what was found before a page's siblings has been fetched by then · `policy` = \"FS-2\" (default), \"PS\", \"FS-1\", \"PFS-1\", \"PFS-2\" · `change` = 0.20, the change threshold, or \"relevant\": when
the judge says so · `depth` = 7: links deeper inside a site are not followed · `links` = 200: links followed per page.

## Source
Assis 2008, Algorithm 2 and §4.4; `change = \"relevant\"` is Siqueira et al., §2.1.",
    build,
};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Policy {
    /// PS, PFS: the page's own links.
    children: bool,
    /// FS, PFS: its pending siblings.
    siblings: bool,
    /// The "-2" forms.
    gated: bool,
}

const POLICIES: [(&str, Policy); 5] = [
    ("PS", Policy { children: true, siblings: false, gated: false }),
    ("FS-1", Policy { children: false, siblings: true, gated: false }),
    ("FS-2", Policy { children: false, siblings: true, gated: true }),
    ("PFS-1", Policy { children: true, siblings: true, gated: false }),
    ("PFS-2", Policy { children: true, siblings: true, gated: true }),
];

/// When a "-2" policy moves scores.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    From(f64),
    Relevant,
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Change;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number between 0 and 1, or \"relevant\"")
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Change, E> {
                if (0.0..=1.0).contains(&v) {
                    Ok(Change::From(v))
                } else {
                    Err(E::custom(format!("change: {v} is not between 0 and 1")))
                }
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Change, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: de::Error>(self, s: &str) -> Result<Change, E> {
                if s == "relevant" {
                    Ok(Change::Relevant)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(s), &self))
                }
            }
        }
        d.deserialize_any(V)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    ties: TieRule,
    policy: String,
    change: Change,
    depth: u16,
    links: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ties: TieRule::Random,
            policy: "FS-2".into(),
            change: Change::From(0.20),
            depth: 7,
            links: 200,
        }
    }
}

/// Which of equal links goes first: the sources do not say.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TieRule {
    First,
    Last,
    Random,
}

impl TieRule {
    pub(super) fn ties(self, rng: u64) -> Ties {
        match self {
            TieRule::First => Ties::First,
            TieRule::Last => Ties::Last,
            TieRule::Random => Ties::Random(rng as u32),
        }
    }
}

pub(super) struct Genre {
    ties: Ties,
    policy: Policy,
    change: Change,
    depth: u16,
    links: usize,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    Ok(Box::new(Genre::new("strategy `genre`", setup)?))
}

impl Genre {
    /// `what` is how errors call it.
    pub(super) fn new(what: &str, setup: &StrategySetup) -> Result<Genre, Problem> {
        let o: Options = options::parse(what, setup.options)?;
        let named = POLICIES.iter().find(|p| p.0.eq_ignore_ascii_case(&o.policy));
        let policy = named.map(|p| p.1).ok_or_else(|| {
            Problem::usage(format!("{what} has no policy `{}`", o.policy))
                .hint(did_you_mean(&o.policy, &POLICIES.map(|p| p.0)))
        })?;
        Ok(Genre { ties: o.ties.ties(setup.rng), policy, change: o.change, depth: o.depth, links: o.links })
    }

    /// Do this page's own links get its score?
    pub(super) fn gives_to_children(&self, visit: &Visit) -> bool {
        self.policy.children && self.moves(visit)
    }

    /// Does this visit move scores at all?
    fn moves(&self, visit: &Visit) -> bool {
        !self.policy.gated
            || match self.change {
                Change::From(t) => visit.verdict.relevance >= t,
                Change::Relevant => visit.verdict.relevant,
            }
    }
}

impl Strategy for Genre {
    fn wants(&self) -> Wants {
        Wants { ties: self.ties, ..Wants::NOTHING }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        let seed = visit.kind == LinkKind::Seed || visit.parent.is_none();
        if self.policy.siblings && !seed && self.moves(visit) {
            Rescore::Siblings(Priority::key_only(visit.verdict.relevance))
        } else {
            Rescore::Nothing
        }
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let key = if self.gives_to_children(visit) { visit.verdict.relevance } else { 0.0 };
        let one = |(i, link): (usize, &types::Link)| {
            let deeper = link.url.host_key() == visit.url.host_key();
            let followed = i < self.links && !(deeper && visit.site_depth >= self.depth);
            followed.then(|| Scored::key(key))
        };
        visit.doc.page.links.iter().enumerate().map(one).collect()
    }

    /// A link that is already pending keeps its score when found again (InsertURL inserts nothing new),
    /// unless the policy gives the page's links its score: that overwrites, as it does for siblings.
    fn merge(&self, old: Priority, new: Priority) -> Priority {
        let given = self.policy.children && (!self.policy.gated || new.key() > 0.0);
        if given { new } else { old }
    }

    fn explain(&self, _: &[u8], priority: Priority) -> Vec<Reason> {
        let label = match (self.policy.siblings, self.policy.children) {
            (true, true) => "score of a sibling or of the page it was found on",
            (true, false) => "score of a sibling",
            _ => "score of the page it was found on",
        };
        vec![Reason { label: label.into(), value: priority.key() }]
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{check, run};

    /// A list page with two good and two poor items, and a page of other links before it.
    const WEB: &str = "
        == http://a/
        [other](/o) [list](/l)
        == /o
        [x](/x) [y](/y)
        == /l
        [1](/1) [2](/2) [3](/3)
        == /x
        == /y
        == /1
        syllabus [z](/z)
        == /2
        syllabus
        == /3
        == /z
        ";

    fn order(strategy: &str, expected: &str) {
        check(
            WEB,
            &format!(
                "name = 'n'\n[genre]\nterms = ['syllabus']\n[judge]\nthreshold = 0.5\n[strategy]\n\
                 kind = 'genre'\nties = 'first'\n{strategy}"
            ),
            expected,
        );
    }

    #[test]
    fn five_policies() {
        // First found first until /1 is judged 1: then its siblings /2 and /3 come before /z …
        order("", "/ /o /l /x /y /1 /2 /3 /z");
        order("policy = 'FS-1'", "/ /o /l /x /y /1 /2 /3 /z");
        // … with PS its own link does, …
        order("policy = 'PS'", "/ /o /l /x /y /1 /z /2 /3");
        // … with PFS both, first found first.
        order("policy = 'PFS-1'", "/ /o /l /x /y /1 /2 /3 /z");
        order("policy = 'pfs-2'", "/ /o /l /x /y /1 /2 /3 /z");
    }

    #[test]
    fn siblings_are_raised_above_older_links_and_lowered_again() {
        let web = "
            == http://a/
            [l](/l) [m](/m)
            == /l
            [1](/1) [2](/2) [3](/3)
            == /m
            [7](/7)
            == /1
            syllabus
            == /2
            == /3
            == /7
            ";
        let with = |policy: &str| {
            format!(
                "name = 'n'\n[genre]\nterms = ['syllabus']\n[judge]\nthreshold = 0.5\n[strategy]\n\
                 kind = 'genre'\nties = 'first'\npolicy = '{policy}'"
            )
        };
        // /2 turns out poor: FS-1 lowers /3 again, FS-2 leaves it at 1.
        let one = run(web, &with("FS-1"));
        assert_eq!(one.order(), "/ /l /m /1 /2 /3 /7");
        one.expect_lease_key("/2", 1.0);
        one.expect_lease_key("/3", 0.0);
        run(web, &with("FS-2")).expect_lease_key("/3", 1.0);
    }

    /// Where the last found goes first among equals, every policy has an order of its own, none of them
    /// breadth-first.
    #[test]
    fn policies_where_a_new_score_changes_the_order() {
        let web = "
            == http://a/
            [o](/o) [l](/l)
            == /o
            == /l
            [1](/1) [2](/2) [3](/3) [4](/4)
            == /1
            == /2
            == /3
            syllabus [w](/w)
            == /4
            == /w
            ";
        let order = |policy: &str| {
            let topic = "name = 'n'\n[genre]\nterms = ['syllabus']\n[judge]\nthreshold = 0.5\n[strategy]\n\
                         kind = 'genre'\nties = 'last'";
            run(web, &format!("{topic}\npolicy = '{policy}'")).order()
        };
        // /3 is judged 1 and raises /1 and /2 above /w; /2 is poor: FS-1 lowers /1 again, FS-2 does not.
        assert_eq!(order("FS-1"), "/ /l /4 /3 /2 /w /1 /o");
        assert_eq!(order("FS-2"), "/ /l /4 /3 /2 /1 /w /o");
        // The page's own link is raised as well, and was found last.
        assert_eq!(order("PFS-1"), "/ /l /4 /3 /w /2 /1 /o");
        assert_eq!(order("PFS-2"), "/ /l /4 /3 /w /2 /1 /o");
        // Only its own link.
        assert_eq!(order("PS"), "/ /l /4 /3 /w /2 /1 /o");
    }

    #[test]
    fn change_threshold() {
        // One of four terms: sim = 1/√4 = 0.5.
        let topic = |change: &str| {
            format!(
                "name = 'n'\n[genre]\nterms = ['syllabus', 'b', 'c', 'd']\n[judge]\nthreshold = 0.8\n\
                 [strategy]\nkind = 'genre'\nties = 'first'\n{change}"
            )
        };
        run(WEB, &topic("change = 0.5")).expect_lease_key("/2", 0.5);
        run(WEB, &topic("change = 0.51")).expect_lease_key("/2", 0.0);
        run(WEB, &topic("change = 'relevant'")).expect_lease_key("/2", 0.0);
    }

    #[test]
    fn caps() {
        order("links = 1", "/ /o /x");
        order("depth = 1", "/ /o /l");
    }
}
