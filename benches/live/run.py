#!/usr/bin/env python3
"""CPU time per page of a live crawl over loopback: Gleaner, spider-rs, Scrapy, Crawlee and crawl4ai on the same pages from one nginx.

The pages are those of a recorded web ($GLEANER_WEBS/docs): whole hosts, fewest pages first, until there are enough
of them ($BENCH_PAGES), as folders of one site. Every crawler starts at the same page, follows the same links to the
end, 32 requests at a time, without delay or robots.txt. CPU time is user + system of the crawler's process, from
wait4(2); what was really fetched is counted in nginx's log, not taken from the crawlers' word. Rounds are interleaved;
the best of each crawler counts.
"""
import gzip
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WORK = Path(os.environ.get("BENCH_DIR", TARGET / "benches")) / "live"
WEB = Path(os.environ["GLEANER_WEBS"]) / os.environ.get("BENCH_WEB", "docs")
PAGES = int(os.environ.get("BENCH_PAGES", "2000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
GZIP = os.environ.get("BENCH_GZIP", "1") != "0"
CONCURRENCY = 32
DEFAULTS, BEST, LEAN = "gleaner, defaults", "gleaner, best-first", "gleaner, links only"
SPIDER, SCRAPY, CRAWLEE, CRAWL4AI = "spider-rs", "Scrapy", "Crawlee", "crawl4ai"
ONLY = [name.strip() for name in os.environ.get("BENCH_ONLY", "").split(",") if name.strip()]

# The other crawlers leave out some types of files that Gleaner reads (PDF, plain text …). None of them is on this site, so
# all that following such links brings is more 404s; they are left out here, too.
NOT_PAGES = (
    "7z avi bin bmp bz2 css csv dat deb dmg doc docx exe gif gz ico iso jar jpeg jpg js mov mp3 mp4 ogg pdf png ppt pptx ps "
    "py rar rpm rtf svg tar tgz tif txt wav webm webp whl xls xlsx xml xz zip"
)
# What both of our runs share. The limits are lifted so that all crawlers follow the same links.
COMMON = """
[limits]
links_per_page = 100000
page_size = "64MB"
query_variants = 100000
[scope]
seed_hosts_only = true
file_types = { deny = [DENY] }
[fetch]
per_host_in_flight = 32
robots = false
sitemaps = false
nofollow = false
""".replace("DENY", ", ".join(f'"{kind}"' for kind in NOT_PAGES.split()))
# No other crawler judges pages: the judge that costs least looks for a word that is nowhere.
LEAN_TOPIC = 'name = "links only"\nquery = "zzzxqj"\n[judge]\nkind = "query"\n[strategy]\nkind = "breadth-first"\n' + COMMON
SUBJECT = """
[genre]
preset = "syllabus"
[content]
terms = ["database", "index", "query", "statistics", "python", "testing", "release notes"]
[url]
terms = ["course", "docs", "tutorial"]
"""
# A topic as users write it: the judge and the strategy are the default ones.
DEFAULT_TOPIC = 'name = "defaults"' + SUBJECT + COMMON
BEST_TOPIC = 'name = "best-first"' + SUBJECT + '[judge]\nkind = "genre"\n[strategy]\nkind = "best-first"\n' + COMMON


def sh(*command, **kwargs):
    subprocess.run([str(c) for c in command], check=True, **kwargs)


def make_site(site):
    """Hard links (or copies) of the HTML pages; a front page that links to every host's pages without parents."""
    pages = {}
    with open(WEB / "urls.tsv", encoding="utf-8") as lines:
        for line in lines:
            url, file, kind = line.rstrip("\n").split("\t")[:3]
            if kind.startswith("text/html"):
                pages.setdefault(file.split("/", 1)[0], []).append(file)
    chosen, total = [], 0
    for host in sorted(pages, key=lambda h: (len(pages[h]), h)):
        if total >= PAGES:
            break
        chosen.append(host)
        total += len(pages[host])
    # The site is made again when anything about it changes.
    want = f"{WEB} {PAGES} {GZIP}\n" + "\n".join(chosen)
    stamp = site.parent / "site.stamp"
    if stamp.exists() and stamp.read_text() == want:
        return total
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    links = []
    for host in chosen:
        for file in pages[host]:
            to = site / file
            to.parent.mkdir(parents=True, exist_ok=True)
            body = (WEB / file).read_bytes()
            to.write_bytes(body)
            if GZIP:
                to.with_name(to.name + ".gz").write_bytes(gzip.compress(body, 6, mtime=0))
        links += pages[host]
    # Everything is linked from the front page, so that every page is reached whatever its neighbours are.
    items = "".join(f'<li><a href="/{f}">{f}</a></li>\n' for f in links)
    front = f"<!doctype html><title>Front page</title><ul>\n{items}</ul>\n".encode()
    (site / "index.html").write_bytes(front)
    if GZIP:
        (site / "index.html.gz").write_bytes(gzip.compress(front, 6, mtime=0))
    stamp.write_text(want)
    return total


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_nginx(site):
    home = WORK / "nginx"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(
        f"""{user}
worker_processes 1;
daemon off;
pid {home}/pid;
error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
    types {{ text/html html htm; }}
    default_type text/html;
    log_format bench '$status $http_user_agent $request_uri';
    access_log {home}/access.log bench;
    client_body_temp_path {home}; proxy_temp_path {home}; fastcgi_temp_path {home};
    uwsgi_temp_path {home}; scgi_temp_path {home};
    sendfile on; tcp_nopush on; keepalive_timeout 65; keepalive_requests 100000;
    gzip_static {"on" if GZIP else "off"};
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        root {site}; index index.html;
        location ~ \\.gz$ {{ return 404; }}
    }}
}}
"""
    )
    server = subprocess.Popen(["nginx", "-e", f"{home}/error.log", "-c", f"{home}/nginx.conf"])
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server, port, home / "access.log"
        except OSError:
            if server.poll() is not None:
                raise SystemExit(f"nginx did not start; see {home}/error.log")
            time.sleep(0.05)
    raise SystemExit("nginx does not answer")


def measure(command, log):
    """Runs a crawler: (CPU seconds, wall seconds, peak RSS in MB, {uri: status})."""
    before = log.stat().st_size if log.exists() else 0
    start = time.monotonic()
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if child.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    time.sleep(0.2)  # nginx writes its log when the request ends
    fetched, requests = {}, 0
    with open(log, encoding="utf-8", errors="replace") as lines:
        lines.seek(before)
        for line in lines:
            code, _, uri = line.rstrip("\n").split(" ", 2)
            fetched[uri] = int(code)
            requests += 1
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, fetched, requests


def commands(port, gleaner, spider, python, crawlee, crawl4ai):
    url = f"http://127.0.0.1:{port}/"
    for name, topic in (("defaults", DEFAULT_TOPIC), ("best", BEST_TOPIC), ("lean", LEAN_TOPIC)):
        (WORK / f"{name}.toml").write_text(topic)

    def ours(name, *more):
        out = WORK / f"out-{name}"
        shutil.rmtree(out, ignore_errors=True)
        return [
            gleaner, "crawl", WORK / f"{name}.toml", "--out", out, "--seed", url, "--allow-private", "--quiet",
            "--user-agent", f"gleaner-{name}", "--delay", "0ms", "--concurrency", CONCURRENCY,
            # No other crawler shows pages in a browser, and a machine may have one or not.
            "--render=never", *more,
        ]

    return {
        DEFAULTS: lambda: ours("defaults"),
        BEST: lambda: ours("best"),
        LEAN: lambda: ours("lean", "--no-archive", "--no-index"),
        SPIDER: lambda: [spider, url, CONCURRENCY],
        SCRAPY: lambda: [python, HERE / "scrapy_crawl.py", url, CONCURRENCY],
        **({CRAWLEE: lambda: ["node", crawlee / "crawl.js", url, CONCURRENCY]} if crawlee else {}),
        **({CRAWL4AI: lambda: [crawl4ai, HERE / "crawl4ai_crawl.py", url, CONCURRENCY]} if crawl4ai else {}),
    }


def prepare():
    """Builds and installs what is measured; returns the programs, `None` for those that are not asked for."""
    WORK.mkdir(parents=True, exist_ok=True)
    if not WEB.joinpath("urls.tsv").exists():
        raise SystemExit(f"no recorded web at {WEB}: set GLEANER_WEBS to the folder that holds it")
    if not shutil.which("nginx"):
        sh("apt-get", "install", "-y", "-q", "nginx-light")
    gleaner = os.environ.get("BENCH_GLEANER")
    if not gleaner:
        sh("cargo", "build", "--release", "--quiet", cwd=ROOT, env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)})
        gleaner = TARGET / "release" / "gleaner"
    spider_target = WORK / "spider-target"
    sh("cargo", "build", "--release", "--quiet", "--locked", cwd=HERE / "spider",
       env={**os.environ, "CARGO_TARGET_DIR": str(spider_target)})
    venv = WORK / "venv"
    if not (venv / "bin" / "scrapy").exists():
        sh(sys.executable, "-m", "venv", venv)
        sh(venv / "bin" / "pip", "install", "--quiet", "-r", HERE / "requirements.txt")
    return Path(gleaner), spider_target / "release" / "spider-yardstick", venv / "bin" / "python", crawlee(), crawl4ai()


def asked(name):
    return not ONLY or any(o in name for o in ONLY)


def crawlee():
    """Crawlee, if there is Node.js."""
    if not asked(CRAWLEE) or not shutil.which("npm"):
        return None
    home = WORK / "crawlee"
    shutil.copytree(HERE / "crawlee", home, dirs_exist_ok=True)
    if not (home / "node_modules").exists():
        sh("npm", "ci", "--silent", cwd=home)
    return home


def crawl4ai():
    """crawl4ai brings hundreds of megabytes of Python: an environment of its own."""
    if not asked(CRAWL4AI):
        return None
    python = WORK / "crawl4ai" / "bin" / "python"
    if not python.with_name("crwl").exists():
        sh(sys.executable, "-m", "venv", python.parent.parent)
        sh(python, "-m", "pip", "install", "--quiet", "-r", HERE / "requirements-crawl4ai.txt")
    return python


def main():
    programs = prepare()
    site = WORK / "site"
    total = make_site(site)
    server, port, log = start_nginx(site)
    try:
        runs = commands(port, *programs)
        runs = {name: run for name, run in runs.items() if asked(name)}
        best, sets = {}, {}
        for round_ in range(ROUNDS):
            for name, command in runs.items():
                # They take minutes and are far away: one round is enough to say how far.
                if name in (CRAWLEE, CRAWL4AI) and round_ > 0:
                    continue
                cpu, wall, rss, fetched, requests = measure(command(), log)
                pages = {u for u, code in fetched.items() if code == 200}
                sets[name] = pages
                per_page = cpu / max(1, len(pages))
                other = len(fetched) - len(pages)
                print(f"  round {round_ + 1}: {name:<20} {per_page * 1e6:8.0f} µs/page  cpu {cpu:6.2f} s  "
                      f"wall {wall:6.2f} s  {len(pages)} pages, {other} other answers, {requests} requests",
                      file=sys.stderr, flush=True)
                if name not in best or per_page < best[name][0]:
                    best[name] = (per_page, wall, rss, len(pages), other)
    finally:
        server.terminate()
        server.wait()
    report(best, sets, total)


def report(best, sets, total):
    size = sum(f.stat().st_size for f in (WORK / "site").rglob("*") if f.is_file() and f.suffix != ".gz")
    print(f"live: {total} HTML pages ({size / 1e6:.0f} MB) of `{WEB.name}` from nginx on loopback, "
          f"{'gzip' if GZIP else 'not compressed'}, {CONCURRENCY} requests at a time, best of {ROUNDS}\n")
    spider, scrapy = best.get(SPIDER), best.get(SCRAPY)
    print("| crawler | pages | other answers | CPU µs/page | × spider-rs | × Scrapy | wall s | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, (cpu, wall, rss, pages, other) in best.items():
        ratio = lambda yard: f"{cpu / yard[0]:.2f}" if yard else "-"
        print(f"| {name} | {pages} | {other} | {cpu * 1e6:.0f} | {ratio(spider)} | {ratio(scrapy)} "
              f"| {wall:.1f} | {rss:.0f} |")
    ours = sets.get(DEFAULTS) or sets.get(BEST) or sets.get(LEAN) or set()
    print()
    for name, pages in sets.items():
        print(f"{name}: {len(pages & ours)} pages in common with ours, {len(pages - ours)} only there, "
              f"{len(ours - pages)} only here")
    if spider and {DEFAULTS, BEST, LEAN} <= best.keys():
        print()
        for what, value, most in (
            ("defaults ≤ 1.3 × spider-rs", best[DEFAULTS][0] / spider[0], 1.3),
            ("defaults, wall time ≤ 1.5 × spider-rs", best[DEFAULTS][1] / spider[1], 1.5),
            ("best-first ≤ 1.0 × spider-rs", best[BEST][0] / spider[0], 1.0),
            ("links only ≤ 0.75 × spider-rs", best[LEAN][0] / spider[0], 0.75),
        ):
            print(f"{'met' if value <= most else 'MISSED':<6} {what}: {value:.3f}")


if __name__ == "__main__":
    main()
