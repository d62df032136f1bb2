-- Search of entities by name, alias and vector.

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
    select n.ids, n.scores into v_ids, v_scores
    from loci_internal.nearest_entities_by_index(v_ns, v_model, v_query, p_limit, p_type, v_far, p_as_of,
                                                 p_known_at) n;
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

-- How many vectors may a scan of HNSW read for the nearest entities (scan_limit)? Null: exact is cheaper. Vectors of
-- the namespace are counted to where the answer is clear.
create or replace function loci_internal.entity_scan_budget(p_namespace_id integer, p_limit integer) returns integer
language plpgsql stable set search_path = ''
as $$
begin
    return loci_internal.scan_limit(n.size, p.size, p_limit)
           from (select coalesce(max(c.reltuples), 0)::double precision as size from pg_catalog.pg_class c
                 where c.oid = (select v.tableoid from loci_data.entity_vectors v
                                where v.namespace_id = p_namespace_id limit 1)) p
           cross join lateral (select count(*)::double precision as size from (
                 select from loci_data.entity_vectors v where v.namespace_id = p_namespace_id
                     and p.size > 2500 limit 100000) k) n;
end $$;
comment on function loci_internal.entity_scan_budget(integer, integer) is
    'How many vectors a scan for the nearest entities may read; null: exact is cheaper.';

-- The nearest entities by HNSW, with an iterative scan within entity_scan_budget; fewer than p_limit, where that is not
-- enough, and null, where exact is cheaper. p_far: the largest distance.
create or replace function loci_internal.nearest_entities_by_index(
    p_namespace_id integer, p_model loci_data.embedding_models, p_query halfvec, p_limit integer, p_type text,
    p_far double precision, p_as_of timestamptz, p_known_at timestamptz, out ids uuid[],
    out scores double precision[])
language plpgsql stable set search_path from current
as $$
declare
    v_budget integer := loci_internal.entity_scan_budget(p_namespace_id, p_limit);
begin
    if v_budget is null then
        return;
    end if;
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
        $sql$, p_model.dimensions, p_namespace_id, p_model.id)
    into ids, scores using p_query, p_type, p_limit, p_far, p_as_of, p_known_at;
end $$;
comment on function loci_internal.nearest_entities_by_index is
    'Nearest entities to a vector, by the index.';

-- Which known entities does a text name, in the order of the text? Whole words and phrases of at least 3
-- characters, case-insensitive, names and aliases. Cost follows the text: see find_entities_in_text, which does the
-- work. As of p_as_of (entities seen by then), as known at p_known_at: by the names of then, at the cost of
-- find_entities_in_text_at. Mentions are a present figure.
-- Security definer: the hot path, past the policies; checks the caller itself.
create or replace function loci.match_entities(p_namespace text, p_text text, p_as_of timestamptz default null,
                                               p_known_at timestamptz default null)
returns table (id uuid, name text, type text, matched text, is_alias boolean, mentions integer, pinned boolean,
               "position" integer)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    if p_known_at is not null then
        return query
        select e.id, e.name, e.type, f.matched, f.is_alias, e.mentions, e.pinned, f.position
        from loci_internal.find_entities_in_text_at(v_namespace_id, p_text, p_known_at) f
        cross join lateral loci_internal.entities_at(v_namespace_id, array[f.id], p_as_of, p_known_at) e
        order by f.position, length(f.matched) desc, e.id;
        return;
    end if;
    return query
    select e.id, e.name, e.type, f.matched, f.is_alias, e.mentions, e.pinned, f.position
    from loci_internal.find_entities_in_text(v_namespace_id, p_text) f
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_namespace_id
                        and i.id = f.id offset 0) e
    where (p_as_of is null or e.first_seen_at <= p_as_of) and not e.hidden
    order by f.position, length(f.matched) desc, e.id;
end $$;
comment on function loci.match_entities(text, text, timestamptz, timestamptz) is
    'Known entities named in a text (whole words and phrases, names and aliases), in order of their first place, '
    'as of a moment, as known at another. Errors: 42501, P0002.';

-- Which entities does a question mean, by name or by meaning? mode name: similar_names; semantic:
-- similar_entities; both: either, with score 1 − (1 − by name) × (1 − by meaning), so that an exact name is always
-- first and each adds to the other. Without a vector or a model, meaning finds nothing and the names serve alone.
-- matched: the name or alias that was like the question. As of p_as_of (entities seen by then), as known at p_known_at:
-- by the names of then; meaning is that of today. p_model_id: the model that made the vector; null: not known,
-- it counts as the active one's. Security definer: past the policies; checks first. Errors: 42501, P0002, 22023, 40001
-- (another model is active by now).
create or replace function loci.search_entities(
    p_namespace text, p_query text, p_embedding real[] default null, p_limit integer default 10,
    p_type text default null,
    p_mode text default 'both', p_model_id smallint default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, name text, type text, aliases text[], description text, mentions integer, pinned boolean,
               score double precision, matched text, by_name double precision, by_meaning double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_depth        integer := least(1000, greatest(50, 2 * p_limit));
begin
    perform loci_internal.check_limit(p_limit);
    if p_mode is null or p_mode not in ('name', 'semantic', 'both') then
        raise invalid_parameter_value
            using message = format('mode must be name, semantic or both, not %s', coalesce(p_mode, 'null')),
            column = 'mode';
    end if;
    if p_embedding is not null and p_model_id <> (select m.id from loci_data.embedding_models m where m.active) then
        raise serialization_failure using message = 'the embedding model changed during the request',
            hint = 'Try again.';
    end if;
    return query
    select e.id, e.name, e.type, e.aliases, e.description, e.mentions, e.pinned,
           1 - (1 - coalesce(f.name, 0)) * (1 - greatest(f.meaning, 0)),
           f.matched, f.name, f.meaning
    from (select a.id, max(a.matched) as matched, max(a.name) as name, max(a.meaning) as meaning
          from (select n.id, n.matched, n.score as name, null::double precision as meaning
                from loci_internal.similar_names(v_namespace_id, p_query, v_depth, p_type, p_as_of, p_known_at) n
                where p_mode <> 'semantic'
                union all
                select s.id, null, null, s.score
                from loci.similar_entities(p_namespace, p_embedding, v_depth, p_type, null, p_as_of, p_known_at) s
                where p_mode <> 'name' and p_embedding is not null) a
          group by a.id) f
    cross join lateral loci_internal.entities_at(v_namespace_id, array[f.id], p_as_of, p_known_at) e
    order by 8 desc, e.mentions desc, e.id limit p_limit;
end $$;
comment on function loci.search_entities(text, text, real[], integer, text, text, smallint, timestamptz, timestamptz) is
    'Entities that a question means, by name, by meaning, or both (mode), best first, as of a moment, as known at '
    'another. Errors: 42501, P0002, 22023, '
    '40001.';
