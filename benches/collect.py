#!/usr/bin/env python3
"""Runs benchmarks one after another and writes what they print, with the machine and its load, to one file."""
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"


def first(path, key, otherwise="?"):
    try:
        for line in open(path, encoding="utf-8"):
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return otherwise


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "?"


def load():
    return "load %.1f / %.1f / %.1f (1, 5, 15 minutes)" % os.getloadavg()


def machine():
    memory = int(first("/proc/meminfo", "MemTotal", "0 kB").split()[0]) / (1 << 20)
    virtual = "virtual machine" if "hypervisor" in first("/proc/cpuinfo", "flags", "").split() else "not virtual"
    return [
        f"* {os.cpu_count()} × {first('/proc/cpuinfo', 'model name')} ({virtual}), {memory:.0f} GiB, "
        f"Linux {platform.release()}",
        f"* {output('rustc', '--version')}, release profile",
        f"* commit {output('git', 'rev-parse', 'HEAD')}"
        + (" with changes" if output("git", "status", "--porcelain", "--untracked-files=no") else ""),
    ]


def main():
    names = sys.argv[1:]
    commit = output("git", "rev-parse", "--short", "HEAD")
    if output("git", "status", "--porcelain", "--untracked-files=no"):
        commit += "-changed"
    folder = RUN.parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{time.strftime('%Y-%m-%d')}-{commit}-{'-'.join(names)}.md"
    failed = []
    with open(path, "w", encoding="utf-8") as out:
        def say(text):
            print(text, flush=True)
            print(text, file=out, flush=True)

        say(f"# Benchmarks of {time.strftime('%Y-%m-%d %H:%M %Z')}\n")
        say("\n".join(machine()))
        say(f"* at the beginning: {load()}; {os.cpu_count()} processors, so anything above that is other work in the way\n")
        for name in names:
            say(f"## {name}\n\n{load()}\n")
            start = time.monotonic()
            child = subprocess.Popen([str(RUN), "--only", name], stdout=subprocess.PIPE, text=True)
            for line in child.stdout:
                say(line.rstrip("\n"))
            if child.wait() != 0:
                failed.append(name)
                say(f"\n**{name} ended with {child.returncode}**")
            say(f"\n{time.monotonic() - start:.0f} s; at the end: {load()}\n")
    print(f"written to {path}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
