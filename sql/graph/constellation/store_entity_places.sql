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
