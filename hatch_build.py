"""Build hook of the server: a wheel that is built anywhere brings the page, if Node can be had."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "this wheel has no page, because it could not be built; everything else is in it\n"


class Page(BuildHookInterface[Any]):
    """Builds the page where the checkout has none yet; what has been built goes in as it is."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (as hooks are called)
        """Run web/build.py, except for an editable install, which serves what is built beside it."""
        root = Path(self.root)
        if version == "editable" or (root / "service" / "http" / "page" / "built" / "index.html").exists():
            return
        done = subprocess.run([sys.executable, "web/build.py"], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            self.app.display_warning(WITHOUT + (done.stderr or done.stdout)[-2000:])
