//! `gleaner export DIR`: a collection's pages in a format others read.

use super::setup;
use crate::exporting::{self, Condition, ExportCounts, PageFilter};
use crate::text::things;
use clap::Args as ClapArgs;
use crawl::collection::Collection;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::export::{self, ChunkSize, Exporter, Format, Options, Output};
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner export db > pages.jsonl\n  gleaner export db --format parquet -o \
                  pages.parquet\n  gleaner export db --format warc --all -o everything.warc.gz\n  gleaner \
                  export db --format markdown -o pages/\n  gleaner export db --format chunks --chunk-size \
                  1500 -o pieces.jsonl\n  gleaner export db --where language=en --where 'score>=0.8' \
                  --since 7d --columns url,title,score -o new.csv.gz\n  gleaner export db --at 2026-11-01 \
                  -o then.jsonl\n  gleaner export --store postgres://user@db.example.org/crawls --crawl db \
                  > pages.jsonl"
)]
pub struct Args {
    /// Collection folder
    #[arg(required_unless_present = "store")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    shared: setup::StoreArgs,
    /// With --store and --format warc: the folder with the workers' archive files (not needed for those in a
    /// bucket)
    #[arg(long, value_name = "DIR", requires = "store")]
    warc: Option<PathBuf>,
    /// jsonl, csv, parquet, warc, markdown (a file per page if the output is a folder), chunks (pieces for
    /// language models), bulk (OpenSearch, Elasticsearch), rss, wacz (replay in a browser) or cdxj (index of
    /// the archive files) (default: by the name of the output, else jsonl)
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// File to write, compressed if its name ends in .gz; or a folder for Markdown (default: standard output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also pages that were judged not relevant
    #[arg(long)]
    all: bool,
    /// Also copies and near-copies of pages that are written
    #[arg(long)]
    copies: bool,
    /// Only pages like this (may be repeated; all must hold): host=www.example.org, host=*.example.org,
    /// language=en, type=application/pdf, label=yes|no|any|none, relevant=yes|no, url=www.example.org/docs/*,
    /// score>=0.8, fetched>=2026-11-01, author=lovelace, kind=Course, publisher=university, published>=2026,
    /// modified>=2026-11-01
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Only pages fetched since then, as in 7d, 12h or 2026-11-01
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    #[command(flatten)]
    date: setup::DateArgs,
    /// Which columns, in this order, separated by commas (default: all but `markdown`)
    #[arg(long, value_name = "a,b,c")]
    columns: Option<String>,
    /// CSV: cells exactly as they are (default: those that a spreadsheet would take for a formula get a ' in
    /// front)
    #[arg(long)]
    raw: bool,
    /// Chunks: most characters of one
    #[arg(long, value_name = "N", default_value_t = ChunkSize::default().size)]
    chunk_size: usize,
    /// Chunks: characters that one shares with the one before it, at most
    #[arg(long, value_name = "N", default_value_t = ChunkSize::default().overlap)]
    chunk_overlap: usize,
    /// What is done anyway
    #[arg(long, hide = true, conflicts_with = "raw")]
    formula_safe: bool,
}

/// Between two lines of progress.
const TOLD_EVERY: u64 = 1_000;

fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

/// The format that this file's name ends like.
fn by_name(output: Option<&Path>) -> Option<&'static Format> {
    let name = output?.file_name()?.to_str()?;
    // `pages.csv.gz` is CSV, compressed; WARC files are called `.warc.gz` anyway.
    let found = |name: &str| {
        let fits = |f: &&Format| name.ends_with(&format!(".{}", f.extension));
        export::ALL.iter().filter(fits).max_by_key(|f| f.extension.len())
    };
    found(name).or_else(|| found(name.strip_suffix(".gz")?))
}

/// Is a folder meant? One that is there, or a name without an ending.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.extension().is_none() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// A file that gets its name when it is whole: whoever is killed before leaves the old file as it was.
struct Unfinished {
    named: PathBuf,
    partial: PathBuf,
}

impl Unfinished {
    /// `None` for what is no file and is written as it is: a pipe, a device.
    fn beside(path: &Path) -> Option<Unfinished> {
        // A link stays one, and its target is replaced.
        let named = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if named.exists() && !named.is_file() {
            return None;
        }
        let mut name = named.file_name()?.to_os_string();
        name.push(".partial");
        Some(Unfinished { partial: named.with_file_name(name), named })
    }

    fn finish(self) -> Result<(), Problem> {
        let done = File::open(&self.partial)
            .and_then(|file| file.sync_all())
            .and_then(|()| std::fs::rename(&self.partial, &self.named));
        done.map_err(|e| Problem::io("write", &self.named, &e))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}

type Opened = (Box<dyn Exporter>, Option<Unfinished>);

/// Begins the file, the folder or standard output.
fn open(format: &Format, output: Option<&Path>, options: &Options) -> Result<Opened, Problem> {
    let Some(path) = output else {
        let exporter = (format.open)(Box::new(BufWriter::new(super::output::Stdout)), options)?;
        return Ok((exporter, None));
    };
    if let Some(folder) = format.folder.filter(|_| is_folder(path)) {
        return Ok((folder(path.to_path_buf(), options)?, None));
    }
    let unfinished = Unfinished::beside(path);
    let to = unfinished.as_ref().map_or(path, |u| &u.partial);
    let file = BufWriter::new(File::create(to).map_err(|e| Problem::io("write", path, &e))?);
    let out: Output = match is_gzip(path) && !format.binary {
        true => Box::new(GzEncoder::new(file, Compression::default())),
        false => Box::new(file),
    };
    let exporter = (format.open)(out, options)?;
    if let Some((ending, text)) = format.beside {
        let path = beside(path, format, ending);
        std::fs::write(&path, text(options)).map_err(|e| Problem::io("write", &path, &e))?;
    }
    Ok((exporter, unfinished))
}

/// `pages.mapping.json` for `pages.ndjson`.
fn beside(path: &Path, format: &Format, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = name.strip_suffix(&format!(".{}", format.extension)).unwrap_or(name);
    path.with_file_name(format!("{stem}.{ending}"))
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let reader = args.date.view(setup::read_from(args.dir.as_deref(), &args.shared)?)?;
    let output = args.output.as_deref();
    let named = by_name(output);
    let mut format = match &args.format {
        Some(name) => export::find(name)?,
        None => named.unwrap_or(&export::ALL[0]),
    };
    let mut columns = args.columns.as_deref().map(export::columns).transpose()?;
    // JSON lines with the Markdown of each page: `--format markdown -o pages.jsonl`.
    if let Some(lines) = named.filter(|n| format.name == "markdown" && n.name == "jsonl") {
        format = lines;
        let names = || format!("{},markdown", export::FRONT_MATTER.join(","));
        columns = Some(export::columns(&args.columns.clone().unwrap_or_else(names))?);
    }
    if args.output.is_none() && format.binary && std::io::stdout().is_terminal() {
        return Err(
            Problem::usage(format!("{} is not for a terminal", format.name)).hint("name a file with -o")
        );
    }
    let now = types::Millis::now();
    let conditions = Condition::all(args.conditions.iter().map(String::as_str), args.since.as_deref(), now)?;
    let chunk = ChunkSize { size: args.chunk_size, overlap: args.chunk_overlap };
    chunk.check()?;
    let archive = args.warc.clone().or_else(|| args.dir.as_deref().map(Collection::warc_dir));
    let options = Options {
        archive: archive.clone(),
        raw: args.raw,
        now,
        info: Vec::new(),
        columns,
        title: reader.config().title().to_string(),
        chunk,
    };
    let (exporter, unfinished) = open(format, output, &options)?;
    let wanted = PageFilter {
        all: args.all,
        copies: args.copies,
        // Of a database that is away there are none behind it.
        skip_unreadable: args.shared.store.is_none(),
        conditions,
        markdown: format.wants_markdown(options.columns.as_deref()),
        archive,
    };
    let shown = std::io::stderr().is_terminal() && args.output.is_some();
    let tell = |so_far: &ExportCounts| {
        if shown && so_far.pages.is_multiple_of(TOLD_EVERY) {
            eprint!("\r{} pages written", crate::text::count(so_far.pages));
        }
    };
    let ExportCounts { pages, noindex, copies, filtered, unreadable, missing } =
        exporting::write(&reader, exporter, &wanted, &tell)?;
    unfinished.map_or(Ok(()), Unfinished::finish)?;
    if shown && pages >= TOLD_EVERY {
        eprintln!();
    }
    if args.output.is_some() {
        eprintln!("wrote {pages} pages as {}", format.name);
    }
    if filtered > 0 && args.output.is_some() {
        eprintln!("left out: {} by --where or --since", things(filtered, "page"));
    }
    if noindex > 0 {
        let pages = if noindex == 1 { "page asks" } else { "pages ask" };
        eprintln!("left out: {noindex} {pages} not to be indexed (noindex)");
    }
    if copies > 0 {
        let pages = if copies == 1 { "page is a copy" } else { "pages are copies" };
        eprintln!("left out: {copies} {pages} of others in it (--copies writes them too)");
    }
    if let Some(problem) = missing {
        return Err(problem);
    }
    if let Some(first) = unreadable.first() {
        setup::warn(&format!(
            "{} could not be read and are not in the export: {first}",
            things(unreadable.len() as u64, "page")
        ));
        return Ok(ExitCode::FAILURE);
    }
    Ok(setup::exit_code(&reader))
}
