-- Which entities mean this? Cosine similarity to a vector of the active model, nearest first. Exact in most
-- namespaces; where scan_limit says it is cheaper, HNSW (m = 24, ef_construction = 128; Malkov and Yashunin, 2018)
-- with an iterative scan within that budget, planned on every call as it names the model and its dimensions, as the
-- partial index does; where that finds too few, exactly after all. p_type, p_min_score and both times apply before the
-- limit; vectors are those of what an entity says of itself now. Merged entities have no vectors. Without a model it
-- finds nothing. Security definer: past the policies; checks first. Errors: 42501, P0002, 22023.
create or replace function loci.similar_entities(
    p_namespace text, p_embedding real[], p_limit integer default 10, p_type text default null,
    p_min_score double precision default null, p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns table (id uuid, name text, type text, score double precision)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_seqscan = off
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_model  loci_data.embedding_models;
    v_query  halfvec;
    v_far    double precision := 1 - coalesce(p_min_score, -1);
    v_ids    uuid[];
    v_scores double precision[];
    v_budget integer;
begin
    perform loci_internal.check_limit(p_limit);
    select * into v_model from loci_data.embedding_models where active;
    if v_model.id is null then
        return;
    elsif cardinality(p_embedding) is distinct from v_model.dimensions then
        raise invalid_parameter_value using column = 'embedding',
            message = format('embedding has %s dimensions; the model %s has %s', cardinality(p_embedding),
                             v_model.name, v_model.dimensions);
    end if;
    v_query := p_embedding::halfvec;
    v_budget := loci_internal.scan_limit(n.size, p.size, p_limit)
                from (select coalesce(max(c.reltuples), 0)::double precision as size from pg_catalog.pg_class c
                      where c.oid = (select v.tableoid from loci_data.entity_vectors v
                                     where v.namespace_id = v_ns limit 1)) p
                -- counted to where the answer is clear
                cross join lateral (select count(*)::double precision as size from (
                      select from loci_data.entity_vectors v where v.namespace_id = v_ns
                          and p.size > 2500 limit 100000) k) n;
    if v_budget is not null then
        perform set_config('hnsw.max_scan_tuples', v_budget::text, true);
        execute format($sql$
            select array_agg(b.id), array_agg(1 - b.distance)
            from (select n.entity_id as id, n.distance
                  from (select v.entity_id, v.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) as distance
                        from loci_data.entity_vectors v where v.namespace_id = %2$s and v.model_id = %3$s
                        order by v.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s)) n
                  cross join lateral (select from loci_data.entities o where o.namespace_id = %2$s
                                      and o.id = n.entity_id
                                      and ($2 is null or o.type = $2 or $6 is not null) limit 1) e
                  where n.distance <= $4 and ($5 is null and $6 is null or exists (
                      select from loci_internal.entities_at(%2$s, array[n.entity_id], $5, $6) t
                      where $2 is null or t.type = $2))
                  order by n.distance limit $3) b
            $sql$, v_model.dimensions, v_ns, v_model.id)
        into v_ids, v_scores using v_query, p_type, p_limit, v_far, p_as_of, p_known_at;
    end if;
    if coalesce(cardinality(v_ids), 0) < p_limit then
        select array_agg(b.entity_id), array_agg(1 - b.distance) into v_ids, v_scores
        from (select v.entity_id, v.embedding <=> v_query as distance
              from loci_data.entity_vectors v
              where v.namespace_id = v_ns and v.model_id = v_model.id
                and (p_type is null or p_known_at is not null
                     or (select o.type from loci_data.entities o where o.namespace_id = v_ns
                         and o.id = v.entity_id) = p_type)
                and (p_as_of is null and p_known_at is null or exists (
                    select from loci_internal.entities_at(v_ns, array[v.entity_id], p_as_of, p_known_at) t
                    where p_type is null or t.type = p_type))
              order by 2, v.entity_id limit p_limit) b
        where b.distance <= v_far;
    end if;
    return query
    select e.id, e.name, e.type, u.score from unnest(v_ids, v_scores) with ordinality u(id, score, place)
    cross join lateral loci_internal.entities_at(v_ns, array[u.id], p_as_of, p_known_at) e
    order by u.place;
end $$;
comment on function loci.similar_entities(text, real[], integer, text, double precision, timestamptz, timestamptz) is
    'Entities by cosine similarity to a vector of the active model, nearest first, of a type, from a score on, as of '
    'a moment, as known at another. Errors: 42501, P0002, 22023.';
