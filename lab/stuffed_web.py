#!/usr/bin/env python3
"""Makes a web in which bad neighbours try to fool a judge, out of a recorded one.

    lab/stuffed_web.py WEBKB TOPIC.toml LABEL OUT [KIND…]

Forty ordinary hosts carry recorded pages; fifty of them are wanted ones, spread over the hosts. Beside them stands what
KIND says (default: all of them, one web each, in OUT/KIND):

    plain      nothing: what the hosts give alone
    bag        2,000 pages of nothing but the topic's words, on one host
    woven      2,000 pages of ordinary text, every third word one of the topic's, on one host
    farm       the same as `woven`, on 200 hosts of 100 domains that link to each other
    sentences  2,000 pages of whole sentences of wanted pages, shuffled, on one host
    template   2,000 copies of one wanted page with a few words changed, on one host
    mirror     four other hosts have all pages of the ordinary hosts once more
"""
import html, os, random, re, sys, tomllib

HOSTS, PAGES, WANTED, SPAM = 40, 40, 50, 2000


def text_of(path):
    raw = open(path, encoding="latin-1").read()
    raw = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", raw)
    title = re.search(r"(?is)<title[^>]*>(.*?)</title>", raw)
    body = re.sub(r"(?is)^.*?<body[^>]*>", "", raw) if "<body" in raw.lower() else raw
    body = re.sub(r"(?is)<title.*?</title>|</?(html|head|body|a|base|meta|frame|frameset|link|area)\b[^>]*>", " ", body)
    return html.unescape(title.group(1).strip() if title else "Untitled"), body


def sentences(body):
    flat = html.unescape(re.sub(r"<[^>]+>", " ", body))
    return [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n\s*\n", flat) if len(s.split()) > 4]


class Web:
    def __init__(self, out):
        self.out, self.labels, self.seen = out, [], set()
        os.makedirs(out, exist_ok=True)

    def put(self, host, path, title, body, links, wanted=False):
        file = os.path.join(self.out, host, path.lstrip("/") or "index.html")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        menu = "\n".join(f'<li><a href="{u}">{html.escape(a)}</a></li>' for u, a in links)
        with open(file, "w", encoding="utf-8", errors="replace") as f:
            f.write(f"<html><head><meta charset=utf-8><title>{html.escape(title)}</title></head><body>{body}<ul>{menu}</ul></body></html>")
        url = f"http://{host}/{'' if path in ('', 'index.html') else path}"
        self.labels.append(f"{url}\t{'wanted' if wanted else 'other'}")

    def end(self, seeds):
        open(os.path.join(self.out, "labels.tsv"), "w").write("\n".join(self.labels) + "\n")
        open(os.path.join(self.out, "seeds.txt"), "w").write("\n".join(seeds) + "\n")


def main():
    source, topic, label, out, *kinds = sys.argv[1:]
    kinds = kinds or ["plain", "bag", "woven", "farm", "sentences", "template", "mirror"]
    topic = tomllib.load(open(topic, "rb"))
    labels = dict((a[0], a[1].split(",")) for a in (l.rstrip("\n").split("\t") for l in open(f"{source}/labels.tsv")))
    files = dict(l.rstrip("\n").split("\t")[:2] for l in open(f"{source}/urls.tsv"))
    urls = sorted(u for u in labels if u in files)
    rng = random.Random(7)
    wanted = [u for u in urls if label in labels[u]]
    other = [u for u in urls if label not in labels[u] and "course_subpage" not in labels[u]]
    rng.shuffle(wanted)
    rng.shuffle(other)
    planted, spare = wanted[:WANTED], wanted[WANTED:] or wanted[:5]
    other = other[: HOSTS * PAGES - WANTED]
    words = [w for part in ("genre", "content", "url") for w in topic.get(part, {}).get("terms", [])]
    if not words:
        sys.exit("the topic names no terms")
    pages = [text_of(f"{source}/{files[u]}") + (u in set(planted),) for u in planted + other]
    stock = [s for u in other for s in sentences(text_of(f"{source}/{files[u]}")[1])[:20]]
    lines = [s for u in planted[:10] + spare for s in sentences(text_of(f"{source}/{files[u]}")[1])]
    for kind in kinds:
        make(f"{out}/{kind}", kind, pages, words, stock, lines, random.Random(11))


def make(out, kind, pages, words, stock, lines, rng):
    web = Web(out)
    pages = pages[:]
    rng.shuffle(pages)
    names = [f"www.site{h:02}.org" for h in range(HOSTS)]
    if kind == "mirror":
        copies = [""] + [f".mirror{m}.net" for m in range(4)]
    else:
        copies = [""]
    spam_home = []
    if kind in ("bag", "woven", "sentences", "template"):
        spam_home = [("http://www.best-pages.com/", " ".join(rng.sample(words, min(3, len(words)))))]
    if kind == "farm":
        spam_home = [(f"http://s{i % 2}.farm{i // 2:03}.com/", " ".join(rng.sample(words, min(3, len(words))))) for i in range(3)]
    for copy in copies:
        for h, name in enumerate(names):
            mine = pages[h * PAGES : (h + 1) * PAGES]
            sections = [mine[i : i + 10] for i in range(0, len(mine), 10)]
            host = name + copy
            away = [(f"http://{names[(h * 3 + k) % HOSTS]}{copy}/", f"Site {(h * 3 + k) % HOSTS}") for k in (1, 2, 3)]
            if copy == "" and kind == "mirror":
                away += [(f"http://{name}{c}/", f"Mirror {c[1:]}") for c in copies[1:]]
            if h in (0, 5, 10):
                away += spam_home
            home = [(f"http://{host}/s{i}/index.html", f"Section {i}") for i in range(len(sections))]
            web.put(host, "", f"Site {h}", "<p>Welcome to this site.</p>", home + away)
            for i, section in enumerate(sections):
                links = [(f"http://{host}/s{i}/p{j}.html", title) for j, (title, _, _) in enumerate(section)]
                web.put(host, f"s{i}/index.html", f"Section {i} of site {h}", "", links + [(f"http://{host}/", "Home")])
                for j, (title, body, is_wanted) in enumerate(section):
                    web.put(host, f"s{i}/p{j}.html", title, body, [(f"http://{host}/", "Home")], is_wanted)
    if spam_home:
        plant_spam(web, kind, words, stock, lines, pages, rng)
    web.end([f"http://{names[i]}/" for i in (0, 1, 2)])


def plant_spam(web, kind, words, stock, lines, pages, rng):
    if kind == "farm":
        places = [(f"s{i % 2}.farm{(i % 200) // 2:03}.com", "" if i < 200 else f"p{i}.html") for i in range(SPAM)]
    else:
        places = [("www.best-pages.com", "" if i == 0 else f"d{i % 37}/p{i}.html") for i in range(SPAM)]
    title = lambda: " ".join(rng.sample(words, min(len(words), rng.randint(2, 4))))
    titles = [title() for _ in places]
    original = next((p for p in pages if p[2]))
    for i, (host, path) in enumerate(places):
        links = []
        for k in rng.sample(range(SPAM), 30):
            links.append((f"http://{places[k][0]}/{places[k][1]}", titles[k]))
        if kind == "bag":
            body = "<p>" + " ".join(rng.choice(words) for _ in range(rng.randint(100, 400))) + "</p>"
        elif kind in ("woven", "farm"):
            text = " ".join(rng.sample(stock, 12)).split()
            body = "<p>" + html.escape(" ".join(w + (" " + rng.choice(words) if n % 3 == 2 else "") for n, w in enumerate(text))) + "</p>"
        elif kind == "sentences":
            body = "".join(f"<p>{html.escape(s)}</p>" for s in rng.sample(lines, min(len(lines), 20)))
        else:
            text = original[1].split(" ")
            for _ in range(max(3, len(text) // 30)):
                text[rng.randrange(len(text))] = f"word{rng.randrange(10**6)}"
            body = " ".join(text)
        web.put(host, path, titles[i], body, links)


main()
