"""An index of the sources of memories, so that it is known who speaks in a namespace.

Revision ID: 0009
Revises: 0008
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
create index memories_source on loci_data.memories (namespace_id, source) where source is not null;
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
drop index loci_data.memories_source;
reset role
"""


def upgrade() -> None:
    """Sources are looked up."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Take the index away."""
    execute(op.get_bind(), DOWNGRADE)
