-- The vector search of each model: a function that is written with the model.

-- The search of a model by HNSW, as a function of its own: nearest_vectors_<id>. A partial index is used only where a
-- statement names the model and its dimensions. As text it would be planned on every call, which takes a fifth of the
-- search; a function's statement is planned once a session. p_plain: the filter restricts nothing, and the past is not
-- asked for. Without sorting it has one plan, whatever the statistics: the index in order, each memory looked up as it
-- comes.
create or replace function loci_internal.write_vector_search(p_model_id smallint, p_dimensions integer) returns void
language plpgsql volatile set search_path from current
as $$
declare
    v_search constant text := $search$
        select array_agg(b.id), array_agg(b.doc_id), array_agg(1 - b.distance) into ids, doc_ids, scores
        from (select m.id, m.doc_id, n.distance
              from (select v.memory_id, v.embedding::halfvec(%1$s) <=> p_query::halfvec(%1$s) as distance
                    from loci_data.memory_vectors v where v.namespace_id = p_namespace_id and v.model_id = %2$s
                    order by v.embedding::halfvec(%1$s) <=> p_query::halfvec(%1$s)) n
              cross join lateral (
                  select o.id, o.doc_id from loci_data.memories o
                  where o.namespace_id = p_namespace_id and o.id = n.memory_id and %3$s limit 1) m
              order by n.distance limit p_limit) b;$search$;
begin
    execute format($make$
        create or replace function loci_internal.nearest_vectors_%1$s(
            p_namespace_id integer, p_query halfvec, p_filter loci_internal.memory_filter, p_plain boolean,
            p_limit integer, out ids uuid[], out doc_ids bigint[], out scores double precision[])
        language plpgsql stable set search_path from current set plan_cache_mode = force_generic_plan
        set enable_sort = off set enable_seqscan = off
        as $body$
        begin
            if p_plain then %2$s
            else %3$s
            end if;
        end $body$;
        comment on function loci_internal.nearest_vectors_%1$s(integer, halfvec, loci_internal.memory_filter, boolean,
                                                               integer) is
            'Memories of a namespace by HNSW, nearest first: by vectors of model %1$s.'$make$,
        p_model_id, format(v_search, p_dimensions, p_model_id, 'loci.holds_at(o, p_filter.as_of, null)'),
        format(v_search, p_dimensions, p_model_id, 'loci_internal.memory_is_visible(o, p_filter)'));
end $$;
comment on function loci_internal.write_vector_search(smallint, integer) is
    'Make the function that searches by the HNSW indexes of a model.';

-- Each model has its search from the moment that it is there. Security definer: makes a function.
create or replace function loci_internal.write_search_of_model() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    perform loci_internal.write_vector_search(new.id, new.dimensions);
    return null;
end $$;
comment on function loci_internal.write_search_of_model() is
    'Trigger: makes the search of a new embedding model.';

create or replace trigger embedding_models_search after insert on loci_data.embedding_models
    for each row execute function loci_internal.write_search_of_model();
