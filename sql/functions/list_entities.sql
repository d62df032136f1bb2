-- Entities of a namespace, pinned ones first, then by mentions (row S2): a page at a time. p_query: how the canonical name begins.
-- cursor, on every row, is what to send for the page that starts after it. Cost: reads the namespace's entities once a page.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_entities(
    p_namespace text, p_type text default null, p_query text default null, p_pinned boolean default null, p_limit integer default 50,
    p_cursor text default null)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text, confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               created_at timestamptz, updated_at timestamptz, last_referenced_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
    v_after        record;
begin
    if p_limit is null or p_limit not between 1 and 1001 then  -- a page of 1,000, and one to know whether there are more
        raise invalid_parameter_value using message = format('limit must be 1 to 1000, not %s', p_limit), column = 'limit';
    end if;
    begin
        select (c ->> 0)::timestamptz as pinned_at, (c ->> 1)::integer as mentions, (c ->> 2)::uuid as id into v_after
        from (select p_cursor::jsonb) p(c);
    exception when data_exception then
        raise invalid_parameter_value using message = 'the cursor is not one of ours', column = 'cursor';
    end;
    return query
    select e.*, jsonb_build_array(coalesce(e.pinned_at, '-infinity'), e.mentions, e.id)::text
    from (
        select array_agg(p.id) as ids from (
            select i.id from loci_data.entities i
            where i.namespace_id = v_namespace_id and (p_type is null or i.type = p_type) and (p_pinned is null or i.pinned = p_pinned)
              and (p_query is null or i.canonical_name ^@ loci.canonical_name(p_query))
              and (p_cursor is null or (coalesce(i.pinned_at, '-infinity'), i.mentions) < (v_after.pinned_at, v_after.mentions)
                   or (coalesce(i.pinned_at, '-infinity'), i.mentions) = (v_after.pinned_at, v_after.mentions) and i.id > v_after.id)
            order by coalesce(i.pinned_at, '-infinity') desc, i.mentions desc, i.id limit p_limit) p
    ) page
    cross join lateral loci.entity_rows(v_namespace_id, page.ids) e
    order by coalesce(e.pinned_at, '-infinity') desc, e.mentions desc, e.id;
end $$;
comment on function loci.list_entities(text, text, text, boolean, integer, text) is 'Entities, pinned first, then most mentioned; cursor pages. Errors: 42501, P0002, 22023.';
