"""Which path of the OpenAPI document a request's path is, and which methods that knows."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

METHODS = ("get", "put", "post", "patch", "delete")
PLACE = re.compile(r"\{\w+\}")
Document = dict[str, Any]


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Path, method and operation of each operation of a document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def methods_of(document: Document, path: str) -> list[str]:
    """Methods that the path of a request knows; none where the document has no such path.

    Of the paths that match, the one with the most literal characters counts: /edges/batch is no id of an edge.
    """
    found = [template for template in document["paths"] if _pattern(template).fullmatch(path)]
    if not found:
        return []
    item = document["paths"][max(found, key=lambda template: (len(PLACE.sub("", template)), template))]
    return sorted(method.upper() for method in METHODS if method in item)


@lru_cache(maxsize=1024)
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("(?s:.+)".join(re.escape(part) for part in PLACE.split(template)))
