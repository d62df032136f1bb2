"""The types of requests and replies, made from the OpenAPI document, and what is checked against them: `python -m tests.page.types`.

That is the page, and the TypeScript client.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from service.app import create_app
from service.settings import Settings
from tests.catalogue import ROOT

BUILD = ROOT / "web" / "build.py"
PACKAGES = ROOT / "web" / "node_modules"
KEPT = ("--incremental", "--tsBuildInfoFile")  # what has not changed is not checked again, as mypy does; it goes with the packages


def check_types() -> str:
    """What the compiler says of the page and the client, with the service's document of now; empty where all is well."""
    app = create_app(Settings(_env_file=None, embedding={"provider": "none"}), "postgresql://")
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(app.openapi()), encoding="utf-8")
        said = _run("--tools")
        said += _run("--run", "openapi-typescript/bin/cli.js", str(document), "-o", "packages/client/src/schema.d.ts")
    for name, project in (("page", "."), ("client", "packages/client")):
        said = said or _run("--run", "typescript/bin/tsc", "-p", project, "--noEmit", *KEPT, f"{PACKAGES}/.{name}.tsbuildinfo")
    return said


def _run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, BUILD, *arguments], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


if __name__ == "__main__":
    sys.exit(check_types() or 0)  # an empty text would be a failure
