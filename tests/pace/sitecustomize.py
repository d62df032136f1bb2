"""Python reads this where it starts, if this folder is in PYTHONPATH: processes that tests start keep the pace of the run."""

import pace

pace.keep()
