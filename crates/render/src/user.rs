//! As whom does the browser run? As whoever runs the crawler, but never as root: then it would have no
//! sandbox, and what broke out of a page would own the machine. As root it gets a user that nobody else has.

use std::io;
use std::path::{Path, PathBuf};

/// Users that no account has: systemd, too, takes from them what it needs for a while (`DynamicUser`).
#[cfg(unix)]
const FREE: std::ops::RangeInclusive<u32> = 61_184..=65_519;
/// Where a container has few users, this one is among them.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

/// The user (and group) that the browser is to be run as; `None`: the one who runs the crawler.
pub fn other() -> io::Result<Option<u32>> {
    #[cfg(unix)]
    if is_root() {
        let nobody = || {
            io::Error::other(
                "it is not run as root, and there is no other user to run it as: run the crawl as an ordinary user",
            )
        };
        return unix::free().map(Some).ok_or_else(nobody);
    }
    Ok(None)
}

#[cfg(unix)]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
pub fn is_root() -> bool {
    false
}

/// A folder for files that come and go, which that user can reach.
pub fn temporary(user: Option<u32>) -> PathBuf {
    let usual = std::env::temp_dir();
    let mut all = std::iter::once(usual.clone()).chain(places());
    all.find(|dir| user.is_none() || is_open_to_all(dir)).unwrap_or(usual)
}

/// Other folders for files that come and go.
pub fn places() -> impl Iterator<Item = PathBuf> {
    let all: &[&str] = if cfg!(unix) { &["/tmp", "/var/tmp", "/dev/shm"] } else { &[] };
    all.iter().map(PathBuf::from)
}

/// Can everybody get there, and run it if it is a program? A user that nobody else has is in no group.
pub fn is_open_to_all(path: &Path) -> bool {
    #[cfg(unix)]
    return unix::is_open_to_all(path);
    #[cfg(not(unix))]
    return path.exists();
}

/// Hands a folder over.
pub fn give(folder: &Path, user: Option<u32>) -> io::Result<()> {
    #[cfg(unix)]
    if user.is_some() {
        std::os::unix::fs::chown(folder, user, user)?;
    }
    let _ = (folder, user);
    Ok(())
}

#[cfg(unix)]
mod unix {
    use super::{FREE, NOBODY, Path};
    use std::collections::HashSet;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    pub fn free() -> Option<u32> {
        let (taken, maps) = (taken(), ["/proc/self/uid_map", "/proc/self/gid_map"].map(mapped));
        let count = FREE.end() - FREE.start() + 1;
        let candidates = (0..count).map(|n| FREE.start() + (std::process::id() % count + n) % count);
        let mut candidates = candidates.filter(|user| !taken.contains(user)).chain([NOBODY]);
        // In a container only some users may be there.
        candidates.find(|user| maps.iter().all(|map| map.iter().any(|ids| ids.contains(user))))
    }

    /// Users with an account or a process.
    fn taken() -> HashSet<u32> {
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let accounts = accounts.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        accounts.chain(processes.filter_map(|p| Some(p.metadata().ok()?.uid()))).collect()
    }

    fn mapped(file: &str) -> Vec<std::ops::Range<u32>> {
        // Without namespaces there is no map, and every number is there.
        let text = std::fs::read_to_string(file).unwrap_or_else(|_| format!("0 0 {}", u32::MAX));
        let line = |line: &str| {
            let mut numbers = line.split_whitespace().map(|n| n.parse::<u32>().ok());
            let (first, _, count) = (numbers.next()??, numbers.next()?, numbers.next()??);
            Some(first..first.saturating_add(count))
        };
        text.lines().filter_map(line).collect()
    }

    pub fn is_open_to_all(path: &Path) -> bool {
        const SEARCH: u32 = 0o001;
        let Ok(path) = path.canonicalize() else { return false };
        path.ancestors().all(|p| p.metadata().is_ok_and(|m| m.permissions().mode() & SEARCH != 0))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn root_gives_its_browser_to_somebody_else() {
        match other().unwrap() {
            None => assert!(!is_root()),
            Some(user) => assert!(is_root() && user > 60_000, "{user}"),
        }
    }

    #[test]
    fn a_folder_in_a_closed_one_is_closed() {
        let dir = std::env::temp_dir().join(format!("gleaner-closed-{}", std::process::id()));
        let inner = dir.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::set_permissions(&inner, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o700)).unwrap();
        assert!(!is_open_to_all(&inner), "its parent is closed");
        assert!(is_open_to_all(Path::new("/bin/sh")));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
