-- Before edges are written: which of them are of a type that has one target at a time (row S1, edge_types.single_valued), and how did the
-- edges of their sources stand? One row a believed edge of such a source and type. Locks the sources in order of name, as every writer of
-- entities, so that two who observe different targets of one source take turns. No rows, and one look-up in edge_types,
-- where no type is single-valued. Called by write_edges; internal.
create or replace function loci.lock_single_valued(p_namespace_id integer, p_items loci.edge_input[]) returns loci_data.edges[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_sources uuid[];
    v_types   text[] := array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id and t.single_valued);
begin
    if v_types = '{}' then
        return null;
    end if;
    v_sources := array(select distinct i.source_id from unnest(p_items) i where i.type = any (v_types));
    if v_sources = '{}' then
        return null;
    end if;
    perform from loci_data.entities e where e.namespace_id = p_namespace_id and e.id = any (v_sources) order by e.canonical_name for no key update;
    return array(
        select e from unnest(v_sources) s(id)
        cross join lateral (select i.* from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = s.id
                            and i.superseded_at is null and i.type = any (v_types) offset 0) e
        order by e.id);
end $$;
comment on function loci.lock_single_valued(integer, loci.edge_input[]) is 'Lock the sources of single-valued edges that are to be written; their edges as they stand; null if there are none. Internal.';
