-- First half of a recall over several namespaces: recall_arms in each of them, one row a namespace, in their order.
-- Each uses its own settings, statistics and language. Where a filter names an entity or a memory that a namespace does
-- not have, that namespace has nothing to give (missing says so); if none has it, that is the error. p_namespaces null:
-- all that the caller may read. Cost: that of recall_arms in each. Security invoker: the functions called check for
-- themselves. Errors: 42501, P0002, 22023, as recall_namespaces and recall_arms.
create or replace function loci_api.recall_arms_in_namespaces(
    p_namespaces text[], p_own text, p_query text, p_embedding real[], p_arms text[], p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null, p_explain boolean default false,
    p_model_id smallint default null, p_words text[] default null, p_word_vectors vector[] default null)
returns table (namespace text, missing text,
               lexical_ids bigint[], lexical_scores double precision[], vector_ids bigint[],
               vector_scores double precision[],
               graph_ids bigint[], graph_scores double precision[], graph_paths jsonb,
               walk_ids bigint[], walk_scores double precision[], walk_paths jsonb, walk_timed_out boolean,
               entities jsonb, constraints json,
               took_ms real[], model_id smallint, waiting bigint, without_vector jsonb, question real[],
               vector_mean double precision)
language plpgsql stable set search_path from current
as $$
declare
    v_name    text;
    v_column  text;
    v_message text;
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
            get stacked diagnostics v_column = column_name, v_message = message_text;
            if v_column is null or v_column not like 'filters.%' then
                raise;
            end if;
            if v_missing is null then
                v_missing := v_message;
                v_where := v_column;
            end if;
            return query select v_name, v_message, null::bigint[], null::double precision[], null::bigint[],
                                null::double precision[],
                                null::bigint[], null::double precision[], null::jsonb, null::bigint[],
                                null::double precision[], null::jsonb,
                                false, null::jsonb, null::json, null::real[],
                                (select m.id from loci_data.embedding_models m where m.active), null::bigint,
                                null::jsonb, null::real[], null::double precision;
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
