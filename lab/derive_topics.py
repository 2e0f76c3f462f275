#!/usr/bin/env python3
"""Label x keyword topics of the recorded web `webkb`, for measuring strategies on rarer topics.

    lab/derive_topics.py WEB OUT

WEB is the unpacked recorded web; OUT gets `labels.tsv` (the old labels plus one per derived topic), one topic file per
derived topic, and topic files for whole human labels. A page has the derived label when it has the human label and its text uses the keyword at least twice, or in
its title. What is generated belongs to the recorded web: never commit it.
"""
import html, os, re, sys

from webs import write_topic

COURSE = '["course", "syllabus", "instructor", "office hours", "lecture", "homework", "assignments", "textbook", "grading", "midterm", "final exam"]'
PERSON = '["home page", "student", "graduate student", "advisor", "resume", "interests", "email", "phone", "office", "hobbies", "links"]'
FACULTY = '["professor", "associate professor", "assistant professor", "research interests", "publications", "ph.d", "phone", "fax", "office", "teaching"]'
PROJECT = '["project", "research group", "overview", "publications", "participants", "members", "papers", "technical reports", "sponsors"]'

# name, human label, what the text must mention, genre terms, content terms, url terms
TOPICS = [
    ("student_robotics", "student", r"robot\w*", PERSON, '["robotics", "robots", "robot", "vision", "navigation", "artificial intelligence"]', '["people", "home", "students"]'),
    ("faculty_databases", "faculty", r"databases?|database systems", FACULTY, '["database", "databases", "query", "transactions", "data", "storage"]', '["faculty", "people"]'),
    ("project_parallel", "project", r"parallel\w*", PROJECT, '["parallel", "parallelism", "multiprocessor", "message passing", "distributed", "performance"]', '["project", "projects", "research"]'),
    ("course_graphics", "course", r"graphics|rendering", COURSE, '["graphics", "rendering", "image", "modeling", "animation", "opengl"]', '["course", "courses", "class"]'),
    ("course_compilers", "course", r"compilers?|parsing", COURSE, '["compiler", "compilers", "parsing", "code generation", "programming languages", "lexical analysis"]', '["course", "courses", "class"]'),
    ("course_networks", "course", r"networks?|networking|tcp", COURSE, '["networks", "networking", "protocols", "tcp", "internet", "routing", "communication"]', '["course", "courses", "class"]'),
    ("student_languages", "student", r"programming languages?|compilers?", PERSON, '["programming languages", "compilers", "semantics", "types", "program analysis"]', '["people", "home", "students"]'),
    ("faculty_theory", "faculty", r"theory|complexity|theoretical", FACULTY, '["theory", "complexity", "algorithms", "theoretical computer science", "combinatorics", "proofs"]', '["faculty", "people"]'),
    ("project_vision", "project", r"vision|robot\w*|image processing", PROJECT, '["vision", "robot", "images", "recognition", "perception", "motion"]', '["project", "projects", "research"]'),
    ("course_architecture", "course", r"computer architecture|architecture|pipelin\w+", COURSE, '["architecture", "processor", "cache", "pipelining", "instruction set", "memory"]', '["course", "courses", "class"]'),
    ("student_networks", "student", r"networks?|networking|multimedia", PERSON, '["networks", "networking", "multimedia", "protocols", "internet", "distributed systems"]', '["people", "home", "students"]'),
    ("faculty_ai", "faculty", r"artificial intelligence|machine learning", FACULTY, '["artificial intelligence", "machine learning", "reasoning", "knowledge", "planning", "neural networks"]', '["faculty", "people"]'),
]

# Whole human labels: name, genre terms, content terms, url terms. Their pages are those with the labels that sources.toml names.
SCIENCE = '["computer science", "research", "programming", "software", "systems"]'
BROAD = [
    ("student", PERSON, SCIENCE, '["people", "home", "students"]'),
    ("people", PERSON, SCIENCE, '["people", "home", "faculty", "students", "staff"]'),
    ("teaching", COURSE, SCIENCE, '["course", "courses", "class", "classes"]'),
    ("research", PROJECT, SCIENCE, '["project", "projects", "research", "faculty"]'),
    ("organisation", '["department", "faculty", "staff", "graduate program", "admissions", "directory", "office", "phone", "welcome"]', SCIENCE, '["department", "info", "people"]'),
]


def text_of(path):
    try:
        raw = open(path, "rb").read().decode("latin-1")
    except OSError:
        return "", ""
    title = re.search(r"<title[^>]*>(.*?)</title", raw, re.I | re.S)
    body = re.sub(r"(?is)<(script|style).*?</\1>", " ", raw)
    plain = html.unescape(re.sub(r"<[^>]*>", " ", body)).lower()
    return (title.group(1).lower() if title else ""), plain


def main(web, out):
    os.makedirs(out, exist_ok=True)
    files = dict(line.rstrip("\n").split("\t")[:2] for line in open(f"{web}/urls.tsv", encoding="utf-8"))
    lines, found = [], {t[0]: 0 for t in TOPICS}
    for line in open(f"{web}/labels.tsv", encoding="utf-8"):
        url, labels, *rest = line.rstrip("\n").split("\t")
        have = labels.split(",")
        title, text = text_of(f"{web}/{files.get(url, '')}") if url in files else ("", "")
        for name, label, pattern, *_ in TOPICS:
            p = rf"\b(?:{pattern})\b"
            if label in have and (re.search(p, title) or len(re.findall(p, text)) >= 2):
                have.append(name)
                found[name] += 1
        lines.append("\t".join([url, ",".join(have), *rest]))
    open(f"{out}/labels.tsv", "w", encoding="utf-8").write("\n".join(lines) + "\n")
    for name, _, _, genre, content, urls in TOPICS:
        write_topic(out, name, genre, content, urls)
        print(f"{name}\t{found[name]} pages")
    for name, genre, content, urls in BROAD:
        write_topic(out, name, genre, content, urls)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
