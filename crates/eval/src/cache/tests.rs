use super::*;
use crate::webs::SimWeb;

fn sim(seed: u32) -> Arc<dyn Recorded> {
    Arc::new(SimWeb::open(&format!("sim:mixed?pages=120&seed={seed}")).unwrap())
}

fn open(web: &Arc<dyn Recorded>, folder: &Path, memory: usize) -> CachedWeb {
    let mut notes = Tally::default();
    let settings = Settings { folder: Some(folder.to_path_buf()), memory };
    let c = CachedWeb::open(web.clone(), extract::Options::default(), &settings, &mut notes);
    assert!(notes.is_empty(), "{notes}");
    c
}

fn page_of(f: &Fetched) -> Arc<Page> {
    match &f.payload {
        Payload::Page(p) => p.clone(),
        other => panic!("not extracted: {other:?}"),
    }
}

/// The cache answers what extraction of the web's own answer gives.
fn check(web: &Arc<dyn Recorded>, cached: &CachedWeb) {
    for n in 0..web.pages() {
        let url = web.page(n).unwrap();
        let plain = web.answer(&url);
        let wanted = extract::extract(
            &url,
            plain.header("content-type"),
            None,
            plain.payload.decoded(),
            &extract::Options::default(),
        );
        let got = cached.answer(&url);
        assert_eq!(*page_of(&got), wanted);
        assert_eq!(
            (got.status, got.wire_bytes, got.media_type()),
            (200, plain.wire_bytes, plain.media_type())
        );
    }
}

#[test]
fn same_pages_from_disk_and_memory() {
    let dir = tempfile::tempdir().unwrap();
    let web = sim(1);
    let first = open(&web, dir.path(), 1 << 20);
    check(&web, &first);
    assert_eq!(first.cached(), 120);
    drop(first);
    // From disk alone: no memory.
    let second = open(&web, dir.path(), 0);
    assert_eq!(second.cached(), 120);
    check(&web, &second);
    let gone = Canon::exact().parse("http://nowhere.example/").unwrap();
    assert_eq!(second.answer(&gone).status, 404);
    // Redirects stay redirects.
    let page = web.page(7).unwrap();
    let moved = Canon::exact().join(&page, "/old/7").unwrap();
    assert_eq!(second.answer(&moved).status, 301);
}

#[test]
fn built_beforehand_on_several_threads() {
    let dir = tempfile::tempdir().unwrap();
    let web = sim(2);
    let cached = open(&web, dir.path(), 0);
    let last = std::cell::Cell::new((0, 0));
    assert_eq!(cached.build(NonZeroUsize::new(3).unwrap(), |done, all| last.set((done, all))), 120);
    assert_eq!(last.get(), (120, 120));
    assert_eq!(cached.build(NonZeroUsize::MIN, |_, _| {}), 0);
    check(&web, &cached);
}

#[test]
fn another_web_or_a_changed_one_has_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let files = || fs::read_dir(dir.path()).unwrap().count();
    let one = open(&sim(1), dir.path(), 0);
    let path = one.path().unwrap().to_path_buf();
    // Same place, other state: the old file goes when nobody uses it any more.
    let two = open(&sim(2), dir.path(), 0);
    assert_ne!(Some(path.as_path()), two.path());
    assert_eq!(files(), 2);
    drop((one, two));
    let three = open(&sim(3), dir.path(), 0);
    assert_eq!(files(), 1);
    let options = extract::Options { max_links: 3, ..Default::default() };
    assert_ne!(
        file_name(&three.identity(), &options).1,
        file_name(&three.identity(), &extract::Options::default()).1
    );
}

#[test]
fn damage_costs_time_only() {
    let dir = tempfile::tempdir().unwrap();
    let web = sim(4);
    let path = {
        let c = open(&web, dir.path(), 0);
        c.build(NonZeroUsize::MIN, |_, _| {});
        c.path().unwrap().to_path_buf()
    };
    let whole = fs::read(&path).unwrap();
    // Cut in the middle of a record.
    fs::write(&path, &whole[..whole.len() * 2 / 3]).unwrap();
    let c = open(&web, dir.path(), 0);
    assert!((1..120).contains(&c.cached()));
    check(&web, &c);
    assert_eq!(c.cached(), 120);
    drop(c);
    // Bytes changed inside records: their checksum fails, the page is extracted anew.
    let mut bad = whole.clone();
    for i in (1000..bad.len()).step_by(997) {
        bad[i] ^= 0x55;
    }
    fs::write(&path, &bad).unwrap();
    check(&web, &open(&web, dir.path(), 0));
    // Not ours at all.
    fs::write(&path, b"something else entirely, longer than the magic").unwrap();
    check(&web, &open(&web, dir.path(), 0));
    fs::write(&path, b"x").unwrap();
    check(&web, &open(&web, dir.path(), 0));
}

#[test]
fn two_at_once_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let web = sim(5);
    let writer = open(&web, dir.path(), 0);
    let reader = open(&web, dir.path(), 0);
    check(&web, &reader);
    assert_eq!(reader.cached(), 0, "only one writes");
    check(&web, &writer);
    assert_eq!(writer.cached(), 120);
}

#[test]
fn an_unusable_folder_is_noted_not_fatal() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let mut notes = Tally::default();
    let settings = Settings { folder: Some(file), memory: 1 << 20 };
    let web = sim(6);
    let c = CachedWeb::open(web.clone(), extract::Options::default(), &settings, &mut notes);
    assert_eq!(notes.count("cache of pages that cannot be used"), 1);
    check(&web, &c);
}

#[test]
fn memory_is_bounded() {
    let web = sim(7);
    let settings = Settings { folder: None, memory: 400_000 };
    let c = CachedWeb::open(web.clone(), extract::Options::default(), &settings, &mut Tally::default());
    for _ in 0..2 {
        check(&web, &c);
    }
    let held: usize = c
        .memory
        .shards
        .iter()
        .map(|s| {
            let g = s.lock().unwrap();
            g.young.values().chain(g.old.values()).map(|k| weight(&k.page)).sum::<usize>()
        })
        .sum();
    assert!(held > 0 && held <= 400_000, "{held}");
}
