//! `gleaner doctor` on machines with something wrong.

use crate::common::collection::Snapshot;
use crate::common::{Ran, finish, folder, gleaner, serve};
use crate::integrate::collection;
use crate::support::postgres::Server;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

fn doctor(args: &[&str]) -> Ran {
    // A port that is free, whatever else runs here.
    finish(gleaner().arg("doctor").args(args).args(["--listen", "127.0.0.1:0"]))
}

/// It found something.
#[track_caller]
fn wrong(ran: &Ran) -> &Ran {
    ran.fails(1, &[]);
    ran
}

/// What is said of one thing: state, text and hint.
fn of(ran: &Ran, name: &str) -> Vec<(String, String, String)> {
    let said: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran}"));
    let text = |f: &Value, key: &str| f[key].as_str().unwrap_or_default().to_string();
    let all = said["findings"].as_array().unwrap().iter().filter(|f| f["name"] == name);
    all.map(|f| (text(f, "state"), text(f, "text"), text(f, "hint"))).collect()
}

#[test]
fn a_healthy_machine() {
    let server = serve("== http://a.example/\n<p>hello\n");
    let url = format!("http://{}/", server.addr());
    let dir = collection().to_str().unwrap();
    let ran = doctor(&[dir, "--url", &url, "--allow-private"]);
    ran.ok().shows(&[
        "✓ clock",
        "✓ network",
        // How full the disk of the machine is that runs this, is its own affair.
        " disk  ",
        "✓ documents",
        "✓ collection",
        "pages",
        "nothing is wrong",
    ]);
    let ran = doctor(&[dir, "--offline", "--json"]);
    assert!(of(ran.ok(), "network").is_empty(), "{ran}");
    assert_eq!(of(&ran, "documents")[0].0, "fine", "{ran}");
}

#[test]
fn what_is_wrong_and_what_to_do() {
    let dir = folder();
    let here = dir.path().to_str().unwrap();
    // A name that no one knows, an address that nobody listens on, one that the guard refuses.
    let ran = doctor(&[here, "--url", "http://nowhere.invalid/", "--json"]);
    wrong(&ran);
    assert!(of(&ran, "names")[0].2.contains("resolv.conf"), "{ran}");
    let ran = doctor(&[here, "--url", "http://127.0.0.1:1/", "--allow-private", "--json"]);
    assert_eq!(of(wrong(&ran), "network")[0].0, "wrong", "{ran}");
    let ran = doctor(&[here, "--url", "http://127.0.0.1:1/", "--json"]);
    assert!(of(wrong(&ran), "network")[0].2.contains("allow-private"), "{ran}");
    // No TLS where TLS is asked for.
    let (plain, address) = answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let ran = doctor(&[here, "--url", &format!("https://{address}/"), "--allow-private", "--json"]);
    wrong(&ran);
    assert!(of(&ran, "certificates")[0].2.contains("check the clock"), "{ran}");
    drop(plain);
    // A server that lives in another year.
    let late = "HTTP/1.1 200 OK\r\ndate: Mon, 16 Nov 2037 18:20:53 GMT\r\ncontent-length: 0\r\n\r\n";
    let (_late, address) = answering(late);
    let ran = doctor(&[here, "--url", &format!("http://{address}/"), "--allow-private", "--json"]);
    assert!(of(wrong(&ran), "clock")[1].1.contains("seconds apart"), "{ran}");
    // A port that is taken is no disaster.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = finish(gleaner().args(["doctor", here, "--offline", "--listen", &address]));
    ran.ok().shows(&["! port", "--listen", "nothing is wrong"]);
    // Places and words that make no sense.
    wrong(&doctor(&["/nowhere/at/all", "--offline"])).shows(&["✗ folder", "is not a folder"]);
    doctor(&[here, "--url", "::"]).fails(2, &["--url cannot be `::`"]);
    doctor(&[here, "--offline", "--store", "mysql://x"]).fails(2, &["not the address of a PostgreSQL"]);
    let away = ["--offline", "--json", "--store", "postgres://x@127.0.0.1:1/x"];
    let ran = doctor(&[&[here], &away[..]].concat());
    assert_eq!(of(wrong(&ran), "database")[0].0, "wrong", "{ran}");
}

/// Gives this answer to whoever asks, until the test ends.
fn answering(text: &'static str) -> (std::thread::JoinHandle<()>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = move || {
        for stream in listener.incoming().take(8) {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(text.as_bytes());
        }
    };
    (std::thread::spawn(serve), address)
}

#[test]
fn a_damaged_collection_and_a_database() {
    let dir = folder();
    let out = dir.path().join("db");
    copy(collection(), &out);
    let log = out.join("ledger.log");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..whole.len() / 2]).unwrap();
    let ran = doctor(&[out.to_str().unwrap(), "--offline"]);
    wrong(&ran).shows(&["✗ collection", "gleaner repair"]);
    assert!(Snapshot::take(collection()).pages.len() > 100, "the other one is as it was");
    let Some(server) = Server::start(false) else { return };
    let ran = doctor(&[dir.path().to_str().unwrap(), "--offline", "--store", &server.url()]);
    ran.ok().shows(&["✓ database", "no crawl in it yet"]);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
