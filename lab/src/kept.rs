//! Numbers of sites that are done, beside the results: an experiment of hours goes on where it was stopped.
//!
//! One file per experiment and site. It says what the numbers are of (settings, draws, web, topic with the
//! files it names, labels, seeds, program); when any of that is another, they are made anew.

use eval::experiments::{Lab, Site, Variant};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use types::Problem;
use xxhash_rust::xxh3::xxh3_64;

/// Where numbers are kept, and whose they are.
#[derive(Clone, Debug)]
pub struct Kept {
    pub folder: PathBuf,
    /// Changes whenever the program does.
    pub program: u64,
}

impl Kept {
    /// For the program that runs.
    pub fn in_folder(folder: &Path) -> Kept {
        let own = std::env::current_exe().and_then(fs::metadata).ok();
        let modified = own.as_ref().and_then(|m| m.modified().ok());
        let program = format!("{:?} {:?}", own.map(|m| m.len()), modified);
        Kept { folder: folder.to_path_buf(), program: xxh3_64(program.as_bytes()) }
    }

    fn file(&self, experiment: &str, site: &Site) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        self.folder.join(format!("{experiment}-{}.json", site.name.chars().map(plain).collect::<String>()))
    }
}

#[derive(Serialize, Deserialize)]
struct Numbers<T> {
    of: String,
    numbers: T,
}

/// What `make` gives for this site, or gave when it was last asked for.
pub fn or_make<T: Serialize + for<'a> Deserialize<'a>>(
    lab: &Lab,
    kept: Option<&Kept>,
    experiment: &str,
    site: &Site,
    variants: &[Variant],
    make: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let Some(kept) = kept else { return make() };
    let (file, of) = (kept.file(experiment, site), whose(lab, kept, site, variants)?);
    let known = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Numbers<T>>(&bytes).ok());
    if let Some(known) = known.filter(|k| k.of == of) {
        return Ok(known.numbers);
    }
    let made = Numbers { of, numbers: make()? };
    let failed = |e: &std::io::Error| Problem::io("write", &file, e);
    let bytes = serde_json::to_vec(&made).map_err(|e| Problem::new("cannot write numbers").because(e))?;
    fs::create_dir_all(&kept.folder).map_err(|e| failed(&e))?;
    // Whole or not at all.
    let part = file.with_extension("part");
    fs::write(&part, bytes).and_then(|()| fs::rename(&part, &file)).map_err(|e| failed(&e))?;
    Ok(made.numbers)
}

/// Everything the numbers depend on, in one word.
fn whose(lab: &Lab, kept: &Kept, site: &Site, variants: &[Variant]) -> Result<String, Problem> {
    let config =
        toml::Value::try_from(&site.config).map_err(|e| Problem::new("cannot write a topic").because(e))?;
    let mut files = Vec::new();
    named_files(&config, &mut files);
    let identity = site.web.identity();
    let labels: Vec<(String, String)> = (0..site.web.pages())
        .filter_map(|n| site.web.page(n))
        .map(|u| (u.to_string(), site.labels.of(&u).to_string()))
        .collect();
    let all = format!(
        "{} {} {:?} {} {config} {files:?} {:?} {:?} {:?} {labels:?}",
        kept.program, identity.state, lab.rngs, identity.place, variants, site.rules, site.seeds
    );
    Ok(format!("{:016x}", xxh3_64(all.as_bytes())))
}

/// Every file that is named somewhere in a topic (models, examples, word lists), as it is now.
fn named_files(value: &toml::Value, out: &mut Vec<(u64, Option<SystemTime>)>) {
    match value {
        toml::Value::String(text) => {
            let meta = fs::metadata(text).ok().filter(fs::Metadata::is_file);
            out.extend(meta.map(|m| (m.len(), m.modified().ok())));
        }
        toml::Value::Array(list) => list.iter().for_each(|v| named_files(v, out)),
        toml::Value::Table(table) => table.values().for_each(|v| named_files(v, out)),
        _ => {}
    }
}
