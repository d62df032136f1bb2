-- Which entities are called like this? By names and aliases, with a score: 1 the name; 0.95 an alias; 0.7 to
-- 0.9 begins so; up to 0.7 has all words of it, and up to 0.6 some, by the share in common, or half of what is alike in
-- groups of three letters (of two, in a name of less than 8), which forgives a wrong letter, if that is more; where
-- fewer than p_limit have a word in common, those that share at least 40 % of these groups. One row an entity, with its
-- best name. Cost: reads the namespace's names once (40 to 100 ms for 100,000), unless the exact
-- ones are all that is asked for.
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
    v_grams text[] := array(select distinct substr(v_name, i, v_long)
                            from generate_series(1, length(v_name) - v_long + 1) i limit 64);
    v_found integer;
begin
    return query
    with near as materialized (
        select n.entity_id, n.canonical_name, case
                   when n.canonical_name = v_name then case when n.is_alias then 0.95 else 1 end
                   when n.canonical_name ^@ v_name then 0.7 + 0.2 * length(v_name) / length(n.canonical_name)
                   else greatest(
                       (select count(*)::double precision from unnest(v_grams) g
                        where position(g in n.canonical_name) > 0)
                           / (cardinality(v_grams) + greatest(length(n.canonical_name) - v_long + 1, 1)),
                       (select case when sum(length(w)) = v_size then 0.7 else 0.6 end
                               * least(1, sum(length(w))::double precision / greatest(v_size, length(
                                   regexp_replace(n.canonical_name, '[^[:alnum:]]+', '', 'g'))))
                        from unnest(v_words) w where position(w in n.canonical_name) > 0)) end as score
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
    return query
    with near as materialized (
        select n.entity_id, n.canonical_name,
               common.grams / (cardinality(v_grams) + greatest(length(n.canonical_name) - v_long + 1, 1)) as score
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
