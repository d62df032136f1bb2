-- Which namespaces does a recall search, and with what settings? Those named, in the order named, or with
-- null every one that the caller may read, by name; beside them the request's own (p_own; null: the caller's default
-- one), whose weights and k are those of the fusion; a nameless row with the defaults, if the caller may not
-- read that one. Whether the caller may read what is named is checked first, one by one. At most setting
-- recall_namespaces of the own namespace. Cost: some 30 µs a namespace. Security definer: reads grants. Errors: 42501,
-- P0002 (the first that the caller may not read), 22023 (namespaces: too many, or of several cells), LOCI1.
create or replace function loci_api.recall_namespaces(p_namespaces text[], p_own text default null)
returns table (namespace text, settings jsonb, searched boolean, own boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_readable integer[] := loci.readable_namespaces();
    v_own      integer;
    v_ids      integer[] := '{}';
    v_id       integer;
    v_name     text;
    v_limit    integer;
begin
    select n.id into v_own from loci_data.namespaces n
    where n.name = coalesce(p_own, loci_internal.default_namespace())
      and n.id = any (v_readable);
    v_limit := coalesce(loci_internal.settings(v_own), loci.default_settings()) ->> 'recall_namespaces';
    if p_namespaces is null then
        v_ids := array(select n.id from loci_data.namespaces n where n.id = any (v_readable) order by n.name);
    else
        perform loci_internal.refuse_several_cells(p_namespaces, 'namespaces');
        foreach v_name in array p_namespaces[1:v_limit + 1] loop
            v_id := loci_internal.authorize(v_name, 'reader');
            continue when v_id = any (v_ids);
            v_ids := v_ids || v_id;
        end loop;
    end if;
    if greatest(cardinality(v_ids), cardinality(p_namespaces)) > v_limit then
        raise invalid_parameter_value using column = 'namespaces',
            message = format('namespaces must be at most %s (setting recall_namespaces), not %s', v_limit,
                             greatest(cardinality(v_ids), cardinality(p_namespaces))),
            hint = 'Name those that matter, or ask in several requests.';
    end if;
    return query
    select n.name, coalesce(loci_internal.settings(n.id), loci.default_settings()), u.place is not null,
           i.id is not distinct from v_own
    from unnest(case when v_own = any (v_ids) then v_ids else v_ids || v_own end) with ordinality i(id, nth)
    left join unnest(v_ids) with ordinality u(id, place) on u.id = i.id
    left join loci_data.namespaces n on n.id = i.id
    order by i.nth;
end $$;
comment on function loci_api.recall_namespaces(text[], text) is
    'Namespaces that a recall over several searches, in order, and the request''s own, with their settings. Errors: '
    '42501, P0002, 22023.';
