"""The one form of a type of entities or edges. It needs no library: processes that read files begin without pydantic."""

import re

WORD_BEGINS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s_-]+")


def canonical_type(kind: str) -> str:
    """A type in its one form, as the database has it: `works_on` for "Works On" and "worksOn"."""
    return WORD_BEGINS.sub("_", kind).lower().strip("_")
