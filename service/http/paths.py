"""Operations of the OpenAPI document, and which methods the path of a request knows."""

import re
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from typing import Any

METHODS = ("get", "put", "post", "patch", "delete")
PLACE = re.compile(r"\{\w+\}")
Document = dict[str, Any]


def list_operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    """Path, method and operation of each operation of a document."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def methods_of(known: Mapping[str, Set[str]], path: str) -> list[str]:
    """Methods that the path of a request knows, of those that each documented path knows; none where there is no such path.

    The path with the most literal characters wins among those that match: /edges/batch is no id of an edge.
    """
    found = [template for template in known if _path_pattern(template).fullmatch(path)]
    return sorted(known[max(found, key=lambda template: (len(PLACE.sub("", template)), template))]) if found else []


@lru_cache(maxsize=1024)
def _path_pattern(template: str) -> re.Pattern[str]:
    return re.compile("(?s:.+)".join(re.escape(part) for part in PLACE.split(template)))
