-- Graph arm of recall: entities that the question names, their neighbours over living edges, and the memories that
-- mention them or are evidence of an edge on the way; path, where p_paths, says which way, and what decay did on it.
-- Filters and both times apply before the limit. p_ids: what match_entities found in the question, if that is known.
-- The work is search_graph's: 1,000 mentions of the weightiest entities first, which is what most questions need, and
-- all that its bounds allow where too few memories pass. Next to nothing when the question names none.
create or replace function loci_api.recall_graph_arm(
    p_namespace text, p_query text, p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_paths boolean default true,
    p_ids uuid[] default null)
returns table (id uuid, doc_id bigint, score double precision, path jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter;
    v_limit  integer;
    v_start  uuid[] :=
        coalesce(p_ids[1:50], array(select f.id from loci_internal.find_entities_in_text(v_ns, p_query) f
                                    order by f.position, f.id limit 50));
    v_budget integer := 1000;
    v_ids    uuid[];
    v_docs   bigint[];
    v_scores double precision[];
    v_paths  jsonb[];
    v_cut    boolean;
begin
    if cardinality(v_start) = 0 then
        return;
    end if;
    v_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
    v_start := array(
        select e.id from loci_data.entities e
        where e.namespace_id = v_ns and e.id = any(v_start) and (e.mentions <= 1000 or e.mentions <= (
            select sum(c.documents) from loci_data.corpus_counts c where c.namespace_id = v_ns) / 10)
        order by array_position(v_start, e.id));
    loop
        select array_agg(g.memory_id order by g.score desc, g.memory_id),
               array_agg(g.doc_id order by g.score desc, g.memory_id),
               array_agg(g.score order by g.score desc, g.memory_id),
               array_agg(g.path order by g.score desc, g.memory_id),
               count(*) < v_limit and (bool_or(g.cut) or count(*) = 0)
        into v_ids, v_docs, v_scores, v_paths, v_cut
        from loci_internal.search_graph(v_ns, v_start, v_filter, v_limit, v_budget, p_paths, p_known_at) g;
        exit when not v_cut or v_budget > 1000;
        v_budget := 1000000;
    end loop;
    return query select u.* from unnest(v_ids, v_docs, v_scores, v_paths) u(id, doc_id, score, path);
end $$;
comment on function loci_api.recall_graph_arm(text, text, integer, jsonb, timestamptz, timestamptz, boolean, uuid[]) is
    'Memories around the entities that a question names, best first, with the path that led there. Errors: 42501, '
    'P0002, 22023.';
