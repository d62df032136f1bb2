-- The graph as the reference MCP memory server shows it: stated entities with their observations, and relations. An
-- observation is a memory in force of source mcp-memory that mentions the entity, and whose metadata names it.
-- p_names: of these entities alone, those that only relations name too (stated: false); p_query: of those with this
-- text in name, type or an observation. asked: which of p_names mean it. Relations have one end among them, faded ones
-- too: that server forgets nothing. From entities over memory_mentions_entity to memories; the cost follows the
-- namespace's entities, or those named. Security definer: past the policies; checks the caller itself. Errors: 42501,
-- P0002 (namespace), 53400 (more entities than anybody reads).
create or replace function loci_api.observed_graph(p_namespace text, p_names text[] default null,
                                                   p_query text default null,
                                                   p_now timestamptz default clock_timestamp())
returns table (entities jsonb, relations jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan
as $$
declare
    v_ns  integer := loci_internal.authorize(p_namespace, 'reader');
    v_ids uuid[] := array(select loci_internal.find_entity_id(v_ns, a.name)
                          from unnest(p_names) with ordinality a(name, place) order by a.place);
begin
    if p_names is null and p_query is null
       and exists (select from loci_data.entities e where e.namespace_id = v_ns and e.merged_into is null
                   offset 10000) then
        raise configuration_limit_exceeded using message = 'the graph has more than 10,000 entities',
            hint = 'Ask for parts of it, with search_nodes or open_nodes.';
    end if;
    return query
    with entity as materialized (
        select e.id, e.name, coalesce(e.metadata ->> 'entityType', e.type) as type, o.observations,
               o.observations <> '[]' or e.metadata ? 'entityType' or e.type not in ('unknown', 'extracted') as stated,
               array(select p_names[p] from unnest(array_positions(v_ids, e.id)) p) as asked
        from loci_data.entities e
        cross join lateral (
            select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'content', m.content) order by m.doc_id),
                            '[]') as observations
            from loci_data.memory_mentions t
            join loci_data.memories m on m.namespace_id = v_ns and m.id = t.memory_id
                 and m.source = 'mcp-memory' and loci.holds_at(m, p_now, null)
            where t.namespace_id = v_ns and t.entity_id = e.id
              and exists (select from loci_data.entity_names n
                          where n.namespace_id = v_ns and n.entity_id = e.id
                            and n.canonical_name = loci.canonical_name(m.metadata ->> 'entity'))) o
        where e.namespace_id = v_ns and e.merged_into is null and not e.hidden
          and (p_names is null or e.id = any (v_ids))
    ), wanted as materialized (
        select e.* from entity e
        where (e.stated or p_names is not null)
          and (p_query is null or strpos(lower(e.name), lower(p_query)) > 0
               or strpos(lower(e.type), lower(p_query)) > 0
               or exists (select from jsonb_array_elements(e.observations) b
                          where strpos(lower(b ->> 'content'), lower(p_query)) > 0))
    )
    select (select coalesce(jsonb_agg(to_jsonb(w) order by w.id), '[]') from wanted w),
           (select coalesce(jsonb_agg(jsonb_build_object(
                'id', g.id, 'from', s.name, 'to', coalesce(t.name, g.literal),
                'relationType', coalesce(g.metadata ->> 'relationType', g.type)) order by g.id), '[]')
            from loci_data.edges g
            join loci_data.entities s on s.namespace_id = v_ns and s.id = g.source_id
            left join loci_data.entities t on t.namespace_id = v_ns and t.id = g.target_id
            where g.namespace_id = v_ns and loci.holds_at(g, p_now, null)
              and (p_names is null and p_query is null
                   or g.source_id in (select w.id from wanted w) or g.target_id in (select w.id from wanted w)));
end $$;
comment on function loci_api.observed_graph(text, text[], text, timestamptz) is
    'Entities with observations, and relations, as the reference MCP memory server has them; of these names, or with '
    'this text. Errors: 42501, P0002, 53400.';
