"""Jobs that wait until the operator has mended something, and pages of passes.

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
alter table loci_data.pass_runs add column shown integer not null default 0;
comment on column loci_data.pass_runs.shown is 'How many things were on its page; the next page begins behind them.';
comment on column loci_data.pass_runs.more is 'Whether there was more for it than it was shown.';
drop function if exists loci_api.record_job_failure(bigint, integer, text, boolean);
drop function if exists loci_api.last_pass(text, text, uuid);
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
comment on column loci_data.pass_runs.more is 'Whether the log held more turns than it was shown.';
alter table loci_data.pass_runs drop column shown;
alter table loci_data.jobs drop column refused_with;
drop function if exists loci_api.record_job_failure(bigint, integer, text, boolean, text);
drop function if exists loci_api.last_pass(text, text, uuid);
reset role
"""


def upgrade() -> None:
    """Jobs note the settings under which they were refused."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Forget the settings."""
    execute(op.get_bind(), DOWNGRADE)
