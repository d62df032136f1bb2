"""Corrections of edges, and what a recalculation of decay has counted.

Revision ID: 0004
Revises: 0003
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

UPGRADE: LiteralString = """
set role loci_owner;
alter table loci_data.edge_observations
    add column corrects tstzrange,
    add column keeps_end boolean,
    add column by_day boolean,
    alter column confidence drop not null,
    drop constraint edge_observations_reinforcement_check,
    add constraint edge_observations_reinforcement_check
        check (reinforcement in ('full', 'initial', 'running_average', 'corrected')),
    add constraint edge_observations_corrected_check check (
        case when reinforcement = 'corrected' then memory_id is null and (corrects is null) = (valid_from is null)
             else corrects is null and confidence is not null end
        and (keeps_end is null) = (corrects is null));
comment on column loci_data.edge_observations.corrects is
    'Of a correction: the spell for which valid_from and valid_to stand; null: it corrects no validity.';
comment on column loci_data.edge_observations.keeps_end is
    'Of a correction of a spell: it says nothing of the end, which stays that of what it corrects (valid_to: what that '
    'was then); null: it corrects no validity.';
comment on column loci_data.edge_observations.by_day is
    'Whether, without a session, it is of the conversation of its day; null: it is one of its own, as all were before '
    'this was told apart.';
comment on column loci_data.edge_observations.confidence is
    'Confidence that was stated; null: a correction that leaves it.';
comment on column loci_data.edge_observations.reinforcement is
    'What it does to confidence in a new conversation, as the setting was when it was recorded; corrected: it is no '
    'observation, and sets confidence to what it states.';
-- What matters most at an entity: confidence × strength, decaying at the default rate of 0.01 a day, as a logarithm that
-- does not change with time (forward decay: Cormode et al., ICDE 2009). See loci_internal.adjacent_edges.
create index edges_source_weight on loci_data.edges (
    namespace_id, source_id,
    (ln(greatest(confidence * strength, 1e-9))
     + date_part('epoch', restored_at - timestamptz '1970-01-01 00:00:00+00') / 8640000) desc, id);
create index edges_target_weight on loci_data.edges (
    namespace_id, target_id,
    (ln(greatest(confidence * strength, 1e-9))
     + date_part('epoch', restored_at - timestamptz '1970-01-01 00:00:00+00') / 8640000) desc, id)
    where target_id is not null;
-- Memories that end where a version begins that was announced: what repeats one of them folds into it.
create index memories_announced on loci_data.memories (namespace_id, content_hash)
    where valid_to is not null and superseded_at is null and status = 'active' and fold_scope is not null;
alter table loci_data.decay_changes
    add column counted_from timestamptz not null default '-infinity',
    add column recalculated_at timestamptz,
    add column faded_now bigint not null default 0;
comment on column loci_data.decay_changes.counted_from is
    'Edges count as faded by it that fell below the threshold after this moment, by time or by a rate.';
comment on column loci_data.decay_changes.recalculated_at is
    'When edges were last recalculated on demand; null: never. The next time counts from here.';
comment on column loci_data.decay_changes.faded_now is 'Edges looked at so far that are faded at its beginning.';
drop function if exists loci.list_edges(text, text, text, boolean, timestamptz, integer, text, timestamptz);
drop function if exists loci_internal.edge_page(integer, uuid, text, boolean, timestamptz, timestamptz, uuid, integer);
drop function if exists loci_internal.edge_evidence(integer, uuid, timestamptz, timestamptz);
drop function if exists loci_internal.adjacent_edges(
    integer, uuid[], text[], text, integer, timestamptz, boolean, double precision, double precision, double precision,
    jsonb, timestamptz, timestamptz);
drop function if exists loci_internal.expand_entities(
    integer, uuid[], text[], text, integer, integer, double precision, double precision, timestamptz, timestamptz);
drop function if exists loci_internal.traversal_paths(
    integer, uuid[], text[], text, integer, integer, double precision, double precision, timestamptz, timestamptz);
drop function if exists loci.traverse(
    text, text[], text[], text, integer, integer, double precision, double precision, timestamptz, boolean, timestamptz,
    text, boolean);
drop function if exists loci_api.recalculate_decay_batch(text, text, integer);
drop function if exists loci_internal.update_fades_at(integer, uuid[], timestamptz);
drop function if exists loci_internal.enqueue_decay_change(integer, text);
drop function if exists loci_api.undo_merge(text, uuid);
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
delete from loci_data.edge_observations where reinforcement = 'corrected';
drop index loci_data.memories_announced;
drop index loci_data.edges_target_weight;
drop index loci_data.edges_source_weight;
alter table loci_data.decay_changes drop column faded_now, drop column recalculated_at, drop column counted_from;
alter table loci_data.edge_observations
    drop constraint edge_observations_corrected_check,
    drop constraint edge_observations_reinforcement_check,
    add constraint edge_observations_reinforcement_check
        check (reinforcement in ('full', 'initial', 'running_average')),
    alter column confidence set not null,
    drop column by_day cascade,
    drop column keeps_end cascade,
    drop column corrects cascade;
reset role
"""


def upgrade() -> None:
    """Let edges be corrected, and recalculations count."""
    execute(op.get_bind(), UPGRADE)


def downgrade() -> None:
    """Take corrections away, with what they say."""
    execute(op.get_bind(), DOWNGRADE)
