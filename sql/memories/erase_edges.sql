-- The evidence of erased memories goes, an edge without any left goes (its literal may be their words), and so do the
-- edges of entities that go. Others, and those that had made way for what goes, are reckoned from the evidence that is
-- left, and so is what was believed of them. Returns the edges that went. Edges are locked in order of id, like
-- everywhere. Index ranges of edge_observations and edges.
create or replace function loci_internal.erase_edges(p_namespace_id integer, p_ids uuid[], p_entity_ids uuid[])
returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_dangling uuid[] := array(
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = any (p_entity_ids)
        union
        select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = any (p_entity_ids));
    v_shown    uuid[] := array(
        select distinct o.edge_id from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.memory_id = any (p_ids));
    v_gone     uuid[];
    v_rivals   uuid[];
begin
    if v_dangling || v_shown = '{}' then
        return '{}';
    end if;
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_dangling || v_shown)
        order by e.id for update;
    delete from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.memory_id = any (p_ids);
    v_gone := array(
        select d from unnest(v_dangling) d union
        select s from unnest(v_shown) s where not exists (  -- a correction alone shows nothing
               select from loci_data.edge_observations o
               where o.namespace_id = p_namespace_id and o.edge_id = s and o.reinforcement <> 'corrected'));
    v_rivals := array(  -- of edges that go: one of the same source and type that stays, believed or not
        select distinct on (e.source_id, e.type) o.id from loci_data.edges e
        join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type and y.single_valued
        cross join lateral (select x.id from loci_data.edges x where x.namespace_id = p_namespace_id
                            and x.source_id = e.source_id and x.type = e.type and x.id <> all (v_gone)
                            order by x.id limit 1) o
        where e.namespace_id = p_namespace_id and e.id = any (v_gone) order by e.source_id, e.type, o.id);
    delete from loci_data.edge_observations o where o.namespace_id = p_namespace_id and o.edge_id = any (v_gone);
    delete from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_gone);
    perform set_config('loci.erasing', 'on', true);
    v_shown := array(select s from unnest(v_shown) s where s <> all (v_gone) union select unnest(v_rivals));
    perform loci_internal.refold_edges(p_namespace_id, v_shown, clock_timestamp());
    perform loci_internal.rebuild_edge_beliefs(p_namespace_id, v_shown);
    perform set_config('loci.erasing', '', true);
    return v_gone;
end $$;
comment on function loci_internal.erase_edges(integer, uuid[], uuid[]) is
    'Delete the evidence of memories, edges that rested on nothing else, and edges of entities that go; their ids.';
