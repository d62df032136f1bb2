-- Nothing by default. Readable tables stand under the policies; everything else is done by functions that check the
-- caller.
revoke all on all tables in schema loci, loci_data from public, loci_app, loci_analyst;

grant select on
    loci_data.aspects,
    loci_data.aspects_to_sweep,
    loci_data.attribute_beliefs,
    loci_data.attribute_terms,
    loci_data.attributes,
    loci_data.context_sessions,
    loci_data.contradiction_queue,
    loci_data.conversation_turns,
    loci_data.corpus_counts,
    loci_data.decay_changes,
    loci_data.edge_beliefs,
    loci_data.edge_moves,
    loci_data.edge_observations,
    loci_data.edge_types,
    loci_data.edges,
    loci_data.embedding_models,
    loci_data.embedding_queue,
    loci_data.entities,
    loci_data.entity_beliefs,
    loci_data.entity_merges,
    loci_data.entity_names,
    loci_data.entity_places,
    loci_data.entity_queue,
    loci_data.entity_sessions,
    loci_data.entity_vectors,
    loci_data.episodes_read,
    loci_data.feedback_events,
    loci_data.feedback_signals,
    loci_data.injections,
    loci_data.lexical_impacts,
    loci_data.lexical_ranges,
    loci_data.lineages,
    loci_data.map_layouts,
    loci_data.map_points,
    loci_data.memories,
    loci_data.memory_beliefs,
    loci_data.memory_closure,
    loci_data.memory_links,
    loci_data.memory_mentions,
    loci_data.memory_pieces,
    loci_data.memory_placements,
    loci_data.memory_texts,
    loci_data.memory_vectors,
    loci_data.model_calls,
    loci_data.name_candidates,
    loci_data.name_queue,
    loci_data.namespaces,
    loci_data.operation_counts,
    loci_data.operations,
    loci_data.pass_runs,
    loci_data.postings,
    loci_data.projections,
    loci_data.recall_results,
    loci_data.recalls,
    loci_data.schedules,
    loci_data.session_counts,
    loci_data.session_ends,
    loci_data.supersession_verdicts,
    loci_data.supersessions,
    loci_data.vector_means,
    loci_data.working_memory
to loci_app, loci_analyst;

-- All but the numbers that are counted over all namespaces, from which one could tell how much happens in others.
do $$
declare
    v_table record;
begin
    for v_table in
        select a.attrelid::regclass as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
        from pg_attribute a join (values ('loci_data.changes', 'place'), ('loci_data.jobs', 'queue_id')) h(name, hidden)
             on a.attrelid = h.name::regclass
        where a.attnum > 0 and not a.attisdropped and a.attname <> h.hidden
        group by a.attrelid
    loop
        execute format('grant select (%s) on %s to loci_app, loci_analyst', v_table.columns, v_table.name);
    end loop;
end $$;

-- Views stand under the policies of their tables (security invoker).
do $$
declare
    v_view regclass;
begin
    for v_view in select c.oid::regclass from pg_class c where c.relnamespace = 'loci'::regnamespace
        and c.relkind = 'v' loop
        execute format('grant select on %s to loci_app, loci_analyst', v_view);
    end loop;
end $$;
