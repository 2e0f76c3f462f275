//! Standard output and standard error, for commands whose reader may go away: `gleaner export db | head -1`.

use crate::text::harmless;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// Standard output. When nobody reads it any more the program ends, quietly and well: whoever closed the pipe
/// has what they wanted.
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        quiet_end(io::stdout().write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        quiet_end(io::stdout().flush())
    }
}

fn quiet_end<T>(result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

/// What `print!` and `println!` of the commands do.
pub fn print(text: Arguments<'_>, end: &str) {
    // One lock, so that threads do not mix their lines.
    let mut out = io::stdout().lock();
    let text = harmless(text.to_string());
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    if let Err(e) = quiet_end(written) {
        complain(format_args!("error: cannot write to standard output\n  because: {e}"), "\n");
        std::process::exit(1);
    }
}

/// What `eprint!` and `eprintln!` do. Nobody can be told that nobody listens.
pub fn complain(text: Arguments<'_>, end: &str) {
    let mut out = io::stderr().lock();
    let text = harmless(text.to_string());
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
}
