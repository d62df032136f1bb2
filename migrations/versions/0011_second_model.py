"""A second embedding model, whose vectors join those of the first.

Revision ID: 0011
Revises: 0010
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.embedding_models add column second boolean not null default false;
alter table loci_data.embedding_models
    add column in_use boolean not null generated always as (active or filling or second) stored,
    drop constraint embedding_models_state_check,
    add constraint embedding_models_state_check check (active::integer + filling::integer + second::integer <= 1);
create unique index embedding_models_second on loci_data.embedding_models (second) where second;
comment on column loci_data.embedding_models.second is
    'Whether it gives a second opinion: its vectors of memories join those of the active one, where they are complete.';
comment on column loci_data.embedding_models.in_use is
    'Whether memories that are written wait for a vector of it: it is active, the second, or being filled.';
comment on table loci_data.embedding_models is
    'Models that have made vectors here. One is active: recall asks it. One may be the second: recall asks it too. One '
    'may be filling: it gets vectors of all behind the active one, to take its place. Any other is retired: its '
    'vectors are being dropped, or are gone.';
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.embedding_models drop column in_use cascade, drop column second cascade,
    add constraint embedding_models_state_check check (not (active and filling));
reset role
"""


def upgrade() -> None:
    """A model may be the second."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """A second model is a retired one, whose vectors are to be dropped."""
    execute(op.get_bind(), DOWNGRADE)
