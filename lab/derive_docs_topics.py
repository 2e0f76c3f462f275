#!/usr/bin/env python3
"""Topics of the recorded web `docs`, by words of titles and texts, for measuring strategies on more topics.

    lab/derive_docs_topics.py WEB OUT

WEB is the unpacked recorded web; OUT gets `labels.tsv` and one topic file per topic. A page has a label when the first part of
its title matches, or when its text uses the words at least so often and at least once in 250 words. What is generated belongs
to the recorded web: never commit it.
"""
import html, os, re, sys

from webs import write_topic

DOC = '["documentation", "manual", "reference", "chapter", "description", "example", "options", "usage"]'

# name, title must match, text must match, how often, genre terms, content terms, url terms
TOPICS = [
    ("install", r"install|building from|download and", None, 0, '["installation", "install", "download", "requirements", "build", "configure", "make install", "setup"]', None, '["install", "installation", "setup", "download"]'),
    ("replication", None, r"replicat\w*|standby|slony", 10, DOC, '["replication", "standby", "replica", "master", "slave", "failover", "streaming replication", "subscriber"]', None),
    ("fulltext", None, r"full[- ]text search|full text|fts[345]|tsvector|tsquery", 3, None, '["full text search", "tsvector", "tsquery", "fts5", "text search configuration", "stemming", "ranking"]', None),
    ("testing", r"\btest(s|ing)?\b|unittest|doctest|pytest fixtures?", None, 0, DOC, '["testing", "unit tests", "test cases", "fixtures", "assertions", "test runner", "coverage"]', '["test", "testing", "tests"]'),
    ("faq", r"faq|frequently asked", None, 0, '["frequently asked questions", "faq", "how do i", "why does", "can i", "what is", "answer"]', None, '["faq"]'),
    ("mail_tls", None, r"tls|ssl|starttls|certificate", 15, None, '["tls", "ssl", "certificate", "starttls", "encryption", "cipher", "smtp"]', None),
    ("auth", None, r"authenticat\w*|password|login", 12, DOC, '["authentication", "password", "login", "user", "credentials", "authorization", "permissions"]', '["auth", "login"]'),
    ("lecture", r"\b(lecture|lab|week|lesson|tutorial|class)\b", None, 0, '["lecture", "lab", "lesson", "week", "slides", "exercises", "learning objectives", "tutorial"]', None, '["lecture", "lab", "week", "lesson", "tutorial"]'),
    ("json", None, r"jsonb?", 12, None, '["json", "jsonb", "serialization", "parser", "decode", "encode", "key value"]', None),
    ("backup", None, r"backups?|pg_dump|restore", 8, DOC, '["backup", "restore", "dump", "recovery", "archive", "point in time recovery"]', '["backup"]'),
    ("project_guidelines", r"project|deliverable|milestone|team", None, 0, '["project", "deliverables", "milestone", "team", "grading", "submission", "deadline", "guidelines"]', None, '["project", "tp", "milestone"]'),
    ("security", None, r"security|vulnerabilit\w*|cve-\d+", 8, None, '["security", "vulnerability", "cve", "attack", "exploit", "advisory", "fix"]', '["security"]'),
]


def title_and_text(path):
    try:
        raw = open(path, "rb").read().decode("utf-8", "replace")
    except OSError:
        return "", ""
    title = re.search(r"<title[^>]*>(.*?)</title", raw, re.I | re.S)
    body = re.sub(r"(?is)<(script|style|nav|header|footer|aside).*?</\1>", " ", raw)
    title = html.unescape(title.group(1)).lower().strip() if title else ""
    # Before the name of the site.
    return re.split(r" [—|–·:-] ", title)[0], html.unescape(re.sub(r"<[^>]*>", " ", body)).lower()


def main(web, out):
    os.makedirs(out, exist_ok=True)
    lines, found = [], {t[0]: 0 for t in TOPICS}
    for row in open(f"{web}/urls.tsv", encoding="utf-8"):
        url, file, *kind = row.rstrip("\n").split("\t")
        if kind and "html" not in kind[0]:
            continue
        title, text = title_and_text(f"{web}/{file}")
        have = []
        for name, by_title, by_text, least, *_ in TOPICS:
            if by_title and re.search(by_title, title):
                have.append(name)
            elif by_text:
                n = len(re.findall(rf"\b(?:{by_text})\b", text))
                if n >= least and n * 250 >= len(text.split()):
                    have.append(name)
        for name in have:
            found[name] += 1
        if have:
            lines.append(f"{url}\t{','.join(have)}")
    open(f"{out}/labels.tsv", "w", encoding="utf-8").write("\n".join(lines) + "\n")
    for name, _, _, _, genre, content, urls in TOPICS:
        write_topic(out, name, genre, content, urls)
        print(f"{name}\t{found[name]} pages")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
