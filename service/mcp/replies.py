"""How the reply to each tool reads: from the JSON of REST to a few lines, and to data without what is empty."""

from service.mcp.text import (
    ENTRY,
    LONG,
    MEMORY,
    TURN,
    VERSION,
    Row,
    Shown,
    about,
    edge_line,
    entry_line,
    folded,
    kept,
    lines,
    memory_line,
    moment,
    times,
    turn_line,
    written,
)

RESULT = {"memory": (memory_line, MEMORY), "working_memory": (entry_line, ENTRY), "conversation": (turn_line, TURN)}
SHOWN = 20  # of what may be hundreds
NOTHING_FOUND = "Nothing found. Other words, a wider category or fewer tags may help."


def saved(reply: Row) -> Shown:
    """What became of a memory."""
    names = ("id", "lineage", "version", "superseded", "duplicate", "content", "category", "tags", "valid_from")
    facts = kept(reply, names) | kept(reply.get("enrichment") or {}, ("job_id",))
    if reply["duplicate"]:
        return f"Known already as [{reply['id']}]; it is reinforced, nothing was added.", facts
    return f"Saved as [{reply['id']}].", facts


def deleted(reply: Row) -> Shown:
    """A forgotten memory."""
    return f"Deleted: no search finds [{reply['id']}] any more: {folded(reply['content'])}", kept(
        reply, ("id", "status", "content")
    )


def categories(reply: Row) -> Shown:
    """The tree of categories."""
    rows = (f"{row['category']}: {row['memories']}" + _below(row) for row in reply["items"])
    return lines(rows, "No memories yet, so no categories."), {"categories": reply["items"]}


def _below(row: Row) -> str:
    return f" ({row['total']} with those below)" if row["total"] != row["memories"] else ""


def found(reply: Row) -> Shown:
    """Results of a search, and the rules that hold."""
    results = reply["results"]
    if len({row.get("namespace") for row in results}) < 2:  # noqa: PLR2004 (then it is the one that was asked)
        results = [{**row, "namespace": None} for row in results]
    kinds = [(row, *RESULT[row.get("tier", "memory")]) for row in results]
    text = lines((line(row) for row, line, _ in kinds), NOTHING_FOUND)
    rules = reply.get("constraints", [])
    if rules:
        text += "\nRules that hold:\n" + "\n".join(f"- {row['entity']}, {row['aspect']}: {folded(row['content'])}" for row in rules)
    data: Row = {"results": [_cut(kept(row, fields)) for row, _, fields in kinds]}
    if rules:
        data["constraints"] = [kept(row, ("id", "entity", "aspect", "content", "importance")) for row in rules]
    return text, data | kept(reply, ("recall_id",))


def _cut(row: Row) -> Row:
    """A result whose content or value is no longer than its line shows."""
    for name in {"content", "value"} & row.keys():
        if len(text := written(row[name])) > LONG:
            row[name] = text[:LONG] + "…"
    return row


def stored(reply: Row) -> Shown:
    """An entry that was written."""
    return f"Stored as {reply['key']}; it expires {moment(reply['expires_at'])}.", kept(reply)


def entry(reply: Row) -> Shown:
    """An entry in full: its value alone."""
    return written(reply["value"]), kept(reply, ENTRY)


def entries(reply: Row) -> Shown:
    """Keys of working memory."""
    more = "\n… and more: pass a longer prefix as namespace." if reply.get("next_cursor") else ""
    return lines(map(entry_line, reply["items"]), "Nothing there.") + more, {"entries": [kept(row) for row in reply["items"]]}


def entries_found(reply: Row) -> Shown:
    """Entries that a search found."""
    rows: list[Row] = reply["items"]
    return lines(map(entry_line, rows), "Nothing found in working memory."), {"results": [_cut(kept(row, ENTRY)) for row in rows]}


def removed(_: Row) -> Shown:
    """An entry that was deleted."""
    return "Deleted.", {"deleted": True}


def edges(reply: Row) -> Shown:
    """Edges of a walk, in the order of discovery."""
    more = f"\n… and more: ended by {reply['reason']}." if reply["truncated"] else ""
    rows = [kept(row, ("id", "source", "type", "target", "literal", "confidence", "hop")) for row in reply["edges"]]
    text = lines(map(edge_line, reply["edges"]), "No edges: the entity is known, and nothing that still holds leads on from it.")
    return text + more, {"edges": rows, "truncated": reply["truncated"]} | kept(reply, ("reason",))


def decayed(reply: Row) -> Shown:
    """What a change of decay did."""
    rate = f"The rate of {reply['type']} is now {reply['decay_rate']:g} per day. " if reply.get("decay_rate") is not None else ""
    return f"{rate}{reply['faded']} edges faded, {reply['revived']} came back.", kept(reply)


def retained(reply: Row) -> Shown:
    """What was decided about each fact."""
    rows = (f"{row['action']}{_places(row)}: {folded(row['fact'])}{about(row['reason'])}" for row in reply["decisions"])
    fields = ("fact", "action", "memory_id", "superseded", "target_id", "reason", "signal")
    data = {"decisions": [kept(row, fields) for row in reply["decisions"]], "dry_run": reply["dry_run"]}
    return _dry(reply) + lines(rows, "No facts in it."), data | kept(reply, ("skipped",))


def _places(row: Row) -> str:
    """Which memory it is now, and which it ended."""
    ended = f" instead of [{row['superseded']}]" if row["superseded"] else ""
    return (f" [{row['memory_id']}]" if row["memory_id"] else "") + ended


def reflected(reply: Row) -> Shown:
    """What was put in order: counts, and the first of what was placed."""
    placed, linked, made = reply["placed"], reply["linked"], reply["created"]
    head = (
        f"{len(placed)} placed, {len(made)} parents made, {len(linked)} links made, {reply['orphans_left']} left without a place."
    )
    rows = [f"[{row['memory_id']}] stands under {row['parent']}{about(row['reason'])}" for row in placed[:SHOWN]]
    rest = [f"… and {len(placed) - SHOWN} more."] if len(placed) > SHOWN else []
    data = {
        "placed": [kept(row, ("memory_id", "parent_id", "parent", "reason")) for row in placed],
        "created": [kept(row, ("id", "lineage", "content", "parent")) for row in made],
        "linked": linked,
        "orphans_left": reply["orphans_left"],
        "dry_run": reply["dry_run"],
    }
    return _dry(reply) + "\n".join([head, *rows, *rest]) + _more(reply), data | kept(reply, ("next_cursor",))


def _dry(reply: Row) -> str:
    return "Dry run: nothing was written, this would be done.\n" if reply["dry_run"] else ""


def _more(reply: Row) -> str:
    return f'\n… and more: call again with cursor "{reply["next_cursor"]}".' if reply["next_cursor"] else ""


def context(reply: Row) -> Shown:
    """What goes before the next answer."""
    data = kept(reply, ("session_id", "space", "first", "text", "truncated"))
    return reply["text"] or "Nothing to add to this conversation.", data | {"memories": [row["id"] for row in reply["memories"]]}


def history(reply: Row) -> Shown:
    """Versions of a memory, or what happened around an entity."""
    versions = bool(reply["items"]) and "version" in reply["items"][0]
    text = lines(map(_version if versions else _event, reply["items"]), "Nothing more.")
    fields = VERSION if versions else None
    return text + _more(reply), {"items": [kept(row, fields) for row in reply["items"]]} | kept(reply, ("next_cursor",))


def _version(row: Row) -> str:
    """One version in full: it is what cut results lead to."""
    never = "never true, corrected" if row["valid_to"] == row["valid_from"] else times(row)
    forgotten = "deleted" if row["status"] == "forgotten" else None
    content = "\n  ".join(row["content"].splitlines())
    return f"version {row['version']} [{row['id']}]{about(row['category'], never, forgotten)}: {content}"


def _event(row: Row) -> str:
    said = "; ".join(f"{name}={folded(written(value))}" for name, value in kept(row["detail"]).items())
    return f"{moment(row['at'])} {row['kind']} {row['event']} [{row['id']}]: {said}"
