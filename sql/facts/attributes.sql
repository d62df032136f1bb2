-- Attributes: rows at a moment, beliefs, events, and their tie to memories and entities.

-- Did an attribute hold at p_as_of, by what was known at p_known_at (infinity: by what is believed now; holds_at), and
-- how important was it? Reads attribute_beliefs only where something changed since. Inlines.
create or replace function loci_internal.attribute_at(p_attribute loci_data.attributes, p_as_of timestamptz,
                                                      p_known_at timestamptz)
returns table (held boolean, importance double precision, confidence double precision)
language sql stable parallel safe
as $$
    select loci.holds_at(p_attribute, p_as_of, p_known_at),
           coalesce(b.importance, p_attribute.importance), coalesce(b.confidence, p_attribute.confidence)
    from (select) nothing
    left join lateral (
        select k.importance, k.confidence from loci_data.attribute_beliefs k
        where p_attribute.updated_at > p_known_at and k.namespace_id = p_attribute.namespace_id
          and k.attribute_id = p_attribute.id
          and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci_internal.attribute_at(loci_data.attributes, timestamptz, timestamptz) is
    'Whether an attribute held at a moment, as known at another, and how important it was.';

-- Attributes under aspects, as known at a moment (infinity: as believed now): status, validity, importance and
-- confidence are those believed then. Whether one is visible is the caller's question. Index attributes_history, and
-- the primary key of attribute_beliefs where something changed since. Inlines.
create or replace function loci_internal.attribute_rows(p_namespace_id integer, p_aspect_id uuid,
                                                        p_known_at timestamptz)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid,
               confidence double precision, importance double precision, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, updated_at timestamptz, observations integer)
language sql stable parallel safe
as $$
    select a.id, a.aspect_id, a.kind, a.content, s.status, s.superseded_by, a.memory_id, s.confidence, s.importance,
           s.valid_from, s.valid_to,
           a.recorded_at, case when a.superseded_at <= p_known_at then a.superseded_at end, s.updated_at,
           a.observations
    from loci_data.attributes a
    left join lateral (
        select b.* from loci_data.attribute_beliefs b
        where a.updated_at > p_known_at and b.namespace_id = p_namespace_id and b.attribute_id = a.id
          and b.believed_to > p_known_at
        order by b.believed_to limit 1) b on true
    cross join lateral (
        select a.status, a.superseded_by, a.confidence, a.importance, a.valid_from, a.valid_to, a.updated_at
        where b.attribute_id is null
        union all
        select b.status, b.superseded_by, b.confidence, b.importance, b.valid_from, b.valid_to, b.believed_at
        where b.attribute_id is not null) s
    where a.namespace_id = p_namespace_id and a.aspect_id = p_aspect_id and a.recorded_at <= p_known_at
$$;
comment on function loci_internal.attribute_rows(integer, uuid, timestamptz) is
    'Attributes of an aspect as known at a moment.';

-- Facts and rules about entities, one row each, with those that were superseded, and the memory that each rests on. By
-- entity and by memory an index. Under the policies: rows of granted namespaces only.
create or replace view loci.attributes with (security_invoker = true) as
select n.name as namespace, t.id, e.name as entity, a.name as aspect, t.kind, t.content, t.status, t.importance,
       t.confidence,
       loci.holds_at(t, statement_timestamp(), null) as current,
       t.valid_from, t.valid_to, t.recorded_at, t.superseded_at, t.superseded_by, t.memory_id, m.content as memory,
       e.id as entity_id, a.id as aspect_id
from loci_data.attributes t
join loci_data.namespaces n on n.id = t.namespace_id
join loci_data.aspects a on a.namespace_id = t.namespace_id and a.id = t.aspect_id
join loci_data.entities e on e.namespace_id = a.namespace_id and e.id = a.entity_id and e.merged_into is null
left join loci_data.memories m on m.namespace_id = t.namespace_id and m.id = t.memory_id;
comment on view loci.attributes is
    'Facts and rules about entities, one row each, superseded ones too. current: it holds now.';
comment on column loci.attributes.namespace is 'Name of the namespace.';
comment on column loci.attributes.id is 'Identifier.';
comment on column loci.attributes.entity is 'Name of the entity it is about.';
comment on column loci.attributes.aspect is 'Name of the aspect it stands under.';
comment on column loci.attributes.kind is 'attribute (a fact), or constraint (a rule).';
comment on column loci.attributes.content is 'The fact or rule.';
comment on column loci.attributes.status is 'active, superseded or deleted.';
comment on column loci.attributes.importance is '0 to 1.';
comment on column loci.attributes.confidence is '0 to 1.';
comment on column loci.attributes.current is 'Whether it holds now: not deleted, and valid.';
comment on column loci.attributes.valid_from is 'Valid time: from when.';
comment on column loci.attributes.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.attributes.recorded_at is 'Recorded time: when it was written.';
comment on column loci.attributes.superseded_at is 'Recorded time: when it was replaced or deleted; null: it was not.';
comment on column loci.attributes.superseded_by is 'The one that replaced it; null: none. Joins attributes.id.';
comment on column loci.attributes.memory_id is 'The memory that it rests on; null: none. Joins memory_versions.id.';
comment on column loci.attributes.memory is 'Content of that memory.';
comment on column loci.attributes.entity_id is 'Identifier of the entity. Joins entities.id.';
comment on column loci.attributes.aspect_id is 'Identifier of the aspect. Joins aspects.id.';

-- Trigger: before status, validity, importance or confidence of an attribute changes, what was believed until now is
-- kept, so that known_at can be answered for every moment. The change's own time, updated_at, ends the old belief; what
-- was believed for no time is none, and what follows from erasing was never otherwise.
create or replace function loci_internal.archive_attribute_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((select max(b.believed_to) from loci_data.attribute_beliefs b
                                     where b.namespace_id = old.namespace_id and b.attribute_id = old.id),
                                         old.recorded_at);
begin
    if new.updated_at = v_since or current_setting('loci.erasing', true) = 'on' then
        return new;
    end if;
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.attribute_beliefs (namespace_id, attribute_id, status, superseded_by, confidence, importance,
                                             valid_from, valid_to, own_to, believed_at, believed_to)
    values (old.namespace_id, old.id, old.status, old.superseded_by, old.confidence, old.importance, old.valid_from,
            old.valid_to, old.own_to, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_attribute_belief() is
    'Trigger: keep the ending belief about an attribute in attribute_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger attributes_belief before update on loci_data.attributes
    for each row when ((old.status, old.superseded_by, old.confidence, old.importance, old.valid_from, old.valid_to,
                        old.own_to)
                       is distinct from (new.status, new.superseded_by, new.confidence, new.importance, new.valid_from,
                                         new.valid_to, new.own_to))
    execute function loci_internal.archive_attribute_belief();

-- What happened to the facts and constraints of an entity, and when? Each is stated at its valid_from, over at its
-- valid_to, and deleted when somebody took it back; those of forgotten or corrected memories are not there. detail says
-- what it is. p_known_at: as recorded by then (null: now); the caller leaves out events of later. Index
-- aspects_canonical_name_key and attributes_history, and the primary key of attribute_beliefs where something changed.
create or replace function loci_internal.fact_events(p_namespace_id integer, p_entity_id uuid,
                                                     p_known_at timestamptz default null)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    with fact as materialized (
        select r.*, jsonb_build_object('kind', r.kind, 'content', r.content, 'aspect', s.name, 'status', r.status,
                                       'valid_to', r.valid_to, 'superseded_by', r.superseded_by,
                                       'memory_id', r.memory_id) as detail,
               coalesce((select max(b.believed_to) from loci_data.attribute_beliefs b
                         where b.namespace_id = p_namespace_id and b.attribute_id = r.id
                           and (p_known_at is null or b.believed_to <= p_known_at)), r.recorded_at) as believed_at
        from loci_data.aspects s
        cross join lateral loci_internal.attribute_rows(p_namespace_id, s.id, coalesce(p_known_at, 'infinity')) r
        where s.namespace_id = p_namespace_id and s.entity_id = p_entity_id
          and r.valid_to is distinct from r.valid_from
    )
    select f.valid_from, f.recorded_at, 'fact', 'stated', f.id, f.id::text, f.detail from fact f
    union all
    select f.valid_to, f.believed_at, 'fact', 'ended', f.id, f.id::text, f.detail from fact f
    where f.valid_to is not null and f.status <> 'deleted'
    union all
    select f.believed_at, f.believed_at, 'fact', 'deleted', f.id, f.id::text, f.detail from fact f
    where f.status = 'deleted'
$$;
comment on function loci_internal.fact_events(integer, uuid, timestamptz) is
    'Facts and constraints of an entity as dated events.';

-- Trigger: a memory was forgotten, ended, corrected or restored, and the facts that rest on it follow in the same
-- transaction, with what they had ended (refold_facts). A fact that comes back is compared with its siblings; where an
-- operation is being undone, with those alone that came after that. A memory that carries none costs one look-up in
-- attributes_memory.
create or replace function loci_internal.sync_attributes_with_memory() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ids uuid[] := array(select a.id from loci_data.attributes a
                          where a.namespace_id = new.namespace_id and a.memory_id = new.id);
begin
    if v_ids <> '{}' then
        perform loci_internal.refold_facts(new.namespace_id, v_ids, greatest(new.updated_at, new.believed_at), true,
                                           loci_internal.undone_since(new.namespace_id));
    end if;
    return null;
end $$;
comment on function loci_internal.sync_attributes_with_memory() is
    'Trigger: let the facts that rest on a memory follow it.';

-- When did the operation begin that this transaction undoes? Null: it undoes none. The primary key of operations.
create or replace function loci_internal.undone_since(p_namespace_id integer) returns timestamptz
language sql stable set search_path = ''
as $$
    select o.started_at from loci_data.operations o
    where o.namespace_id = p_namespace_id and o.id = nullif(current_setting('loci.undoes', true), '')::uuid
$$;
comment on function loci_internal.undone_since(integer) is
    'When the operation began that this transaction undoes.';

-- Facts follow the memory that they rest on: one look-up in attributes_memory, where its status or its end changes.
create or replace trigger memories_attributes after update on loci_data.memories
    for each row when ((old.status, old.superseded_at, old.valid_to)
                       is distinct from (new.status, new.superseded_at, new.valid_to))
    execute function loci_internal.sync_attributes_with_memory();

-- Trigger: an attribute names the entity of its aspect, whoever writes it, so that all constraints of an entity are one
-- range of an index. The aspect is locked as the foreign key will lock it anyway: one that moves to another entity
-- meanwhile is waited for.
create or replace function loci_internal.set_attribute_entity() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    new.entity_id := coalesce((select a.entity_id from loci_data.aspects a
                               where a.namespace_id = new.namespace_id and a.id = new.aspect_id for key share),
                              loci_internal.nil_uuid());  -- none: the foreign key says so
    return new;
end $$;
comment on function loci_internal.set_attribute_entity() is
    'Trigger: attributes.entity_id is that of the aspect.';

-- loci_data.attributes.entity_id follows the aspect. When the aspect itself moves, the foreign key carries its
-- attributes along.
create or replace trigger attributes_entity before insert or update of aspect_id, entity_id on loci_data.attributes
    for each row execute function loci_internal.set_attribute_entity();
