"""Facts in two times: what was stated of a fact, apart from what follows from it; facts go with their memories.

Revision ID: 0003
Revises: 0002
"""

from typing import LiteralString

from alembic import op

from migrations.schema_files import execute

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES: LiteralString = """
set role loci_owner;
alter table loci_data.attributes
    add column stated_to timestamptz, add column ended_at timestamptz, add column taken_back_at timestamptz,
    add column own_to timestamptz, add column observations integer not null default 1;
alter table loci_data.attribute_beliefs add column own_to timestamptz;
comment on column loci_data.attributes.stated_to is 'Valid time: until when, as stated; null: open.';
comment on column loci_data.attributes.ended_at is
    'Valid time: since when it is over because somebody said so, without anything in its place; null: nobody did.';
comment on column loci_data.attributes.taken_back_at is
    'Recorded time: since when it is deleted; null: it is not.';
comment on column loci_data.attributes.own_to is
    'Valid time: until when, by itself and the memory it rests on, whatever superseded it; null: open. Equal to '
    'valid_from: it holds at no moment.';
comment on column loci_data.attributes.observations is 'How often it was stated.';
comment on column loci_data.attribute_beliefs.own_to is 'The own_to believed then; null: open, or not known any more.';
create index attributes_over on loci_data.attributes (namespace_id, aspect_id, valid_to)
    where status = 'superseded' and superseded_by is null;
create index attributes_same on loci_data.attributes (namespace_id, aspect_id, md5(content)) where status = 'active';
alter table loci_data.attributes drop constraint attributes_valid_check;
alter table loci_data.attributes add constraint attributes_valid_check
    check (valid_to >= valid_from and stated_to >= valid_from);
alter table loci_data.attributes drop constraint attributes_memory_fkey;
alter table loci_data.attributes add constraint attributes_memory_fkey foreign key (namespace_id, memory_id)
    references loci_data.memories (namespace_id, id) on delete cascade;
create table loci_data.aspects_to_sweep (
    namespace_id integer not null,
    aspect_id    uuid not null,
    primary key (namespace_id, aspect_id),
    constraint aspects_to_sweep_aspect_fkey foreign key (namespace_id, aspect_id)
        references loci_data.aspects (namespace_id, id) on delete cascade
);
alter table loci_data.aspects_to_sweep enable row level security;
alter table loci_data.aspects_to_sweep force row level security;
comment on table loci_data.aspects_to_sweep is
    'Aspects whose facts may contradict each other although each was compared at its write; kept by triggers, until the '
    'worker has compared them anew.';
comment on column loci_data.aspects_to_sweep.namespace_id is 'The namespace.';
comment on column loci_data.aspects_to_sweep.aspect_id is 'The aspect.';
alter table loci_data.supersessions drop constraint supersessions_signal_check;
alter table loci_data.supersessions add constraint supersessions_signal_check check (
    signal in ('negation', 'antonym', 'value_conflict', 'temporal_marker', 'model', 'single_valued', 'replaced'));
drop function if exists loci_internal.lock_evidence(integer, uuid[]);
drop function if exists loci_api.add_attribute(text, uuid, jsonb);
drop function if exists loci_api.update_attribute(text, uuid, jsonb);
drop function if exists loci_internal.attribute_rows(integer, uuid, timestamptz);
drop function if exists loci_internal.supersede_siblings(integer, uuid, text, text, uuid, timestamptz);
reset role
"""
# What was stated is read from what stands: a fact that is in force says it itself; of another its last belief in force does.
# New content that took the place of old without a decision gets one. Forgotten and corrected memories show nothing.
ROWS: LiteralString = """
set role loci_owner;
do $$
begin
    if exists (select from pg_trigger t where t.tgrelid = 'loci_data.attributes'::regclass
               and t.tgname = 'zz_attributes_changed') then
        alter table loci_data.attributes disable trigger zz_attributes_changed;  -- nobody's operation
    end if;
end $$;
update loci_data.attributes a
set stated_to = case when a.status = 'active' then nullif(a.valid_to, m.valid_to) else (
        select b.valid_to from loci_data.attribute_beliefs b
        where b.namespace_id = a.namespace_id and b.attribute_id = a.id and b.status = 'active'
        order by b.believed_to desc limit 1) end,
    ended_at = case when a.status = 'superseded' and a.superseded_by is null and a.withdrawn_at is null
        then a.valid_to end,
    taken_back_at = case when a.status = 'deleted' then coalesce(a.superseded_at, a.updated_at) end
from (select o.namespace_id, o.id, m.valid_to from loci_data.attributes o
      left join loci_data.memories m on m.namespace_id = o.namespace_id and m.id = o.memory_id) m
where m.namespace_id = a.namespace_id and m.id = a.id;
insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, origin, status,
                                     created_at, decided_at)
select a.namespace_id, gen_random_uuid(), a.id, a.superseded_by, 'replaced', 1, 'manual', 'applied',
       coalesce(a.superseded_at, a.updated_at), coalesce(a.superseded_at, a.updated_at)
from loci_data.attributes a where a.superseded_by is not null
on conflict on constraint supersessions_pair_key do nothing;
with own as materialized (
    select a.namespace_id, a.id, case when m.status <> 'active' or m.valid_to = m.valid_from then a.valid_from
           when coalesce(a.stated_to, a.ended_at, m.valid_to) is not null
           then greatest(a.valid_from, least(a.stated_to, a.ended_at, m.valid_to)) end as own_to,
           coalesce(m.status <> 'active' or m.superseded_at is not null or m.valid_to = m.valid_from, false) as over
    from loci_data.attributes a
    left join loci_data.memories m on m.namespace_id = a.namespace_id and m.id = a.memory_id
), winner as materialized (
    select distinct on (s.namespace_id, s.older_id) s.namespace_id, s.older_id as id, s.newer_id,
           greatest(o.valid_from, n.valid_from) as at
    from loci_data.supersessions s
    join loci_data.attributes o on o.namespace_id = s.namespace_id and o.id = s.older_id
    join loci_data.attributes n on n.namespace_id = s.namespace_id and n.id = s.newer_id
    join own p on p.namespace_id = s.namespace_id and p.id = s.older_id
    join own w on w.namespace_id = s.namespace_id and w.id = s.newer_id
    where s.status = 'applied' and n.taken_back_at is null and w.own_to is distinct from n.valid_from
      and (p.own_to is null or p.own_to > greatest(o.valid_from, n.valid_from))
    order by s.namespace_id, s.older_id, n.valid_from, n.recorded_at, n.id
)
update loci_data.attributes a
set own_to = o.own_to, superseded_by = case when a.taken_back_at is null then w.newer_id end,
    valid_to = case when a.taken_back_at is null then coalesce(w.at, o.own_to) else o.own_to end,
    status = case when a.taken_back_at is not null then 'deleted'
        when w.newer_id is not null or a.ended_at is not null or o.over then 'superseded' else 'active' end,
    superseded_at = case when a.taken_back_at is not null or w.newer_id is not null or a.ended_at is not null or o.over
        then coalesce(a.superseded_at, clock_timestamp()) end,
    withdrawn_at = case when o.over then coalesce(a.withdrawn_at, clock_timestamp()) end
from own o left join winner w on w.namespace_id = o.namespace_id and w.id = o.id
where o.namespace_id = a.namespace_id and o.id = a.id;
do $$
begin
    if exists (select from pg_trigger t where t.tgrelid = 'loci_data.attributes'::regclass
               and t.tgname = 'zz_attributes_changed') then
        alter table loci_data.attributes enable trigger zz_attributes_changed;
    end if;
end $$;
reset role
"""
DOWNGRADE: LiteralString = """
set role loci_owner;
delete from loci_data.supersessions where signal = 'replaced';
alter table loci_data.supersessions drop constraint supersessions_signal_check;
alter table loci_data.supersessions add constraint supersessions_signal_check check (
    signal in ('negation', 'antonym', 'value_conflict', 'temporal_marker', 'model', 'single_valued'));
drop table loci_data.aspects_to_sweep;
alter table loci_data.attributes drop constraint attributes_memory_fkey;
alter table loci_data.attributes add constraint attributes_memory_fkey foreign key (namespace_id, memory_id)
    references loci_data.memories (namespace_id, id) on delete set null (memory_id);
drop index loci_data.attributes_over, loci_data.attributes_same;
alter table loci_data.attributes drop constraint attributes_valid_check;
alter table loci_data.attributes add constraint attributes_valid_check check (valid_to >= valid_from);
alter table loci_data.attribute_beliefs drop column own_to cascade;
alter table loci_data.attributes drop column stated_to cascade, drop column ended_at cascade,
    drop column taken_back_at cascade, drop column own_to cascade, drop column observations cascade;
reset role
"""


def upgrade() -> None:
    """Keep apart what was stated of facts, and bring them in step with their memories and decisions."""
    execute(op.get_bind(), TABLES)
    execute(op.get_bind(), ROWS)


def downgrade() -> None:
    """Keep what follows alone."""
    execute(op.get_bind(), DOWNGRADE)
