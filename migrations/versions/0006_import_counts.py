"""What imports say of entities: the functions that write memories and edges of others return one column more.

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

CHANGED: LiteralString = """
set role loci_owner;
drop function if exists loci_api.import_memories(text, jsonb);
drop function if exists loci_api.import_edges(text, jsonb);
reset role
"""


def upgrade() -> None:
    """Drop what has another type now; it is made anew when the functions are replayed."""
    execute(op.get_bind(), CHANGED)


def downgrade() -> None:
    """The same: the functions of the version before are replayed."""
    execute(op.get_bind(), CHANGED)
