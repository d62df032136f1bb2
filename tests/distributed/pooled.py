"""Runs tests through PgBouncer in transaction mode: `python -m tests.distributed.pooled [what pytest takes]`; tests/api if nothing.

The server listens on TCP, which the embedded one does not, and trusts whoever comes.
"""

import os
import subprocess
import sys

import pytest

from tests.distributed.pooler import need_pgbouncer, running_pooler
from tests.distributed.servers import running_servers


def main() -> int:
    """What pytest returned."""
    arguments = sys.argv[1:] or ["tests/api"]
    try:
        need_pgbouncer()
    except pytest.skip.Exception as reason:
        print(f"skipped: {reason}")  # noqa: T201 (whoever started it reads it)
        return 0
    with running_servers(0, migrated=False, max_connections="400") as servers:
        node = servers.primary
        with running_pooler("127.0.0.1", node.port) as pooler:
            said = {"LOCI_TEST_URL": node.url(database="postgres"), "LOCI_TEST_POOLER": pooler.url("loci_app")}
            return subprocess.call([sys.executable, "-m", "pytest", *arguments], env={**os.environ, **said})


if __name__ == "__main__":
    sys.exit(main())
