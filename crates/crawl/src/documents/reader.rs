//! The child: reads one document after the other, within limits that it sets itself before it reads anything.

use super::wire::{self, Question};
use std::io::{self, BufReader, Write};
use std::time::Duration;
use types::Problem;

/// Reads documents from standard input until it ends; their pages go to standard output. `memory`: bytes of
/// address space; `time`: of the processor, for each document.
pub fn serve(memory: u64, time: Duration) -> Result<(), Problem> {
    let failed = |e: io::Error| Problem::new("cannot read documents for the crawler").because(e);
    limit(memory).map_err(failed)?;
    let mut from = BufReader::new(io::stdin().lock());
    let mut to = io::stdout().lock();
    loop {
        limit_processor(time).map_err(failed)?;
        let Some(question) = wire::receive(&mut from).map_err(failed)? else { return Ok(()) };
        let body = wire::receive(&mut from).map_err(failed)?;
        let question: Question = serde_json::from_slice(&question).map_err(|e| failed(e.into()))?;
        let page = extract::extract(
            &question.url,
            question.content_type.as_deref(),
            question.x_robots_tag.as_deref(),
            &body.unwrap_or_default(),
            &question.options(),
        );
        let page = serde_json::to_vec(&page).map_err(|e| failed(e.into()))?;
        wire::send(&mut to, &page).and_then(|()| to.flush()).map_err(failed)?;
    }
}

/// No more memory than this, no files, no dump of a crash; and it ends with the crawler.
#[cfg(unix)]
fn limit(memory: u64) -> io::Result<()> {
    use rustix::process::Resource;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, 0)?;
    lower(Resource::Nofile, 16)?;
    // Where the system has no such limit (macOS), time is what ends a document that grows without end.
    let limited = lower(Resource::As, memory);
    if cfg!(target_os = "linux") { limited } else { Ok(()) }
}

#[cfg(not(unix))]
fn limit(_memory: u64) -> io::Result<()> {
    Ok(())
}

/// Sets a limit for good; one that is lower already stays.
#[cfg(unix)]
fn lower(resource: rustix::process::Resource, to: u64) -> io::Result<()> {
    use rustix::process::{Rlimit, getrlimit, setrlimit};
    let most = getrlimit(resource).maximum.map_or(to, |most| most.min(to));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// The processor's time is counted from the start of the process: each document gets its own share of it.
#[cfg(unix)]
fn limit_processor(time: Duration) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = u64::try_from(used.tv_sec).unwrap_or(0);
    let maximum = getrlimit(Resource::Cpu).maximum;
    let until = used.saturating_add(time.as_secs()).saturating_add(2);
    let current = Some(maximum.map_or(until, |most| most.min(until)));
    Ok(setrlimit(Resource::Cpu, Rlimit { current, maximum })?)
}

#[cfg(not(unix))]
fn limit_processor(_time: Duration) -> io::Result<()> {
    Ok(())
}
