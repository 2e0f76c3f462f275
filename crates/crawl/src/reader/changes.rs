//! What is new in a collection since a time: pages that came, changed, went away, moved or came back.

use super::Reader;
use crate::collection::Collection;
use crate::difference::own_lines;
use crate::measured::{FEATURES, Measured, Measurer};
use crate::stored;
use crate::visits::Found;
use focus::text::{Doc, TextOptions};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use types::{Millis, Payload, Problem, Record, UrlId};

/// Pages are in the order they came, but clocks are set and workers differ: after so many older ones in a row
/// nobody looks further back.
const OLDER_IN_A_ROW: usize = 2_000;
/// Pages read at a time.
const PIECE: usize = 200;

/// What happened to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It was not in the collection before.
    New,
    /// Its own text is another.
    Changed,
    /// It was gone, or had moved, and is there again.
    Back,
    /// It is not there any more.
    Gone,
    /// It leads to another address.
    Moved,
}

impl ChangeKind {
    /// Every kind, in the order people read them.
    pub const ALL: [ChangeKind; 5] =
        [ChangeKind::New, ChangeKind::Changed, ChangeKind::Back, ChangeKind::Moved, ChangeKind::Gone];

    /// For people, and in addresses.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::New => "new",
            ChangeKind::Changed => "changed",
            ChangeKind::Back => "back",
            ChangeKind::Gone => "gone",
            ChangeKind::Moved => "moved",
        }
    }
}

/// A page that is not what it was.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// What happened to it.
    pub kind: ChangeKind,
    /// The page.
    pub id: UrlId,
    /// Canonical address.
    pub url: String,
    /// Of its newest version.
    pub title: String,
    /// Is it one of the wanted pages?
    pub relevant: bool,
    /// The judge's score, 0–1.
    pub score: f64,
    /// When it was seen, in milliseconds since 1970.
    pub at: Millis,
    /// When it came into the collection.
    pub since: Millis,
    /// How often its text changed in this time.
    pub times: u32,
    /// Words that are new.
    pub added: u32,
    /// Words that are gone.
    pub removed: u32,
    /// Every change of its text, the oldest first.
    pub diff: Vec<DiffLine>,
    /// Where it moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The first lines of a new page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub begins: String,
}

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// `+` new, `-` gone, ` ` as before, `@` lines are left out here.
    pub mark: char,
    /// Without its mark.
    pub text: String,
}

/// What is new in a collection.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// What the collection is called.
    pub name: String,
    /// From here on, in milliseconds since 1970.
    pub since: Millis,
    /// The newest first.
    pub changes: Vec<Change>,
}

impl Changes {
    /// Those of one kind, the newest first.
    pub fn of(&self, kind: ChangeKind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |c| c.kind == kind)
    }
}

/// What visits to a page found in the time that is looked at.
#[derive(Default)]
struct PageVisits {
    last: Option<(Millis, Found, String)>,
    /// It was gone, or had moved, before the last visit.
    was_away: bool,
    times: u32,
    added: u32,
    removed: u32,
    diff: Vec<DiffLine>,
}

/// How much of a new page's text is shown.
const BEGINS: usize = 300;
/// So many new pages are read again to tell their text from menus; of others the kept text must do.
const READ_AGAIN: usize = 300;
/// So many of the newest pages tell what the menus of their hosts are, where nothing else does.
const MENUS_FROM: usize = 1_000;

impl Reader {
    /// What is new since a time: relevant pages, or all.
    pub fn changes(&self, since: Millis, all: bool) -> Result<Changes, Problem> {
        let (mut seen, mut visited) = (HashMap::<UrlId, PageVisits>::new(), HashSet::new());
        let mut away = HashSet::new();
        for visit in self.source.visits_since(&mut 0)? {
            visited.insert(visit.id);
            let is_away = matches!(visit.found, Found::Gone | Found::Moved);
            if visit.at >= since && !matches!(visit.found, Found::NoAnswer | Found::Denied) {
                let page = seen.entry(visit.id).or_default();
                page.was_away |= away.contains(&visit.id) && !is_away;
                if visit.found == Found::Changed {
                    page.times += 1;
                    page.added += visit.added;
                    page.removed += visit.removed;
                    page.diff.extend(diff_lines(&visit.text));
                }
                page.last = Some((visit.at, visit.found, visit.text));
            }
            match (is_away, visit.found.is_there()) {
                (true, _) => away.insert(visit.id),
                (_, true) => away.remove(&visit.id),
                _ => false,
            };
        }
        let mut changes = self.new_pages(since, all, &visited)?;
        let new: HashSet<UrlId> = changes.iter().map(|c| c.id).collect();
        for (id, page) in seen {
            let Some((at, found, text)) = page.last else { continue };
            let kind = match found {
                Found::Gone => ChangeKind::Gone,
                Found::Moved => ChangeKind::Moved,
                _ if page.was_away => ChangeKind::Back,
                _ if page.times > 0 => ChangeKind::Changed,
                _ => continue,
            };
            let is_new = new.contains(&id) && !matches!(kind, ChangeKind::Gone | ChangeKind::Moved);
            if is_new || !(all || self.is_relevant(id)) {
                continue;
            }
            let Some(record) = self.record(id)? else { continue };
            let first = self.first_seen(id, &record, &visited)?;
            let change = self.change(kind, at, first, &record);
            changes.retain(|c| c.id != id);
            changes.push(Change {
                times: page.times,
                added: page.added,
                removed: page.removed,
                diff: page.diff,
                to: (kind == ChangeKind::Moved).then_some(text),
                ..change
            });
        }
        changes.sort_by(|a, b| b.at.cmp(&a.at).then(a.id.cmp(&b.id)));
        Ok(Changes { name: self.config.title().to_string(), since, changes })
    }

    fn change(&self, kind: ChangeKind, at: Millis, since: Millis, record: &Record) -> Change {
        Change {
            kind,
            id: record.id,
            url: record.url.clone(),
            title: record.title.clone(),
            relevant: self.is_relevant(record.id),
            score: self.score(record.id).unwrap_or(record.assessment.score),
            at,
            since,
            times: 0,
            added: 0,
            removed: 0,
            diff: Vec::new(),
            to: None,
            begins: String::new(),
        }
    }

    /// When a page came. Of one that was visited again the oldest version tells.
    fn first_seen(&self, id: UrlId, newest: &Record, visited: &HashSet<UrlId>) -> Result<Millis, Problem> {
        if !visited.contains(&id) {
            return Ok(newest.fetched);
        }
        Ok(self.source.versions(id)?.last().map_or(newest.fetched, |oldest| oldest.fetched))
    }

    /// Pages that came since, found from the newest one back.
    fn new_pages(&self, since: Millis, all: bool, visited: &HashSet<UrlId>) -> Result<Vec<Change>, Problem> {
        let mut out = Vec::new();
        let mut menus = None;
        let mut older = 0;
        let newest_first: Vec<UrlId> = self.lines.iter().rev().map(|line| line.id).collect();
        for piece in newest_first.chunks(PIECE) {
            for record in self.source.records_of(piece.to_vec()) {
                let record = record?;
                let first = self.first_seen(record.id, &record, visited)?;
                if first < since {
                    older += 1;
                    continue;
                }
                older = 0;
                // A copy of a relevant page is no find, here as everywhere.
                let is_copy = self.copy_of(record.id).is_some_and(|original| self.is_relevant(original));
                if !all && (is_copy || !self.is_relevant(record.id)) {
                    continue;
                }
                let mut change = self.change(ChangeKind::New, first, first, &record);
                let menus = match &menus {
                    Some(menus) => menus,
                    None => menus.insert(self.menus()?),
                };
                change.begins = self.begins(menus, &record, out.len() < READ_AGAIN)?;
                out.push(change);
            }
            if older >= OLDER_IN_A_ROW {
                break;
            }
        }
        Ok(out)
    }

    /// What is known of the menus of hosts, and how their words are read.
    fn menus(&self) -> Result<(Measurer, TextOptions), Problem> {
        let (mut menus, text) = (Measurer::default(), self.topic()?.text.options);
        let mut known = false;
        for page in self.source.each_state(FEATURES) {
            if let Some(page) = Measured::decode(&page?) {
                menus.restore(&page);
                known = true;
            }
        }
        // Only judges that read a page's own text keep features.
        let newest = self.lines.iter().rev().take(if known { 0 } else { MENUS_FROM });
        for record in self.source.records_of(newest.map(|line| line.id).collect()) {
            let page = stored::kept_page(&record?);
            if let Some(url) = page.url.clone() {
                menus.meet(&url, &Doc::new(page, &text));
            }
        }
        Ok((menus, text))
    }

    /// The first words of a page's own text: without title, menus and adverts.
    fn begins(
        &self,
        (menus, text): &(Measurer, TextOptions),
        record: &Record,
        read_again: bool,
    ) -> Result<String, Problem> {
        let mut page = stored::kept_page(record);
        // Only HTML has menus; a document would have to be read by another process.
        if read_again && record.media_type.contains("html") {
            let fetched = stored::answer(&self.archive, &*self.source, record)?.fetched;
            if let Payload::Bytes { decoded, .. } = &fetched.payload {
                let options =
                    extract::Options { canon: Collection::canon(&self.config), ..Default::default() };
                let kind = fetched.header("content-type");
                page = Arc::new(extract::extract(&fetched.url, kind, None, decoded, &options));
            }
        }
        let url = page.url.clone();
        let doc = Doc::new(page, text);
        if let Some(url) = url {
            menus.leave_out(&url, &doc);
        }
        let has_title = !doc.page.title.trim().is_empty();
        let begins = own_lines(&doc).into_iter().skip(usize::from(has_title)).collect::<Vec<_>>().join(" ");
        Ok(begins[..begins.floor_char_boundary(BEGINS)].to_string())
    }
}

/// A difference as it is kept, line by line.
fn diff_lines(text: &str) -> impl Iterator<Item = DiffLine> + '_ {
    text.lines().filter_map(|line| {
        let mark = line.chars().next()?;
        Some(DiffLine { mark, text: line[mark.len_utf8()..].to_string() })
    })
}
