//! Crawls one site with spider-rs: `spider-yardstick URL CONCURRENCY`. Robots, delay and subdomains off.

use spider::website::Website;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(url), Some(concurrency)) = (args.next(), args.next().and_then(|n| n.parse().ok())) else {
        eprintln!("usage: spider-yardstick URL CONCURRENCY");
        std::process::exit(2);
    };
    let mut website = Website::new(&url);
    website
        .with_respect_robots_txt(false)
        .with_delay(0)
        .with_subdomains(false)
        .with_concurrency_limit(Some(concurrency))
        .with_no_control_thread(true)
        .with_user_agent(Some("spider-yardstick"));
    website.crawl().await;
    println!("{}", website.get_links().len());
}
