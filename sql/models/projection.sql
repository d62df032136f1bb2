-- Projection of memories onto a map, with named clusters.

-- Where does each memory stand on the map of its namespace, and what is there to colour it by? Every version that is
-- not forgotten, as believed at p_known_at, with its place on the axes that are kept for the active model: inner
-- products, so an added memory moves no other. One row of columns, each in network byte order, one value a memory, in
-- the order of document numbers: so a hundred thousand cost the service one value to read, and no loop. Times are
-- seconds since 1970, open ends infinite. p_method umap: they stand where they were laid out (map_points); laid_out
-- and laid_out_at: how many, and when, null where nothing was; added: how many took no part and were placed between
-- them; waiting: how many have no place yet, and are left out. category, source and session are places in the lists of
-- names, the most frequent first; -1 is none. fitted null: no axes are kept yet. p_clusters: also to which cluster
-- each belongs (the nearest middle of those that are kept), the largest first, and what these are called (see
-- cluster_names); null otherwise. About 10 µs a memory, twice that with clusters. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.project_memories(p_namespace text, p_dims integer,
                                                     p_known_at timestamptz default null,
                                                     p_clusters boolean default false, p_method text default 'pca')
returns table (model text, fitted bigint, fitted_at timestamptz, points integer, id bytea,
               "position" bytea, valid_from bytea, valid_to bytea, recorded_at bytea, layer bytea, category bytea,
               source bytea, session bytea, categories text[], sources text[], sessions text[], cluster bytea,
               clusters text[], laid_out bigint, laid_out_at timestamptz, added bigint, waiting bigint)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'reader');
    v_model   smallint;
    v_mean    vector;
    v_axes    vector[];
    v_middles halfvec[];
    v_x       halfvec;
    v_y       halfvec;
    v_z       halfvec;
    v_origin  double precision[];
    v_ids     uuid[];
    v_in      integer[];
    v_count   integer;
begin
    select o.id, o.name, p.vectors, p.created_at, p.mean, p.axes, p.centres::halfvec[]
    into v_model, model, fitted, fitted_at, v_mean, v_axes, v_middles
    from loci_data.embedding_models o
    left join loci_data.projections p on p.namespace_id = v_ns and p.model_id = o.id
    where o.active;
    if p_method = 'umap' then
        select l.memories, l.made_at, (select count(*) from loci_data.map_points p
                                       where p.namespace_id = v_ns and p.model_id = v_model and p.dims = p_dims
                                         and p.added)
        into laid_out, laid_out_at, added
        from loci_data.map_layouts l where l.namespace_id = v_ns and l.model_id = v_model and l.dims = p_dims;
    end if;
    if fitted is null or (p_method = 'umap' and laid_out is null) then
        return next;
        return;
    end if;
    v_x := v_axes[1]::halfvec;
    v_y := v_axes[2]::halfvec;
    v_z := v_axes[3]::halfvec;
    v_origin := array[v_mean::halfvec <#> v_x, v_mean::halfvec <#> v_y, v_mean::halfvec <#> v_z];
    with standing as materialized (
        select m.doc_id, m.id, b.valid_from, b.valid_to, m.recorded_at, b.layer, b.category, m.source, m.session_id,
               case when p_method = 'umap'
                    then (select float4send(l.x) || float4send(l.y) || coalesce(float4send(l.z), ''::bytea)
                          from loci_data.map_points l
                          where l.namespace_id = v_ns and l.memory_id = v.memory_id and l.model_id = v_model
                            and l.dims = p_dims limit 1)
                    else float4send((v_origin[1] - (v.embedding <#> v_x))::real)
                         || float4send((v_origin[2] - (v.embedding <#> v_y))::real)
                         || case when p_dims = 3 then float4send((v_origin[3] - (v.embedding <#> v_z))::real)
                                 else ''::bytea end end as place,
               case when p_clusters then (select c.nth from unnest(v_middles) with ordinality c(middle, nth)
                                          order by v.embedding <-> c.middle, c.nth limit 1) end as cluster
        from loci_data.memory_vectors v
        join loci_data.memories m on m.namespace_id = v_ns and m.id = v.memory_id
        cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
        where v.namespace_id = v_ns and v.model_id = v_model and b.status = 'active'
          and b.valid_to is distinct from b.valid_from
    ), placed as (
        select * from standing s where s.place is not null
    ), category_names as (
        select p.category, (row_number() over (order by count(*) desc, p.category) - 1)::integer as at
        from placed p group by p.category
    ), source_names as (
        select p.source, (row_number() over (order by count(*) desc, p.source) - 1)::integer as at
        from placed p where p.source is not null group by p.source
    ), session_names as (
        select p.session_id, (row_number() over (order by count(*) desc, p.session_id) - 1)::integer as at
        from placed p where p.session_id is not null group by p.session_id
    ), largest as (
        select p.cluster, (row_number() over (order by count(*) desc, p.cluster) - 1)::integer as at
        from placed p where p.cluster is not null group by p.cluster
    ), named as (
        select p.id, l.at from placed p join largest l on l.cluster = p.cluster
        order by uuid_hash(p.id), p.id limit 4000
    )
    select count(*), string_agg(uuid_send(p.id), '' order by p.doc_id), string_agg(p.place, '' order by p.doc_id),
           string_agg(float8send(extract(epoch from p.valid_from)::double precision), '' order by p.doc_id),
           string_agg(float8send(coalesce(extract(epoch from p.valid_to)::double precision, 'infinity')), ''
                      order by p.doc_id),
           string_agg(float8send(extract(epoch from p.recorded_at)::double precision), '' order by p.doc_id),
           string_agg(int2send(p.layer), '' order by p.doc_id), string_agg(int4send(c.at), '' order by p.doc_id),
           string_agg(int4send(coalesce(s.at, -1)), '' order by p.doc_id),
           string_agg(int4send(coalesce(e.at, -1)), '' order by p.doc_id),
           (select array_agg(n.category order by n.at) from category_names n),
           (select array_agg(n.source order by n.at) from source_names n),
           (select array_agg(n.session_id order by n.at) from session_names n),
           string_agg(int2send(l.at::smallint), '' order by p.doc_id),
           (select array_agg(n.id order by n.id) from named n), (select array_agg(n.at order by n.id) from named n),
           (select count(*) from largest), (select count(*) from standing s where s.place is null)
    into points, id, "position", valid_from, valid_to, recorded_at, layer, category, source, session, categories,
         sources, sessions, cluster, v_ids, v_in, v_count, waiting
    from placed p
    join category_names c on c.category = p.category
    left join source_names s on s.source = p.source
    left join session_names e on e.session_id = p.session_id
    left join largest l on l.cluster = p.cluster;
    if p_clusters then
        clusters := loci_internal.cluster_names(v_ns, v_ids, v_in, v_count);
    end if;
    return next;
end $$;
comment on function loci_api.project_memories(text, integer, timestamptz, boolean, text) is
    'The map of a namespace: where its memories stand on the axes that are kept, and what they are coloured by; one '
    'row of columns in network byte order. Errors: 42501, P0002.';

-- Keep the axes of a namespace's map, and the middles of its clusters. Those that are there stay, unless p_replace:
-- else all points would move. p_ids: of the memories in whose vectors they were found, 16 bytes each. False, and
-- nothing kept: one of them was erased since, and would come back in these; waits for an erasure under way. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.store_projection(p_namespace text, p_model_id smallint, p_vectors bigint,
                                                     p_ids bytea, p_mean vector, p_axes vector[], p_centres vector[],
                                                     p_replace boolean) returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_ns   integer := loci_internal.authorize(p_namespace, 'reader');
    v_left integer;
begin
    perform loci_internal.lock_shared(v_ns, 'worker');
    select count(*) into v_left
    from generate_series(1, octet_length(p_ids), 16) n(at)
    join loci_data.memory_vectors v on v.namespace_id = v_ns and v.model_id = p_model_id
     and v.memory_id = encode(substr(p_ids, n.at, 16), 'hex')::uuid;
    if v_left < octet_length(p_ids) / 16 then
        return false;
    end if;
    if p_replace then
        delete from loci_data.projections p where p.namespace_id = v_ns and p.model_id = p_model_id;
    end if;
    insert into loci_data.projections (namespace_id, model_id, vectors, mean, axes, centres)
    select v_ns, p_model_id, p_vectors, p_mean, p_axes, p_centres
    from loci_data.embedding_models m where m.id = p_model_id and m.dropped_at is null
    on conflict (namespace_id, model_id) do nothing;
    return true;
end $$;
comment on function loci_api.store_projection(text, smallint, bigint, bytea, vector, vector[], vector[], boolean) is
    'Keep the axes and clusters of a namespace''s map, unless there are some; false where they were found in what was '
    'erased since. Errors: 42501, P0002.';

-- Which vectors speak for a namespace? At most p_bytes of the active model's, and p_most, the same ones each time, as
-- halfvec_send writes them, one after another: the service finds the axes of the map in them, or lays them out. ids:
-- of their memories, 16 bytes each. total: how many there are. Reads all of the namespace's vectors once. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.sample_vectors(p_namespace text, p_bytes integer, p_most integer default null)
returns table (model_id smallint, dimensions integer, total bigint, ids bytea, vectors bytea)
language plpgsql stable security definer set search_path from current set plan_cache_mode = force_generic_plan
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select o.id, o.dimensions, (
               select count(*) from loci_data.memory_vectors v where v.namespace_id = v_ns and v.model_id = o.id),
           f.ids, f.vectors
    from loci_data.embedding_models o
    cross join lateral (
        select string_agg(uuid_send(s.memory_id), ''::bytea) as ids,
               string_agg(halfvec_send(s.embedding), ''::bytea) as vectors
        from (select v.memory_id, v.embedding from loci_data.memory_vectors v
              where v.namespace_id = v_ns and v.model_id = o.id
              order by uuid_hash(v.memory_id), v.memory_id
              limit least(p_most, p_bytes / (2 * o.dimensions + 4))) s) f
    where o.active;
end $$;
comment on function loci_api.sample_vectors(text, integer, integer) is
    'Vectors of the active model that speak for a namespace, in binary; one row, none without a model. Errors: 42501, '
    'P0002.';

-- What are clusters of memories called? The three words that tell each best from the others: in how many of its
-- memories a word stands, times the logarithm of how much more often than in all of them (the same for the same
-- memories); where no word does, its most frequent category. p_clusters: of each memory, 0 to p_count − 1. Numbers,
-- little words and what stands in one memory alone are no names; of Japanese and Chinese, pairs of Chinese characters
-- and runs of katakana are. About 40 µs a memory: asked of a sample.
create or replace function loci_internal.cluster_names(p_namespace_id integer, p_ids uuid[], p_clusters integer[],
                                                       p_count integer) returns text[]
language sql stable
as $$
    with members as materialized (
        select u.id, u.cluster, m.content, m.category
        from unnest(p_ids, p_clusters) u(id, cluster)
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = u.id
    ), words as (
        select distinct m.id, m.cluster, w.word
        from members m
        cross join lateral (
            select t.lexeme as word from unnest(to_tsvector('pg_catalog.simple', left(m.content, 2000))) t
            where t.lexeme ~ '^[[:alpha:]]{3,30}$' and loci_internal.ngrams(t.lexeme) is null
            union all
            select g.term from unnest(loci_internal.ngrams(left(m.content, 2000))) g(term)
            where g.term ~ '^[\u3400-\u9FFF\uF900-\uFAFF]{2}$'
            union all
            select k.run[1] from regexp_matches(left(m.content, 2000), '[\u30A1-\u30FA\u30FC]{2,20}', 'g') k(run)
            where loci_internal.ngrams(m.content) is not null) w
    ), counted as (
        select w.cluster, w.word, count(*) as here, sum(count(*)) over (partition by w.word) as everywhere
        from words w group by w.cluster, w.word
    ), sizes as (
        select m.cluster, count(*)::double precision as size, mode() within group (order by m.category) as category
        from members m group by m.cluster
    ), ranked as (
        select c.cluster, c.word, row_number() over (
            partition by c.cluster
            order by c.here * ln(c.here / s.size * cardinality(p_ids) / c.everywhere) desc, c.word) as place
        from counted c
        join sizes s on s.cluster = c.cluster
        join loci_data.namespaces n on n.id = p_namespace_id
        where c.here > 1 and (cardinality(p_ids) = s.size or c.here * cardinality(p_ids) > s.size * c.everywhere)
          and to_tsvector(n.language, c.word) <> '' and not loci_internal.common_words() ? c.word
    )
    select array_agg(coalesce(r.name, s.category, 'general') order by k)
    from generate_series(0, p_count - 1) k
    left join sizes s on s.cluster = k
    left join lateral (select string_agg(r.word, ', ' order by r.place) as name from ranked r
                       where r.cluster = k and r.place <= 3) r on true
$$;
comment on function loci_internal.cluster_names(integer, uuid[], integer[], integer) is
    'The words that tell each cluster of memories best from the others.';
