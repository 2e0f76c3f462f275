//! Opening the archive: what lies behind the last commit is put back or set aside.

use super::Collection;
use crate::config::Config;
use crate::crawl::Ledger;
use fetch::Settings;
use frontier::State;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use store::archive;
use store::archive::{Archive, ArchiveSettings, Position, Stacks, UNCOMMITTED, beyond};
use store::formats::parse_position;
use store::s3::{Account, Address, Bucket};
use types::{Canon, Outcome, Problem, StateKey};

pub(super) fn open_archive(
    dir: &Path,
    config: &Config,
    settings: &Settings,
    ledger: &mut dyn Ledger,
    files: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Archive, Problem> {
    let committed = match files {
        Some(_) => None,
        None => committed(ledger)?,
    };
    let mut made = archive_settings(config, settings, ledger, files)?;
    made.aside = Some(Collection::aside_dir(dir));
    let warc = Collection::warc_dir(dir);
    if files.is_none() {
        // Pages come after the first URL: a ledger that knows none is not the one they were fetched with.
        let most = if ledger.stats()?.urls == 0 { 0 } else { UNCOMMITTED };
        if unknown_pages(&warc, ledger, most)? > most {
            return Err(archive::lost_pages(&warc));
        }
    }
    let mut archive = Archive::open(&warc, made, committed)?;
    if let Some(aside) = archive.set_aside() {
        notes.push(aside.describe());
    }
    if files.is_none()
        && let Some(problem) = last_page_unreadable(&warc, ledger)?
    {
        // Whoever reads a file from its beginning would not find what is written behind the damage.
        archive.begin_new_file()?;
        notes.push(problem);
    }
    Ok(archive)
}

/// How far the archive was written when the ledger was committed last.
pub(crate) fn committed(ledger: &(impl store::Records + ?Sized)) -> Result<Option<Position>, Problem> {
    Ok(ledger.state(StateKey::Archive)?.pop().and_then(|bytes| parse_position(&bytes)))
}

/// Pages behind the end of the archive as the ledger knows it, that the ledger does not have. No more than
/// `most` and one are counted.
pub(crate) fn unknown_pages(
    warc: &Path,
    ledger: &(impl store::Records + ?Sized),
    most: u64,
) -> Result<u64, Problem> {
    let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
    let has = |url: &str| match canon.parse(url) {
        Ok(url) => Ok(ledger.look_up(&url)?.is_some_and(|e| e.state == State::Settled(Outcome::Fetched))),
        Err(_) => Ok::<_, Problem>(false),
    };
    let mut unknown = 0;
    for piece in beyond(warc, &ArchiveSettings::default(), committed(ledger)?.as_ref(), 1)? {
        for page in archive::Exchanges::open(&warc.join(&piece.file), piece.from, 0)? {
            let known = page.response.target().map(has).transpose()?.unwrap_or(false);
            unknown += u64::from(!known);
            if unknown > most {
                return Ok(unknown);
            }
        }
    }
    Ok(unknown)
}

/// Is the page that was archived last not in the archive any more?
pub(super) fn last_page_unreadable(warc: &Path, ledger: &dyn Ledger) -> Result<Option<String>, Problem> {
    let pages = usize::try_from(ledger.stats()?.versions).unwrap_or(usize::MAX);
    let Some(page) = pages.checked_sub(1).and_then(|last| ledger.pages(last).next()) else {
        return Ok(None);
    };
    let Some(at) = page?.0.archive else { return Ok(None) };
    let read = Stacks::new(Some(warc.to_path_buf())).record(&at, archive::Limits::default());
    Ok(read.err().map(|problem| {
        let why = problem.cause().unwrap_or_default();
        format!(
            "{} is damaged ({why}): the text of its pages is in the ledger; the crawl goes on in a new file",
            at.file
        )
    }))
}

/// Objects are put whole and kept in memory until they are: no larger than this.
const LARGEST_OBJECT: u64 = 32 << 20;

/// The bucket that `[archive] to` names, after a look whether it is there.
pub(super) fn open_bucket(config: &Config, shared: bool) -> Result<Option<Bucket>, Problem> {
    let Some(to) = config.archive.to.as_ref().filter(|_| config.archive.warc) else { return Ok(None) };
    if !shared {
        return Err(Problem::usage(
            "only a crawl in a shared database can archive into a bucket \
                                   (--archive)",
        )
        .hint(
            "name the database with --store, or leave --archive out and copy DIR/warc/*.warc.gz when the \
             crawl is done",
        ));
    }
    let bucket = Bucket::new(Address::parse(to)?, Account::from_env()?, config.archive.patience.0)?;
    bucket.check()?;
    Ok(Some(bucket))
}

pub(super) fn archive_settings(
    config: &Config,
    settings: &Settings,
    ledger: &mut dyn Ledger,
    files: Option<&str>,
) -> Result<ArchiveSettings, Problem> {
    let mut archive = ArchiveSettings { max_size: config.archive.file_size.0, ..ArchiveSettings::default() };
    if config.archive.to.is_some() {
        archive.max_size = archive.max_size.min(LARGEST_OBJECT);
    }
    if let Some(files) = files {
        archive.worker = files.to_string();
    }
    archive.info.push(("isPartOf".into(), config.title().replace(['\r', '\n'], " ")));
    archive.info.push(("http-header-user-agent".into(), settings.user_agent_sent()));
    archive.composer.key = archive_key(ledger)?;
    Ok(archive)
}

/// Makes the record ids of this collection's archive its own; chosen once.
pub(super) fn archive_key(ledger: &mut dyn Ledger) -> Result<(u64, u64), Problem> {
    let stored = ledger.state(StateKey::ArchiveKey)?.pop().and_then(|b| <[u8; 16]>::try_from(b).ok());
    let bytes = match stored {
        Some(bytes) => bytes,
        None => {
            let random = || RandomState::new().hash_one(std::process::id()).to_le_bytes();
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&random());
            bytes[8..].copy_from_slice(&random());
            ledger.put_state(StateKey::ArchiveKey, false, &bytes)?;
            bytes
        }
    };
    let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Ok((half(0), half(8)))
}
