//! Takes pages out of a collection, for good: out of the archive, the ledger, the index and every state that
//! speaks of them. What is left is the address, so that it is known not to be wanted, and a line that says
//! who removed what, when and why (state `removed`). Nothing that matches such a line is ever fetched or
//! imported again ([`crate::scope::Scope`]).
//!
//! Ledger and archive files are written again without the pages, beside the collection, and take the place of
//! the old ones at once ([`store::swap`]).

use crate::check::{finish_swap, mend_index};
use crate::collection::{Collection, IndexedCounts, committed, unknown_pages};
use crate::config::LoadedConfig;
use crate::failures::Failure;
use crate::measured::Measured;
use crate::state::PageLine;
use crate::visits::PageVisit;
use frontier::State;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use store::archive::{Archived, ComposerSettings, CopyReport};
use store::formats::position_bytes;
use store::ledger::{self as log, Edit, RewriteReport};
use store::swap::Swap;
use store::{Ledger, LedgerReader, Records, Which};
use types::{ArchiveRef, Canon, Millis, Outcome, Problem, StateKey, Url, UrlId};

/// Which URLs are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "text")]
pub enum Selector {
    /// One address, as the collection spells it.
    Url(String),
    /// A host, and the hosts below it.
    Host(String),
    /// `*` stands for any letters. Without `://` it is compared with what comes after that.
    Pattern(String),
}

impl Selector {
    /// What a user typed. An address with a scheme is one page, a name without a slash is a host, everything
    /// else is a pattern.
    pub fn parse(text: &str, canon: &Canon) -> Result<Selector, Problem> {
        let text = text.trim();
        let wrong = |why: &str| {
            Problem::usage(format!("`{text}` names nothing that can be removed")).because(why).hint(
                "write an address (http://www.example.org/page), a host (www.example.org) or a pattern \
                 (www.example.org/private/*)",
            )
        };
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(wrong("it is empty, or has control characters"));
        }
        // Everything would be a whole collection: delete its folder.
        if !text.chars().any(char::is_alphanumeric) {
            return Err(wrong("it would match everything"));
        }
        if text.contains('*') {
            return Ok(Selector::Pattern(text.to_string()));
        }
        if text.contains("://") {
            let url = canon.parse(text).map_err(|e| wrong(&e.to_string()))?;
            return Ok(Selector::Url(url.as_str().to_string()));
        }
        if text.contains('/') {
            return Ok(Selector::Pattern(text.to_string()));
        }
        let host = canon.parse(&format!("http://{text}/")).map_err(|e| wrong(&e.to_string()))?;
        Ok(Selector::Host(host.host_key().to_string()))
    }

    /// As the user would write it.
    pub fn text(&self) -> &str {
        let (Selector::Url(text) | Selector::Host(text) | Selector::Pattern(text)) = self;
        text
    }

    /// Is this URL meant?
    pub fn matches(&self, url: &Url) -> bool {
        match self {
            Selector::Url(text) => url.as_str() == text,
            Selector::Host(host) => {
                let below = |name: &str| {
                    name.strip_suffix(host.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                };
                below(url.host_key()) || below(url.host())
            }
            Selector::Pattern(pattern) => {
                let text = url.as_str();
                let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
                fits(pattern, if pattern.contains("://") { text } else { rest })
            }
        }
    }
}

/// Does a text fit a pattern in which `*` stands for anything?
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

/// A line of the list of what was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// When.
    pub at: Millis,
    /// Who said so.
    pub by: String,
    /// Why.
    pub because: String,
    /// What.
    pub what: Selector,
    /// URLs that it named.
    pub urls: u64,
    /// Of those, pages that were in the collection.
    pub pages: u64,
    /// Versions of them.
    pub versions: u64,
    /// Answers that went from the archive.
    pub answers: u64,
    /// Of a shared crawl: places in the archive that still hold one of them, and nobody here can write again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

impl Removal {
    /// Everything that was removed from a collection, first removed first.
    pub fn list(store: &(impl Records + ?Sized)) -> Result<Vec<Removal>, Problem> {
        let entries = store.state(StateKey::Removed)?;
        entries
            .iter()
            .map(|bytes| {
                serde_json::from_slice(bytes).map_err(|e| {
                    Problem::new("the list of what was removed cannot be read")
                        .because(e)
                        .hint("a newer version of gleaner may have written it")
                })
            })
            .collect()
    }
}

/// Who removes, and how.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// What goes.
    pub what: Selector,
    /// Who said so.
    pub by: &'a str,
    /// Why.
    pub because: &'a str,
    /// What was set aside goes too, and bytes of the archive that cannot be read.
    pub with_damaged: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Removed {
    /// As it stands in the list.
    #[serde(flatten)]
    pub removal: Removal,
    /// Addresses of pages that went (of many, the first).
    pub gone: Vec<String>,
    /// Pages that stay and have the same text as one that went.
    pub copies: Vec<String>,
    /// Bytes of the collection that are free now.
    pub freed: i64,
}

/// Addresses that are shown.
pub(crate) const SHOWN: usize = 1_000;

/// Removes pages. Fails, and changes nothing, when another process has the collection open or when it is
/// damaged.
pub fn remove(dir: &Path, loaded: &LoadedConfig, order: &Order<'_>) -> Result<Removed, Problem> {
    let _held = log::hold(dir)?;
    finish_swap(dir, loaded)?;
    let ledger = whole(dir)?;
    let aside = Collection::aside_dir(dir);
    if aside.is_dir() && !order.with_damaged {
        return Err(Problem::new(format!("{} holds what did not fit the collection", aside.display()))
            .because("nobody can say whether what is to go is in it")
            .hint("look through it; --with-damaged deletes it along with the pages"));
    }
    let plan = Plan::new(&ledger, order)?;
    let archived = archive_of(dir, &ledger, order.with_damaged)?;
    let strange = archived.targets().any(|target| plan.goes(target));
    if plan.gone.is_empty() && !strange {
        return Err(Problem::nothing(format!("no URL of {} is {}", dir.display(), order.what.text()))
            .hint("to keep URLs out that were never seen, name them in [scope] hosts or patterns"));
    }
    let earlier = Removal::list(&*ledger)?.into_iter().rfind(|r| r.what == order.what);
    if let Some(earlier) = earlier.filter(|_| plan.is_nothing() && !strange) {
        let when = store::archive::rfc3339(earlier.at);
        return Err(Problem::nothing(format!("{} was removed at {when}", order.what.text()))
            .hint(format!("`gleaner remove {} --list` shows what was", dir.display())));
    }
    let mut removed = plan.result(order);
    if order.dry_run {
        removed.removal.answers = archived.targets().filter(|target| plan.goes(target)).count() as u64;
        return Ok(removed);
    }
    let before = crate::space::used(dir);
    let swap = Swap::begin(dir)?;
    let copied = archived.copy_without(&|t| plan.goes(t), &swap.warc(), composer(&ledger)?, Millis::now())?;
    removed.removal.answers = copied.dropped;
    let entry = serde_json::to_vec(&removed.removal)
        .map_err(|e| Problem::new("cannot write down what was removed").because(e))?;
    let state = |name: &str, bytes: &[u8]| without(&plan.gone, name, bytes);
    let add = vec![(StateKey::Removed, true, entry)];
    let written = write_ledger(dir, &swap, &ledger, &copied, &plan, &state, add)?;
    verify(&swap, &ledger, &plan, &written)?;
    drop(ledger);
    let mut goes = gone_files(&copied);
    if order.with_damaged {
        goes.push("damaged".to_string());
    }
    swap.commit(&goes)?;
    if loaded.config.archive.index {
        mend_index(dir)?;
    }
    let after = crate::space::used(dir);
    removed.freed = before.total() as i64 - after.total() as i64;
    Ok(removed)
}

/// The ledger, read whole. A damaged one is not written again.
pub(crate) fn whole(dir: &Path) -> Result<LedgerReader, Problem> {
    let ledger = Ledger::open_read_whole(dir)?;
    match ledger.damage() {
        Some(damage) => Err(damage.problem(&dir.join(log::LOG).display().to_string())),
        None => Ok(ledger),
    }
}

/// What the archive holds, when all of it is known.
pub(crate) fn archive_of(dir: &Path, ledger: &LedgerReader, with_damaged: bool) -> Result<Archived, Problem> {
    let warc = Collection::warc_dir(dir);
    let position = committed(&**ledger)?;
    let unknown = unknown_pages(&warc, &**ledger, u64::MAX - 1)?;
    if unknown > 0 {
        return Err(Problem::new(format!("{unknown} pages of {} were never committed", warc.display()))
            .because("the last run was killed")
            .hint(format!(
                "`gleaner check {0} --repair` brings them in; or go on with `gleaner crawl --out {0}`",
                dir.display()
            )));
    }
    let archived = Archived::read(&warc, position)?;
    if let (Some(place), false) = (archived.damaged.first(), with_damaged) {
        return Err(Problem::new("the archive is damaged")
            .because(format!("{place}: nobody can say whether what is to go is there"))
            .hint("`gleaner check` says what is wrong; --with-damaged leaves such bytes out of the files that are written again"));
    }
    Ok(archived)
}

/// How the archive's records are made.
pub(crate) fn composer(ledger: &LedgerReader) -> Result<ComposerSettings, Problem> {
    let key = ledger.state(StateKey::ArchiveKey)?.pop().and_then(|b| <[u8; 16]>::try_from(b).ok());
    let half = |bytes: &[u8; 16], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let key = key.map_or((0, 0), |bytes| (half(&bytes, 0), half(&bytes, 8)));
    Ok(ComposerSettings { key, ..ComposerSettings::default() })
}

/// Files of the collection that are of no use after a swap.
pub(crate) fn gone_files(copied: &CopyReport) -> Vec<String> {
    let old = copied.files.iter().map(|(_, old)| format!("warc/{old}"));
    // Both are made again; the report has titles and addresses.
    old.chain(["report.html".to_string(), crate::roll::FEATURES_FILE.to_string()]).collect()
}

/// What goes.
#[derive(Default)]
pub(crate) struct Plan {
    what: Option<Selector>,
    pub gone: HashSet<UrlId>,
    addresses: HashSet<String>,
    waiting: Vec<UrlId>,
    pages: u64,
    versions: u64,
    shown: Vec<String>,
    copies: Vec<String>,
}

impl Plan {
    fn new(ledger: &LedgerReader, order: &Order<'_>) -> Result<Plan, Problem> {
        let mut plan = Plan { what: Some(order.what.clone()), ..Plan::default() };
        for entry in ledger.entries(Which::All) {
            let entry = entry?;
            let url = ledger.url(entry.id)?;
            if !order.what.matches(&url) {
                continue;
            }
            plan.gone.insert(entry.id);
            plan.addresses.insert(url.as_str().to_string());
            if !matches!(entry.state, State::Settled(_)) {
                plan.waiting.push(entry.id);
            }
            if entry.state == State::Settled(Outcome::Fetched) {
                plan.pages += 1;
                plan.versions += ledger.versions(entry.id)?.len() as u64;
                if plan.shown.len() < SHOWN {
                    plan.shown.push(url.to_string());
                }
            }
        }
        plan.find_copies(ledger)?;
        Ok(plan)
    }

    /// Pages that stay and say the same.
    fn find_copies(&mut self, ledger: &LedgerReader) -> Result<(), Problem> {
        let lines = PageLine::newest(&**ledger)?;
        let is_gone = |id: &UrlId| self.gone.contains(id);
        let digests: HashSet<[u8; 20]> =
            lines.iter().filter(|l| is_gone(&l.judged.id)).map(|l| l.digest).collect();
        let mut copies = Vec::new();
        for line in lines.iter().filter(|l| !is_gone(&l.judged.id)) {
            let same = digests.contains(&line.digest) || line.copy_of.as_ref().is_some_and(is_gone);
            if same && copies.len() < SHOWN {
                copies.push(ledger.url(line.judged.id)?.to_string());
            }
        }
        self.copies = copies;
        Ok(())
    }

    /// Nothing is there that could go.
    fn is_nothing(&self) -> bool {
        self.pages == 0 && self.waiting.is_empty()
    }

    /// Does the answer of this address go?
    fn goes(&self, target: &str) -> bool {
        if self.addresses.contains(target) {
            return true;
        }
        let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
        let what = self.what.as_ref();
        what.is_some_and(|what| canon.parse(target).is_ok_and(|url| what.matches(&url)))
    }

    fn result(&self, order: &Order<'_>) -> Removed {
        Removed {
            removal: Removal {
                at: Millis::now(),
                by: order.by.to_string(),
                because: order.because.to_string(),
                what: order.what.clone(),
                urls: self.gone.len() as u64,
                pages: self.pages,
                versions: self.versions,
                answers: 0,
                left: Vec::new(),
            },
            gone: self.shown.clone(),
            copies: self.copies.clone(),
            freed: 0,
        }
    }
}

/// Writes the ledger again into the swap.
pub(crate) fn write_ledger(
    dir: &Path,
    swap: &Swap,
    ledger: &LedgerReader,
    copied: &CopyReport,
    plan: &Plan,
    state: &dyn Fn(&str, &[u8]) -> Option<Vec<u8>>,
    mut add: Vec<(StateKey, bool, Vec<u8>)>,
) -> Result<RewriteReport, Problem> {
    let moved = |at: &ArchiveRef| {
        let (file, offset, length) = copied.moved.get(&(at.file.clone(), at.offset))?.clone();
        Some(ArchiveRef { file, offset, length })
    };
    if let Some(position) = &copied.position {
        add.push((StateKey::Archive, false, position_bytes(position)));
    }
    // The index is made again: it will have each of these pages.
    let mut wanted: HashMap<UrlId, bool> = HashMap::new();
    for page in ledger.pages(0) {
        let (record, _) = page?;
        wanted.insert(record.id, !record.noindex && !plan.gone.contains(&record.id));
    }
    let indexed = IndexedCounts {
        pages: ledger.stats()?.versions - plan.versions,
        documents: wanted.values().filter(|wanted| **wanted).count() as u64,
    };
    add.push((StateKey::Indexed, false, indexed.to_bytes()));
    let edit = Edit {
        gone: &plan.gone,
        waiting: &plan.waiting,
        moved: &moved,
        state,
        add: &add,
        closed: ledger.ended_in_order(),
    };
    log::rewrite(dir, swap.ledger(), &edit)
}

/// The new ledger has what it should, and nothing else is missing.
pub(crate) fn verify(
    swap: &Swap,
    old: &LedgerReader,
    plan: &Plan,
    written: &RewriteReport,
) -> Result<(), Problem> {
    let new = whole(swap.ledger())?;
    let (before, after) = (old.stats()?, new.stats()?);
    let pages = before.pages == after.pages + plan.pages && before.versions == after.versions + plan.versions;
    let left = plan.gone.iter().any(|id| new.record(*id).map_or(true, |r| r.is_some()));
    if !pages || before.urls != after.urls || written.dropped != plan.versions || left {
        return Err(Problem::new("the ledger was not written again as it should be")
            .because(format!("{} pages were there, {} would be", before.pages, after.pages))
            .hint("nothing was changed; please report this"));
    }
    Ok(())
}

/// A piece of state without what it says of pages that go. `None`: nothing is left.
pub(crate) fn without(gone: &HashSet<UrlId>, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let is = |key: StateKey| name == key.name();
    let keep = |id: UrlId| (!gone.contains(&id)).then(|| bytes.to_vec());
    // Entries of one size, with the number of a page at this place.
    let entries = |size: usize, at: usize| {
        let id = |e: &[u8]| e.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        let stays = |e: &&[u8]| id(e).is_none_or(|id| !gone.contains(&UrlId(id)));
        Some(bytes.chunks(size).filter(stays).flatten().copied().collect())
    };
    // Taught by pages that went: it learns again from those that are left. The others are written anew.
    if is(StateKey::Judge) || is(StateKey::Archive) || is(StateKey::Indexed) {
        return None;
    }
    if is(StateKey::Pages) {
        let Some(mut line) = PageLine::read(bytes) else { return Some(bytes.to_vec()) };
        if line.copy_of.is_some_and(|id| gone.contains(&id)) {
            line.copy_of = None;
            return (!gone.contains(&line.judged.id)).then(|| line.write());
        }
        return keep(line.judged.id);
    }
    if is(StateKey::Features) {
        return Measured::decode(bytes).map_or_else(|| Some(bytes.to_vec()), |m| keep(m.id));
    }
    if is(StateKey::Visits) {
        return PageVisit::decode(bytes).map_or_else(|| Some(bytes.to_vec()), |v| keep(v.id));
    }
    if is(StateKey::Failures) {
        return Failure::decode(bytes).map_or_else(|| Some(bytes.to_vec()), |f| keep(f.id));
    }
    if is(StateKey::Labels) || is(StateKey::LabelsTold) || is(StateKey::VerdictsUntold) {
        return entries(5, 0);
    }
    if is(StateKey::Answers) {
        return entries(14, 0);
    }
    if is(StateKey::TeacherAnswers) {
        return entries(21, 8);
    }
    if is(StateKey::Unarchived) {
        return entries(4, 0);
    }
    Some(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_types_is_an_address_a_host_or_a_pattern() {
        let canon = Canon::default();
        let parse = |text: &str| Selector::parse(text, &canon);
        let url = |text: &str| canon.parse(text).unwrap();
        let page = parse("http://A.example/x#y").unwrap();
        assert_eq!(page, Selector::Url("http://a.example/x".into()));
        assert!(page.matches(&url("http://a.example/x")) && !page.matches(&url("http://a.example/x/y")));
        let host = parse("A.example").unwrap();
        assert_eq!(host, Selector::Host("a.example".into()));
        for (text, is) in [
            ("http://a.example/", true),
            ("https://www.a.example/x", true),
            ("http://ba.example/", false),
            ("http://a.example.org/", false),
        ] {
            assert_eq!(host.matches(&url(text)), is, "{text}");
        }
        for (pattern, text, is) in [
            ("a.example/private/*", "https://a.example/private/x", true),
            ("a.example/private/*", "https://a.example/public/private/x", false),
            ("http://*.example/*.pdf", "http://x.example/a/b.pdf", true),
            ("http://*.example/*.pdf", "https://x.example/a/b.pdf", false),
            ("*secret*", "http://x.example/a?secret=1", true),
            ("a.example/b", "http://a.example/b", true),
            ("a.example/b", "http://a.example/bc", false),
            ("a*a", "http://a", false),
        ] {
            assert_eq!(parse(pattern).unwrap().matches(&url(text)), is, "{pattern} {text}");
        }
        for wrong in ["", " ", "*", "**/*", "http://", "a b", "\u{1b}[0m"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
