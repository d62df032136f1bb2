"""Cells: several whole Locis that know each other's agents, and between which namespaces move.

Revision ID: 0012
Revises: 0011
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Grants and invitations are known in all cells, their namespace is in one: a trigger deletes them with it, and no foreign key.
# A session is found by its hash: a key that is computed is no identity for replication.
UPGRADE: LiteralString = """
set role loci_owner;
create table loci_data.cells (
    id           integer primary key,
    here         boolean not null default false,
    url          text,
    database_url text,
    constraint cells_id_check check (id between 1 and 200)
);
create unique index cells_here on loci_data.cells (here) where here;
create table loci_data.namespace_cells (
    namespace_id integer primary key,
    name         text not null,
    cell_id      integer not null,
    moves        integer not null default 0
);
create index namespace_cells_name on loci_data.namespace_cells (name);
create table loci_data.namespace_moves (
    namespace_id integer primary key,
    name         text not null,
    cell_id      integer not null,
    step         text not null default 'planned',
    carried      jsonb,
    started_at   timestamptz not null default clock_timestamp(),
    stepped_at   timestamptz not null default clock_timestamp(),
    held_seconds double precision,
    token        text,
    last_position bigint,
    places       bigint[],
    constraint namespace_moves_step_check
        check (step in ('planned', 'linked', 'copied', 'fenced', 'opened', 'unlinked', 'emptied'))
);
alter table loci_data.cells enable row level security, force row level security;
alter table loci_data.namespace_cells enable row level security, force row level security;
alter table loci_data.namespace_moves enable row level security, force row level security;
comment on table loci_data.cells is 'The cells of an installation; none where it is one server.';
comment on column loci_data.cells.id is 'Number of the cell; namespaces that are made there have their numbers from its range.';
comment on column loci_data.cells.here is 'Whether it is this database.';
comment on column loci_data.cells.url is 'Where its service is reached over HTTP.';
comment on column loci_data.cells.database_url is
    'Where the other cells'' databases reach its database, as a superuser: read by superusers and the owner alone.';
comment on table loci_data.namespace_cells is 'In which cell each namespace is: the same in all cells.';
comment on column loci_data.namespace_cells.namespace_id is 'The namespace.';
comment on column loci_data.namespace_cells.name is 'Its name.';
comment on column loci_data.namespace_cells.cell_id is 'The cell.';
comment on column loci_data.namespace_cells.moves is 'How often it has moved: of two rows the one with more is right.';
comment on table loci_data.namespace_moves is 'How far the moves of namespaces from here to other cells have come.';
comment on column loci_data.namespace_moves.namespace_id is 'The namespace.';
comment on column loci_data.namespace_moves.name is 'Its name.';
comment on column loci_data.namespace_moves.cell_id is 'Where it moves.';
comment on column loci_data.namespace_moves.step is
    'The last step that is done: planned, linked, copied, fenced, opened, unlinked or emptied.';
comment on column loci_data.namespace_moves.carried is
    'From the fence on: its rows of namespaces, feeds and namespace_locks, and how far the sequences were.';
comment on column loci_data.namespace_moves.started_at is 'When the move was begun.';
comment on column loci_data.namespace_moves.stepped_at is 'When the last step was done.';
comment on column loci_data.namespace_moves.held_seconds is 'How long writers were held until the fence.';
comment on column loci_data.namespace_moves.token is 'From the fence on: the token of its feed.';
comment on column loci_data.namespace_moves.last_position is 'From the fence on: the last position of its feed.';
comment on column loci_data.namespace_moves.places is
    'From the fence on: places here of its last changes, by position, so that readers of all namespaces go on.';
alter table loci_data.grants drop constraint grants_namespace_id_fkey;
alter table loci_data.invitations drop constraint invitations_namespace_id_fkey;
alter table loci_data.api_keys add column version integer not null default 0;
comment on column loci_data.api_keys.version is
    'How often it was changed, uses apart: what another cell says of an older version changes nothing.';
create unique index browser_sessions_hash on loci_data.browser_sessions (hash);
alter table loci_data.browser_sessions replica identity using index browser_sessions_hash;
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.browser_sessions replica identity default;
drop index loci_data.browser_sessions_hash;
drop trigger if exists api_keys_versions on loci_data.api_keys;
alter table loci_data.api_keys drop column version;
delete from loci_data.grants g where not exists (select from loci_data.namespaces n where n.id = g.namespace_id);
delete from loci_data.invitations i where not exists (select from loci_data.namespaces n where n.id = i.namespace_id);
drop trigger if exists namespaces_grants on loci_data.namespaces;
drop trigger if exists namespaces_cells on loci_data.namespaces;
alter table loci_data.grants add constraint grants_namespace_id_fkey
    foreign key (namespace_id) references loci_data.namespaces on delete cascade;
alter table loci_data.invitations add constraint invitations_namespace_id_fkey
    foreign key (namespace_id) references loci_data.namespaces on delete cascade;
drop table loci_data.namespace_moves, loci_data.namespace_cells, loci_data.cells;
reset role
"""


def upgrade() -> None:
    """Make the tables of cells; nothing changes for one server."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Take them away; grants in namespaces of other cells go, too."""
    execute(op.get_bind(), DOWNGRADE)
