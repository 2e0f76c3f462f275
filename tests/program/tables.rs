//! The tables of a shared crawl that something happened to: rows gone, doubled, or with other values than
//! were written. Every reader says what is wrong or tells the truth, no command panics or hangs, and no page
//! is gone without a word.
//!
//! The short form strikes a few times; `GLEANER_LONG=1` (`./test long`) three hundred times (`GLEANER_CASES`
//! says how many, `GLEANER_SEED` which).

use crate::common::{Ran, Rng, crawl, file, finish, folder, gleaner, long, serve};
use crate::support::postgres::Server;
use std::path::Path;
use std::process::Command;

const PAGES: usize = 24;

fn web() -> String {
    let url = |n: usize| format!("http://h{}.example/{n}", n % 3);
    let mut web = String::new();
    for n in 0..PAGES {
        web += &format!("== {}\n<title>Course {n}</title>\n", url(n));
        for next in [n * 2 + 1, n * 2 + 2].into_iter().filter(|m| *m < PAGES) {
            web += &format!("<a href='{}'>sql {next}</a>\n", url(next));
        }
        web += &format!("<p>All about sql, chapter {n}\n");
    }
    web
}

/// Every column of every table of ours that has rows: table, column, type.
fn columns(server: &Server) -> Vec<(String, String, String)> {
    let sql = "SELECT table_name, column_name, data_type FROM information_schema.columns
               WHERE table_schema = 'gleaner' AND is_identity = 'NO' AND column_name <> 'crawl' ORDER BY 1, ordinal_position";
    let all = server.sql(sql);
    let all = all.lines().map(|line| {
        let part: Vec<&str> = line.split('|').collect();
        (part[0].to_string(), part[1].to_string(), part[2].to_string())
    });
    all.filter(|(table, ..)| server.sql(&format!("SELECT EXISTS (SELECT 1 FROM gleaner.{table})")) == "t")
        .collect()
}

/// Another value for a column of this type.
fn other(kind: &str, column: &str, rng: &mut Rng) -> String {
    let bits = rng.next() % 4096;
    let any = match kind {
        "bytea" => vec![
            format!(
                "set_bit({column}, ({bits} % greatest(length({column}) * 8, 1))::int8, 1 - get_bit({column}, ({bits} % greatest(length({column}) * 8, 1))::int8))"
            ),
            format!("substr({column}, 1, length({column}) / 2)"),
            "''::bytea".to_string(),
            format!("{column} || decode('{:016x}', 'hex')", rng.next()),
            format!("decode('{:016x}{:016x}', 'hex')", rng.next(), rng.next()),
        ],
        "text" => vec![
            "''".into(),
            "'\u{fffd}\u{1b}[2J http://'".into(),
            format!("left({column}, 5)"),
            "'x' || repeat('y', 5000)".into(),
        ],
        "boolean" => vec![format!("NOT {column}")],
        "double precision" => {
            vec!["'NaN'".into(), "'-Infinity'".into(), "'Infinity'".into(), "1e300".into(), "-1".into()]
        }
        "smallint" => vec!["-1".into(), "32767".into(), "-32768".into(), format!("{column} + 1"), "7".into()],
        "integer" => vec!["-1".into(), "2147483647".into(), "-2147483648".into(), format!("{column} + 1")],
        "bigint" => vec![
            "-1".into(),
            "9223372036854775807".into(),
            "-9223372036854775808".into(),
            "4294967296".into(),
            format!("{column} + 1"),
            "3".into(),
        ],
        "jsonb" => vec!["'[]'".into(), "'null'".into(), "'{\"limits\": \"none\", \"n\": -1}'".into()],
        _ => vec!["'infinity'".into(), "'-infinity'".into(), "'1969-01-01'".into()],
    };
    any[rng.below(any.len() as u64) as usize].clone()
}

/// What happens: one statement.
fn blow(columns: &[(String, String, String)], rng: &mut Rng) -> String {
    let (table, column, kind) = &columns[rng.below(columns.len() as u64) as usize];
    let some = match rng.below(3) {
        0 => "1",
        1 => "3",
        _ => "1000000",
    };
    let rows = format!(
        "ctid = ANY(ARRAY(SELECT ctid FROM gleaner.{table} ORDER BY md5(ctid::text || '{}') LIMIT {some}))",
        rng.next()
    );
    match rng.below(5) {
        0 => format!("DELETE FROM gleaner.{table} WHERE {rows}"),
        1 => format!("UPDATE gleaner.{table} SET {column} = NULL WHERE {rows}"),
        _ => format!("UPDATE gleaner.{table} SET {column} = {} WHERE {rows}", other(kind, column, rng)),
    }
}

/// Ends well or with a message that says how to go on, whatever it met.
fn sane(ran: &Ran, what: &str) {
    assert!(matches!(ran.code, Some(0..=4)), "{what}\n{ran}");
    assert!(!ran.err.contains("panicked") && !ran.err.contains("RUST_BACKTRACE"), "{what}\n{ran}");
    assert!(!ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'), "{what}: it moves the cursor\n{ran}");
    if ran.code != Some(0) {
        assert!(
            ran.err.contains("hint:") || ran.out.contains("what is wrong"),
            "{what}: nothing says what to do\n{ran}"
        );
    }
}

#[test]
fn damaged_tables_are_survived_or_said() {
    // A server of its own: nobody else may be in the database that is copied.
    let Some(server) = Server::start(false) else { return };
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = \"c\"\nquery = \"sql\"\n[fetch]\ndelay = '1ms'\n");
    let web = serve(&web());
    let at = |name: &str| format!("postgres://gleaner@127.0.0.1:{}/{name}", server.port);
    let order = |store: &str, out: &Path| {
        let mut command = crawl(&web, &topic, out);
        command.args([
            "--store",
            store,
            "--crawl",
            "c",
            "--lease",
            "2s",
            "--seed",
            "http://h0.example/0",
            "--time",
            "20s",
        ]);
        command
    };
    finish(order(&at("postgres"), &dir.path().join("w")).args(["--pages", "14"])).ok();
    finish(&mut order(&at("postgres"), &dir.path().join("w"))).ok();
    let on = |store: &str, command: &str, args: &[&str]| {
        let mut c: Command = gleaner();
        c.arg(command).args(args).args(["--store", store, "--crawl", "c"]);
        finish(c.env("XDG_CACHE_HOME", dir.path().join("cache")))
    };
    on(&at("postgres"), "label", &["http://h0.example/12", "--no"]).ok();
    on(&at("postgres"), "check", &[]).ok().shows(&["24 pages", "nothing is wrong"]);
    let columns = columns(&server);
    assert!(columns.len() > 60, "{columns:?}");

    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let cases = number("GLEANER_CASES").unwrap_or(if long() { 300 } else { 6 });
    let first = number("GLEANER_SEED").unwrap_or(1);
    let scratch = dir.path().join("report.html");
    let scratch = scratch.to_str().unwrap();
    let (mut nothing, mut said, mut silent, mut broken) = (0, 0, 0, Vec::new());
    for case in first..first + cases {
        let mut rng = Rng(case * 104_729);
        server.sql("DROP DATABASE IF EXISTS struck WITH (FORCE)");
        server.sql("CREATE DATABASE struck TEMPLATE postgres");
        let _ = std::fs::remove_dir_all(dir.path().join("cache"));
        let mut blows = Vec::new();
        for _ in 0..[1, 1, 2, 3][rng.below(4) as usize] {
            let blow = blow(&columns, &mut rng);
            // What the tables themselves refuse cannot happen.
            if server.try_sql("struck", &blow) {
                blows.push(blow);
            }
        }
        if blows.is_empty() {
            nothing += 1;
            continue;
        }
        let what = format!("GLEANER_SEED={case} GLEANER_CASES=1: {blows:#?}");
        let store = at("struck");
        let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut told = false;
            let mut whole = 0;
            let readers: &[(&str, &[&str])] = &[
                ("status", &["--json"]),
                ("export", &["--all"]),
                ("search", &["sql", "--all", "--json", "--limit", "100"]),
                ("explain", &["http://h1.example/4"]),
                ("label", &[]),
                ("report", &["-o", scratch]),
                ("check", &["--json"]),
            ];
            for (command, args) in readers {
                let ran = on(&store, command, args);
                let what = format!("{what}\n{command}");
                match *command {
                    "check" => assert!(
                        matches!(ran.code, Some(0..=4)) && !ran.err.contains("panicked"),
                        "{what}\n{ran}"
                    ),
                    _ => sane(&ran, &what),
                }
                told |= ran.code != Some(0) || !ran.err.is_empty();
                if *command == "export" && ran.code == Some(0) {
                    whole = ran.out.lines().count();
                }
            }
            assert!(told || whole == PAGES, "{what}\n{whole} of {PAGES} pages, and nobody says so");
            // A worker joins, whatever is there.
            let ran = finish(&mut order(&store, &dir.path().join(format!("w{case}"))));
            sane(&ran, &format!("{what}\ncrawl"));
            told |= ran.code != Some(0);
            let ran = on(&store, "status", &[]);
            sane(&ran, &format!("{what}\nstatus after the crawl"));
            told
        }));
        match judged {
            Ok(true) => said += 1,
            Ok(false) => silent += 1,
            Err(_) => broken.push(what),
        }
    }
    println!(
        "{cases} cases: {nothing} refused by the tables, {silent} cost nothing, {said} were said, {} were wrong",
        broken.len()
    );
    assert!(broken.is_empty(), "{broken:#?}");
}
