"""Plans of a store's operations, with no input or output: generators that yield requests and are sent replies."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from loci._methods.memories import Memories
from loci._methods.recall import Recall
from loci.batches import chunks
from loci.errors import Conflict, Forbidden, NotFound
from loci.langgraph.filters import common_prefix, contained, matches, passes
from loci.langgraph.items import MARK, Layout, expiry, found_item, is_under, item_of, kept
from loci.models.memories import MemoryOut
from loci.pages import LARGEST_PAGE
from loci.requests import Request

T = TypeVar("T")
Plan = Generator[Request[Any], Any, T]
MOST_RANKED = 100  # results of one recall
PAGE = 100
WRITTEN = 1000  # memories of one request


@dataclass(frozen=True)
class Plans:
    """The operations of a store that keeps its items in a layout."""

    layout: Layout

    def batch(self, ops: Iterable[Op]) -> Plan[list[Result]]:
        """Results of operations, in order. Reads see what was there before the writes; of several puts of a key the last counts."""
        operations = list(ops)
        results: list[Result] = [None] * len(operations)
        gets = [(place, op) for place, op in enumerate(operations) if isinstance(op, GetOp)]
        found = yield from self.get([op for _, op in gets])
        for (place, _), item in zip(gets, found, strict=True):
            results[place] = item
        for place, op in enumerate(operations):
            if isinstance(op, SearchOp):
                results[place] = yield from self.search(op)
            elif isinstance(op, ListNamespacesOp):
                results[place] = yield from self.namespaces(op)
            elif not isinstance(op, (GetOp, PutOp)):
                raise ValueError(f"Unknown operation type: {type(op)}")
        yield from self.put([op for op in operations if isinstance(op, PutOp)])
        return results

    def get(self, ops: Sequence[GetOp]) -> Plan[list[Item | None]]:
        """Items by key: one request for a thousand."""
        lineages = [self.layout.lineage(op.namespace, op.key) for op in ops]
        there = yield from self._current(lineages)
        refreshed = {line: there[line] for line, op in zip(lineages, ops, strict=True) if op.refresh_ttl and line in there}
        yield from self._refresh(list(refreshed.values()))
        return [item_of(there[line]) if line in there else None for line in lineages]

    def put(self, ops: Sequence[PutOp]) -> Plan[None]:
        """Write and delete items: one request to see what is there, one to write a thousand, one for each that is deleted."""
        last = {self.layout.lineage(op.namespace, op.key): op for op in ops}
        before = yield from self._current(list(last))
        for line, op in last.items():
            if op.value is None and line in before:
                yield Memories.forget.request(before[line].id)
        wanted = [(op, self.layout.memory(op, before.get(line))) for line, op in last.items() if op.value is not None]
        written: list[Any] = []
        for chunk in chunks([memory for _, memory in wanted], WRITTEN, atomic=True):
            written += (yield chunk.request).items
        for (op, memory), outcome in zip(wanted, written, strict=True):
            yield from self._amend(op, before.get(memory["lineage"]), outcome.id, duplicate=outcome.duplicate)

    def search(self, op: SearchOp) -> Plan[list[SearchItem]]:
        """Items under a prefix: those that recall finds for the query, best first; then the others, newest first.

        Of an item that is not found the score is 0, of one that is not searched there is none.
        """
        wanted = op.offset + op.limit
        asks = bool(op.query and op.query.strip())
        ranked = (yield from self._ranked(op)) if asks else {}
        results = list(ranked.values())
        cursor: str | None = None
        while len(results) < wanted:
            listed = yield Memories.list.request(
                limit=min(max(wanted, PAGE), LARGEST_PAGE),
                cursor=cursor,
                category=self.layout.above(op.namespace_prefix),
                metadata={MARK: {"value": contained(op.filter)}},
            )
            results += [
                (m, 0.0 if asks and kept(m)["indexed"] else None)
                for m in listed.items
                if m.lineage not in ranked and self._passes(m, op)
            ]
            cursor = listed.next_cursor
            if cursor is None:
                break
        shown = list(islice(results, op.offset, wanted))
        if op.refresh_ttl:
            yield from self._refresh([memory for memory, _ in shown])
        return [found_item(memory, score) for memory, score in shown]

    def namespaces(self, op: ListNamespacesOp) -> Plan[list[tuple[str, ...]]]:
        """Namespaces that hold items: one request, and one more for each whose path is too long for a category."""
        under = self.layout.above(common_prefix(op.match_conditions))
        categories = yield Memories.list_categories.request(under=under)
        found = set()
        for category in categories.items:
            if not category.memories:
                continue
            namespace = self.layout.namespace(category.category)
            if namespace is None:
                memories = yield Memories.list.request(category=category.category, limit=1)
                namespace = next((tuple(kept(memory)["namespace"]) for memory in memories.items), ())
            if namespace and matches(namespace, op.match_conditions):
                found.add(namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _current(self, lineages: list[str]) -> Plan[dict[str, MemoryOut]]:
        unique = list(dict.fromkeys(lineages))
        found: dict[str, MemoryOut] = {}
        for start in range(0, len(unique), WRITTEN):
            page = yield Memories.current.request(unique[start : start + WRITTEN])
            found |= {memory.lineage: memory for memory in page.items}
        return found

    def _ranked(self, op: SearchOp) -> Plan[dict[Any, tuple[MemoryOut, float | None]]]:
        answer = yield Recall.recall.request(
            op.query or "",
            k=MOST_RANKED,  # whatever the page: a ranking of fewer is another one
            category=self.layout.above(op.namespace_prefix),
            metadata={MARK: {"indexed": True, "value": contained(op.filter)}},
        )
        return {m.lineage: (m, m.relevance) for m in answer.memories if self._passes(m, op)}

    def _passes(self, memory: MemoryOut, op: SearchOp) -> bool:
        return is_under(memory, op.namespace_prefix) and passes(kept(memory)["value"], op.filter)

    def _refresh(self, memories: Sequence[MemoryOut]) -> Plan[None]:
        """Let items that were read live on for as long as they were given."""
        for memory in memories:
            ttl = kept(memory)["ttl"]
            if ttl is not None:
                try:
                    yield Memories.change.request(memory.id, valid_to=expiry(ttl, datetime.now(UTC)))
                except (Conflict, Forbidden, NotFound):  # another one was put or this one erased meanwhile, or the key only reads
                    continue

    def _amend(self, op: PutOp, before: MemoryOut | None, id: Any, *, duplicate: bool) -> Plan[None]:
        """The end of a memory, which a second request states: stated with the write, an older value would hold again behind it."""
        changes: dict[str, Any] = {}
        if op.ttl is not None:
            changes["valid_to"] = expiry(op.ttl, datetime.now(UTC))
        elif duplicate and before is not None and before.valid_to is not None:
            changes["valid_to"] = None
        if changes:
            try:
                yield Memories.change.request(id, **changes)
            except (Conflict, NotFound):  # another one was put or this one erased meanwhile: what came later holds
                return
