-- When was an entity created, what changed about it when, and when was it deleted or brought back? A change is the difference between a belief and the next one; its
-- detail holds the new values of the fields that changed. Primary keys of entities and entity_beliefs. Called by entity_timeline; internal.
create or replace function loci.entity_events(p_namespace_id integer, p_id uuid)
returns table (at timestamptz, recorded_at timestamptz, kind text, event text, id uuid, key text, detail jsonb)
language sql stable parallel safe
as $$
    with said as (  -- what was believed, oldest first; the present is last
        select b.believed_at as since, jsonb_build_object('name', b.name, 'type', b.type, 'aliases', b.aliases, 'description', b.description,
               'metadata', b.metadata, 'pinned_at', b.pinned_at, 'first_seen_at', b.first_seen_at) as fields,
               coalesce(b.merged_into = b.entity_id, false) as removed
        from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id and b.entity_id = p_id
        union all
        select coalesce((select max(b.believed_to) from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id and b.entity_id = p_id),
                        e.created_at),
               jsonb_build_object('name', e.name, 'type', e.type, 'aliases', e.aliases, 'description', e.description,
               'metadata', e.metadata, 'pinned_at', e.pinned_at, 'first_seen_at', e.first_seen_at), coalesce(e.merged_into = e.id, false)
        from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = p_id
    ), ordered as (
        select s.since, s.fields, s.removed, lag(s.fields) over said_in_order as before, lag(s.removed) over said_in_order as was_removed
        from said s window said_in_order as (order by s.since)
    )
    select case when o.before is null then e.first_seen_at else o.since end, o.since, 'entity',
           case when o.before is null then 'created' when o.removed and not o.was_removed then 'deleted'
                when o.was_removed and not o.removed then 'returned' else 'changed' end, p_id, o.since::text,
           case when o.before is null then o.fields - 'first_seen_at'
                else (select jsonb_object_agg(f.key, f.value) from jsonb_each(o.fields) f where f.value is distinct from o.before -> f.key) end
    from ordered o join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = p_id
$$;
comment on function loci.entity_events(integer, uuid) is 'Creation, changes, removal and return of an entity as dated events. Internal.';
