"""Freezes what this version's revisions do, and keeps a database that it made.

    python -m tests.releases          # once, in the commit that a tag will name

From then on `tests/releases` fails where a revision is changed, and brings that database to each later version.
"""

import sys
import tempfile
from pathlib import Path

from loci.version import __version__
from tests import databases
from tests.catalogue import ROOT
from tests.releases.frozen import fingerprints, freeze
from tests.releases.saved import MADE, save


def main() -> int:
    """Write both files; whether that could be done."""
    path = MADE / f"{__version__}.sql.gz"
    if f"## {__version__} (unreleased)" in (ROOT / "CHANGELOG.md").read_text():
        print(f"CHANGELOG.md has no date for {__version__}", file=sys.stderr)
        return 1
    if path.exists():
        print(f"{path.relative_to(ROOT)} is there: {__version__} was released, and a release is not made again", file=sys.stderr)
        return 1
    databases.VERSION = 16  # what it writes, later ones read
    MADE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="loci-release-") as folder, databases.running_server(Path(folder)) as server:
        save(server, path)
    freeze(fingerprints())
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1024:.0f} KiB; migrations/frozen.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
