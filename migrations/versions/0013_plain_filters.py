"""Filters that restrict nothing but the times say so.

Revision ID: 0013
Revises: 0012
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
alter type loci_internal.memory_filter add attribute plain boolean;
reset role;
"""

DOWNGRADE: LiteralString = """
set role loci_owner;
alter type loci_internal.memory_filter drop attribute plain;
reset role;
"""


def upgrade() -> None:
    """Add the attribute."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Take it away."""
    execute(op.get_bind(), DOWNGRADE)
