//! A damaged index must not end the program: the library panics on some bytes it cannot make sense of, and a
//! panic becomes a problem here.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;
use types::Problem;

thread_local! {
    /// This thread is inside [`caught`].
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Threads of the library begin like this.
const THREADS: &[&str] = &["thrd-tantivy", "merge_thread", "segment_updater"];

/// Runs what may panic on damaged files; a panic is a problem like any other.
pub fn caught<T>(dir: &Path, doing: &str, run: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    hush();
    let before = QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(before);
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(Problem::new(format!("cannot {doing} the search index {}", dir.display()))
            .because(format!("it is damaged ({})", text.unwrap_or_else(|| "a panic".into())))
            .hint("the index can be deleted: it is made again from the collection"))
    })
}

/// A panic that is caught, or that ends a thread of the library only, is told in the message of whoever
/// asked, not on standard error.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let thread = std::thread::current();
            let theirs = thread.name().is_some_and(|name| THREADS.iter().any(|t| name.starts_with(t)));
            match QUIET.get() || theirs {
                true => tracing::warn!(panic = %info, "the search index"),
                false => before(info),
            }
        }));
    });
}
