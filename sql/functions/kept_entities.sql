-- Which of these entities does a pass have to keep, and by which guard (row L5)? p_entities: [{id, seen}], seen: its updated_at when it was shown.
-- p_going: edges that go before them. A row for each; guard null: it may go.
--   gone, person, pinned   not there or removed, a person, pinned
--   referenced             a text has matched it: last_referenced_at
--   mentioned              a memory in force mentions it, or it has facts
--   young                  made within dream_entity_days
--   changed                written or observed since it was shown
--   connected              an edge would be left
-- The caller holds their locks. Indexes as in stale_entities. Called by apply_graph_cleanup; internal.
create or replace function loci.kept_entities(p_namespace_id integer, p_entities jsonb, p_going uuid[])
returns table (id uuid, guard text)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select i.id, case
        when e.id is null then 'gone'
        when e.type = 'person' then 'person'
        when e.pinned_at is not null then 'pinned'
        when e.last_referenced_at is not null then 'referenced'
        when loci.is_rested_on(p_namespace_id, e.id) then 'mentioned'
        when e.created_at > clock_timestamp() - (loci.settings(p_namespace_id) ->> 'dream_entity_days')::double precision * interval '1 day' then 'young'
        when e.updated_at is distinct from i.seen then 'changed'
        when exists (select from loci_data.edges g where g.namespace_id = p_namespace_id and g.source_id = e.id
                     and g.superseded_at is null and g.id <> all (p_going))
          or exists (select from loci_data.edges g where g.namespace_id = p_namespace_id and g.target_id = e.id
                     and g.superseded_at is null and g.id <> all (p_going)) then 'connected' end
    from (select distinct on (j.id) j.* from jsonb_to_recordset(p_entities) j(id uuid, seen timestamptz) order by j.id) i
    left join lateral (select x.* from loci_data.entities x
                       where x.namespace_id = p_namespace_id and x.id = i.id and x.merged_into is null limit 1) e on true
    order by i.id
$$;
comment on function loci.kept_entities(integer, jsonb, uuid[]) is 'Which guard keeps each of these entities from being removed by a pass; null: none. Internal.';
