//! Scores pending URLs again when the strategy's model has changed. Those near the top are scored before each
//! lease. The others are scored in the background, a piece at a time between two turns, so that no fetch
//! waits.

use crate::crawl::Crawl;
use std::time::{Duration, Instant};
use store::Which;
use types::{Problem, Rescored, UrlId};

/// How long one piece may take.
const PIECE: Duration = Duration::from_millis(10);
/// URLs looked at between two looks at the clock.
const FEW: usize = 64;

/// A sweep under way.
pub(crate) struct Sweep {
    ids: Vec<UrlId>,
    next: usize,
    /// The model asked for another one meanwhile. This one goes on to its end first: a model that changes
    /// often must not keep the far end of the frontier from ever being reached.
    again: bool,
}

impl Crawl {
    /// Leaves the scoring of all pending URLs to the background. `false`: there are so few that it is done at
    /// once.
    pub(crate) fn sweep_later(&mut self) -> Result<bool, Problem> {
        if let Some(sweep) = &mut self.learning.sweep {
            sweep.again = true;
            return Ok(true);
        }
        let Some(most) = self.parts.rules.sweep_above else { return Ok(false) };
        if self.parts.ledger.stats()?.pending <= most {
            return Ok(false);
        }
        self.learning.sweep = Some(Sweep { ids: self.pending_ids()?, next: 0, again: false });
        Ok(true)
    }

    pub(crate) fn pending_ids(&self) -> Result<Vec<UrlId>, Problem> {
        self.parts.ledger.entries(Which::Pending).map(|e| e.map(|e| e.id)).collect()
    }

    /// A piece of the sweep. `true` when there is more of it.
    pub fn sweep_some(&mut self) -> Result<bool, Problem> {
        let Some(mut sweep) = self.learning.sweep.take() else { return Ok(false) };
        let began = Instant::now();
        let model = self.parts.strategy.version();
        let mut fresh: Vec<Rescored> = Vec::new();
        while sweep.next < sweep.ids.len() && began.elapsed() < PIECE {
            let from = sweep.next;
            sweep.next = (from + FEW).min(sweep.ids.len());
            for &id in sweep.ids.get(from..sweep.next).unwrap_or_default() {
                // Fetched meanwhile, or another worker's by now.
                if !self.holds(id) {
                    continue;
                }
                let Some(entry) = self.parts.ledger.entry(id)? else { continue };
                if entry.state == frontier::State::Pending
                    && entry.model != model
                    && let Some(rescored) = self.rescored(id, None)?
                    && rescored.priority != entry.priority
                {
                    fresh.push(rescored);
                }
            }
        }
        if !fresh.is_empty() {
            self.parts.ledger.rescore(&fresh)?;
        }
        if sweep.next < sweep.ids.len() {
            self.learning.sweep = Some(sweep);
        } else if sweep.again {
            self.sweep_later()?;
        }
        Ok(self.learning.sweep.is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::collection::TopicParts;
    use crate::config::{Config, ScopeSection};
    use crate::scope::Scope;
    use crate::{Crawl, Parts, Rules};
    use focus::strategies::{Model, Rescore, Scored, Strategy, Visit};
    use frontier::Limits;
    use types::{Candidate, Canon, LinkKind, Millis, Priority, Problem, Source, UrlId};

    /// Its scores are the version of its model.
    pub(crate) struct Restless(pub u32);

    impl Strategy for Restless {
        fn score(&mut self, _: &Visit) -> Vec<Option<Scored>> {
            Vec::new()
        }
        fn rescore(&mut self, _: &[Source]) -> Option<Priority> {
            Some(Priority::key_only(f64::from(self.0)))
        }
        fn model(&mut self) -> Option<&mut dyn Model> {
            Some(self)
        }
    }

    impl Model for Restless {
        fn version(&self) -> u32 {
            self.0
        }
        fn save(&mut self, _: bool) -> Option<Vec<u8>> {
            None
        }
        fn load(&mut self, _: &[u8]) -> Result<(), Problem> {
            Ok(())
        }
    }

    pub(crate) fn crawl(sweep_above: Option<u64>, urls: u32) -> Crawl {
        let text = "name = 't'\nquery = 'sql'\n[judge]\nthreshold = 0.3\n";
        let topic = Config::load(text, "t", toml::Table::new()).unwrap().config.topic().unwrap();
        let canon = Canon::default();
        let made = TopicParts::new(&topic, &canon, &|_| unreachable!(), 1, 0).unwrap();
        let mut ledger = store::Ledger::in_memory(Limits::none());
        for i in 0..urls {
            let candidate = Candidate {
                url: canon.parse(&format!("http://h{}.example/{i}", i % 100)).unwrap(),
                parent: None,
                kind: LinkKind::Seed,
                depth: 0,
                site_depth: 0,
                hops: 0,
                priority: Priority::key_only(0.0),
                evidence: vec![1],
                model: 0,
                ttl: None,
                anchor: "".into(),
            };
            frontier::Frontier::seed(&mut ledger, candidate, Millis(0)).unwrap();
        }
        let parts = Parts {
            name: "t".into(),
            strategy_name: "restless".into(),
            judge_name: topic.judge.kind.clone(),
            rules: Rules { sweep_above, ..Rules::default() },
            canon,
            scope: Scope::new(&ScopeSection::default(), &[]).unwrap(),
            ledger: Box::new(ledger),
            judge: made.analyst.judge.clone(),
            strategy: Box::new(Restless(0)),
            archive: None,
            index: None,
            folder: None,
        };
        Crawl::new(parts).unwrap()
    }

    fn keys(crawl: &Crawl) -> Vec<f64> {
        let ledger = &crawl.parts.ledger;
        ledger.entries(store::Which::Pending).map(|e| e.unwrap().priority.key()).collect()
    }

    #[test]
    fn a_large_frontier_is_swept_in_pieces_and_to_its_end() {
        let mut c = crawl(Some(1_000), 5_000);
        c.parts.strategy = Box::new(Restless(1));
        assert_eq!(c.rescores(&Rescore::Everything, UrlId(0)).unwrap(), [], "nothing at once");
        assert!(keys(&c).iter().all(|k| *k == 0.0));
        // The model moves on while the sweep is under way: this one goes on, and another follows.
        c.sweep_some().unwrap();
        c.parts.strategy = Box::new(Restless(2));
        c.rescores(&Rescore::Everything, UrlId(0)).unwrap();
        let mut pieces = 0;
        while c.sweep_some().unwrap() {
            pieces += 1;
            assert!(pieces < 100_000, "it ends");
        }
        assert!(keys(&c).iter().all(|k| *k == 2.0), "everything is scored by the newest model");
    }

    #[test]
    fn a_small_one_and_a_backtest_are_scored_at_once() {
        for (above, urls) in [(Some(1_000), 1_000), (None, 3_000)] {
            let mut c = crawl(above, urls);
            c.parts.strategy = Box::new(Restless(1));
            assert_eq!(c.rescores(&Rescore::Everything, UrlId(0)).unwrap().len(), urls as usize);
            assert!(!c.sweep_some().unwrap());
        }
    }
}
