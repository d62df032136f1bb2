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
