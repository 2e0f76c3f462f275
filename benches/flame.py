#!/usr/bin/env python3
"""A flame graph of `perf script` on standard input, as a small SVG on standard output. By thread; widths are shares of all samples.

    perf record -e cpu-clock -F 997 --call-graph dwarf,16384 -o perf.data -- target/release/gleaner crawl …
    perf script -i perf.data --no-inline | benches/flame.py "defaults" > benches/results/flame-defaults.svg

Frames below a quarter of a percent, and those that say nothing (the runtime's start of a thread), are left out.
"""
import html
import re
import sys

WIDTH, ROW, LEAST = 1200, 16, 0.0025
EMPTY = re.compile(
    r"^(_start|__libc_start|main$|std::rt|std::sys::backtrace|core::ops::function|\[unknown\]|clone3|start_thread|std::panicking"
    r"|std::thread|<std::sys::thread|__GI_|alloc::boxed|core::panic|tokio::runtime|<tokio::runtime|std::sys::sync::once"
    r"|<std::sys::sync::once|std::sync::once)"
)


def stacks(lines):
    """Thread and frames, outermost first, of each sample."""
    thread, frames = None, []
    for line in [*lines, "\n"]:
        if not line.strip():
            if thread:
                yield [thread, *reversed(frames)]
            thread, frames = None, []
        elif not line[0].isspace():
            thread = re.match(r"(.+?)\s+\d+", line).group(1)
        elif found := re.match(r"\s+[0-9a-f]+ (.+?)(\+0x[0-9a-f]+)? \(", line):
            if not EMPTY.match(found.group(1)):
                frames.append(found.group(1).replace("gleaner_", ""))


class Node:
    def __init__(self):
        self.samples, self.inner = 0, {}


def draw(name, node, left, depth, total, out):
    width = WIDTH * node.samples / total
    color = f"hsl({20 + sum(name.encode()) % 40},80%,{62 + sum(name.encode()) % 12}%)"
    label = f"{name} ({100 * node.samples / total:.1f} %)"
    fits = int(width / 6.2)
    text = name[:fits] if fits > 3 else ""
    out.append(
        f'<g><title>{html.escape(label)}</title><rect x="{left:.1f}" y="{depth * ROW + 24}" width="{max(width - 0.5, 0.3):.1f}" '
        f'height="{ROW - 1}" fill="{color}"/>'
        + (f'<text x="{left + 2:.1f}" y="{depth * ROW + 35}">{html.escape(text)}</text>' if text else "") + "</g>"
    )
    deepest = depth
    for inner, child in sorted(node.inner.items()):
        if child.samples >= LEAST * total:
            deepest = max(deepest, draw(inner, child, left, depth + 1, total, out))
            left += WIDTH * child.samples / total
    return deepest


def main():
    root = Node()
    for stack in stacks(sys.stdin):
        node = root
        node.samples += 1
        for frame in stack:
            node = node.inner.setdefault(frame[:120], Node())
            node.samples += 1
    if not root.samples:
        raise SystemExit("there are no samples: pipe the output of `perf script` to this")
    out = []
    deepest = draw("all", root, 0, 0, root.samples, out)
    title = html.escape(f"{sys.argv[1] if sys.argv[1:] else 'flame graph'}: {root.samples} samples")
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {(deepest + 1) * ROW + 28}" font-family="monospace" font-size="10">'
          f'<rect width="100%" height="100%" fill="#fff"/><text x="4" y="16" font-size="13">{title}</text>')
    print("\n".join(out))
    print("</svg>")


if __name__ == "__main__":
    main()
