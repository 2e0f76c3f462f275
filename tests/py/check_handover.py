"""Other people's readers on what is handed over to language models, search engines and feed readers.

    python check_handover.py markdown FOLDER PAGES.jsonl
    python check_handover.py chunks CHUNKS.jsonl PAGES.jsonl SIZE
    python check_handover.py bulk LINES.ndjson MAPPING.json PAGES.jsonl
    python check_handover.py rss FEED.rss PAGES.jsonl

PAGES.jsonl has the same pages with all columns and `markdown`. Prints how much was compared; any difference is an error.
"""

import html
import json
import pathlib
import re
import sys


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def words(text):
    return re.findall(r"\w+", text)


def markdown(folder, pages):
    import yaml
    from markdown_it import MarkdownIt

    commonmark = MarkdownIt("commonmark").enable("table")
    pages = {page["url"]: page for page in rows(pages)}
    headings = links = items = 0
    for file in sorted(pathlib.Path(folder).rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        _, front, body = text.split("---\n", 2)
        front = yaml.safe_load(front)
        page = pages.pop(front["url"])
        assert front["title"] == page["title"] and front["score"] == page["score"], file
        assert body == "\n" + page["markdown"] + "\n", file
        shown = commonmark.render(page["markdown"])
        headings += len(re.findall(r"<h\d>", shown))
        links += shown.count("<a href=")
        items += shown.count("<li>")
        # What a reader of Markdown sees is text of the page, in its order: nothing is added, nothing is taken for markup.
        seen = words(html.unescape(re.sub(r"<[^>]+>", " ", shown)))
        whole = iter(words(page["text"]))
        strange = [word for word in seen if word not in whole]
        assert not strange, (file, strange[:10])
        assert len(seen) * 3 >= len(words(page["text"])), (file, "most of the page is gone")
    assert not pages, sorted(pages)
    assert headings > 30 and items > 30, (headings, items)
    print(f"{headings} headings, {items} items, {links} links")


def chunks(path, pages, size):
    pages = {page["url"]: page for page in rows(pages)}
    found = rows(path)
    assert len({chunk["id"] for chunk in found}) == len(found), "two chunks have one name"
    ends = {}
    for chunk in found:
        text = pages[chunk["url"]]["markdown"]
        assert text[chunk["start"] : chunk["end"]] == chunk["text"], chunk["id"]
        assert 0 < len(chunk["text"]) <= int(size), chunk["id"]
        assert chunk["id"] == f"{chunk['page']}-{chunk['chunk']}"
        # Nothing is left out between two chunks.
        end = ends.get(chunk["url"], 0)
        assert not text[end : chunk["start"]].strip(), chunk["id"]
        ends[chunk["url"]] = chunk["end"]
    for url, page in pages.items():
        assert not page["markdown"][ends.get(url, 0) :].strip(), url
    print(f"{len(found)} chunks of {len(pages)} pages")


def bulk(path, mapping, pages):
    pages = {page["url"]: page for page in rows(pages)}
    with open(mapping, encoding="utf-8") as file:
        fields = json.load(file)["mappings"]["properties"]
    fits = {"text": str, "keyword": str, "long": int, "double": (int, float), "boolean": bool, "date": str, "object": dict}
    text = pathlib.Path(path).read_text(encoding="utf-8")
    assert text.endswith("\n"), "_bulk wants a line end at the end"
    lines = [json.loads(line) for line in text.splitlines()]
    names = set()
    for action, document in zip(lines[::2], lines[1::2], strict=True):
        assert list(action) == ["index"] and list(action["index"]) == ["_id"], action
        names.add(action["index"]["_id"])
        page = pages.pop(document["url"])
        for name, value in document.items():
            assert value == page[name], (document["url"], name)
            assert value is None or isinstance(value, fits[fields[name]["type"]]), (name, value)
    assert not pages and len(names) * 2 == len(lines)
    print(f"{len(names)} documents")


def rss(path, pages):
    import feedparser

    feed = feedparser.parse(path)
    assert not feed.bozo, feed.bozo_exception
    pages = {page["url"]: page for page in rows(pages)}
    for entry in feed.entries:
        page = pages.pop(entry.link)
        assert entry.id == entry.link and entry.title.split() == page["title"].split(), entry
    assert not pages, sorted(pages)
    times = [entry.published_parsed for entry in feed.entries]
    assert times == sorted(times, reverse=True) and all(times), "the newest comes first"
    print(f"{len(times)} entries of {feed.feed.title}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
