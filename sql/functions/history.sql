-- Every version of a lineage, oldest first (row M3). p_ref is the lineage, or the id of any of its versions.
-- Pages by version over the unique index on (lineage, version). Called by REST and by analysts.
create or replace function loci.history(p_namespace text, p_ref text, p_limit integer default 1000, p_after integer default 0)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns      integer := loci.authorize(p_namespace, 'reader');
    v_at      timestamptz := clock_timestamp();
    v_lineage text := p_ref;
begin
    if p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        v_lineage := coalesce((select m.lineage from loci_data.memories m where m.namespace_id = v_ns and m.id = p_ref::uuid), p_ref);
    end if;
    if not exists (select from loci_data.memories m where m.namespace_id = v_ns and m.lineage = v_lineage) then
        raise no_data_found using message = format('no memory and no lineage %L in namespace %L', p_ref, p_namespace), column = 'id';
    end if;
    return query
    select (loci.memory_record(m, v_at)).*
    from loci_data.memories m
    where m.namespace_id = v_ns and m.lineage = v_lineage and m.version > p_after
    order by m.version limit p_limit;
end $$;
comment on function loci.history(text, text, integer, integer) is 'All versions of a lineage (by name, or by the id of a version), oldest first. Errors: 42501, P0002.';
