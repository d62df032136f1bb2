-- Recall in several namespaces: which it searches, and the arms in each.

-- First half of a recall over several namespaces: recall_arms in each of them, one row a namespace, in their order.
-- Each uses its own settings, statistics and language. Where a filter names an entity or a memory that a namespace does
-- not have, that namespace has nothing to give (missing says so); if none has it, that is the error. p_namespaces null:
-- all that the caller may read. Cost: that of recall_arms in each. Security invoker: the functions called check for
-- themselves. Errors: 42501, P0002, 22023, as recall_namespaces and recall_arms.
create or replace function loci_api.recall_arms_in_namespaces(
    p_namespaces text[], p_own text, p_query text, p_embedding real[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_explain boolean default false,
    p_model_id smallint default null, p_words text[] default null, p_word_vectors vector[] default null)
returns table (namespace text, missing text, lexical_ids bigint[], lexical_scores double precision[],
               vector_ids bigint[], vector_scores double precision[], graph_ids bigint[],
               graph_scores double precision[], graph_paths jsonb, walk_ids bigint[], walk_scores double precision[],
               walk_paths jsonb, walk_timed_out boolean, entities jsonb, constraints json, took_ms real[],
               model_id smallint, waiting bigint, without_vector jsonb, question real[], vector_mean double precision)
language plpgsql stable set search_path from current
as $$
declare
    v_name    text;
    v_column  text;
    v_missing text;  -- the first of them, if none has answered yet
    v_where   text;
    v_some    boolean := false;
begin
    for v_name in select s.namespace from loci_api.recall_namespaces(p_namespaces, p_own) s where s.searched loop
        begin
            return query
            select v_name, null::text, a.*
            from loci_api.recall_arms(v_name, p_query, p_embedding, p_arms, p_filter, p_as_of, p_known_at, p_explain,
                                      p_model_id, p_words, p_word_vectors) a;
            v_some := true;
        exception when no_data_found then
            get stacked diagnostics v_column = column_name, missing = message_text;
            if v_column is null or v_column not like 'filters.%' then
                raise;
            end if;
            v_missing := coalesce(v_missing, missing);
            v_where := coalesce(v_where, v_column);
            namespace := v_name;
            walk_timed_out := false;
            model_id := (select m.id from loci_data.embedding_models m where m.active);
            return next;
        end;
    end loop;
    if v_missing is not null and not v_some then
        raise no_data_found using message = v_missing || ' in any of these namespaces', column = v_where;
    end if;
end $$;
comment on function loci_api.recall_arms_in_namespaces(text[], text, text, real[], text[], jsonb, timestamptz,
                                                       timestamptz, boolean, smallint, text[], vector[]) is
    'Arms of a recall in each of several namespaces, one row of parallel arrays for each; missing: what a filter '
    'names and it does not have. Errors: 42501, P0002, 22023.';

-- Which namespaces does a recall search, and with what settings? Those named, in the order named, or with
-- null every one that the caller may read, by name; beside them the request's own (p_own; null: the caller's default
-- one), whose weights and k are those of the fusion; a nameless row with the defaults, if the caller may not
-- read that one. Whether the caller may read what is named is checked first, one by one. At most setting
-- recall_namespaces of the own namespace. Cost: some 30 µs a namespace. Security definer: reads grants. Errors: 42501,
-- P0002 (the first that the caller may not read), 22023 (namespaces: too many, or of several cells), LOCI1.
create or replace function loci_api.recall_namespaces(p_namespaces text[], p_own text default null)
returns table (namespace text, settings jsonb, searched boolean, own boolean)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_readable integer[] := loci.readable_namespaces();
    v_own      integer;
    v_ids      integer[] := '{}';
    v_id       integer;
    v_name     text;
    v_limit    integer;
begin
    select n.id into v_own from loci_data.namespaces n
    where n.name = coalesce(p_own, loci_internal.default_namespace())
      and n.id = any (v_readable);
    v_limit := coalesce(loci_internal.settings(v_own), loci.default_settings()) ->> 'recall_namespaces';
    if p_namespaces is null then
        v_ids := array(select n.id from loci_data.namespaces n where n.id = any (v_readable) order by n.name);
    else
        perform loci_internal.refuse_several_cells(p_namespaces, 'namespaces');
        foreach v_name in array p_namespaces[1:v_limit + 1] loop
            v_id := loci_internal.authorize(v_name, 'reader');
            continue when v_id = any (v_ids);
            v_ids := v_ids || v_id;
        end loop;
    end if;
    if greatest(cardinality(v_ids), cardinality(p_namespaces)) > v_limit then
        raise invalid_parameter_value using column = 'namespaces',
            message = format('namespaces must be at most %s (setting recall_namespaces), not %s', v_limit,
                             greatest(cardinality(v_ids), cardinality(p_namespaces))),
            hint = 'Name those that matter, or ask in several requests.';
    end if;
    return query
    select n.name, coalesce(loci_internal.settings(n.id), loci.default_settings()), u.place is not null,
           i.id is not distinct from v_own
    from unnest(case when v_own = any (v_ids) then v_ids else v_ids || v_own end) with ordinality i(id, nth)
    left join unnest(v_ids) with ordinality u(id, place) on u.id = i.id
    left join loci_data.namespaces n on n.id = i.id
    order by i.nth;
end $$;
comment on function loci_api.recall_namespaces(text[], text) is
    'Namespaces that a recall over several searches, in order, and the request''s own, with their settings. Errors: '
    '42501, P0002, 22023.';
