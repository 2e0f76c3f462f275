#!/usr/bin/env python3
"""What does `[fetch] render = "auto"` cost on a web without scripts? benches/rendering.py PROGRAM [PAGES] [ROUNDS]

Crawls the web of `gleaner demo` with `--render=auto` and `--render=never` in turn, from one server, and compares the
processor time of the crawls. No page of that web runs scripts, so none must be rendered.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

SEED = "http://directory.campusweb.example/"
program, pages, rounds = sys.argv[1], (sys.argv[2:3] or ["1500"])[0], int((sys.argv[3:4] or ["5"])[0])
serve = [program, "demo", "--serve-only", "--web-pages", "6000"]
server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
try:
    said = ""
    while not (rule := re.search(r"--resolve '(\*:[\d.:]+)'", said)):
        said += server.stdout.readline() or sys.exit(f"it does not serve:\n{said}")
    times = {"auto": [], "never": []}
    for n in range(rounds):
        for when in sorted(times, reverse=n % 2 == 1):
            with tempfile.TemporaryDirectory() as folder:
                crawl = [program, "crawl", "--query", "database course syllabus", "--pages", pages, "--delay", "1ms"]
                crawl += ["--allow-private", "--resolve", rule[1], f"--render={when}", "--out", f"{folder}/db"]
                crawl += ["--seed", SEED]
                before = os.times()
                subprocess.run(crawl, check=True, capture_output=True)
                after = os.times()
                spent = after.children_user + after.children_system - before.children_user - before.children_system
                times[when].append(spent)
                log = subprocess.run([program, "export", "--all", f"{folder}/db"], capture_output=True, text=True)
                print(f"{when:5} {spent:6.2f} s of processor time, {log.stdout.count(chr(10))} pages", flush=True)
    auto, never = (statistics.median(times[when]) for when in ["auto", "never"])
    print(f"auto {auto:.2f} s, never {never:.2f} s: {auto / never:.3f} times (medians of {rounds})")
finally:
    server.kill()
