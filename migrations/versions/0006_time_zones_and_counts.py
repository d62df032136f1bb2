"""The time zone of the one who asks with a key; and functions that import count entities, too.

Revision ID: 0006
Revises: 0005
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Functions whose parameters or results have changed are dropped; the files of sql/ make them anew.
FUNCTIONS: LiteralString = """
drop function if exists loci_internal.context_working_memory(integer, text, text, integer);
drop function if exists loci_internal.context_working_memory(integer, text[], text, integer);
drop function if exists loci_api.begin_request(bytea, text, text, jsonb, text[], boolean);
drop function if exists loci_api.create_key(text, text, text, uuid, bytea, timestamptz, text, text[], uuid, integer, text,
                                            text, text);
drop function if exists loci_api.create_key(text, text, text, uuid, bytea, timestamptz, text, text[], uuid, integer, text,
                                            text, text, text);
drop function if exists loci_api.list_keys(text, integer, uuid, uuid);
drop function if exists loci_api.whoami();
drop function if exists loci_api.import_memories(text, jsonb);
drop function if exists loci_api.import_edges(text, jsonb);
reset role
"""
UPGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.api_keys add column time_zone text;
alter table loci_data.api_keys add constraint api_keys_time_zone_check check (length(time_zone) between 1 and 100);
comment on column loci_data.api_keys.time_zone is
    'Time zone of the one who asks with it, which yesterday is told by; null: UTC.';
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.api_keys drop column time_zone;
"""


def upgrade() -> None:
    """Keys get a time zone."""
    execute(op.get_bind(), UPGRADE + FUNCTIONS)


def downgrade() -> None:
    """Take the time zone of keys away."""
    execute(op.get_bind(), DOWNGRADE + FUNCTIONS)
