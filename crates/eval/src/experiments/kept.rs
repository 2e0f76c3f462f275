//! Results of experiments in a folder: one file each, so that a run of hours goes on where it was stopped. A
//! result of other settings (another program, suite, web or draw) does not count.

use super::Finding;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use types::Problem;

/// A folder of results, all of the same settings.
pub struct Kept {
    dir: PathBuf,
    settings: serde_json::Value,
}

/// One result, as its file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What it depends on.
    pub settings: serde_json::Value,
    /// How long it took.
    pub seconds: f64,
    /// What came out.
    pub finding: Finding,
}

impl Kept {
    /// Makes the folder if there is none.
    pub fn open(dir: &Path, settings: serde_json::Value) -> Result<Kept, Problem> {
        fs::create_dir_all(dir).map_err(|e| Problem::io("create", dir, &e))?;
        Ok(Kept { dir: dir.to_path_buf(), settings })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.json"))
    }

    /// The result of an experiment that was run before with the same settings.
    pub fn find(&self, name: &str) -> Option<Done> {
        let bytes = fs::read(self.file(name)).ok()?;
        serde_json::from_slice::<Done>(&bytes).ok().filter(|d| d.settings == self.settings)
    }

    /// Keeps a result: whole or not at all.
    pub fn keep(&self, name: &str, finding: &Finding, seconds: f64) -> Result<(), Problem> {
        let done = Done { settings: self.settings.clone(), seconds, finding: finding.clone() };
        let text = serde_json::to_string_pretty(&done)
            .map_err(|e| Problem::new(format!("cannot write the result of `{name}`")).because(e))?;
        let (file, part) = (self.file(name), self.file(name).with_extension("part"));
        fs::write(&part, text + "\n")
            .and_then(|()| fs::rename(&part, &file))
            .map_err(|e| Problem::io("write", &file, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Claim, Verdict};
    use super::*;

    #[test]
    fn only_results_of_the_same_settings_count() {
        let dir = tempfile::tempdir().unwrap();
        let kept = |n: u32| Kept::open(dir.path(), serde_json::json!({ "draws": n })).unwrap();
        let claim = Claim::new("it works", "yes".into(), Verdict::Holds);
        let finding = Finding::of(vec![claim], Vec::new(), "how");
        assert!(kept(1).find("x").is_none());
        kept(1).keep("x", &finding, 2.5).unwrap();
        let done = kept(1).find("x").unwrap();
        assert_eq!((done.finding, done.seconds), (finding, 2.5));
        assert!(kept(2).find("x").is_none() && kept(1).find("y").is_none());
        // What was cut off in the middle is no result.
        fs::write(dir.path().join("x.json"), "{\"settings\": {\"draws\": 1}, \"seco").unwrap();
        assert!(kept(1).find("x").is_none());
    }
}
