"""Terms of a question are weighed once for all that a recall does with them.

Revision ID: 0014
Revises: 0013
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
create type loci_internal.question_terms as (
    documents    double precision,
    slope        double precision,
    terms        bigint[],
    weights      double precision[],
    told         bigint[],
    told_weights double precision[],
    told_sum     double precision,
    counted      integer,
    unknown      integer,
    word_weights double precision[]
);
comment on type loci_internal.question_terms is
    'Terms of a question, weighed by how rare they are in a namespace: see loci_internal.weigh_terms.';
drop function if exists loci_internal.memories_new_to_session(
    text, integer, bigint[], text, timestamptz, timestamptz, boolean);
drop function if exists loci_internal.rank_text(integer, text, loci_internal.memory_filter, integer);
drop function if exists loci_internal.question_coverage(integer, text, bigint[]);
drop function if exists loci_internal.weigh_question(integer, smallint, text[], vector[]);
drop function if exists loci_api.recall_arms(
    text, text, real[], text[], jsonb, timestamptz, timestamptz, boolean, smallint, text[], vector[]);
drop function if exists loci_api.expand_recall_hits(
    text, text, bigint[], bigint[], text[], jsonb, timestamptz, timestamptz, text, timestamptz, timestamptz);
reset role;
"""

DOWNGRADE: LiteralString = """
set role loci_owner;
drop type loci_internal.question_terms cascade;
reset role;
"""


def upgrade() -> None:
    """Make the type, and take functions away whose arguments have changed: they are made again after each migration."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Take the type away, and the functions that use it: an older version makes its own."""
    execute(op.get_bind(), DOWNGRADE)
