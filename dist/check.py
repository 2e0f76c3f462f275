"""Are the descriptions true? check.py PROGRAM OUT IMAGE.json (called by dist/check)

Command lines of the units and of the compose file are shown to the program; the compose file, the scrape configuration and
the Grafana dashboard are read; the SBOM is validated and compared with the lock file.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

here = Path(__file__).resolve().parent
program, out, image = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])


def takes(args, where):
    """The program knows every option."""
    ran = subprocess.run([program, *args, "--help"], capture_output=True, text=True)
    assert ran.returncode == 0, f"{where}: {args}: {ran.stderr}"


# systemd: what is started.
for unit in sorted((here / "systemd").glob("*.service")):
    text = unit.read_text()
    start = re.search(r"^ExecStart=/usr/bin/gleaner (.*)$", text, re.M)[1].split()
    values = dict(re.findall(r'^Environment="?([A-Z_]+)=(.*?)"?$', text, re.M))
    values |= dict(re.findall(r'^Environment=([A-Z_]+)="(.*)"$', text, re.M))
    args = [word for arg in start for word in (values[arg[1:]].split() if arg.startswith("$") else [arg])]
    takes(args, unit.name)
    assert "DynamicUser=yes" in text and "ProtectSystem=strict" in text

# The image.
if image.exists():
    image = json.loads(image.read_text())
    config = (image.get("Docker") or image.get("OCIv1"))["config"]
    assert config["User"] == "65534:65534" and "/data" in config["Volumes"] and "7700/tcp" in config["ExposedPorts"], config
    takes(config["Cmd"], "Containerfile")
    health = config.get("Healthcheck", {}).get("Test", [])
    assert health[:2] == ["CMD", "/bin/gleaner"], config
    takes(health[2:], "HEALTHCHECK")

# compose.
compose = yaml.safe_load((here / "compose/compose.yaml").read_text())
services = compose["services"]
assert {"database", "storage", "worker", "dashboard", "prometheus", "grafana"} <= set(services)
assert services["worker"]["deploy"]["replicas"] == 3
for name in ["worker", "dashboard"]:
    service = services[name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"], name
    takes(service["command"], name)
version = tomllib.loads((here.parent / "Cargo.toml").read_text())["workspace"]["package"]["version"]
assert services["worker"]["image"].endswith(f":{version}}}"), "the image's version is an old one"
needed = set(re.findall(r"\$\{([A-Z_]+):\?", (here / "compose/compose.yaml").read_text()))
given = {line.split("=")[0] for line in (here / "compose/example.env").read_text().splitlines() if "=" in line}
assert needed <= given, needed - given
for service in services.values():
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        known = source in compose["volumes"] or (here / "compose" / source).exists() or source == "./topic.toml"
        assert known, volume
    for config in service.get("configs", []):
        assert config["source"] in compose["configs"], config

# Prometheus asks what is there.
(job,) = yaml.safe_load((here / "compose/prometheus.yml").read_text())["scrape_configs"]
host, port = job["static_configs"][0]["targets"][0].split(":")
assert host in services and f"--allow-host={host}" in services[host]["command"]
assert f"--listen=0.0.0.0:{port}" in services[host]["command"] and job["metrics_path"] == "/metrics"

# Grafana shows the numbers that are documented, all of them, with labels that they have.
documented = {}
for line in (here.parent / "docs/dashboard.md").read_text().splitlines():
    if row := re.match(r"\| `(gleaner_\w+)` \| (.*?) \|", line):
        documented[row[1]] = {label for label in row[2].replace(" ", "").split(",") if label}
source = (here.parent / "src/dashboard/metrics.rs").read_text()
real = set(re.findall(r'Family::new\(\s*"(gleaner_\w+)"', source))
assert real == set(documented), real ^ set(documented)
grafana = json.loads((here / "compose/grafana.json").read_text())
shown = set()
for panel in grafana["panels"]:
    for target in panel["targets"]:
        names = set(re.findall(r"gleaner_\w+", target["expr"]))
        assert names and names <= real, (panel["title"], names - real)
        used = set(re.findall(r"by \((\w+)\)", target["expr"])) | set(re.findall(r"\{(\w+)=~", target["expr"]))
        used |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert all(used <= documented[name] for name in names), (panel["title"], used)
        shown |= names
assert shown == real, real - shown
places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in grafana["panels"]]
assert len(set(places)) == len(places) and len({p["id"] for p in grafana["panels"]}) == len(places)

# The SBOM.
text = next(out.glob("*.cdx.json")).read_text()
problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
assert problem is None, problem
bom = json.loads(text)
locked = {(p["name"], p["version"]) for p in tomllib.loads((here.parent / "Cargo.lock").read_text())["package"]}
named = {(c["name"], c["version"]) for c in bom["components"]}
assert named <= locked and {"tokio", "hyper", "rustls", "gleaner-crawl"} <= {name for name, _ in named}
assert "proptest" not in {name for name, _ in named}, "tests are no part of the program"
known = {c["bom-ref"] for c in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
assert all(set(d["dependsOn"]) <= known for d in bom["dependencies"])
