"""A web of 2400 hosts for lab/scale: every answer takes 250 ms. Pages about the topic link to pages about the topic."""
import asyncio, hashlib, sys

HOSTS, PAGES, LINKS, LATENCY = 2400, 60, 20, 0.25
WORDS = "garden river mountain window candle bridge forest letter pocket summer island village kitchen basket".split()


def h(*parts):
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "big")


def wanted(host, page):
    # A third of the hosts are mostly about it, the others hardly ever.
    return h("w", host, page) % 100 < (70 if host % 3 == 0 else 4)


def address(host, page):
    return f"http://www.site{host}.org/{page}"


def body(host, page):
    good = wanted(host, page)
    words = [WORDS[h("t", host, page, i) % len(WORDS)] for i in range(150)]
    if good:
        words[::4] = ["sql database query"] * len(words[::4])
    out = [f"<title>{'Database' if good else 'Something'} {host} {page}</title><p>{' '.join(words)}</p>"]
    for i in range(LINKS):
        n = h("l", host, page, i)
        # Like links to like, mostly; half of the links stay on the host.
        other = host if n % 2 else (n // 2) % HOSTS
        if good and not n % 2 and n % 5 < 4:
            other -= other % 3
        target = (n // 7) % PAGES
        text = "sql database query" if wanted(other, target) and n % 4 else WORDS[n % len(WORDS)]
        out.append(f"<a href='{address(other, target)}'>{text}</a>")
    return "\n".join(out).encode()


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            path = lines[0].split(" ")[1]
            host = next((l[5:].strip() for l in lines if l.lower().startswith("host:")), "")
            await asyncio.sleep(LATENCY)
            try:
                number = int(host.split(".")[1][4:])
                data, status = (b"", 404) if path == "/robots.txt" else (body(number, int(path[1:])), 200)
            except (ValueError, IndexError):
                data, status = b"", 404
            writer.write(b"HTTP/1.1 %d X\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(data)) + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1000)
    async with server:
        await server.serve_forever()


asyncio.run(main())
