//! A collection as a file, made while it is sent: a large one needs no room here.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use crate::exporting::{self, Condition, PageFilter};
use bytes::Bytes;
use crawl::collection::Collection;
use std::io::{BufWriter, Error, Result as Io, Write};
use store::export::{self, Options};
use tokio::sync::mpsc;
use types::Problem;

/// Pieces that may wait for a slow client, and how large they are.
const WAITING: usize = 8;
const PIECE: usize = 64 << 10;

/// What is written goes to the client.
struct Pieces(mpsc::Sender<Io<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> Io<usize> {
        let gone = |_| Error::from(std::io::ErrorKind::BrokenPipe);
        self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))).map_err(gone)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> Io<()> {
        Ok(())
    }
}

pub fn file(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let format = export::find(call.text("format").unwrap_or("jsonl"))?;
    let flag = |name: &str| call.flag(name).unwrap_or(false);
    let texts = call.words("where").unwrap_or("").split(';').map(str::trim).filter(|t| !t.is_empty());
    let now = types::Millis::now();
    let conditions = Condition::all(texts, call.words("since"), now)?;
    let columns = call.words("columns").map(export::columns).transpose()?;
    let archive = match &volume.shared {
        Some(shared) => shared.warc.clone(),
        None => Some(Collection::warc_dir(&volume.dir)),
    };
    let wanted = PageFilter {
        all: flag("all"),
        copies: flag("copies"),
        skip_unreadable: volume.shared.is_none(),
        conditions,
        markdown: format.wants_markdown(columns.as_deref()),
        archive: archive.clone(),
    };
    // A reader of its own: the view is not held while the client takes its time.
    let reader = volume.open()?;
    let title = reader.config().title().to_string();
    let (sender, pieces) = mpsc::channel(WAITING);
    let making = std::thread::Builder::new().name("dashboard-export".into()).spawn(move || {
        let options = Options { archive, now, columns, title, ..Options::default() };
        let out = Box::new(BufWriter::with_capacity(PIECE, Pieces(sender.clone())));
        let done = (format.open)(out, &options).and_then(|e| exporting::write(&reader, e, &wanted, &|_| {}));
        // Who downloads learns it by a download that breaks off.
        let done = done.and_then(|written| written.missing.map_or(Ok(()), Err));
        if let Err(problem) = done {
            tracing::warn!(%problem, "an export was not finished");
            let _ = sender.blocking_send(Err(Error::other(problem.to_string())));
        }
    });
    making.map_err(|e| Problem::new("cannot start a thread").because(e))?;
    let name = format!("{}.{}", crate::text::slug(&volume.name), format.extension);
    Ok(Reply::download(&name, "application/octet-stream", pieces))
}
