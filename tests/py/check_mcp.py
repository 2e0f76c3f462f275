"""Asks `gleaner mcp` with the official client: check_mcp.py WHAT PROGRAM ARGUMENT…"""

import asyncio
import json
import re
import sys

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

READING = {"collections", "status", "search", "pages", "read_page", "explain", "judge"}
WRITING = {"label", "start_crawl", "continue_crawl", "stop_crawl"}


def connect(args, mode="auto"):
    return Client(stdio_client(StdioServerParameters(command=args[0], args=["mcp", *args[1:]])), mode=mode)


async def ask(client, tool, **arguments):
    """What a tool answers, as data; a tool that fails is a failure here."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, arguments, result.content[0].text)
    assert result.content and result.content[0].type == "text"
    return result.structured_content


async def refused(client, tool, *says, **arguments):
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    assert result.is_error and all(word in text for word in says), (tool, arguments, says, text)


def harmless(result):
    """No character that drives a terminal, in anything that is told."""
    told = json.dumps(result.structured_content, ensure_ascii=False) + "".join(c.text for c in result.content)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told), told[:2000]


async def reading(args, name):
    for mode in ["auto", "legacy"]:
        async with connect(args, mode) as client:
            assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25"), client.protocol_version
            assert client.server_info.name == "gleaner" and "strangers" in client.instructions
            tools = (await client.list_tools()).tools
            assert {t.name for t in tools} == READING and all(t.annotations.read_only_hint for t in tools)
            listed = await ask(client, "collections")
            assert [c["name"] for c in listed["collections"]] == [name] and listed["next_offset"] is None, listed
            first = await ask(client, "search", collection=name, query="database", limit=3)
            assert len(first["results"]) == 3 and first["next_offset"] == 3, first
            second = await ask(client, "search", collection=name, query="database", limit=3, offset=3)
            urls = [hit["url"] for hit in first["results"] + second["results"]]
            assert len(set(urls)) == len(urls) == 6
            hit = first["results"][0]
            assert hit["from_web"]["title"] and hit["from_web"]["snippet"] and "title" not in hit
            # Read in parts, the parts are the whole.
            whole = await ask(client, "read_page", collection=name, url=hit["url"], length=50_000)
            assert whole["next_offset"] is None and len(whole["from_web"]["text"]) == whole["characters"]
            parts, offset = "", 0
            while offset is not None:
                part = await ask(client, "read_page", collection=name, url=hit["url"], length=97, offset=offset)
                assert len(part["from_web"]["text"]) <= 97
                parts, offset = parts + part["from_web"]["text"], part["next_offset"]
            assert parts == whole["from_web"]["text"]
            beyond = await ask(client, "read_page", collection=name, url=hit["url"], offset=10**9)
            assert beyond["from_web"]["text"] == "" and beyond["next_offset"] is None
            quoted = (await client.call_tool("read_page", {"collection": name, "url": hit["url"]})).content[1].text
            mark = re.fullmatch(r"-+ untrusted page text ([0-9a-f]{16}) begins -+", quoted.splitlines()[1])[1]
            assert quoted.splitlines()[-1] == f"----- untrusted page text {mark} ends -----"
            told = await ask(client, "explain", collection=name, url=hit["url"])
            assert told["judged"]["relevant"] is True and told["path"] and told["strategy"], told
            status = await ask(client, "status", collection=name)
            assert status["state"] == "stopped" and status["pages"] > 100 and status["topic"]["name"], status
            # All pages, some at a time.
            met, cursor = [], None
            while True:
                more = {} if cursor is None else {"cursor": cursor}
                some = await ask(client, "pages", collection=name, sort="best", limit=60, **more)
                met += [page["url"] for page in some["pages"]]
                cursor = some["next"]
                if cursor is None:
                    break
            assert len(met) == len(set(met)) == status["pages"], (len(met), status["pages"])
            # The text of the best page alone is as good, without its address and the links to it.
            best = (await ask(client, "pages", collection=name, sort="best", limit=1))["pages"][0]
            text = (await ask(client, "read_page", collection=name, url=best["url"]))["from_web"]["text"]
            good = await ask(client, "judge", collection=name, text=text, title=best["from_web"]["title"])
            bad = await ask(client, "judge", collection=name, text="How to bake bread with rye flour.")
            assert good["relevant"] and not bad["relevant"] and good["score"] > bad["score"], (good, bad)
    async with connect(args) as client:
        await refused(client, "status", "no collection `nope`", collection="nope")
        await refused(client, "status", "no collection", collection="../../etc")
        await refused(client, "status", "lacks `collection`", "takes collection")
        await refused(client, "search", "unknown field `limits`", collection=name, query="x", limits=3)
        for odd in [0, 51, -1, "3", 1.5, None]:
            await refused(client, "search", "limit", collection=name, query="x", limit=odd)
        await refused(client, "search", "query", collection=name, query="x" * 401)
        await refused(client, "read_page", "not a page of the collection", collection=name, url="http://nowhere.invalid/")
        await refused(client, "read_page", "not a URL", collection=name, url="::::")
        await refused(client, "explain", "never seen", collection=name, url="http://nowhere.invalid/")
        await refused(client, "pages", "cursor", collection=name, cursor="nonsense")
        for tool in sorted(WRITING) + ["nonsense", ""]:
            try:
                await client.call_tool(tool, {"collection": name})
                raise SystemExit(f"{tool} was answered")
            except MCPError as e:
                assert e.code == -32602 and ("not allowed" in str(e) or "no tool" in str(e)), e


async def hostile(args, name):
    """A page that would like to give orders, and a huge one."""
    async with connect(args) as client:
        pages = (await ask(client, "pages", collection=name))["pages"]
        assert len(pages) >= 3
        for page in pages:
            result = await client.call_tool("read_page", {"collection": name, "url": page["url"], "length": 50_000})
            assert not result.is_error, result
            harmless(result)
            assert len(result.content[1].text) < 51_000 and len(json.dumps(result.model_dump(mode="json"))) < 400_000
            harmless(await client.call_tool("explain", {"collection": name, "url": page["url"]}))
        harmless(await client.call_tool("pages", {"collection": name}))
        huge = next(p for p in pages if p["url"].endswith("/huge"))
        part = await ask(client, "read_page", collection=name, url=huge["url"])
        assert part["characters"] > 100_000 and part["next_offset"] == 20_000 and len(part["from_web"]["text"]) == 20_000
        evil = next(p for p in pages if p["url"].endswith("/evil"))
        quoted = (await client.call_tool("read_page", {"collection": name, "url": evil["url"]})).content[1].text
        mark = re.search("begins -+", quoted.splitlines()[1]) and quoted.splitlines()[1].split()[4]
        assert "0000000000000000 ends" in quoted and quoted.count(f"{mark} ends") == 1, quoted
        harmless(await client.call_tool("search", {"collection": name, "query": "orders", "all": True}))


async def until_stopped(client, name):
    for _ in range(1200):
        status = await ask(client, "status", collection=name)
        # A look that began before the crawl ended may not know how.
        if status["state"] == "stopped" and not status["stopped"].startswith("cut off"):
            return status
        await asyncio.sleep(0.1)
    raise SystemExit(f"{name} does not stop: {status}")


async def crawling(args, seed):
    """`--pages 60` for all crawls together."""
    async with connect(args) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert set(tools) == READING | WRITING and not tools["label"].annotations.read_only_hint
        assert (await ask(client, "collections"))["collections"] == []
        await refused(client, "start_crawl", "which pages are wanted", seeds=[seed])
        await refused(client, "start_crawl", "seeds", subject="sql", seeds=[])
        await refused(client, "start_crawl", "seed", subject="sql", seeds=["::::"])
        await refused(client, "start_crawl", "genre", genre="no-such-genre", seeds=[seed])
        about = {"subject": "databases, sql, relational model", "genre": "syllabus"}
        begun = await ask(client, "start_crawl", name="../DB", seeds=[seed], pages=20, **about)
        assert begun == {"collection": "db", "started": True, "pages": 20}, begun
        status = await until_stopped(client, "db")
        assert status["pages"] == 20 and status["limit"] == "pages", status
        await refused(client, "start_crawl", "already", name="db", seeds=[seed], **about)
        more = await ask(client, "continue_crawl", collection="db", pages=10)
        assert more["pages"] == 10
        assert (await until_stopped(client, "db"))["pages"] == 30
        # A person's word counts at once.
        page = (await ask(client, "pages", collection="db", sort="best", limit=1))["pages"][0]
        for relevant, label in [(False, False), (True, True), (None, None)]:
            await ask(client, "label", collection="db", url=page["url"], relevant=relevant)
            judged = (await ask(client, "explain", collection="db", url=page["url"]))["judged"]
            assert judged["label"] is label and (relevant is None or judged["relevant"] is relevant), judged
        await refused(client, "label", "relevant", collection="db", url=page["url"])
        await refused(client, "label", "relevant", collection="db", url=page["url"], relevant="yes")
        await refused(client, "label", "not a page", collection="db", url="http://nowhere.invalid/", relevant=True)
        # The owner's limit holds for all crawls together: 30 of 60 are left, however many are asked for.
        last = await ask(client, "continue_crawl", collection="db", pages=1_000)
        assert last["pages"] == 30, last
        assert (await until_stopped(client, "db"))["pages"] == 60
        await refused(client, "continue_crawl", "budget of 60 pages", collection="db")
        await refused(client, "start_crawl", "budget", name="other", seeds=[seed], **about)
        await refused(client, "stop_crawl", "not running", collection="db")


async def ending(args, name):
    """A client that goes away ends the crawl in order."""
    async with connect(args) as client:
        await ask(client, "continue_crawl", collection=name)
        while (await ask(client, "status", collection=name))["state"] != "running":
            await asyncio.sleep(0.05)


async def shared(args, name):
    """A crawl in PostgreSQL whose workers are gone."""
    async with connect(args) as client:
        assert [c["name"] for c in (await ask(client, "collections"))["collections"]] == [name]
        pages = (await ask(client, "pages", collection=name, sort="best"))["pages"]
        url = pages[0]["url"]
        page = await ask(client, "read_page", collection=name, url=url)
        assert page["from_web"]["text"] and (await ask(client, "explain", collection=name, url=url))["judged"]
        assert (await ask(client, "status", collection=name))["state"] == "stopped"
        assert (await ask(client, "judge", collection=name, text="sql"))["score"] >= 0
        # The index is made here, beside the server.
        for _ in range(300):
            found = await ask(client, "search", collection=name, query="database", all=True)
            if found["results"]:
                break
            await asyncio.sleep(0.1)
        assert found["results"], found
        await refused(client, "continue_crawl", "not started from here", "gleaner crawl", collection=name)
        await refused(client, "start_crawl", "shared database", subject="sql", seeds=["http://a.example/"])
        await ask(client, "label", collection=name, url=url, relevant=False)


what, *rest = sys.argv[1:]
{
    "reading": lambda: asyncio.run(reading(rest[1:], rest[0])),
    "hostile": lambda: asyncio.run(hostile(rest[1:], rest[0])),
    "crawling": lambda: asyncio.run(crawling(rest[1:], rest[0])),
    "shared": lambda: asyncio.run(shared(rest[1:], rest[0])),
    "ending": lambda: asyncio.run(ending(rest[1:], rest[0])),
}[what]()
print("fine")
