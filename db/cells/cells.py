"""The cells of an installation: made, joined by logical replication of who may call, checked and taken out."""

from contextlib import ExitStack
from typing import LiteralString, TypedDict

from psycopg import errors as pg
from psycopg import sql

from db.cells.database import CellError, Row, Session, Unreachable, connect, drop_link, drop_slot, rows, run, value, wait_until

IDENTITY = "loci_identity"
# The operator is in each cell by itself.
PUBLISH: LiteralString = """
create publication loci_identity for table
    loci_data.agents where (id <> '00000000-0000-0000-0000-000000000000'), loci_data.api_keys, loci_data.grants,
    loci_data.invitations, loci_data.browser_sessions, loci_data.namespace_cells"""
SUBSCRIBE: LiteralString = """
create subscription {link} connection {url} publication loci_identity
with (origin = none, run_as_owner = true, copy_data = true, slot_name = {link})"""
LAGS: LiteralString = """
select slot_name as link, active, wal_status,
       pg_wal_lsn_diff(pg_current_wal_flush_lsn(), confirmed_flush_lsn)::bigint as behind_bytes
from pg_replication_slots where slot_name like 'loci\\_identity\\_%%' order by slot_name"""


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


def list_cells(session: Session) -> list[Row]:
    """The cells that a database knows, with the namespaces in each."""
    return rows(
        session,
        "select c.id, c.here, c.url, (select count(*) from loci_data.namespace_cells n where n.cell_id = c.id) as namespaces "
        "from loci_data.cells c order by c.id",
    )


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
        for row in known:
            if row["id"] != number:
                _link(sessions[row["id"]], row["id"], row["database_url"], new, number)
                _link(new, number, database_url, sessions[row["id"]], row["id"])
    return number


def _link(publisher: Session, from_number: int, from_url: str, subscriber: Session, to_number: int) -> None:
    """Have a cell follow another one's agents, keys, grants, invitations, sessions and directory, if it does not yet."""
    link = link_name(from_number, to_number)
    if value(publisher, "select 1 from pg_publication where pubname = %s", IDENTITY) is None:
        publisher.execute(PUBLISH)
    if value(subscriber, "select 1 from pg_subscription where subname = %s", link) is None:
        drop_slot(publisher, link)
        run(subscriber, SUBSCRIBE, link=sql.Identifier(link), url=sql.Literal(from_url))
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
    """What is wrong between the cells: namespaces that two have or none, links that lag, revisions that differ."""
    with connect(here_url, "this cell") as here:
        known = rows(here, "select id, database_url from loci_data.cells order by id")
        if not known:
            number_of(here)
    found: list[Problem] = []
    holds: dict[int, set[int]] = {}
    directories: dict[int, dict[int, tuple[str, int]]] = {}
    revisions: dict[int, str] = {}
    for row in known:
        try:
            with connect(row["database_url"] or here_url, f"cell {row['id']}") as session:
                revisions[row["id"]] = revision_of(session)
                holds[row["id"]] = {each["id"] for each in rows(session, "select id from loci_data.namespaces")}
                directory = rows(session, "select namespace_id, name, cell_id from loci_data.namespace_cells")
                directories[row["id"]] = {each["namespace_id"]: (each["name"], each["cell_id"]) for each in directory}
                found += _check_links(session, row["id"], [each["id"] for each in known])
        except Unreachable as error:
            found.append({"cell": row["id"], "problem": str(error)})
    if len(set(revisions.values())) > 1:
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
                found.append({"cell": cell, "problem": f"namespace {name} is in cells {both}: stop the one that was set back"})
            elif directory.get(place, ("", cell))[1] != cell:
                found.append({"cell": cell, "problem": f"has namespace {name}, and its directory says cell {directory[place][1]}"})
    return found
