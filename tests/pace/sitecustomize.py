"""Python reads this where it starts, if this folder is in PYTHONPATH: processes that tests start keep the pace of the run."""

import os

if os.environ.get("LOCI_TEST_PACE"):
    import pace

    pace.keep()
