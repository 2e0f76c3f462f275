//! Every example and everything that once broke something, again.

use std::fs;

#[test]
fn the_corpus_breaks_nothing() {
    for target in fuzz::ALL {
        let folder = fuzz::corpus(target);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|e| e.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "`{}` has no example", target.name);
        for file in files {
            let bytes = fs::read(&file).unwrap();
            let broken = std::panic::catch_unwind(|| (target.check)(&bytes)).is_err();
            assert!(
                !broken,
                "{}: {} (cargo run -p fuzz -- {} FILE)",
                file.display(),
                target.promise,
                target.name
            );
        }
    }
}

#[test]
fn every_folder_of_the_corpus_is_read() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(fuzz::find(&name).is_some(), "nobody reads fuzz/corpus/{name}");
    }
}
