//! Rules for hosts: which the user prefers or blocks, and which are fetched last because they are mirrors.

use super::adjustments::{BOOSTED, boosted, plain};
use super::command::{Effect, HostRule};
use crate::crawl::Crawl;
use crate::mirrors::last;
use frontier::{Info, State};
use std::collections::HashSet;
use store::Which;
use types::{Problem, Rescored, Url, UrlId, domain_of};

impl Crawl {
    pub(super) fn rule(&mut self, host: &str, rule: HostRule) -> Result<Effect, Problem> {
        let host = host.to_lowercase();
        let mut adjustments = self.steer.adjustments.clone();
        adjustments.rule(&host, rule)?;
        adjustments.write(self.parts.ledger.as_mut())?;
        self.steer.adjustments = adjustments;
        let n = self.move_pending(&host, rule)?;
        Ok(Effect { text: rule.told(&host, n as u64), changed: n, ..Effect::default() })
    }

    /// A host's pending URLs get the place that its rule gives them.
    pub(crate) fn move_pending(&mut self, host: &str, rule: HostRule) -> Result<usize, Problem> {
        let pending = self.pending_on(&self.parts.ledger.find_host(host)?.into_iter().collect())?;
        if rule != HostRule::Block {
            self.place(&pending)?;
        }
        Ok(pending.len())
    }

    fn pending_on(&self, hosts: &HashSet<u32>) -> Result<Vec<UrlId>, Problem> {
        if hosts.is_empty() {
            return Ok(Vec::new());
        }
        self.pending_if(|entry| entry.host.is_some_and(|h| hosts.contains(&h)))
    }

    /// The pending URLs of which this is true.
    fn pending_if(&self, wanted: impl Fn(&Info) -> bool) -> Result<Vec<UrlId>, Problem> {
        let pending = self.parts.ledger.entries(Which::Pending);
        let wanted = pending.filter(|entry| entry.as_ref().map_or(true, &wanted));
        wanted.map(|entry| entry.map(|e| e.id)).collect()
    }

    /// Gives pending URLs the priority they have under the present model and rules. How many have one.
    fn place(&mut self, ids: &[UrlId]) -> Result<usize, Problem> {
        let mut moved = Vec::with_capacity(ids.len());
        for id in ids {
            moved.extend(self.priority_now(*id)?);
        }
        self.parts.ledger.rescore(&moved)?;
        Ok(moved.len())
    }

    /// Pending URLs that are not where the rule of their host puts them: of all (`None`), or of some. Those
    /// who had them, or sent them, may not have heard what the user wants, or not any more.
    pub(crate) fn put_in_place(&mut self, which: Option<&[UrlId]>) -> Result<usize, Problem> {
        if which.is_some_and(<[UrlId]>::is_empty) {
            return Ok(0);
        }
        let ledger = &self.parts.ledger;
        let rules = self.steer.adjustments.hosts.iter().filter(|(_, rule)| **rule == HostRule::Boost);
        let mut first: HashSet<u32> = HashSet::new();
        for (host, _) in rules {
            first.extend(ledger.find_host(host)?);
        }
        let is_astray = |e: &Info| {
            let is_first = e.priority.lane == BOOSTED;
            e.state == State::Pending && is_first != e.host.is_some_and(|h| first.contains(&h))
        };
        let mut astray = Vec::new();
        match which {
            None => astray = self.pending_if(is_astray)?,
            Some(some) => {
                for id in some {
                    astray.extend(ledger.entry(*id)?.filter(is_astray).map(|e| e.id));
                }
            }
        }
        self.place(&astray)
    }

    /// A pending URL's priority under the present model and rules.
    fn priority_now(&mut self, id: UrlId) -> Result<Option<Rescored>, Problem> {
        if let Some(rescored) = self.rescored(id, None)? {
            return Ok(Some(rescored));
        }
        // The strategy does not score again: what it said of the best sighting stands.
        let best = self.parts.ledger.sources(id)?.iter().map(|s| plain(s.priority)).max();
        let model = self.parts.strategy.version();
        let Some(priority) = best else { return Ok(None) };
        let priority = self.with_rule(id, priority)?;
        Ok(Some(Rescored { id, priority, model, cause: None }))
    }

    /// The priority with what the user wants of its host.
    pub(crate) fn with_rule(&mut self, id: UrlId, p: types::Priority) -> Result<types::Priority, Problem> {
        // What another worker has it puts where it belongs, and may not even have a number here.
        if !self.has_rules() || !self.holds(id) {
            return Ok(plain(p));
        }
        if self.steer.adjustments.hosts.is_empty() {
            let host = self.parts.ledger.entry(id)?.and_then(|e| e.host);
            let Some(host) = host else { return Ok(plain(p)) };
            let ledger = &self.parts.ledger;
            let name = || ledger.url(id).map(|url| url.host_key().to_string());
            let waits = self.judging.mirrors.is_mirror_numbered(host, name)?;
            return Ok(if waits { last(plain(p)) } else { plain(p) });
        }
        let url = self.parts.ledger.url(id)?;
        Ok(self.with_rule_of(&url, p))
    }

    pub(crate) fn with_rule_of(&self, url: &Url, p: types::Priority) -> types::Priority {
        match self.steer.adjustments.rule_of(url.host_key()) {
            HostRule::Boost => boosted(p),
            _ if self.judging.mirrors.is_mirror(url.host_key()) => last(plain(p)),
            _ => plain(p),
        }
    }

    /// Do some hosts go first, or last?
    pub(crate) fn has_rules(&self) -> bool {
        !self.steer.adjustments.hosts.is_empty() || self.judging.mirrors.any()
    }

    /// A page came; the same stands under `original`, if anywhere. Pending URLs of a host that shows itself a
    /// mirror go last, and go back if it was none.
    pub(crate) fn watch_for_mirrors(&mut self, url: &Url, original: Option<UrlId>) -> Result<(), Problem> {
        let ledger = &self.parts.ledger;
        let original = original.filter(|id| self.holds(*id)).map(|id| ledger.url(id)).transpose()?;
        let host = url.host_key();
        if !self.judging.mirrors.met(host, original.as_ref().map(Url::host_key)) {
            return Ok(());
        }
        tracing::info!(
            host,
            mirror = self.judging.mirrors.is_mirror(host),
            "the same pages stand on another host"
        );
        let domain = domain_of(host);
        let mut of_domain: HashSet<u32> = HashSet::new();
        for host in self.parts.ledger.hosts()?.iter().filter(|h| domain_of(&h.name) == domain) {
            of_domain.extend(self.parts.ledger.find_host(&host.name)?);
        }
        let pending = self.pending_on(&of_domain)?;
        self.place(&pending)?;
        Ok(())
    }

    pub(crate) fn is_blocked(&self, url: &Url) -> bool {
        self.steer.adjustments.rule_of(url.host_key()) == HostRule::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::tests::{Restless, crawl};
    use focus::strategies::{Scored, Strategy, Visit};
    use types::{Candidate, Millis, Priority};

    /// Never scores again.
    struct Still;

    impl Strategy for Still {
        fn score(&mut self, _: &Visit) -> Vec<Option<Scored>> {
            Vec::new()
        }
    }

    fn first(c: &Crawl) -> Vec<UrlId> {
        let ledger = &c.parts.ledger;
        let first = ledger.entries(Which::Pending).map(Result::unwrap);
        first.filter(|e| e.priority.lane == BOOSTED).map(|e| e.id).collect()
    }

    #[test]
    fn urls_of_a_host_are_where_its_rule_puts_them_whoever_had_them_before() {
        for strategy in [Box::new(Restless(1)) as Box<dyn Strategy>, Box::new(Still)] {
            let mut c = crawl(None, 300);
            c.parts.strategy = strategy;
            // The rules come from elsewhere: nobody moved anything yet.
            c.steer.adjustments.rule("h7.example", HostRule::Boost).unwrap();
            assert_eq!(c.put_in_place(None).unwrap(), 3);
            assert_eq!(first(&c), [UrlId(7), UrlId(107), UrlId(207)]);
            assert_eq!(c.put_in_place(None).unwrap(), 0);
            // Found while its host went first, by someone who takes it for one of them.
            let url = c.parts.canon.parse("http://h7.example/new").unwrap();
            let late = Candidate { priority: boosted(Priority::key_only(0.5)), ..c.as_seed(&url) };
            assert!(c.parts.ledger.seed(late, Millis(0)).unwrap());
            c.steer.adjustments.rule("h7.example", HostRule::None).unwrap();
            c.steer.adjustments.rule("h8.example", HostRule::Boost).unwrap();
            assert_eq!(c.put_in_place(Some(&[UrlId(300), UrlId(8)])).unwrap(), 2, "only those");
            assert_eq!(first(&c), [UrlId(7), UrlId(8), UrlId(107), UrlId(207)]);
            assert_eq!(c.put_in_place(None).unwrap(), 5);
            assert_eq!(first(&c), [UrlId(8), UrlId(108), UrlId(208)]);
            c.steer.adjustments.rule("h8.example", HostRule::Block).unwrap();
            c.put_in_place(None).unwrap();
            assert_eq!(first(&c), []);
        }
    }
}
