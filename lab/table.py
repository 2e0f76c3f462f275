"""Mean area under recall per strategy and topic, as a Markdown table, from the results.json files below a folder."""
import json, pathlib, statistics, sys

root = pathlib.Path(sys.argv[1])
auc, half = {}, {}
for file in sorted(root.glob("*/results.json")):
    for run in json.loads(file.read_text())["runs"]:
        auc.setdefault(run["strategy"], {}).setdefault(run["topic"], []).append(run["auc"] or 0.0)
        length = run["search_length"]["50"]
        half.setdefault(run["strategy"], {}).setdefault(run["topic"], []).append((length or run["reachable"]) / run["reachable"])
topics = sorted({t for by in auc.values() for t in by})
mean = lambda by: {t: statistics.mean(by[t]) for t in topics if t in by}
rows = sorted(((s, mean(by), mean(half[s])) for s, by in auc.items()), key=lambda r: -statistics.mean(r[1].values()))
print("| strategy | " + " | ".join(topics) + " | mean | median | pages to 50 % |")
print("|---" * (len(topics) + 4) + "|")
for s, by, h in rows:
    cells = " | ".join(f"{by[t]:.3f}" if t in by else "–" for t in topics)
    print(f"| {s} | {cells} | {statistics.mean(by.values()):.3f} | {statistics.median(by.values()):.3f} | {100 * statistics.mean(h.values()):.1f} % |")
