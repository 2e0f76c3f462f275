#!/usr/bin/env python3
"""S4's Tab. 3 on the recorded webs: every way to choose a threshold against the best one by sweep.

    GLEANER=target/release/gleaner lab/thresholds.py OUT

Seeds are the entry pages of each web, and then what our own index finds (20 pages; the web is crawled once for it, through a
server on this machine). The estimators of S4 see the seeds only; `auto` is what the crawl ends with (breadth-first, everything
reachable: the order hardly matters for it).
A cell is the F1 of that threshold over all pages of the crawl, as a share of the best F1.
"""
import json, os, sys
from serve_web import serving
from webs import *

ESTIMATORS = ["mean", "weighted-mean", "kmeans", "birch", "silhouette"]


def index(web, out):
    """A collection of everything that can be reached, to search in."""
    folder = f"{out}/index-{web}"
    if os.path.exists(f"{folder}/topic.toml"):
        return folder
    sets = {"webkb": ["all_departments", "four_departments"], "docs": ["all_site_roots"]}[web]
    with serving(f"{WEBS}/{web}") as port:
        topic = f"{out}/all-{web}.toml"
        open(topic, "w").write('name = "everything"\nquery = "page"\n[fetch]\ndelay = "0s"\nrobots = false\nsitemaps = false\n[archive]\nwarc = false\n')
        gleaner("crawl", topic, *[f"--seeds={WEBS}/{web}/seeds.tsv#{s}" for s in sets], "--strategy", "breadth-first", "--out", folder,
                "--resolve", f"*:127.0.0.1:{port}", "--allow-private", "--quiet")
    return folder


def chosen(run, pages, seeds):
    """The threshold the judge ended with. Results tell precision and recall without the seeds; so many of the highest scores
    were called relevant."""
    judge = run["judge"]
    rest = sorted(((s, r) for u, s, r in pages if u not in seeds and r is not None), reverse=True)
    hits = (judge["recall"] or 0) * sum(r for _, r in rest)
    said = round(hits / judge["precision"]) if judge["precision"] else 0
    return rest[said - 1][0] if said else 1.0


def main(out):
    os.makedirs(out, exist_ok=True)
    for setting in ["entry pages", "search results"]:
        print(f"\nSeeds: {setting}\n")
        print(row("topic", "best threshold", "best F1", *ESTIMATORS, "auto"))
        print(row(*["---"] * (4 + len(ESTIMATORS))))
        near = {e: 0 for e in [*ESTIMATORS, "auto"]}
        for name, web, label, entries, _, _ in ALL:
            topic = f"{TOPICS}/{name}.toml"
            seeds = f"{WEBS}/{web}/seeds.tsv#{entries}"
            if setting == "search results":
                found = gleaner("seeds", topic, "--engine", f"collection:{index(web, out)}", "--limit", 20)
                seeds = f"{out}/found-{name}.txt"
                open(seeds, "w").write("".join(line.split("\t")[0] + "\n" for line in found.splitlines()))
            run, pages = backtest(web, topic, label, seeds, f"{out}/{setting.split()[0]}-{name}", "breadth-first")
            said = json.loads(gleaner("threshold", topic, "--web", f"{WEBS}/{web}", "--seeds", seeds, "--json", check=False))
            t, top = best(pages)
            by = {e["estimator"]: e["threshold"] for e in said["estimates"] if e["seeds"] == "all"}
            shares = {e: f1(pages, by[e]) / top for e in ESTIMATORS}
            shares["auto"] = f1(pages, chosen(run, pages, {p["page"] for p in said["pages"]})) / top
            for e, share in shares.items():
                near[e] += share >= 0.9
            print(row(name, f"{t:.3f}", f"{top:.3f}", *[f"{100 * shares[e]:.0f} %" for e in [*ESTIMATORS, "auto"]]), flush=True)
        print(row("within 10 %", "", "", *[f"{near[e]} of 8" for e in [*ESTIMATORS, "auto"]]))


main(sys.argv[1])
