"""Jobs that wait until the operator has mended something.

Revision ID: 0007
Revises: 0006
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.jobs add column refused_with text;
comment on column loci_data.jobs.refused_with is
    'Hash of the settings under which it was last refused, which is the operator''s to mend; null: it was not.';
drop function if exists loci_api.record_job_failure(bigint, integer, text, boolean);
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.jobs drop column refused_with;
drop function if exists loci_api.record_job_failure(bigint, integer, text, boolean, text);
reset role
"""


def upgrade() -> None:
    """Jobs note the settings under which they were refused."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Forget the settings."""
    execute(op.get_bind(), DOWNGRADE)
