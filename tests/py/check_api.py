"""Asks the API of a running dashboard thousands of generated questions, good and bad, and compares every answer with the
OpenAPI document: no 5xx, no answer that the document does not allow.

Usage: check_api.py BASE_URL TOKEN COLLECTION PAGE_ID EXAMPLES"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

base, token, collection, page, examples = sys.argv[1:6]
with tempfile.TemporaryDirectory() as folder:
    # Names that exist, so that questions get past "there is no such collection".
    Path(folder, "schemathesis.toml").write_text(
        f'headers = {{ Authorization = "Bearer {token}" }}\n'
        f'[parameters]\n"path.collection" = "{collection}"\n"path.id" = {page}\n'
        # A body that is too large is refused as such.
        "[checks]\nnegative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 429]\n"
    )
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run",
            base + "/api/v1/openapi.json", "--url", base, "--no-color", "--warnings", "off",
            "--max-examples", examples, "--seed", "1", "--phases", "examples,coverage,fuzzing",
            "--generation-database", "none", "--suppress-health-check", "all", "--continue-on-failure",
            # A stream does not end; a topic, a cursor or a URL that is a text may still make no sense (400).
            "--exclude-path-regex", "/live$", "--exclude-checks", "positive_data_acceptance",
        ],
        cwd=folder, text=True, capture_output=True,
    )
said = run.stdout + run.stderr
# Generated bodies may be huge.
for line in said.splitlines()[-160:]:
    print(line[:300])
generated = re.search(r"(\d+) generated", said)
print("asked", generated.group(1) if generated else 0)
sys.exit(run.returncode)
