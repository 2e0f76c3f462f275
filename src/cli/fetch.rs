//! `gleaner fetch URL`: one URL, every hop.

use super::setup::FetchFlags;
use super::source;
use crate::text::strip_controls;
use clap::Args as ClapArgs;
use console::style;
use std::io::Write;
use std::process::ExitCode;
use types::Problem;

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  gleaner fetch https://www.example.org/\n  gleaner fetch \
                  http://localhost:8080/ --allow-private --body > page.html\n  gleaner fetch --render \
                  https://www.example.org/app --body > page.html")]
pub struct Args {
    /// What to fetch
    url: String,
    #[command(flatten)]
    fetch: FetchFlags,
    /// Write the body of the last answer to standard output (of a rendered page, the document after its
    /// scripts ran)
    #[arg(long)]
    body: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let hops = source::hops(&args.url, &args.fetch, None)?;
    for hop in &hops {
        eprintln!("{}", style(hop.url.as_str()).bold());
        if let Some(failure) = &hop.failure {
            eprintln!("  {} {}", style("failed:").red(), strip_controls(&failure.to_string()));
            eprintln!("  hint: {}", crate::pages::guard_hint(failure));
        }
        if hop.status > 0 {
            let ip = hop.ip.map_or(String::new(), |ip| format!(" from {ip}"));
            eprintln!(
                "  {} {}{ip}, {} bytes, {} ms",
                hop.protocol,
                hop.status,
                hop.wire_bytes,
                hop.elapsed.as_millis()
            );
            for (name, value) in &hop.headers {
                eprintln!("  {}: {}", style(name).dim(), strip_controls(value));
            }
        }
        if let Some(cut) = hop.truncated {
            eprintln!("  {} {cut:?}", style("cut short:").yellow());
        }
        if let Some(rendered) = &hop.rendered {
            eprintln!("  {} {} bytes of HTML", style("rendered:").green(), rendered.html.len());
            for resource in &rendered.resources {
                eprintln!("    {} {} {}", resource.status, resource.wire_bytes, resource.url);
            }
        }
    }
    let last = hops.last();
    if args.body
        && let Some(last) = last
    {
        super::output::Stdout
            .write_all(last.readable().1)
            .map_err(|e| Problem::new("cannot write the body").because(e))?;
    }
    let fine = last.is_some_and(|h| h.failure.is_none() && h.status < 400);
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
