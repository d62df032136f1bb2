"""The cells of an installation: made, joined by logical replication of who may call, checked and taken out."""

from contextlib import ExitStack
from typing import LiteralString, TypedDict

from psycopg import errors as pg
from psycopg import sql

from db.cells.database import CellError, Session, Unreachable, connect, drop_link, drop_slot, rows, run, value, wait_until

IDENTITY = "loci_identity"
# What is known in all cells. By columns: a cell that is a version ahead sends what all know.
SHARED: LiteralString = """
select s.name as table, array_agg(a.attname::text order by a.attnum) as columns
from unnest(array['agents', 'api_keys', 'grants', 'invitations', 'browser_sessions', 'namespace_cells']) s(name)
join pg_attribute a on a.attrelid = format('loci_data.%%I', s.name)::regclass and a.attnum > 0 and not a.attisdropped
     and a.attgenerated = ''
group by s.name order by s.name"""
NOT_OPERATOR: LiteralString = " where (id <> '00000000-0000-0000-0000-000000000000')"  # who is in each cell by itself
UNSENT: LiteralString = """
select p.tablename as name from pg_publication_tables p
where p.pubname = 'loci_identity' and cardinality(p.attnames) < (
    select count(*) from pg_attribute a where a.attrelid = format('%%I.%%I', p.schemaname, p.tablename)::regclass
    and a.attnum > 0 and not a.attisdropped and a.attgenerated = '')"""
SUBSCRIBE: LiteralString = """
create subscription {link} connection {url} publication loci_identity
with (origin = none, run_as_owner = true, copy_data = true, slot_name = {link})"""
# From 17 on a standby that synchronizes slots has it, and is followed when it is promoted.
KEEP_SLOT: LiteralString = """
create subscription {link} connection {url} publication loci_identity
with (origin = none, run_as_owner = true, copy_data = true, slot_name = {link}, failover = true)"""
FAILOVER_SLOTS = 170000  # server_version_num
# A slot that has confirmed more log than there is was set back with its database.
FOLLOWS: LiteralString = (
    "select 1 from pg_replication_slots where slot_name = %s and confirmed_flush_lsn <= pg_current_wal_flush_lsn()"
)
FORGET: tuple[LiteralString, ...] = (
    "delete from loci_data.grants",
    "delete from loci_data.invitations",
    "delete from loci_data.browser_sessions",
    "delete from loci_data.namespace_cells c where not exists (select from loci_data.namespaces n where n.id = c.namespace_id)",
)
CLAIMS: LiteralString = """
select c.namespace_id, c.name, c.moves from loci_data.namespace_cells c join loci_data.namespaces n on n.id = c.namespace_id"""
LAGS: LiteralString = """
select slot_name as link, active, wal_status,
       pg_wal_lsn_diff(pg_current_wal_flush_lsn(), confirmed_flush_lsn)::bigint as behind_bytes
from pg_replication_slots where slot_name like 'loci\\_identity\\_%%' order by slot_name"""


class CellRow(TypedDict):
    """A cell that a database knows; `here`: it is that database's own."""

    id: int
    here: bool
    url: str | None
    namespaces: int


class Problem(TypedDict):
    """Something that `check` has found."""

    cell: int
    problem: str


def set_cell(url: str, number: int) -> None:
    """Make a database the cell with this number. Raises CellError."""
    with connect(url, f"cell {number}") as session:
        try:
            session.execute("select loci_internal.set_cell(%s)", [number])
        except (pg.ObjectNotInPrerequisiteState, pg.CheckViolation) as error:
            raise CellError(error.diag.message_primary or str(error), error.diag.message_hint) from None


def number_of(session: Session) -> int:
    """Which cell a database is. Raises CellError where it is none."""
    found = value(session, "select id from loci_data.cells where here")
    if found is None:
        raise CellError("this database is no cell", "Run `loci migrate --cell 1` first; a second one gets 2, and so on.")
    return int(found)


def revision_of(session: Session) -> str:
    """At which revision a database is."""
    return str(value(session, "select version_num from public.loci_version"))


def list_cells(session: Session) -> list[CellRow]:
    """The cells that a database knows, with the namespaces in each."""
    found = rows(
        session,
        "select c.id, c.here, c.url, (select count(*) from loci_data.namespace_cells n where n.cell_id = c.id) as namespaces "
        "from loci_data.cells c order by c.id",
    )
    return [CellRow(id=row["id"], here=row["here"], url=row["url"], namespaces=row["namespaces"]) for row in found]


def url_of(session: Session, number: int) -> str:
    """Where a cell's database is. Raises CellError for one that is not known."""
    found = value(session, "select database_url from loci_data.cells where id = %s", number)
    if found is None:
        raise CellError(f"cell {number} is not known here", "`loci cell list` shows those that are; `loci cell add` adds one.")
    return str(found)


def link_name(publisher: int, subscriber: int) -> str:
    """How the subscription to a cell's identity, and its slot, are called."""
    return f"{IDENTITY}_{publisher}_to_{subscriber}"


def _require_logical(session: Session, number: int) -> None:
    """Raise CellError where a database cannot be a cell."""
    if value(session, "show wal_level") != "logical":
        raise CellError(f"wal_level of cell {number} is not logical", "Set `wal_level = logical` there, and restart it.")
    if not value(session, "select rolsuper from pg_roles where rolname = current_user"):
        raise CellError(f"the login for cell {number} is no superuser", "Replication past row-level security needs one.")


def _register(session: Session, number: int, url: str, database_url: str) -> None:
    session.execute(
        "insert into loci_data.cells (id, url, database_url) values (%s, %s, %s) "
        "on conflict (id) do update set url = excluded.url, database_url = excluded.database_url",
        [number, url, database_url],
    )


def add_cell(here_url: str, *, url: str, database_url: str) -> int:
    """Join a cell to this one and to all that it knows, each with each; its number. Again: what is missing. Raises CellError."""
    with ExitStack() as stack:
        here = stack.enter_context(connect(here_url, "this cell"))
        new = stack.enter_context(connect(database_url, "the new cell"))
        here_number, number = number_of(here), number_of(new)
        if here_number != number and revision_of(here) != revision_of(new):
            raise CellError(f"cell {number} is at another revision of the schema", "Run `loci migrate` in the older one.")
        _require_logical(new, number)
        _register(here, number, url, database_url)
        sessions = {here_number: here, number: new}
        known = rows(here, "select id, url, database_url from loci_data.cells where database_url is not null order by id")
        for row in known:
            if row["id"] not in sessions:
                sessions[row["id"]] = stack.enter_context(connect(row["database_url"], f"cell {row['id']}"))
            _register(new, row["id"], row["url"], row["database_url"])
            _register(sessions[row["id"]], number, url, database_url)
        _rejoin(sessions, number)
        for row in known:
            if row["id"] != number:
                _link(sessions[row["id"]], row["id"], row["database_url"], new, number)
                _link(new, number, database_url, sessions[row["id"]], row["id"])
    return number


def _rejoin(sessions: dict[int, Session], number: int) -> None:
    """Take a cell that was set back out of the links, with what it knows of grants and sessions: it hears of them anew.

    Raises CellError while it claims what another cell has.
    """
    cell, others = sessions[number], {other: session for other, session in sessions.items() if other != number}
    lost = [
        other
        for other, session in others.items()
        if value(session, "select 1 from pg_subscription where subname = %s", link_name(number, other)) is not None
        and value(cell, FOLLOWS, link_name(number, other)) is None
    ]
    if not lost:
        return
    for other, session in others.items():
        both = {row["namespace_id"]: row["name"] for row in rows(cell, CLAIMS)}.keys() & {
            row["namespace_id"] for row in rows(session, CLAIMS)
        }
        if both:
            raise CellError(f"cells {number} and {other} claim the same namespaces", "`loci cell check` names them.")
        if other in lost:
            _forget_link(session, cell, link_name(number, other))
        _forget_link(cell, session, link_name(other, number))
    with cell.transaction():
        cell.execute("set local session_replication_role = replica")
        for statement in FORGET:
            cell.execute(statement)


def _forget_link(subscriber: Session, publisher: Session, link: str) -> None:
    """Drop a subscription whose slot may be there or not."""
    if value(subscriber, "select 1 from pg_subscription where subname = %s", link) is not None:
        run(subscriber, "alter subscription {link} disable", link=sql.Identifier(link))
        run(subscriber, "alter subscription {link} set (slot_name = none)", link=sql.Identifier(link))
        run(subscriber, "drop subscription {link}", link=sql.Identifier(link))
    drop_slot(publisher, link)


def release_namespace(here_url: str, name: str) -> int:
    """Let a namespace go that another cell has, too, and has moved more often; that cell. Raises CellError."""
    with ExitStack() as stack:
        here = stack.enter_context(connect(here_url, "this cell"))
        mine = next((row for row in rows(here, CLAIMS) if row["name"] == name), None)
        if mine is None:
            raise CellError(f"namespace {name} is not in this cell")
        for row in rows(here, "select id, database_url from loci_data.cells where not here and database_url is not null"):
            other = stack.enter_context(connect(row["database_url"], f"cell {row['id']}"))
            theirs = next((each for each in rows(other, CLAIMS) if each["namespace_id"] == mine["namespace_id"]), None)
            if theirs is not None and theirs["moves"] > mine["moves"]:
                with here.transaction():
                    here.execute("set local session_replication_role = replica")
                    release: LiteralString = "select loci_internal.release_namespace(%s, %s, %s)"
                    here.execute(release, [mine["namespace_id"], row["id"], theirs["moves"]])
                return int(row["id"])
    raise CellError(f"no other cell has a later copy of namespace {name}", "It stays here.")


def _link(publisher: Session, from_number: int, from_url: str, subscriber: Session, to_number: int) -> None:
    """Have a cell follow another one's agents, keys, grants, invitations, sessions and directory, if it does not yet."""
    link = link_name(from_number, to_number)
    _publish(publisher)
    if value(subscriber, "select 1 from pg_subscription where subname = %s", link) is None:
        drop_slot(publisher, link)
        both = min(publisher.info.server_version, subscriber.info.server_version)
        statement = KEEP_SLOT if both >= FAILOVER_SLOTS else SUBSCRIBE
        run(subscriber, statement, link=sql.Identifier(link), url=sql.Literal(from_url))
    wait_until(
        lambda: (
            not value(
                subscriber,
                "select count(*) from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid "
                "where s.subname = %s and r.srsubstate <> 'r'",
                link,
            )
        ),
        lambda: CellError(f"cell {to_number} does not take what cell {from_number} sends", "The log of its database says why."),
    )


def _publish(session: Session) -> None:
    """Publish what all cells know, with all columns that it has now."""
    tables = [
        sql.SQL("{} ({}){}").format(
            sql.Identifier("loci_data", row["table"]),
            sql.SQL(", ").join(map(sql.Identifier, row["columns"])),
            sql.SQL(NOT_OPERATOR if row["table"] == "agents" else ""),
        )
        for row in rows(session, SHARED)
    ]
    there = value(session, "select 1 from pg_publication where pubname = %s", IDENTITY) is not None
    make: LiteralString = "create publication loci_identity for table {tables}"
    change: LiteralString = "alter publication loci_identity set table {tables}"
    run(session, change if there else make, tables=sql.SQL(", ").join(tables))


def remove_cell(here_url: str, number: int) -> None:
    """Take a cell out of all others: one without namespaces. Its database stays as it is, and follows nobody. Raises CellError."""
    with ExitStack() as stack:
        here = stack.enter_context(connect(here_url, "this cell"))
        if number == number_of(here):
            raise CellError("a cell cannot remove itself", "Ask another one.")
        gone = stack.enter_context(connect(url_of(here, number), f"cell {number}"))
        if held := value(here, "select count(*) from loci_data.namespace_cells where cell_id = %s", number):
            raise CellError(f"cell {number} has {held} namespaces", "Move them away, or delete them.")
        for row in rows(here, "select id, database_url from loci_data.cells where id <> %s and database_url is not null", number):
            other = stack.enter_context(connect(row["database_url"], f"cell {row['id']}"))
            drop_link(other, link_name(number, row["id"]))
            drop_link(gone, link_name(row["id"], number))
            other.execute("delete from loci_data.cells where id = %s", [number])
        gone.execute("drop publication if exists loci_identity")
        gone.execute("delete from loci_data.cells where not here")


def check_cells(here_url: str) -> list[Problem]:
    """Problems between the cells: namespaces that two have or none, links that lag, revisions that differ."""
    with connect(here_url, "this cell") as here:
        known = rows(here, "select id, database_url from loci_data.cells order by id")
        if not known:
            number_of(here)
    found: list[Problem] = []
    holds: dict[int, set[int]] = {}
    directories: dict[int, dict[int, tuple[str, int]]] = {}
    revisions: dict[int, str] = {}
    unsent: dict[int, str] = {}
    for row in known:
        try:
            with connect(row["database_url"] or here_url, f"cell {row['id']}") as session:
                revisions[row["id"]] = revision_of(session)
                holds[row["id"]] = {each["id"] for each in rows(session, "select id from loci_data.namespaces")}
                directory = rows(session, "select namespace_id, name, cell_id from loci_data.namespace_cells")
                directories[row["id"]] = {each["namespace_id"]: (each["name"], each["cell_id"]) for each in directory}
                if names := ", ".join(each["name"] for each in rows(session, UNSENT)):
                    unsent[row["id"]] = names
                found += _check_links(session, row["id"], [each["id"] for each in known])
        except Unreachable as error:
            found.append({"cell": row["id"], "problem": str(error)})
    if len(set(revisions.values())) == 1:
        again = "run `loci cell add` for it again"
        found += [{"cell": cell, "problem": f"sends not all of {names}: {again}"} for cell, names in unsent.items()]
    else:
        found += [
            {"cell": cell, "problem": f"is at revision {name}: no moves while they differ"} for cell, name in revisions.items()
        ]
    return found + _check_namespaces(holds, directories)


def _check_links(session: Session, number: int, known: list[int]) -> list[Problem]:
    """Links of a cell that are missing, not taken, or lost."""
    lags = {row["link"]: row for row in rows(session, LAGS)}
    found: list[Problem] = []
    for other in known:
        if other == number:
            continue
        link = lags.get(link_name(number, other))
        if link is None:
            found.append({"cell": number, "problem": f"cell {other} does not follow it: run `loci cell add` again"})
        elif link["wal_status"] == "lost":
            found.append({"cell": number, "problem": f"cell {other} has lost its log: remove and add it again"})
        elif link["behind_bytes"] < 0:
            found.append({"cell": number, "problem": f"was set back: cell {other} knows more of its log than it has"})
        elif not link["active"]:
            found.append({"cell": number, "problem": f"cell {other} does not take what it sends, {link['behind_bytes']:,} bytes"})
    return found


def _check_namespaces(holds: dict[int, set[int]], directories: dict[int, dict[int, tuple[str, int]]]) -> list[Problem]:
    """Namespaces that two cells have, that the directory's cell has not, and about which directories differ."""
    found: list[Problem] = []
    places = {place: {cell for cell, held in holds.items() if place in held} for place in set().union(*holds.values())}
    for cell, directory in sorted(directories.items()):
        for place, (name, says) in sorted(directory.items()):
            if says in holds and place not in holds[says]:
                found.append(
                    {"cell": cell, "problem": f"its directory has namespace {name} in cell {says}, which does not have it"}
                )
        for place in sorted(holds[cell]):
            name = directory.get(place, (str(place), 0))[0]
            if len(places[place]) > 1:
                both = " and ".join(map(str, sorted(places[place])))
                release = f"run `loci cell release {name}` in the one that was set back"
                found.append({"cell": cell, "problem": f"namespace {name} is in cells {both}: {release}"})
            elif directory.get(place, ("", cell))[1] != cell:
                found.append({"cell": cell, "problem": f"has namespace {name}, and its directory says cell {directory[place][1]}"})
    return found
