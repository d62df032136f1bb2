"""What the user's environment says is not said to tests: they are the same on any machine, and reach nothing of the user's."""

import os
import sys
import time

# What a run may be told; tests read these.
TOLD = ("LOCI_TEST_", "LOCI_WRITE_DOCS", "LOCI_RECIPES_PYTHON", "LOCI_SOAK_SECONDS", "LOCI_FAILOVERS")
# Settings of Loci and addresses of its service, of PostgreSQL's clients, and of traces.
FORGOTTEN = ("LOCI_", "PG", "OTEL_", "DATABASE_URL", "LANG", "LC_")
# Services are on this machine. The reranker is installed for its own tests, and judges nothing in others.
EVERYWHERE = {"TZ": "UTC", "NO_PROXY": "*", "no_proxy": "*", "LOCI_RERANK__PROVIDER": "none"}
LOCALE = {"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {}  # elsewhere it may not exist


def forget() -> None:
    """Take the user's settings away from this process, and from all that it starts."""
    for name in list(os.environ):
        if name.startswith(FORGOTTEN) and not name.startswith(TOLD):
            del os.environ[name]
    os.environ |= EVERYWHERE | LOCALE
    time.tzset()
