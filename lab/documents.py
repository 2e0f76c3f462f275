#!/usr/bin/env python3
"""Words of documents, compared with those that other programs read: pdftotext for PDF files, pandoc for the others.

    lab/documents.py target/release/gleaner FOLDER [--made 10] [--out table.md]

FOLDER holds PDF files at any depth (`.pdf`, `.pdf.gz`). From Debian's documentation:

    apt-get download texlive-latex-base-doc texlive-latex-recommended-doc r-doc-pdf gnuplot-doc debian-reference-en
    for d in *.deb; do dpkg -x $d FOLDER; done

Office files and books are made by pandoc, of the texts of the first `--made` PDF files, in each format. Files are put into /tmp,
read by `gleaner extract --text`, and scored by the longest common subsequence of words: of the words that the other program finds, how many are found
in the same order, of the first 12,000 (and how many at all: in columns and tables, programs go different ways). PDF files are compared twice: with
`pdftotext`, which puts what it takes for columns one after another, and with `pdftotext -raw`, which keeps the order of the file. Both sides leave out what is not a word. A file that either cannot read counts as it is: `unread` is in the table.
"""
import argparse, gzip, re, statistics, subprocess, sys, tempfile, time
from collections import Counter
from pathlib import Path

MADE = ["docx", "odt", "epub", "rtf", "pptx"]
# A word that a line break divides is one word.
HYPHEN = re.compile(r"(\w)[-\u00ad\u2010]\s*\n\s*(\w)")
WORD = re.compile(r"[^\W_]+")
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"})
MOST = 12_000


def words(text):
    return WORD.findall(HYPHEN.sub(r"\1\2", text.translate(LIGATURES)).lower())[:MOST]


def common(a, b):
    """Length of the longest common subsequence, a word of `a` a bit (Hyyrö 2004)."""
    at = {}
    for i, word in enumerate(a):
        at[word] = at.get(word, 0) | 1 << i
    whole = (1 << len(a)) - 1
    rows = whole
    for word in b:
        here = rows & at.get(word, 0)
        rows = (rows + here | rows - here) & whole
    return len(a) - rows.bit_count()


def run(*command, limit=120):
    try:
        ran = subprocess.run(command, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    return ran.stdout.decode("utf-8", "replace") if ran.returncode == 0 else None


def files(folder, scratch):
    for path in sorted(folder.rglob("*.pdf*")):
        if path.is_symlink() or not path.is_file():
            continue
        if path.name.endswith(".pdf.gz"):
            plain = scratch / f"{len(list(scratch.iterdir()))}-{path.name[:-3]}"
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            path = plain
        if path.suffix == ".pdf":
            yield path


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("gleaner")
    say.add_argument("folder", type=Path)
    say.add_argument("--made", type=int, default=10, help="texts that office files are made of")
    say.add_argument("--most", type=int, default=400, help="PDF files at most")
    say.add_argument("--largest", type=int, default=1 << 30, help="leave out PDF files of more bytes")
    say.add_argument("--out", type=Path, help="a Markdown table of every file")
    args = say.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="documents-"))
    rows = []
    texts = []

    def compare(kind, path, wanted, as_written=None):
        if wanted is None or len(words(wanted)) < 50:
            return
        began = time.monotonic()
        got = run(args.gleaner, "extract", str(path), "--text")
        took = time.monotonic() - began
        a, b = words(wanted), words(got or "")
        share = common(a, b) / len(a)
        there = (Counter(a) & Counter(b)).total() / len(a)
        c = words(as_written or "") or a
        written = common(c, b) / len(c)
        rows.append((kind, path.name, share, len(a), len(b), path.stat().st_size, took, got is None, there, written))
        print(f"{share:6.1%} {kind:5} {len(a):6} {len(b):6} words {took:5.1f} s  {path.name}", file=sys.stderr)

    found = [f for f in files(args.folder, scratch) if f.stat().st_size <= args.largest]
    # Evenly from all of them: those of one package are alike.
    most = min(args.most, len(found))
    for path in (found[n * len(found) // most] for n in range(most)):
        text = run("pdftotext", "-enc", "UTF-8", str(path), "-")
        if text and len(words(text)) >= 500 and len(texts) < args.made:
            texts.append(text)
        compare("pdf", path, text, run("pdftotext", "-raw", "-enc", "UTF-8", str(path), "-"))
    for n, text in enumerate(texts):
        source = scratch / f"{n}.md"
        # Paragraphs, and headings every now and then; what Markdown would take for marks is taken out.
        plain = re.sub(r"[^\w\s.,;:()-]", " ", text)
        parts = [p.replace("\n", " ").strip() for p in plain.split("\n\n") if p.strip()][:400]
        source.write_text("\n\n".join(f"## Part {i}\n\n{p}" if i % 10 == 0 else p for i, p in enumerate(parts)))
        for kind in MADE:
            made = scratch / f"{n}.{kind}"
            if run("pandoc", "-s", str(source), "-o", str(made)) is None:
                continue
            # pandoc does not read slides; what they were made of is what they say.
            back = source if kind == "pptx" else made
            compare(kind, made, run("pandoc", str(back), "-t", "plain", "--wrap=none"))

    lines = ["| kind | files | unread | in order: mean | median | 5 % are below | ≥ 95 % | as written: mean | median | ≥ 95 % | in any order: mean | median | ≥ 95 % | s per MB |", "|---|" + "---|" * 13]
    for kind in ["pdf", *MADE]:
        own = sorted(r[2] for r in rows if r[0] == kind)
        if not own:
            continue
        size = sum(r[5] for r in rows if r[0] == kind) / 1e6
        took = sum(r[6] for r in rows if r[0] == kind)
        unread = sum(r[7] for r in rows if r[0] == kind)
        good = sum(s >= 0.95 for s in own) / len(own)
        there = [r[8] for r in rows if r[0] == kind]
        written = [r[9] for r in rows if r[0] == kind]
        lines.append(
            f"| {kind} | {len(own)} | {unread} | {statistics.mean(own):.1%} | {statistics.median(own):.1%} "
            f"| {own[len(own) // 20]:.1%} | {good:.0%} | {statistics.mean(written):.1%} | {statistics.median(written):.1%} "
            f"| {sum(s >= 0.95 for s in written) / len(written):.0%} | {statistics.mean(there):.1%} | {statistics.median(there):.1%} "
            f"| {sum(s >= 0.95 for s in there) / len(there):.0%} | {took / size:.2f} |"
        )
    print("\n".join(lines))
    if args.out:
        every = ["| share | as written | kind | words there | words here | file |", "|---|---|---|---|---|---|"]
        every += [f"| {r[2]:.1%} | {r[9]:.1%} | {r[0]} | {r[3]} | {r[4]} | {r[1]} |" for r in sorted(rows, key=lambda r: r[2])]
        args.out.write_text("\n".join(lines + [""] + every) + "\n")


if __name__ == "__main__":
    main()
