-- Duplicate entities: similar names, and their merge.

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
        select n.* from loci_internal.names_sharing_words(p_namespace_id, v_name, v_words, v_any, v_size, v_grams,
                                                          v_long, p_as_of, p_known_at) n
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
        select n.* from loci_internal.names_sharing_grams(p_namespace_id, v_name, v_any, v_grams, v_long, p_as_of,
                                                          p_known_at) n
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

-- Names and aliases that begin like p_name or have one of p_words (p_any: as patterns), with a score. p_size: letters
-- of all words; p_grams: groups of p_long letters. See similar_names. Inlines.
create or replace function loci_internal.names_sharing_words(
    p_namespace_id integer, p_name text, p_words text[], p_any text[], p_size integer, p_grams text[], p_long integer,
    p_as_of timestamptz, p_known_at timestamptz)
returns table (entity_id uuid, canonical_name text, score double precision)
language sql stable parallel safe
as $$
    select n.entity_id, n.canonical_name, case
               when n.canonical_name = p_name then case when n.is_alias then 0.95 else 1 end
               when n.canonical_name ^@ p_name then 0.7 + 0.2 * length(p_name) / length(n.canonical_name)
               else greatest(
                   (select count(*)::double precision from unnest(p_grams) g where position(g in n.canonical_name) > 0)
                       / (cardinality(p_grams) + greatest(length(n.canonical_name) - p_long + 1, 1)),
                   (select case when sum(length(w)) = p_size then 0.7 else 0.6 end
                           * least(1, sum(length(w))::double precision / greatest(p_size, length(
                               regexp_replace(n.canonical_name, '[^[:alnum:]]+', '', 'g'))))
                    from unnest(p_words) w where position(w in n.canonical_name) > 0)) end as score
    from loci_internal.names_to_search(p_namespace_id, p_as_of, p_known_at) n
    where (n.canonical_name ^@ p_name or n.canonical_name like any (p_any))
      and p_name <> ''
$$;
comment on function loci_internal.names_sharing_words is
    'Names that have words in common with a text, with a score.';

-- Names and aliases that have no word of a text (p_any: its words as patterns), but at least 40 % of its groups of
-- p_long letters, with a score. See similar_names. Inlines.
create or replace function loci_internal.names_sharing_grams(
    p_namespace_id integer, p_name text, p_any text[], p_grams text[], p_long integer, p_as_of timestamptz,
    p_known_at timestamptz)
returns table (entity_id uuid, canonical_name text, score double precision)
language sql stable parallel safe
as $$
    select n.entity_id, n.canonical_name,
           common.grams / (cardinality(p_grams) + greatest(length(n.canonical_name) - p_long + 1, 1)) as score
    from loci_internal.names_to_search(p_namespace_id, p_as_of, p_known_at) n
    cross join lateral (select count(*)::double precision as grams from unnest(p_grams) g
                        where position(g in n.canonical_name) > 0) common
    where not (n.canonical_name ^@ p_name or n.canonical_name like any (p_any))
      and n.canonical_name like any (array(select '%' || replace(replace(replace(g, '\', '\\'), '%', '\%'), '_',
                                                                 '\_') || '%' from unnest(p_grams) g))
      and common.grams >= 0.4 * cardinality(p_grams)
$$;
comment on function loci_internal.names_sharing_grams is
    'Names that have groups of letters in common with a text, with a score.';

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

-- Merge entities whose names differ only in case, accents, spaces and joining marks, at most p_limit, the most
-- mentioned first. p_dry_run: only say which. basis name: merged, with merge_id, which undoes it. basis meaning: only
-- ever proposed, in a dry run; of the 200 most mentioned entities, those whose vectors are nearly the same (cosine from
-- 0.95 on), of one type, with the same digits. One whose names would be too many is left out. Cost: reads the
-- namespace's entities, then what each merge costs. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023, 40001.
create or replace function loci_api.merge_duplicate_entities(p_namespace text, p_dry_run boolean default true,
                                                             p_limit integer default 100)
returns table (merge_id uuid, kept_id uuid, kept text, merged_id uuid, merged text, basis text, score double precision)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'writer');
    v_pair record;
begin
    perform loci_internal.check_limit(p_limit);
    if not p_dry_run then
        perform loci_internal.lock_merges(v_ns);
    end if;
    basis := 'name';
    score := 1;
    for v_pair in
        select d.*, k.name as kept, g.name as merged
        from loci_internal.duplicate_entity_names(v_ns, p_limit) d
        join loci_data.entities k on k.namespace_id = v_ns and k.id = d.kept_id
        join loci_data.entities g on g.namespace_id = v_ns and g.id = d.merged_id
        order by d.mentions desc, d.merged_id
    loop
        continue when (select cardinality(k.aliases) + cardinality(g.aliases) >= 100 from loci_data.entities k,
                       loci_data.entities g
                       where k.namespace_id = v_ns and k.id = v_pair.kept_id and g.namespace_id = v_ns
                         and g.id = v_pair.merged_id);
        kept_id := v_pair.kept_id;
        kept := v_pair.kept;
        merged_id := v_pair.merged_id;
        merged := v_pair.merged;
        merge_id := case when not p_dry_run then loci_internal.apply_entity_merge(v_ns, kept_id, merged_id,
            'the names differ in spelling only', true) end;
        return next;
    end loop;
    if p_dry_run then
        return query select null::uuid, a.kept_id, a.kept, a.merged_id, a.merged, 'meaning', a.score
            from loci_internal.similar_entity_pairs(v_ns, p_limit) a;
    end if;
end $$;
comment on function loci_api.merge_duplicate_entities(text, boolean, integer) is
    'Merge entities that are one under several spellings, or say which (dry run, with others that mean the same). '
    'Errors: 42501, P0002, 22023, 40001.';

-- Which entities are one under several spellings? Those whose names have the same name_spelling_key and whose types
-- agree: the
-- same, or one says less (entity_type_is_vaguer); where two types stand under one key, those of each type only. Each
-- with the one
-- to keep: pinned, most mentioned, oldest. Never two pinned ones, and no pair that was split, or merged and given back.
-- Set-based by key; reads the namespace's entities (about 20 µs each).
create or replace function loci_internal.duplicate_entity_names(p_namespace_id integer, p_limit integer)
returns table (kept_id uuid, merged_id uuid, mentions integer)
language sql stable set search_path = ''
as $$
    with keyed as materialized (
        select e.id, e.type, e.pinned, e.pinned_at, e.mentions, e.created_at,
               loci_internal.name_spelling_key(e.name) as key, e.type in ('unknown', 'extracted') as vague
        from loci_data.entities e where e.namespace_id = p_namespace_id and e.merged_into is null
    ), several as (
        select k.key, count(distinct k.type) filter (where not k.vague) as types from keyed k where k.key is not null
        group by k.key having count(*) > 1
    ), ranked as (
        select k.*, first_value(k.id) over place as kept_id, row_number() over place as nth
        from keyed k join several s using (key)
        where s.types <= 1 or not k.vague
        window place as (partition by k.key, case when s.types > 1 then k.type end
                         order by k.pinned desc, k.pinned_at, k.mentions desc, k.created_at, k.id)
    )
    select r.kept_id, r.id, r.mentions from ranked r
    where r.nth > 1 and not r.pinned and not exists (
          select from loci_data.entity_merges m
          where m.namespace_id = p_namespace_id and (m.kind = 'split' or m.undone_at is not null)
            and (m.kept_id, m.merged_id) in ((r.kept_id, r.id), (r.id, r.kept_id)))
    order by r.mentions desc, r.id limit p_limit
$$;
comment on function loci_internal.duplicate_entity_names(integer, integer) is
    'Entities whose names differ in spelling only, with the one to keep.';

-- Which of the 200 most mentioned entities may be the same as another, because they mean nearly the same? Cosine of
-- their vectors from 0.95 on, types that agree, the same digits in their names, and another name_spelling_key.
-- Proposals, never
-- acted upon. Exact: 200 scans of the namespace's vectors.
create or replace function loci_internal.similar_entity_pairs(p_namespace_id integer, p_limit integer)
returns table (kept_id uuid, kept text, merged_id uuid, merged text, score double precision)
language plpgsql stable set search_path from current
as $$
declare
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
begin
    return query
    with often as materialized (
        select e.id, e.name, e.type, e.mentions, v.embedding
        from loci_data.entities e
        join loci_data.entity_vectors v on v.namespace_id = p_namespace_id and v.entity_id = e.id
             and v.model_id = v_model
        where e.namespace_id = p_namespace_id and e.merged_into is null
        order by e.mentions desc, e.id limit 200
    )
    select o.id, o.name, n.id, n.name, 1 - n.distance
    from often o
    cross join lateral (
        select e.id, e.name, v.embedding <=> o.embedding as distance
        from loci_data.entity_vectors v
        join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = v.entity_id
        where v.namespace_id = p_namespace_id and v.model_id = v_model and v.embedding <=> o.embedding <= 0.05
          and (e.type = o.type or loci_internal.entity_type_is_vaguer(e.type, o.type)
               or loci_internal.entity_type_is_vaguer(o.type, e.type))
          and (e.mentions, o.id) < (o.mentions, e.id)
          and regexp_replace(e.name, '[^0-9]+', ' ', 'g') = regexp_replace(o.name, '[^0-9]+', ' ', 'g')
          and loci_internal.name_spelling_key(e.name) is distinct from loci_internal.name_spelling_key(o.name)) n
    order by n.distance, o.id, n.id limit p_limit;
end $$;
comment on function loci_internal.similar_entity_pairs(integer, integer) is
    'Pairs of often mentioned entities that mean nearly the same.';
