-- Which of these edges does a pass have to keep, and by which guard? p_edges: [{id, reason, seen}], seen: its
-- updated_at when it was shown. A row for each; guard null: it may go.
--   gone      not there, or not believed any more
--   confident its confidence is protected_confidence or more
--   changed   observed or changed since it was shown
--   redundant nothing that stays says the same ends are joined (of a literal: has the same source and type)
--   recent    said to be outdated, but observed within dream_entity_days, and its validity has not ended
-- The caller holds their locks. Index ranges of edges_source and edges_target.
create or replace function loci_internal.protected_edges(p_namespace_id integer, p_edges jsonb)
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with item as materialized (
        select distinct on (i.id) i.* from jsonb_to_recordset(p_edges) i(id uuid, reason text, seen timestamptz)
        order by i.id
    ), setting as materialized (select loci_internal.settings(p_namespace_id) as all)
    select i.id, case
        when e.id is null then 'gone'
        when e.confidence >= (s.all ->> 'protected_confidence')::double precision then 'confident'
        when e.updated_at is distinct from i.seen then 'changed'
        when i.reason = 'redundant' and not exists (
            select from loci_data.edges o
            where o.namespace_id = p_namespace_id and o.superseded_at is null
              and o.valid_to is distinct from o.valid_from
              and o.id <> all (array(select x.id from item x))
              and (o.source_id = e.source_id
                   and (o.target_id = e.target_id or e.literal is not null and o.type = e.type)
                   or o.source_id = e.target_id and o.target_id = e.source_id)) then 'redundant'
        when i.reason = 'outdated' and coalesce(e.valid_to, 'infinity') > clock_timestamp()
             and e.last_observed_at > clock_timestamp() - (s.all ->> 'dream_entity_days')::double precision
                 * interval '24 hours' then 'recent' end
    from item i
    cross join setting s
    left join lateral (select x.* from loci_data.edges x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.superseded_at is null limit 1) e
                           on true
    order by i.id
$$;
comment on function loci_internal.protected_edges(integer, jsonb) is
    'Which guard keeps each of these edges from being removed by a pass; null: none.';
