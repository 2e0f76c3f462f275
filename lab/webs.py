"""What the experiments share: the eight labelled topics of the two recorded webs, and how the program is run on them."""
import json, os, subprocess, tomllib
from pathlib import Path

def folder(name):
    """A folder that the caller names: no machine's paths are written here."""
    value = os.environ.get(name)
    if not value or not os.path.isdir(value):
        raise SystemExit(f"{name} must name a folder: WEBS that with webkb/ and docs/ (unpacked), TOPICS that of the topic files")
    return value


WEBS, TOPICS = folder("WEBS"), folder("TOPICS")
GLEANER = os.environ.get("GLEANER", "target/release/gleaner")

# What a user would say of each topic of suite.toml: subject, genre.
SAID = {
    "docs-changelog": ("release notes, changelog", "software-documentation"),
    "docs-course-info": ("course", "syllabus"),
    "docs-planning": ("query planner, index", "software-documentation"),
    "webkb-course": ("computer science", "syllabus"),
    "webkb-course-ai": ("artificial intelligence", "syllabus"),
    "webkb-course-os": ("operating systems", "syllabus"),
    "webkb-faculty": ("computer science", "biography"),
    "webkb-project": ("project, research group", "research-project"),
}


def shared():
    """The topics of suite.toml: name, web, label of relevant pages, entry pages, subject, genre."""
    sites = tomllib.loads((Path(__file__).parent / "suite.toml").read_text())["site"]
    named = ((site["topic"].removesuffix(".toml"), site) for site in sites)
    return sorted((name, s["web"], s["relevant"], s["seeds"], *SAID[name]) for name, s in named)


ALL = shared()
IGNORE = "course_subpage"

# Topics made by derive_topics.py and derive_docs_topics.py: name, entry pages, subject, genre.
DERIVED = {
    "webkb": [
        ("student_robotics", "four_departments", "robotics", "biography"),
        ("faculty_databases", "four_departments", "databases", "biography"),
        ("project_parallel", "four_departments", "parallel computing", "research-project"),
        ("course_graphics", "four_departments", "graphics", "syllabus"),
        ("course_compilers", "four_departments", "compilers", "syllabus"),
        ("course_networks", "four_departments", "networks", "syllabus"),
        ("student_languages", "four_departments", "programming languages", "biography"),
        ("faculty_theory", "four_departments", "theory", "biography"),
        ("project_vision", "four_departments", "computer vision, robotics", "research-project"),
        ("course_architecture", "four_departments", "computer architecture", "syllabus"),
        ("student_networks", "four_departments", "networks, multimedia", "biography"),
        ("faculty_ai", "four_departments", "artificial intelligence", "biography"),
    ],
    "docs": [
        ("install", "all_site_roots", "installation", "software-documentation"),
        ("replication", "general", "replication", "software-documentation"),
        ("fulltext", "general", "full text search", "software-documentation"),
        ("testing", "all_site_roots", "testing, unit tests", "software-documentation"),
        ("faq", "all_site_roots", "frequently asked questions", "faq"),
        ("mail_tls", "general", "tls, certificates", "software-documentation"),
        ("auth", "general", "authentication, password", "software-documentation"),
        ("lecture", "all_site_roots", "lecture, tutorial", "syllabus"),
        ("json", "general", "json", "software-documentation"),
        ("backup", "general", "backup, restore", "software-documentation"),
        ("project_guidelines", "all_site_roots", "project", "syllabus"),
        ("security", "general", "security, vulnerability", "software-documentation"),
    ],
}


def gleaner(*args, check=True):
    ran = subprocess.run([GLEANER, *map(str, args)], capture_output=True, text=True)
    if check and ran.returncode:
        raise SystemExit(f"{' '.join(ran.args)}\n{ran.stderr}")
    return ran.stdout


def labels(web, file=None):
    out = {}
    for line in open(file or f"{WEBS}/{web}/labels.tsv", encoding="utf-8"):
        url, names, *_ = line.rstrip("\n").split("\t")
        out[url] = names.split(",")
    return out


def backtest(web, topic, label, seeds, out, strategy, file=None):
    """The run's results and its pages in fetch order: (url, score, relevant or None where the label says neither)."""
    gleaner("backtest", "--web", f"{WEBS}/{web}", "--topic", topic, "--labels", file or f"{WEBS}/{web}/labels.tsv", "--relevant-label", label,
            "--ignore-label", IGNORE, "--seeds", seeds, "--strategies", strategy, "--out", out)
    run = json.load(open(f"{out}/results.json"))["runs"][0]
    order = [f for f in os.listdir(out) if f.startswith("order-")]
    pages = []
    for line in open(f"{out}/{order[0]}", encoding="utf-8"):
        _, url, score, *rest = line.rstrip("\n").split("\t")
        names = rest[0].split(",") if rest else []
        relevant = True if label in names else (None if IGNORE in names else False)
        pages.append((url, float(score), relevant))
    return run, pages


def f1(pages, threshold):
    said = [r for _, s, r in pages if s >= threshold and r is not None]
    wanted = sum(1 for _, _, r in pages if r)
    return 2 * sum(said) / max(1, len(said) + wanted)


def best(pages):
    """The best threshold by sweep and its F1."""
    return max(((t / 200, f1(pages, t / 200)) for t in range(201)), key=lambda b: b[1])


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def write_topic(out, name, genre, content, urls):
    """A topic file; terms are TOML lists as text, None where there are none."""
    with open(f"{out}/{name}.toml", "w", encoding="utf-8") as f:
        f.write(f'name = "{name}"\n')
        for section, terms in (("genre", genre), ("content", content), ("url", urls)):
            if terms:
                f.write(f"[{section}]\nterms = {terms}\n")
