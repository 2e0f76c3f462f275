//! What judges and strategies need from the disk besides pages: WordNet, the pages of a taxonomy, model
//! files.

use crate::documents::Documents;
use focus::judges::TaxonomyPage;
use focus::model::ModelFile;
use focus::strategies::needs_wordnet;
use focus::text::Doc;
use focus::topic::Topic;
use learn::wordnet::{WordNet, missing};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use types::{Format, Problem, Url};

/// Where Debian's `wordnet-base` puts it.
const USUAL_WORDNET: &str = "/usr/share/wordnet";

/// A taxonomy with more pages is cut: they are sampled down to 300 per class anyway.
const MOST_TAXONOMY_PAGES: usize = 200_000;

/// A page of a taxonomy that is larger is not read.
const LARGEST_PAGE: u64 = 4 << 20;

/// A model file that `[judge] model` or `[strategy] model` names.
pub fn model(path: &str) -> Result<ModelFile, Problem> {
    let file = Path::new(path);
    let bytes = fs::read(file).map_err(|e| {
        let p = Problem::io("read the model", file, &e);
        if e.kind() == std::io::ErrorKind::NotFound { p.hint("`gleaner train` writes one") } else { p }
    })?;
    ModelFile::read(&bytes, path)
}

/// The database that `[text] wordnet` names, or the usual one; nothing when the topic's strategy does not ask
/// for it, or there is none (the strategy then says how to get it). A tournament reads it once.
pub(crate) fn wordnet(topic: &Topic) -> Result<Option<Arc<WordNet>>, Problem> {
    if !needs_wordnet(&topic.strategy.kind) {
        return Ok(None);
    }
    let path = match &topic.text.wordnet {
        Some(named) => PathBuf::from(named),
        None if Path::new(USUAL_WORDNET).is_dir() => PathBuf::from(USUAL_WORDNET),
        None => return Ok(None),
    };
    static READ: OnceLock<Mutex<HashMap<PathBuf, Arc<WordNet>>>> = OnceLock::new();
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(net) = read.get(&path) {
        return Ok(Some(net.clone()));
    }
    let net = Arc::new(read_wordnet(&path)?);
    read.insert(path, net.clone());
    Ok(Some(net))
}

/// A folder of database files, or a WN-LMF file.
fn read_wordnet(path: &Path) -> Result<WordNet, Problem> {
    if path.is_file() {
        let xml = fs::read(path).map_err(|e| Problem::io("read WordNet", path, &e))?;
        return WordNet::from_lmf(&xml);
    }
    if !path.is_dir() {
        return Err(missing(&path.display().to_string()));
    }
    // Some put the files into a folder `dict` of their own.
    let inner = path.join("dict");
    let folder = if inner.join("data.noun").is_file() { inner } else { path.to_path_buf() };
    WordNet::from_files(|name| fs::read(folder.join(name)).ok())
}

/// The pages of the folder that judge `bayes` names as its taxonomy: folders are topics, files are pages.
pub(crate) fn taxonomy(topic: &Topic, options: &extract::Options) -> Result<Vec<TaxonomyPage>, Problem> {
    let own = topic.judge.options.get("taxonomy").filter(|_| topic.judge.kind == "bayes");
    // Asked by another judge (`all`, `any`, `weighted`), its options stand in a table of their own.
    let inner = topic.judge.options.get("bayes").and_then(|b| b.get("taxonomy"));
    let Some(root) = own.or(inner).and_then(|v| v.as_str()).map(PathBuf::from) else { return Ok(Vec::new()) };
    if !root.is_dir() {
        return Err(Problem::usage(format!("[judge] taxonomy: there is no folder {}", root.display()))
            .hint("name a folder whose sub-folders are topics and whose files are example pages"));
    }
    let mut pages = Vec::new();
    let mut waiting = vec![(root, String::new())];
    while let Some((folder, path)) = waiting.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| Problem::io("read", &folder, &e))?;
        let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
        // The same order on every machine.
        entries.sort_by_key(|e| e.file_name());
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            // `file_type` does not follow symbolic links, so there are no circles.
            let Ok(kind) = entry.file_type() else { continue };
            if name.starts_with('.') || pages.len() >= MOST_TAXONOMY_PAGES {
                continue;
            }
            if kind.is_dir() {
                waiting.push((entry.path(), if path.is_empty() { name } else { format!("{path}/{name}") }));
            } else if kind.is_file() && entry.metadata().is_ok_and(|m| m.len() <= LARGEST_PAGE) {
                let bytes = fs::read(entry.path()).map_err(|e| Problem::io("read", &entry.path(), &e))?;
                let Some(url) = place(&options.canon, &path, &name) else { continue };
                let page = Documents::usual().read(&url, content_type(&name), None, &bytes, options);
                // One of thousands, and only an example.
                let Ok(page) = page else { continue };
                let doc = Arc::new(Doc::new(Arc::new(page), &topic.text.options));
                pages.push(TaxonomyPage { path: path.clone(), doc });
            }
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

/// A name for a page that came from a file.
fn place(canon: &types::Canon, path: &str, name: &str) -> Option<Url> {
    let root = canon.parse("http://localhost/").ok()?;
    canon.join(&root, &format!("/{path}/{name}")).ok().or(Some(root))
}

fn content_type(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase());
    match ending.as_deref() {
        Some("html" | "htm" | "xhtml") => Some("text/html"),
        // What is no document is looked at, not guessed from the name.
        ending => ending.and_then(Format::of_extension)?.media_types.first().copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(text: &str) -> Topic {
        Topic::from_toml(&format!("query = 'x'\n{text}")).unwrap()
    }

    #[test]
    fn wordnet_is_read_when_asked_for() {
        assert!(
            wordnet(&topic("[strategy]\nkind = 'shark'\n[text]\nwordnet = '/nowhere'")).unwrap().is_none()
        );
        let message =
            wordnet(&topic("[strategy]\nkind = 'ehrig'\n[text]\nwordnet = '/nowhere'")).unwrap_err();
        assert!(message.to_string().contains("/nowhere") && message.to_string().contains("wordnet-base"));
        let dir = tempfile::tempdir().unwrap();
        let xml = "<LexicalResource><Lexicon id='x' language='en'>\
            <LexicalEntry id='e1'><Lemma writtenForm='dog' partOfSpeech='n'/><Sense id='s1' \
            synset='y1'/></LexicalEntry>\
            <Synset id='y1' partOfSpeech='n' members='e1'/></Lexicon></LexicalResource>";
        let file = dir.path().join("wn.xml");
        fs::write(&file, xml).unwrap();
        let t = topic(&format!("[strategy]\nkind = 'ssrm'\n[text]\nwordnet = '{}'", file.display()));
        let (one, two) = (wordnet(&t).unwrap().unwrap(), wordnet(&t).unwrap().unwrap());
        assert!(Arc::ptr_eq(&one, &two), "read once");
        assert_eq!(one.lookup("dogs").len(), 1);
    }

    #[test]
    fn folders_are_topics() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("Sci/Bio/cell.html", "<p>cell <b>wall</b></p>");
        put("Sci/Bio/gene.txt", "gene <b>");
        put("Sci/about.html", "<title>Science</title>");
        put(".hidden/x.html", "x");
        let t =
            topic(&format!("[judge]\nkind = 'bayes'\nfocus = 'Sci'\ntaxonomy = '{}'", dir.path().display()));
        let pages = taxonomy(&t, &extract::Options::default()).unwrap();
        let got: Vec<(&str, &str)> =
            pages.iter().map(|p| (p.path.as_str(), p.doc.page.text.trim())).collect();
        assert_eq!(got, [("Sci", ""), ("Sci/Bio", "cell wall"), ("Sci/Bio", "gene <b>")]);
        let combined = topic(&format!(
            "[judge]\nkind = 'any'\nof = ['bayes']\n[judge.bayes]\nfocus = 'Sci'\ntaxonomy = '{}'",
            dir.path().display()
        ));
        assert_eq!(taxonomy(&combined, &extract::Options::default()).unwrap().len(), 3);
        assert!(
            taxonomy(&topic("[judge]\nkind = 'genre'"), &extract::Options::default()).unwrap().is_empty()
        );
        let none = topic("[judge]\nkind = 'bayes'\ntaxonomy = '/nowhere'");
        assert!(
            taxonomy(&none, &extract::Options::default())
                .err()
                .map(|p| p.to_string())
                .unwrap_or_default()
                .contains("/nowhere")
        );
    }
}
