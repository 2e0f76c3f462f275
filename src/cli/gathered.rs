//! What `gleaner copy`, `merge` and `split` say of the collection that they made.

use crate::text::{count, strip_controls, things};
use console::style;
use crawl::gather::GatherReport;
use types::{Problem, Who};

/// Disagreements that are shown.
const SHOWN: usize = 20;

/// Each new collection for people, or all as JSON; and its report.
pub fn show(all: &[&GatherReport], json: bool) -> Result<(), Problem> {
    for made in all {
        crate::report::write(&made.into)?;
    }
    if json {
        let json = match all {
            [one] => serde_json::to_string_pretty(one),
            _ => serde_json::to_string_pretty(all),
        };
        println!("{}", json.map_err(|e| Problem::new("cannot write JSON").because(e))?);
        return Ok(());
    }
    all.iter().for_each(|made| one(made));
    Ok(())
}

fn one(made: &GatherReport) {
    println!("{}", style(made.into.display()).bold());
    for from in &made.from {
        let of = if from.taken == from.pages { String::new() } else { format!(" of {}", count(from.pages)) };
        println!("  {}{of} from {}", things(from.taken, "page"), from.dir.display());
    }
    if made.twice > 0 {
        println!("  − {}: in more than one, each is one page with its versions", count(made.twice));
    }
    println!(
        "  = {} ({}), {} ({} wait), {}",
        things(made.pages, "page"),
        things(made.versions, "version"),
        things(made.urls, "URL"),
        count(made.pending),
        things(made.answers, "archived answer"),
    );
    if made.removed > 0 {
        let stay = if made.removed == 1 { "stays" } else { "stay" };
        println!("  {} {stay} out: removed from one of them", things(made.removed, "page"));
    }
    if made.labels > 0 {
        println!("  {}", things(made.labels, "labelled page"));
    }
    if made.disagreements > 0 {
        let n = things(made.disagreements, "label");
        println!(
            "{} {n} {}; the first collection's word stands:",
            style("note:").yellow(),
            differ(made.disagreements)
        );
        let word = |yes| if yes { "yes" } else { "no" };
        for c in made.conflicts.iter().take(SHOWN) {
            let model = if c.who == Who::Model { " (models)" } else { "" };
            println!(
                "  {}: {}, not {} as in {}{model}",
                strip_controls(&c.url),
                word(c.stands),
                word(!c.stands),
                c.other.display()
            );
        }
        if made.disagreements > SHOWN as u64 {
            println!("  and {} more (--json)", count(made.disagreements - SHOWN as u64));
        }
    }
    for note in &made.notes {
        println!("{} {}", style("note:").yellow(), strip_controls(note));
    }
}

fn differ(n: u64) -> &'static str {
    if n == 1 { "differs" } else { "differ" }
}
