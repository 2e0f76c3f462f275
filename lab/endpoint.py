#!/usr/bin/env python3
"""A language model that knows the answers: an OpenAI-compatible /chat/completions that answers from a labels file.

    lab/endpoint.py LABELS.tsv RELEVANT[,RELEVANT] [--wrong 0.1] [--port 0]

Lines of LABELS.tsv are url<TAB>label; a page whose label is none of RELEVANT (or that has none) is not wanted. `--wrong` of the pages,
by a hash of their address, are answered with the opposite. Prints the address it listens on, then serves until it is killed.
"""
import argparse, hashlib, json, re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main():
    args = argparse.ArgumentParser()
    args.add_argument("labels")
    args.add_argument("relevant")
    args.add_argument("--wrong", type=float, default=0.0)
    args.add_argument("--port", type=int, default=0)
    args = args.parse_args()
    wanted = set(args.relevant.split(","))
    yes = set()
    for line in open(args.labels, encoding="utf-8"):
        url, _, labels = line.rstrip("\n").partition("\t")
        if wanted & {l.strip() for l in re.split(r"[,\t ]", labels)}:
            yes.add(url)

    def answer(url):
        chance = int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], "big") / 2**48
        return (url in yes) != (chance < args.wrong)

    class Model(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            messages = json.loads(body)["messages"]
            key = re.search(r"<end ([0-9a-f]{32})>", messages[0]["content"]).group(1)
            pages = re.findall(rf"^<page (\d+) {key}>\nAddress: (\S*)\n", messages[1]["content"], re.M)
            answers = [{"page": int(n), "relevant": "yes" if answer(url) else "no"} for n, url in pages]
            content = json.dumps({"answers": answers})
            reply = {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
                     "usage": {"prompt_tokens": len(body) // 4, "completion_tokens": len(content) // 4, "total_tokens": (len(body) + len(content)) // 4}}
            reply = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", args.port), Model)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


main()
