"""The words that name the subjects, as docs/architecture.md lists them."""

import re

from tests.catalogue import ROOT

_LIST = re.search(r"^## Subjects\n(.*?)(?=^## )", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE | re.DOTALL)
SUBJECTS = re.findall(r"^\| `(\w+)` \|", _LIST[1], re.MULTILINE) if _LIST else []
