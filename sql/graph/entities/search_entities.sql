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
        raise serialization_failure using message = 'the embedding model was changed meanwhile',
            hint = 'Embed the question anew.';
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

-- Which entities are called like this? By names and aliases, with a score: 1 the name; 0.95 an alias; 0.7 to
-- 0.9 begins so; up to 0.7 has all words of it, and up to 0.6 some, by the share in common; where fewer than p_limit
-- have a word in common, below 0.5 those that share at least 40 % of its groups of three letters (of two, in a name of
-- less than 8), which forgives a wrong letter. One row an entity, with its best name. Cost: reads the namespace's names
-- once (40 to 100 ms for 100,000), unless the exact ones are all that is asked for.
create or replace function loci_internal.similar_names(p_namespace_id integer, p_query text, p_limit integer,
                                                       p_type text, p_as_of timestamptz default null,
                                                       p_known_at timestamptz default null)
returns table (id uuid, matched text, score double precision)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
declare
    v_name  text := loci.canonical_name(left(p_query, 1000));
    v_words text[] := array(select distinct w from regexp_split_to_table(v_name, '[^[:alnum:]]+') w
                            where length(w) > 1 limit 20);
    v_any   text[] := array(select '%' || replace(w, '_', '\_') || '%' from unnest(v_words) w);
    v_size  integer := (select sum(length(w)) from unnest(v_words) w);
    v_long  integer := case when length(v_name) < 8 then 2 else 3 end;
    v_grams text[];
    v_found integer;
begin
    return query
    with near as materialized (
        select n.entity_id, n.canonical_name, case
                   when n.canonical_name = v_name then case when n.is_alias then 0.95 else 1 end
                   when n.canonical_name ^@ v_name then 0.7 + 0.2 * length(v_name) / length(n.canonical_name)
                   else coalesce((select case when sum(length(w)) = v_size then 0.7
                                  else 0.6 end * least(1, sum(length(w))::double precision
                                         / greatest(v_size,
                                                    length(regexp_replace(n.canonical_name, '[^[:alnum:]]+', '', 'g'))))
                                  from unnest(v_words) w where position(w in n.canonical_name) > 0), 0) end as score
        from loci_internal.names_to_search(p_namespace_id, p_as_of, p_known_at) n
        where (n.canonical_name ^@ v_name or n.canonical_name like any (v_any))
          and v_name <> ''
    )
    select b.entity_id, b.canonical_name, b.score
    from (select distinct on (n.entity_id) n.* from near n
          where p_type is null or p_type = case
              when p_known_at is null then (select e.type from loci_data.entities e
                                            where e.namespace_id = p_namespace_id and e.id = n.entity_id)
              else (select r.type from loci_internal.entity_rows(p_namespace_id, array[n.entity_id], p_known_at) r) end
          order by n.entity_id, n.score desc, n.canonical_name) b
    order by b.score desc, b.entity_id limit p_limit;
    get diagnostics v_found = row_count;
    if v_found >= p_limit or length(v_name) < 4 then
        return;
    end if;
    v_grams := array(select distinct substr(v_name, i, v_long)
                     from generate_series(1, length(v_name) - v_long + 1) i limit 64);
    return query
    with near as materialized (
        select n.entity_id, n.canonical_name,
               0.5 * 2 * common.grams / (cardinality(v_grams) + greatest(length(n.canonical_name) - v_long + 1,
                   1)) as score
        from loci_internal.names_to_search(p_namespace_id, p_as_of, p_known_at) n
        cross join lateral (select count(*)::double precision as grams from unnest(v_grams) g
                            where position(g in n.canonical_name) > 0) common
        where not (n.canonical_name ^@ v_name or n.canonical_name like any (v_any))
          and n.canonical_name like any (array(select '%' || replace(replace(replace(g, '\', '\\'), '%', '\%'), '_',
                                                                     '\_') || '%' from unnest(v_grams) g))
          and common.grams >= 0.4 * cardinality(v_grams)
    )
    select b.entity_id, b.canonical_name, b.score
    from (select distinct on (n.entity_id) n.* from near n
          where p_type is null or p_type = case
              when p_known_at is null then (select e.type from loci_data.entities e
                                            where e.namespace_id = p_namespace_id and e.id = n.entity_id)
              else (select r.type from loci_internal.entity_rows(p_namespace_id, array[n.entity_id], p_known_at) r) end
          order by n.entity_id, n.score desc, n.canonical_name) b
    order by b.score desc, b.entity_id limit p_limit - v_found;
end $$;
comment on function loci_internal.similar_names(integer, text, integer, text, timestamptz, timestamptz) is
    'Entities by likeness of their names and aliases to a text, with a score.';

-- Names and aliases to look among: those of now, or those that were known at a moment, of entities seen by another.
-- Inlines; of the branches only the one that is asked for runs.
create or replace function loci_internal.names_to_search(p_namespace_id integer, p_as_of timestamptz,
                                                         p_known_at timestamptz)
returns table (entity_id uuid, canonical_name text, is_alias boolean)
language sql stable parallel safe
as $$
    select n.entity_id, n.canonical_name, n.is_alias from loci_data.entity_names n
    where n.namespace_id = p_namespace_id and p_as_of is null and p_known_at is null
    union all
    select n.entity_id, n.canonical_name, n.is_alias
    from loci_internal.entity_names_at(p_namespace_id, coalesce(p_known_at, 'infinity')) n
    where (p_as_of is not null or p_known_at is not null)
      and exists (select from loci_internal.entities_at(p_namespace_id, array[n.entity_id], p_as_of, p_known_at))
$$;
comment on function loci_internal.names_to_search(integer, timestamptz, timestamptz) is
    'Names and aliases of entities at two moments.';
