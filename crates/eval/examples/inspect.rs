//! What is in a web, and how fast it can be read.
//!
//! cargo run --release -p gleaner-eval --example inspect -- /path/to/web [--seeds FILE#SET] [--relevant
//! LABEL] [--ignore LABEL] [--list FILE] cargo run --release -p gleaner-eval --example inspect --
//! 'sim:hubs?pages=20000'

use gleaner_eval::cache::{CachedWeb, Settings};
use gleaner_eval::graph::{Answer, Graph};
use gleaner_eval::labels::{Class, Labels, Rules, Seeds};
use gleaner_eval::metrics::Truth;
use gleaner_eval::oracle::oracle;
use gleaner_eval::webs::{self, Recorded};
use std::num::NonZeroUsize;
use std::time::Instant;
use types::Problem;

fn main() {
    if let Err(p) = run() {
        eprintln!("error: {p}");
        std::process::exit(p.exit_code() as i32);
    }
}

fn run() -> Result<(), Problem> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let place = args.first().ok_or_else(|| Problem::usage("which web?").hint("inspect PATH|sim:NAME"))?;
    let clock = Instant::now();
    let opened = webs::open(place, None)?;
    println!("opened        {:>9} pages in {:.2} s", opened.web.pages(), clock.elapsed().as_secs_f64());
    if !opened.web.notes().is_empty() {
        println!("{}", opened.web.notes());
    }

    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut notes = Default::default();
    let mut settings = Settings::default();
    if let Some(folder) = option("--cache") {
        settings.folder = Some(folder.into());
    }
    let web = CachedWeb::open(opened.web.clone(), extract::Options::default(), &settings, &mut notes);
    let clock = Instant::now();
    let fresh = web.build(threads, |_, _| {});
    let spent = clock.elapsed().as_secs_f64();
    println!(
        "extracted     {fresh:>9} pages in {spent:.2} s on {threads} threads ({:.0}/s)",
        fresh as f64 / spent
    );
    if let Some(path) = web.path() {
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        println!("cache         {:>9} MB at {}", size >> 20, path.display());
    }
    let clock = cpu();
    let (mut links, mut text) = (0, 0);
    for n in 0..web.pages() {
        if let Some(url) = web.page(n)
            && let types::Payload::Page(p) = web.answer(&url).payload
        {
            links += p.links.len();
            text += p.text.len();
        }
    }
    let spent = cpu() - clock;
    println!(
        "read cached   {links:>9} links, {} MB of text, {:.1} µs of CPU per page",
        text >> 20,
        spent * 1e6 / web.pages().max(1) as f64
    );

    let seeds = match (&opened.sim, option("--seeds")) {
        (Some(sim), None) => sim.seeds(),
        (_, Some(spec)) => Seeds::open(&spec)?.inside(&web)?.urls,
        _ => return Ok(()),
    };
    let clock = Instant::now();
    let ask =
        |u: &types::Url| if web.is_trap(u) { Answer::Nothing } else { Answer::of(&web.answer(u), None) };
    let graph = Graph::build(&seeds, ask, threads, usize::MAX);
    println!(
        "graph         {:>9} pages, {} links, {} redirects, {} missing, in {:.2} s",
        graph.nodes(),
        graph.links(),
        graph.redirects,
        graph.missing,
        clock.elapsed().as_secs_f64()
    );
    let reach = graph.reach(&seeds);
    if let Some(file) = option("--list") {
        let list: String = reach.order.iter().map(|&n| format!("{}\n", graph.url(n))).collect();
        std::fs::write(&file, list).map_err(|e| Problem::io("write", std::path::Path::new(&file), &e))?;
    }
    let labels = match &opened.sim {
        Some(sim) => Labels::parse(&sim.labels_tsv(false), &web),
        None => Labels::open(&std::path::Path::new(place).join("labels.tsv"), &web)?,
    };
    if !labels.notes.is_empty() {
        println!("{}", labels.notes);
    }
    let ignore =
        if opened.sim.is_some() { "duplicate".into() } else { option("--ignore").unwrap_or_default() };
    let rules = Rules::new(&option("--relevant").unwrap_or_default(), &ignore);
    labels.check(&rules)?;
    let classes: Vec<bool> = (0..graph.nodes() as u32)
        .map(|n| {
            types::Canon::exact()
                .parse(graph.url(n))
                .is_ok_and(|u| rules.class(labels.of(&u)) == Class::Relevant)
        })
        .collect();
    let relevant = |n: u32| classes.get(n as usize).copied().unwrap_or(false);
    let truth =
        Truth { reachable: reach.reachable(), relevant: reach.relevant_reachable(relevant), budget: None };
    let all = labels.iter().filter(|(_, l)| rules.class(l) == Class::Relevant).count();
    println!("reachable     {:>9} pages, {} of {all} relevant", truth.reachable, truth.relevant);
    let clock = Instant::now();
    let best = oracle(&graph, &reach, relevant);
    let auc = |order: &[u32]| {
        truth.auc(order.iter().map(|&n| relevant(n) && !reach.seeds.contains(&n))).unwrap_or(0.0)
    };
    println!(
        "oracle        auc {:.4} ({} start, {} rounds, all relevant after {} pages) in {:.2} s; \
         breadth-first {:.4}",
        auc(&best.order),
        best.start,
        best.rounds,
        best.order.len(),
        clock.elapsed().as_secs_f64(),
        auc(&reach.order)
    );
    Ok(())
}

/// Seconds this thread has really run: the machine may be busy with other things.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
