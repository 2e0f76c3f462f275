//! The text of a file: `cargo run -p gleaner-extract --features pdf --example text -- FILE`.

use gleaner_extract::{Options, extract};
use types::Canon;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let url = format!("http://example.org/{}", path.rsplit('/').next().unwrap_or("file"));
    let url = Canon::default().parse(&url).expect("a name that can be part of an address");
    let body = std::fs::read(&path).expect("a file that can be read");
    println!("{}", extract(&url, None, None, &body, &Options::default()).text);
}
