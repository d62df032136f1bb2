"""What a reranker has read of memories: the pieces of their words, and a vector of each.

Revision ID: 0008
Revises: 0007
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
create table loci_data.memory_pieces (
    namespace_id integer not null,
    memory_id    uuid not null,
    model        text not null,
    text_hash    bytea not null,
    pieces       bytea not null,
    primary key (namespace_id, memory_id),
    constraint memory_pieces_memory_fkey foreign key (namespace_id, memory_id)
        references loci_data.memories (namespace_id, id) on delete cascade,
    constraint memory_pieces_model_check check (length(model) between 1 and 100),
    constraint memory_pieces_text_hash_check check (octet_length(text_hash) = 16),
    constraint memory_pieces_pieces_check check (octet_length(pieces) <= 1048576)
);
alter table loci_data.memory_pieces alter column pieces set storage external;
alter table loci_data.memory_pieces enable row level security;
alter table loci_data.memory_pieces force row level security;
comment on table loci_data.memory_pieces is
    'Memories as a reranker on this machine has read them, those alone that it was asked about.';
comment on column loci_data.memory_pieces.namespace_id is 'The namespace of the memory.';
comment on column loci_data.memory_pieces.memory_id is 'The memory that was read.';
comment on column loci_data.memory_pieces.model is 'The model that has read it.';
comment on column loci_data.memory_pieces.text_hash is 'Of the text that it has read: BLAKE2b, 128 bits.';
comment on column loci_data.memory_pieces.pieces is
    'Numbers of the pieces of words, two bytes each, then their vectors, a byte a dimension.';
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
drop function if exists loci_api.get_memory_pieces(text, bigint[], text);
drop function if exists loci_api.store_memory_pieces(text, bigint[], text, bytea[], bytea[]);
drop table loci_data.memory_pieces;
reset role
"""


def upgrade() -> None:
    """Make the table."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Drop it; memories are read anew."""
    execute(op.get_bind(), DOWNGRADE)
