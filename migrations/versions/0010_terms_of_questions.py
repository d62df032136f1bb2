"""Recall knows how many terms a question has: the functions that say it return a column more.

Revision ID: 0010
Revises: 0009
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Functions are made again after each migration; one that returns something else has to go first.
DROP: LiteralString = """
set role loci_owner;
drop function if exists loci_api.expand_recall_hits(
    text, text, bigint[], bigint[], text[], jsonb, timestamptz, timestamptz, text, timestamptz, timestamptz);
drop function if exists loci_internal.question_coverage(integer, text, bigint[]);
reset role
"""


def upgrade() -> None:
    """Take the functions away."""
    execute(op.get_bind(), DROP)


def downgrade() -> None:
    """The same: an older version makes its own."""
    execute(op.get_bind(), DROP)
