-- Refusals of namespaces that other cells have.

-- Refuse a namespace that is in another cell, or on its way here, to a caller who has a grant in it; nothing where it
-- is in none. Without a name it is the default namespace of the key. Asked only where there is no such namespace here,
-- so what is here pays nothing. An index each of namespace_cells and grants. Errors: LOCI1, with the cell's number as
-- its detail.
create or replace function loci_internal.refuse_moved_namespace(p_namespace text) returns void
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_found loci_data.namespace_cells;
begin
    select c.* into v_found
    from loci_data.namespace_cells c
    where (c.name = p_namespace
           or p_namespace is null and c.namespace_id = (
               select k.default_namespace_id from loci_data.api_keys k
               where k.id = nullif(current_setting('loci.key', true), '')::uuid))
      and not exists (select from loci_data.namespaces n where n.id = c.namespace_id)
      and (loci_internal.is_operator()
           or exists (select from loci_data.grants g
                      where g.namespace_id = c.namespace_id and g.agent_id = loci.current_agent()
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                        and loci_internal.key_reaches(c.namespace_id)))
    order by c.moves desc, c.namespace_id limit 1;
    if found then
        raise exception using errcode = 'LOCI1', detail = v_found.cell_id::text,
            message = format('namespace %L is in cell %s', v_found.name, v_found.cell_id);
    end if;
end $$;
comment on function loci_internal.refuse_moved_namespace(text) is
    'Refuse a namespace that is in another cell. Errors: LOCI1.';

-- Refuse names of namespaces that are in several cells, as far as the caller has a grant in them: one call is answered
-- by one cell. Names one namespace of each. One look-up in namespace_cells a name; the table is empty without cells.
-- Called with the owner's rights. Errors: 22023 (p_column).
create or replace function loci_internal.refuse_several_cells(p_names text[], p_column text) returns void
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_said text;
begin
    if cardinality(p_names) < 2 or not exists (select from loci_data.cells) then
        return;
    end if;
    with place as (
        select distinct on (c.name) c.name, c.cell_id
        from loci_data.namespace_cells c
        where c.name = any (p_names)
          and (loci_internal.is_operator()
               or exists (select from loci_data.grants g
                          where g.namespace_id = c.namespace_id and g.agent_id = loci.current_agent()
                            and (g.expires_at is null or g.expires_at > clock_timestamp())
                            and loci_internal.key_reaches(c.namespace_id)))
        order by c.name, c.moves desc, c.namespace_id
    ), one as (
        select p.cell_id, min(p.name) as name from place p group by p.cell_id
    )
    select string_agg(format('%s is in cell %s', o.name, o.cell_id), ', ' order by o.cell_id) into v_said
    from one o having count(*) > 1;
    if found then
        raise invalid_parameter_value using column = p_column,
            message = format('%s must name namespaces of one cell: %s', p_column, v_said),
            hint = 'Ask for the namespaces of each cell in a request of its own.';
    end if;
end $$;
comment on function loci_internal.refuse_several_cells(text[], text) is
    'Refuse names of namespaces that are in several cells. Errors: 22023.';
