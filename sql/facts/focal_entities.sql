-- Focal entities: the entities that a conversation is about.

-- What is a conversation about? See resolve_focal_entities, which finds them. Where nothing but a session key
-- is left
-- to go by, it is a label: a row without an id, named after it. source names what gave an entity: checkpoint, project,
-- query, session_key, or pinned. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.focal_entities(
    p_namespace text, p_query text default null, p_project_path text default null, p_checkpoint uuid[] default null,
    p_session_key text default null, p_known_at timestamptz default null)
returns table (id uuid, name text, type text, pinned boolean, source text, ordinal bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    with focal as materialized (
        select f.* from loci_internal.resolve_focal_entities(v_namespace_id, p_query, p_project_path, p_checkpoint,
                                                             coalesce(p_known_at, 'infinity')) f
    ), named as materialized (  -- the ids at once, so that each page of the key is read once
        select e.id, e.name, e.type from loci_data.entities e
        where e.namespace_id = v_namespace_id and e.id = any (array(select f.id from focal f))
    )
    select f.id, n.name, n.type, f.pinned, f.source, f.ordinal from focal f join named n on n.id = f.id
    union all
    select null, p_session_key, null, false, 'session_key', 1 + (select count(*) from focal)
    where p_session_key is not null and not exists (select from focal f where f.source <> 'pinned')
    order by 6;
end $$;
comment on function loci.focal_entities(text, text, text, uuid[], text, timestamptz) is
    'Entities that a conversation is about, and what says so: checkpoint, project, query or session_key; pinned ones '
    'always. p_known_at: also those that were removed since. Errors: 42501, P0002.';

-- What is a walk about? The first of these that gives any: the entities of a checkpoint that are known, in
-- its order, merged ones as what they were merged into; the projects that a path names (settings focal_projects); the
-- entities that a query means (focal_entities). Then the pinned ones, pinned last first, at most 10,000. source: what
-- gave an entity; pinned for those that nothing else gave. At p_known_at before infinity, the names of a query are
-- those of then, and who was removed since is there (entity_at_or_removed); projects and pins are those of now.
-- Bounded, whatever the namespace holds. Index entities_pinned.
create or replace function loci_internal.resolve_focal_entities(
    p_namespace_id integer, p_query text, p_project_path text, p_checkpoint uuid[], p_known_at timestamptz)
returns table (id uuid, pinned boolean, source text, ordinal bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_source   text := 'checkpoint';
    v_ids      uuid[] := array(
        select k.id
        from (select case when e.merged_into is null then e.id
              else loci_internal.entity_at_or_removed(p_namespace_id, e.id::text, p_known_at) end as id,
                     min(c.place) as place
              from unnest(p_checkpoint[:1000]) with ordinality c(id, place)
              cross join lateral (select o.id, o.merged_into from loci_data.entities o
                                  where o.namespace_id = p_namespace_id and o.id = c.id limit 1) e
              group by 1) k
        where k.id is not null order by k.place);
begin
    if cardinality(v_ids) = 0 and p_project_path is not null then
        v_source := 'project';
        v_ids := loci_internal.project_entities(p_namespace_id, p_project_path,
                                                (v_settings ->> 'focal_projects')::integer);
    end if;
    if cardinality(v_ids) = 0 and p_query is not null then
        v_source := 'query';
        v_ids := loci_internal.query_entities(p_namespace_id, p_query, (v_settings ->> 'focal_entities')::integer,
                                              p_known_at);
    end if;
    return query
    with pin as materialized (
        select p.*, row_number() over (order by p.pinned_at desc, p.mentions desc, p.id) as place
        from (select e.id, e.pinned_at, e.mentions from loci_data.entities e
              where e.namespace_id = p_namespace_id and e.pinned_at is not null and e.merged_into is null
              order by e.pinned_at desc, e.id desc limit 10000) p
    )
    select coalesce(f.id, p.id), p.id is not null, case when f.id is null then 'pinned' else v_source end,
           row_number() over (order by f.place, p.place)
    from unnest(v_ids) with ordinality f(id, place)
    full join pin p on p.id = f.id
    order by f.place, p.place;
end $$;
comment on function loci_internal.resolve_focal_entities(integer, text, text, uuid[], timestamptz) is
    'Focal entities of a walk, in order.';

-- Which projects does a path name? Its last three segments, compared with the names of entities of type
-- project, hyphens, underscores and dots as spaces: a name that is a segment before one that contains one, then the
-- segment nearest the end, then the most mentioned. Bounded: names by index entity_names_pkey, parts of names among the
-- 10,000 newest projects (entities_projects). At most p_limit.
create or replace function loci_internal.project_entities(p_namespace_id integer, p_path text, p_limit integer)
returns uuid[]
language sql stable set search_path = ''
as $$
    with segment as (
        select s.place, loci.canonical_name(s.text) as name,
               loci.canonical_name(translate(s.text, '-_.', '   ')) as folded
        from regexp_split_to_table(right(p_path, 4000), '[/\\]+') with ordinality s(text, place)
        where loci.canonical_name(translate(s.text, '-_.', '   ')) <> ''
        order by s.place desc limit 3
    ), named as (
        select k.entity_id as id, true as whole, s.place
        from segment s
        cross join lateral (
            select n.entity_id from loci_data.entity_names n
            where n.namespace_id = p_namespace_id and n.canonical_name = any(array[s.name, s.folded])
            order by n.entity_id limit 50) k
    ), project as materialized (
        select e.id, translate(e.canonical_name, '-_.', '   ') as folded from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.type = 'project' and e.merged_into is null and not e.hidden
        order by e.id desc limit 10000
    ), found as (
        select n.* from named n
        union all
        select p.id, p.folded = s.folded, s.place from segment s join project p on strpos(p.folded, s.folded) > 0
        where length(s.folded) >= 3
    )
    select array(
        select e.id
        from (select f.id, max(f.place) filter (where f.whole) as whole, max(f.place) as part from found f
              group by f.id) f
        cross join lateral (select o.id, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = f.id and o.type = 'project' limit 1) e
        order by f.whole desc nulls last, f.part desc, e.mentions desc, e.id limit p_limit)
$$;
comment on function loci_internal.project_entities(integer, text, integer) is
    'Projects that a path names, best first.';

-- Which entities do the words of a query mean? Those whose name or alias stands in it as a whole
-- (find_entities_in_text); where there is none, those whose name begins with one of its words, stop words apart.
-- Entities of all types, the most mentioned first, at most p_limit. Bounded: the first 2,000 characters, 2,000
-- entities; 100 words, 100 entities a word. Index entity_names_pkey, whose order is that of code points, so that a
-- first word is a range of it.
create or replace function loci_internal.query_entities(p_namespace_id integer, p_query text, p_limit integer,
                                                        p_known_at timestamptz) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_text  text := left(p_query, 2000);
    v_least integer := loci_internal.settings(p_namespace_id) ->> 'match_length';
    v_found uuid[];
begin
    if p_known_at < 'infinity' then
        v_found := array(select loci_internal.entity_at_or_removed(p_namespace_id, f.id::text, p_known_at)
                         from loci_internal.find_entities_in_text_at(p_namespace_id, v_text, p_known_at) f
                         order by f.position, f.id limit 2000);
    else
        v_found := array(select f.id from loci_internal.find_entities_in_text(p_namespace_id, v_text) f
                         order by f.position, f.id limit 2000);
    end if;
    if cardinality(v_found) = 0 then
        v_found := array(
            with word as materialized (
                select distinct loci.canonical_name(t.word) as word
                from regexp_split_to_table(v_text, '[^[:alnum:]]+') t(word)
                where length(t.word) >= v_least limit 100
            ), telling as materialized (
                select w.word from word w cross join loci_data.namespaces n
                where n.id = p_namespace_id and to_tsvector(n.language, w.word) <> ''
            )
            select k.entity_id from telling w
            cross join lateral (
                select n.entity_id from loci_data.entity_names n
                where n.namespace_id = p_namespace_id and n.canonical_name >= w.word || ' '
                  and n.canonical_name < w.word || '!'
                order by n.canonical_name limit 100) k);
    end if;
    return array(
        select e.id from (select distinct u.id from unnest(v_found) u(id)) f
        cross join lateral (select o.id, o.mentions from loci_data.entities o
                            where o.namespace_id = p_namespace_id and o.id = f.id and not o.hidden limit 1) e
        order by e.mentions desc, e.id limit p_limit);
end $$;
comment on function loci_internal.query_entities(integer, text, integer, timestamptz) is
    'Entities that the words of a query mean, most mentioned first.';
