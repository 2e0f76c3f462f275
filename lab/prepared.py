#!/usr/bin/env python3
"""Topics made only by `gleaner new` (a subject phrase, a genre name, five example pages) against those written by hand.

    GLEANER=target/release/gleaner lab/prepared.py OUT [RNG…]

STRATEGY (default adaptive) orders the crawl. DERIVED names a folder with the topics and labels of derive_topics.py and
derive_docs_topics.py (below `webkb` and `docs`): then those are measured instead of the eight shared ones.

The example pages are drawn (by RNG, default 0 1 2) from the labelled pages, of different hosts while there are some, as a user would. Those of
them that the crawl reaches are counted for both. WEBS and TOPICS name the folders of the webs and of the
hand-written topics.
"""
import os, random, sys
from webs import *

STRATEGY = os.environ.get("STRATEGY", "adaptive")
FOLDER = os.environ.get("DERIVED")


def topics():
    """Name, web, label, entry pages, subject, genre, the topic by hand, the labels."""
    if not FOLDER:
        return [(*t, f"{TOPICS}/{t[0]}.toml", f"{WEBS}/{t[1]}/labels.tsv") for t in ALL]
    return [(name, web, name, seeds, subject, genre, f"{FOLDER}/{web}/{name}.toml", f"{FOLDER}/{web}/labels.tsv")
            for web in DERIVED for name, seeds, subject, genre in DERIVED[web]]


def draw(urls, n, rng):
    """n of them, at random, hosts that have none yet first."""
    urls, hosts, out = rng.sample(urls, len(urls)), {}, []
    for url in urls:
        host = url.split("/")[2]
        out.append((hosts.get(host, 0), len(out), url))
        hosts[host] = hosts.get(host, 0) + 1
    return [url for _, _, url in sorted(out)[:n]]


def main(out, rngs):
    os.makedirs(out, exist_ok=True)
    print(row("topic", "F1 by hand", "F1 made", "share", "AUC by hand", "AUC made", "share"))
    print(row(*["---"] * 7))
    totals = []
    for name, web, label, seeds, subject, genre, written, known in topics():
        seeds = f"{WEBS}/{web}/seeds.tsv#{seeds}"
        hand, _ = backtest(web, written, label, seeds, f"{out}/hand-{name}", STRATEGY, known)
        relevant = sorted(u for u, names in labels(web, known).items() if label in names)
        f1s, aucs = [], []
        for rng in rngs:
            chosen = draw(relevant, 5, random.Random(f"{name} {rng}"))
            topic = f"{out}/{name}-{rng}.toml"
            gleaner("new", "--subject", subject, "--genre", genre, "--name", name, "--web", f"{WEBS}/{web}", "-o", topic, "--force",
                    "--examples", *chosen)
            made, _ = backtest(web, topic, label, seeds, f"{out}/made-{name}-{rng}", STRATEGY, known)
            f1s.append(made["judge"]["f1"] or 0)
            aucs.append(made["auc"])
        mean = lambda v: sum(v) / len(v)
        h, f, ha, a = hand["judge"]["f1"] or 0, mean(f1s), hand["auc"], mean(aucs)
        totals.append((h, f, ha, a))
        print(row(name, f"{h:.3f}", f"{f:.3f}", f"{100 * f / h:.0f} %", f"{ha:.3f}", f"{a:.3f}", f"{100 * a / ha:.0f} %"), flush=True)
    h, f, ha, a = (sum(t[i] for t in totals) / len(totals) for i in range(4))
    enough = lambda i: sum(t[i + 1] >= 0.85 * t[i] for t in totals)
    print(row("85 % of it", "", "", f"{enough(0)} of {len(totals)}", "", "", f"{enough(2)} of {len(totals)}"))
    print(row("mean", f"{h:.3f}", f"{f:.3f}", f"{100 * f / h:.0f} %", f"{ha:.3f}", f"{a:.3f}", f"{100 * a / ha:.0f} %"))


main(sys.argv[1], sys.argv[2:] or ["0", "1", "2"])
