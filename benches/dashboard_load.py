#!/usr/bin/env python3
"""What does watching cost a crawl? Crawls the demo web with `--serve`, alone and with 200 clients on the live stream and 50
page queries per second, in turn, and compares the pages per second. (How long each view of a large collection takes: `cargo bench --bench views`.)

    cargo build --release && benches/dashboard_load.py target/release/gleaner [--pages 4000] [--rounds 3]

The clients run on the same cores as the crawl, so the ratio is an upper bound of the cost."""

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import tempfile
import time

TOKEN = "0123456789abcdef"
TOPIC = 'name = "load"\n[genre]\npreset = "syllabus"\n[content]\nterms = ["sql", "relational model", "joins"]\n'


def head(port, path, close):
    end = "Connection: close\r\n\r\n" if close else "\r\n"
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n{end}".encode()


async def ask(port, path):
    """Seconds, status and body of one request."""
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(port, path, True))
    answer = await reader.read(-1)
    writer.close()
    return time.perf_counter() - begun, answer[9:12], answer.split(b"\r\n\r\n", 1)[-1]


async def listen(port, name, seen):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head(port, f"/api/v1/collections/{name}/live", False))
    try:
        while chunk := await reader.read(1 << 16):
            seen[0] += chunk.count(b"event: progress")
    except (ConnectionError, asyncio.CancelledError):
        pass
    writer.close()


def paths(name):
    c = f"/api/v1/collections/{name}"
    views = ["", "/pages", "/pages?sort=best&relevant=true", "/pages?sort=unsure", "/pages?q=syllabus", "/frontier", "/hosts",
             "/hosts?sort=share", "/search?q=relational+model", "/search?q=syllabus&all=true", "/topic"]
    return [c + v for v in views] + ["/search?q=sql&format=json"]


async def load(args, done, took):
    seen = [0]
    streams = [asyncio.create_task(listen(args.port, "c", seen)) for _ in range(args.clients)]
    asked, views = [], paths("c")

    async def one(path):
        try:
            seconds, status, _ = await ask(args.port, path)
            took.append((seconds, status))
        except OSError:
            pass

    while not done.is_set():
        asked.append(asyncio.create_task(one(views[len(asked) % len(views)])))
        await asyncio.sleep(1 / args.queries)
    await asyncio.gather(*asked)
    for s in streams:
        s.cancel()
    await asyncio.gather(*streams, return_exceptions=True)
    return seen[0]


async def crawl(args, web, watched, took):
    """Pages per second of one crawl, and the live messages that were read meanwhile."""
    out = tempfile.mkdtemp(prefix="gleaner-load-")
    with open(out + "/topic.toml", "w") as f:
        f.write(TOPIC)
    process = await asyncio.create_subprocess_exec(
        args.gleaner, "crawl", out + "/topic.toml", "--out", out + "/c", "--seed", "http://directory.campusweb.example/",
        "--resolve", "*:" + web, "--allow-private", "--delay", "0ms", "--concurrency", "16", "--pages", str(args.pages), "--json",
        "--serve", "--listen", f"127.0.0.1:{args.port}", "--token", TOKEN, "--rate", "100000",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=1 << 24)
    done, task, begun, pages, at, first = asyncio.Event(), None, None, 0, 0.0, 0
    async for line in process.stdout:
        if not line.startswith(b'{"event":"page"'):
            continue
        pages, at = pages + 1, time.perf_counter()
        if watched and task is None:
            task = asyncio.create_task(load(args, done, took))
        # The first pages are warm-up: robots.txt of every host, threads.
        if begun is None and pages >= args.pages // 10:
            begun, first = at, pages
    done.set()
    messages = await task if task else 0
    await process.wait()
    shutil.rmtree(out, ignore_errors=True)
    return (pages - first) / (at - begun), messages


async def cost(args):
    server = subprocess.Popen([args.gleaner, "demo", "--serve-only", "--web-pages", str(args.web_pages)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    alone, watched, took = [], [], []
    try:
        web = server.stdout.readline().strip()
        for _ in range(args.rounds):
            alone.append((await crawl(args, web, False, took))[0])
            rate, messages = await crawl(args, web, True, took)
            watched.append(rate)
            print(f"alone {alone[-1]:.0f} pages/s, watched {rate:.0f} pages/s ({messages} live messages)", flush=True)
    finally:
        server.kill()
    a, w = statistics.median(alone), statistics.median(watched)
    times = sorted(1e3 * t for t, _ in took)
    bad = sum(s != b"200" for _, s in took)
    print(f"median {a:.0f} alone, {w:.0f} watched: ratio {w / a:.3f}; {len(took)} queries, {bad} not answered 200, "
          f"p50 {times[len(times) // 2]:.1f} ms, p99 {times[int(len(times) * .99)]:.1f} ms")


p = argparse.ArgumentParser()
p.add_argument("gleaner")
p.add_argument("--pages", type=int, default=4000)
p.add_argument("--web-pages", type=int, default=20000)
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--clients", type=int, default=200)
p.add_argument("--queries", type=float, default=50)
p.add_argument("--port", type=int, default=7790)
options = p.parse_args()
asyncio.run(cost(options))
