//! What a program cost: the most memory it had, and its time.

use super::{Ran, Running};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Cost {
    pub megabytes: u64,
    pub cpu: Duration,
    pub took: Duration,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (cpu, took) = (self.cpu.as_secs_f64(), self.took.as_secs_f64());
        write!(f, "{} MB, {cpu:.1} s CPU, {took:.1} s", self.megabytes)
    }
}

/// Runs a command to its end and looks at it in `/proc` meanwhile.
pub fn measured(command: &mut Command) -> (Ran, Cost) {
    let began = Instant::now();
    let running = Running::start(command);
    let proc = format!("/proc/{}", running.child.id());
    let (most, ticks): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
    let done = Arc::new(AtomicBool::new(false));
    let watching = {
        let (most, ticks, done) = (most.clone(), ticks.clone(), done.clone());
        std::thread::spawn(move || {
            while !done.load(Ordering::SeqCst) {
                let status = std::fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
                let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
                let kilobytes = line.and_then(|l| l.trim().split(' ').next()?.parse().ok());
                most.fetch_max(kilobytes.unwrap_or(0), Ordering::SeqCst);
                let stat = std::fs::read_to_string(format!("{proc}/stat")).unwrap_or_default();
                // Behind the name, which may hold blanks: the 12th and 13th are user and system time.
                let times = stat.rsplit(") ").next().unwrap_or("").split(' ').skip(11).take(2);
                ticks.fetch_max(times.filter_map(|t| t.parse::<u64>().ok()).sum(), Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let ran = running.wait();
    done.store(true, Ordering::SeqCst);
    watching.join().unwrap();
    let cpu = Duration::from_millis(ticks.load(Ordering::SeqCst) * 10);
    (ran, Cost { megabytes: most.load(Ordering::SeqCst) / 1024, cpu, took: began.elapsed() })
}
