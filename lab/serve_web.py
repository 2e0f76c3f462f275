"""A folder web (HOST/PATH…, `urls.tsv`, `redirects.tsv`) as an HTTP server on this machine, by the Host header."""
import contextlib, http.server, os, threading


def table(path):
    if not os.path.exists(path):
        return []
    return [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")]


def plain(url):
    return url.split("://", 1)[-1].split("#")[0]


@contextlib.contextmanager
def serving(folder):
    files = {plain(r[0]): r[1:] for r in table(f"{folder}/urls.tsv")}
    moved = {plain(r[0]): r[1] for r in table(f"{folder}/redirects.tsv")}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            url = self.headers.get("Host", "") + self.path
            status, body, extra = 404, b"", []
            if url in files:
                name, *kind = files[url]
                body = open(f"{folder}/{name}", "rb").read()
                status, extra = 200, [("Content-Type", kind[0] if kind else "text/html")]
            elif url in moved:
                status, extra = 302, [("Location", moved[url])]
            self.send_response(status)
            for header in [*extra, ("Content-Length", str(len(body)))]:
                self.send_header(*header)
            try:
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # The crawler has read as much as it wants.

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
