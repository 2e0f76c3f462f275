//! `fuzz TARGET [FILE…]` checks a target's corpus, or these files. With the feature `guided` this is
//! libFuzzer instead, and the target is named by `GLEANER_FUZZ` (`fuzz/run` does both).

#![cfg_attr(feature = "guided", no_main)]

#[cfg(feature = "guided")]
mod guided {
    use std::sync::OnceLock;

    fn target() -> &'static fuzz::Target {
        static TARGET: OnceLock<&'static fuzz::Target> = OnceLock::new();
        TARGET.get_or_init(|| {
            // libFuzzer's own hook aborts at once; some of our readers catch panics of their parsers.
            let _ = std::panic::take_hook();
            let name = std::env::var("GLEANER_FUZZ").expect("GLEANER_FUZZ names the target");
            fuzz::find(&name).expect("GLEANER_FUZZ names a target")
        })
    }

    libfuzzer_sys::fuzz_target!(|data: &[u8]| (target().check)(data));
}

#[cfg(not(feature = "guided"))]
fn main() {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|a| a == "examples").is_some() {
        for (name, bytes) in fuzz::examples() {
            let folder = fuzz::corpus(fuzz::find(name).expect("a target"));
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(folder.join("example"), bytes))
                .expect("written");
        }
        return;
    }
    let Some(target) = args.next().as_deref().and_then(fuzz::find) else {
        eprintln!("usage: fuzz TARGET [FILE…], or: fuzz examples\n");
        fuzz::ALL.iter().for_each(|t| eprintln!("  {:12} {}", t.name, t.promise));
        std::process::exit(2);
    };
    let mut files: Vec<std::path::PathBuf> = args.map(Into::into).collect();
    if files.is_empty() {
        files.extend(
            std::fs::read_dir(fuzz::corpus(target)).into_iter().flatten().flatten().map(|e| e.path()),
        );
    }
    for file in files {
        eprintln!("{}", file.display());
        (target.check)(&std::fs::read(&file).expect("the file can be read"));
    }
}
