-- Positions of entities in the constellation.

-- Where do these entities stand in the constellation, and which edges pull them together? In order of id; x and y null:
-- nowhere yet. neighbors: those among p_ids that an edge leads to, whenever it held, so a picture is the same at every
-- moment. Range of the index edges_source for each. Security definer: past the policies; checks the caller itself.
-- Errors: 42501, P0002.
create or replace function loci_api.entities_to_place(p_namespace text, p_ids uuid[])
returns table (id uuid, x real, y real, neighbors uuid[])
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select e.id, p.x, p.y, coalesce(n.ids, '{}')
    from (select distinct u.id from unnest(p_ids) u(id)) e
    left join loci_data.entity_places p on p.namespace_id = v_ns and p.entity_id = e.id
    left join lateral (
        select array_agg(distinct i.target_id) as ids
        from (select o.target_id, o.superseded_at from loci_data.edges o
              where o.namespace_id = v_ns and o.source_id = e.id and o.target_id is not null offset 0) i
        where i.superseded_at is null and i.target_id = any (p_ids) and i.target_id <> e.id) n on true
    where exists (select from loci_data.entities t where t.namespace_id = v_ns and t.id = e.id)
    order by e.id;
end $$;
comment on function loci_api.entities_to_place(text, uuid[]) is
    'Where entities stand in the constellation, and which edges lead from one to another. Errors: 42501, P0002.';

-- Keep where entities stand in the constellation. Entities keep the place that they have; removed ones are left out.
-- The rows are locked in order of id. Security definer: writes past the policies; checks the caller itself. A reader
-- may store it: places are derived from what it reads. Errors: 42501, P0002.
create or replace function loci_api.store_entity_places(p_namespace text, p_ids uuid[], p_x real[], p_y real[])
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    insert into loci_data.entity_places (namespace_id, entity_id, x, y)
    select v_ns, e.id, u.x, u.y
    from unnest(p_ids, p_x, p_y) u(id, x, y)
    join loci_data.entities e on e.namespace_id = v_ns and e.id = u.id
    order by e.id
    for key share of e
    on conflict (namespace_id, entity_id) do nothing;
end $$;
comment on function loci_api.store_entity_places(text, uuid[], real[], real[]) is
    'Keep where entities stand in the constellation, unless they stand somewhere. Errors: 42501, P0002.';
